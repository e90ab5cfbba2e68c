"""The gRPC interfaces of Sojourn, generated from `interfaces/proto` at build time.

- `sojourn_interfaces.e2_gateway_pb2` / `e2_gateway_pb2_grpc`: the E2 gateway.
- `sojourn_interfaces.forecast_pb2` / `forecast_pb2_grpc`: the forecast stream.

The `.proto` files document every message and field. After a change, reinstall an editable
installation.
"""
