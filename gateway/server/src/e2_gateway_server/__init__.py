"""Server side of the E2 gateway (`interfaces/proto/e2_gateway.proto`) for near-RT RICs in Python.

A RIC implements `Backend`; `GatewayService` serves it over gRPC: it multiplexes and batches
subscriptions, bounds the queues of slow readers and orders controls. `AuthorizedBackend` restricts
a client to its nodes and rights.
"""

from e2_gateway_server.authorized import AuthorizedBackend, Caller, describe
from e2_gateway_server.backend import Backend, ProcedureError
from e2_gateway_server.outbox import Outbox, Room
from e2_gateway_server.service import SERVICE, GatewayService

__all__ = [
    "SERVICE",
    "AuthorizedBackend",
    "Backend",
    "Caller",
    "GatewayService",
    "Outbox",
    "ProcedureError",
    "Room",
    "describe",
]
