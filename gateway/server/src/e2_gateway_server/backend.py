"""What a near-RT RIC implements to be served as an E2 gateway."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import grpc
from sojourn_interfaces import e2_gateway_pb2 as pb

from e2_gateway_server.outbox import Outbox


class ProcedureError(Exception):
    """The error of one procedure as the client receives it; codes as the proto documents them."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Backend(Protocol):
    """A near-RT RIC. Every method may raise `ProcedureError`."""

    def nodes(self) -> Iterable[pb.Node]:
        """The nodes connected now."""
        ...

    def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        """The nodes connected now as `CONNECTED` events, then each change."""
        ...

    def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AbstractAsyncContextManager[None]:
        """One RIC subscription, which lives until the context exits.

        The backend puts encoded `Indication`s without the numbers of a reader into `outbox` (see
        `e2_gateway_server.indication`) and ends it with a `ProcedureError` if the subscription is
        lost.
        """
        ...

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """One RIC control; cancelled if the client no longer waits."""
        ...
