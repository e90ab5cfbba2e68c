"""The client of the E2 gateway.

`E2GatewayClient` holds everything that must be right once: back-off, resubscription, node churn,
gap counting. Under it lies a `GatewayLink`, one attempt at each procedure: `GrpcLink` over the
network, or the in-memory link of `ric.testing.FakeRic`.
"""

from ric.gateway.client import E2GatewayClient
from ric.gateway.each_node import for_each_node
from ric.gateway.grpc_link import GrpcLink
from ric.gateway.link import GatewayLink

__all__ = ["E2GatewayClient", "GatewayLink", "GrpcLink", "for_each_node"]
