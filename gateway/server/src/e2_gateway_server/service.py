"""The gRPC service `E2Gateway` in front of a `Backend`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, NoReturn, Protocol

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from sojourn_interfaces import e2_gateway_pb2 as pb

from e2_gateway_server.backend import Backend, ProcedureError
from e2_gateway_server.control_call import ControlCall
from e2_gateway_server.outbox import Room
from e2_gateway_server.subscribe_call import SubscribeCall

SERVICE: Final[ServiceDescriptor] = pb.DESCRIPTOR.services_by_name["E2Gateway"]
"""The service, for the server of its procedures, health and reflection."""

MAX_QUEUE_DEPTH: Final = 4096
"""Four seconds of 1 ms reports."""


class Call(Protocol):
    """One call of a server."""

    @property
    def caller(self) -> Any:
        """The client, as the server knows it."""
        ...

    async def write(self, message: bytes) -> None:
        """Send one of many responses; waits while the client does not read."""
        ...

    def abort(self, code: grpc.StatusCode, detail: str) -> NoReturn:
        """End the call with a status."""
        ...


Handler = Callable[[Any, Any], Awaitable[bytes | None]]
"""Takes the request, or an asynchronous iterator of them, and the `Call`; returns the encoded
response, or `None` after it has written many."""


class GatewayService:
    """`queue_depth` is that of a subscription that requests none; a larger request than
    `max_queue_depth` is reduced to it. `authorize` gives the backend as the caller of a call may
    use it (`AuthorizedBackend`); without it every client may use everything. `room` gives the bytes
    that may be queued for the caller; without it there is no bound."""

    def __init__(
        self,
        backend: Backend,
        *,
        authorize: Callable[[Any], Backend] | None = None,
        queue_depth: int = 64,
        max_queue_depth: int = MAX_QUEUE_DEPTH,
        room: Callable[[Any], Room] | None = None,
    ) -> None:
        self._room = room
        self._backend_for = authorize or (lambda _: backend)
        self._queue_depth = queue_depth
        self._max_queue_depth = max_queue_depth
        self._calls: set[SubscribeCall | ControlCall] = set()

    def handlers(self) -> dict[str, tuple[str, Handler]]:
        """The right that a client needs and the handler, by name of the procedure."""
        return {
            "ListNodes": ("read", self._list_nodes),
            "WatchNodes": ("read", self._watch_nodes),
            "Subscribe": ("subscribe", self._subscribe),
            "Control": ("control", self._control),
        }

    def stop(self, reason: str) -> None:
        """End every call with `UNAVAILABLE`; queued indications and pending answers are sent."""
        for call in self._calls:
            call.stop(ProcedureError(grpc.StatusCode.UNAVAILABLE, reason))

    def _depth(self, requested: int) -> int:
        return min(requested or self._queue_depth, self._max_queue_depth)

    async def _list_nodes(self, _request: pb.ListNodesRequest, call: Call) -> bytes:
        try:
            nodes = self._backend_for(call.caller).nodes()
            return pb.ListNodesResponse(nodes=nodes).SerializeToString()
        except ProcedureError as error:
            call.abort(error.code, str(error))

    async def _watch_nodes(self, _request: pb.WatchNodesRequest, call: Call) -> None:
        try:
            async with aclosing(self._backend_for(call.caller).watch_nodes()) as events:
                async for event in events:
                    await call.write(event.SerializeToString())
        except ProcedureError as error:
            call.abort(error.code, str(error))

    async def _subscribe(self, requests: AsyncIterator[pb.SubscribeRequest], call: Call) -> None:
        room = None if self._room is None else self._room(call.caller)
        subscribing = SubscribeCall(self._backend_for(call.caller), self._depth, room)
        await self._run(subscribing, subscribing.run(requests, call.write), call)

    async def _control(self, requests: AsyncIterator[pb.ControlRequest], call: Call) -> None:
        controlling = ControlCall(self._backend_for(call.caller), requests, call.write)
        await self._run(controlling, controlling.run(), call)

    async def _run(
        self, served: SubscribeCall | ControlCall, running: Awaitable[None], call: Call
    ) -> None:
        self._calls.add(served)
        try:
            await running
        except ProcedureError as error:
            call.abort(error.code, str(error))
        finally:
            self._calls.discard(served)
