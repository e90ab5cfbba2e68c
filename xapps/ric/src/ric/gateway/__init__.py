"""The client of the E2 gateway.

`E2GatewayClient` implements reconnection with back-off, resubscription, node churn and counting of
gaps. It uses a `GatewayLink`, which makes one attempt per procedure: `GrpcLink` over the network,
or the in-memory link of `ric.testing.FakeRic`.
"""

from ric.gateway.client import E2GatewayClient
from ric.gateway.link import GatewayLink, GrpcLink
from ric.gateway.node_table import for_each_node

__all__ = ["E2GatewayClient", "GatewayLink", "GrpcLink", "for_each_node"]
