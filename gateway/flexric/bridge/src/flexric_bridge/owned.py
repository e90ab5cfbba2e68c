"""The bridge as one client may use it: under the owners that are this client (E2SM-TC v1 §7.4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager

import grpc
from e2_gateway_server import Backend, Outbox, ProcedureError
from e2sm_tc import Asked, Owners
from ric.clock import Clock
from ric.sm import TC_V1_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.tc.messages import answer_of

_NOT_SENT = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.RESOURCE_EXHAUSTED)


class OwnedBackend:
    """A `Backend` in front of another, for one client.

    Args:
        name: of the client, by certificate or token; empty if it has neither.
        connection: its address.
    """

    def __init__(
        self, backend: Backend, owners: Owners, clock: Clock, name: str, connection: str
    ) -> None:
        self._backend = backend
        self._owners = owners
        self._clock = clock
        self._client = name, connection

    def nodes(self) -> Iterable[pb.Node]:
        """See `Backend.nodes`."""
        return self._backend.nodes()

    def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        """See `Backend.watch_nodes`."""
        return self._backend.watch_nodes()

    def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AbstractAsyncContextManager[None]:
        """See `Backend.subscribe`."""
        return self._backend.subscribe(subscription, outbox)

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """See `Backend.control`."""
        client = (*self._client, request.instance)
        # A control of v0 has no owner.
        message = request.message if request.ran_function_oid == TC_V1_OID else b""
        try:
            refusal, asked = self._owners.admit(request.node_id, message, client, self._now_us())
        except ValueError as error:
            raise ProcedureError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from None
        if refusal is not None:
            detail = answer_of(refusal).detail
            failed = pb.ControlAnswer.FAILED
            return pb.ControlAnswer(status=failed, outcome=refusal, detail=detail)
        if asked is None:
            return await self._backend.control(request)
        return await self._node_lease(request, asked)

    async def _node_lease(self, request: pb.ControlRequest, asked: Asked) -> pb.ControlAnswer:
        try:
            answer = await self._backend.control(request)
        except ProcedureError as error:
            if error.code in _NOT_SENT:
                self._owners.answered(asked, None, self._now_us())
            raise
        else:
            self._owners.answered(asked, answer.outcome or None, self._now_us())
            return answer
        finally:
            # Without an answer, cancelled too; nothing if it was answered.
            self._owners.lost(asked, self._now_us())

    def _now_us(self) -> int:
        return self._clock.monotonic_ns() // 1000
