"""The doors of Sojourn as Python modules, generated from `interfaces/proto` at build time.

- `sojourn_interfaces.e2_gateway_pb2` / `e2_gateway_pb2_grpc`: the E2 gateway.
- `sojourn_interfaces.forecast_pb2` / `forecast_pb2_grpc`: the forecast stream.

The `.proto` files carry the documentation of every message and field. A change there reaches an
editable installation by installing it again.
"""
