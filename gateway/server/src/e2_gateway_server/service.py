"""The gRPC service `E2Gateway` in front of a `Backend`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, Final

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb

from e2_gateway_server.backend import Backend, ProcedureError
from e2_gateway_server.control_call import ControlCall
from e2_gateway_server.outbox import Room
from e2_gateway_server.subscribe_call import SubscribeCall

SERVICE: Final = pb.DESCRIPTOR.services_by_name["E2Gateway"].full_name
"""Full name of the service, for health and reflection."""

MAX_QUEUE_DEPTH: Final = 4096
"""Four seconds of 1 ms reports."""

Context = grpc.aio.ServicerContext[Any, Any]


class GatewayService:
    """`queue_depth` is that of a subscription that requests none; a larger request than
    `max_queue_depth` is reduced to it. `authorize` gives the backend as the client of a call may
    use it (`AuthorizedBackend`); without it every client may use everything. `room` gives the bytes
    that may be queued for the client of a call; without it there is no bound."""

    def __init__(
        self,
        backend: Backend,
        *,
        authorize: Callable[[Context], Backend] | None = None,
        queue_depth: int = 64,
        max_queue_depth: int = MAX_QUEUE_DEPTH,
        room: Callable[[Context], Room] | None = None,
    ) -> None:
        self._room = room
        self._backend_for = authorize or (lambda _: backend)
        self._queue_depth = queue_depth
        self._max_queue_depth = max_queue_depth
        self._calls: set[SubscribeCall | ControlCall] = set()

    def handlers(self) -> grpc.GenericRpcHandler:
        """The procedures. Indications are encoded by hand, so `Subscribe` has no serializer."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "ListNodes": grpc.unary_unary_rpc_method_handler(
                    self._list_nodes,
                    pb.ListNodesRequest.FromString,
                    pb.ListNodesResponse.SerializeToString,
                ),
                "WatchNodes": grpc.unary_stream_rpc_method_handler(
                    self._watch_nodes,
                    pb.WatchNodesRequest.FromString,
                    pb.NodeEvent.SerializeToString,
                ),
                "Subscribe": grpc.stream_stream_rpc_method_handler(
                    self._subscribe, pb.SubscribeRequest.FromString
                ),
                "Control": grpc.stream_stream_rpc_method_handler(
                    self._control,
                    pb.ControlRequest.FromString,
                    pb.ControlResponse.SerializeToString,
                ),
            },
        )

    def stop(self, reason: str) -> None:
        """End every call with `UNAVAILABLE`; queued indications and pending answers are sent."""
        for call in self._calls:
            call.stop(ProcedureError(grpc.StatusCode.UNAVAILABLE, reason))

    def _depth(self, requested: int) -> int:
        return min(requested or self._queue_depth, self._max_queue_depth)

    async def _list_nodes(
        self, _request: pb.ListNodesRequest, context: Context
    ) -> pb.ListNodesResponse:
        try:
            return pb.ListNodesResponse(nodes=self._backend_for(context).nodes())
        except ProcedureError as error:
            await context.abort(error.code, str(error))

    async def _watch_nodes(
        self, _request: pb.WatchNodesRequest, context: Context
    ) -> AsyncIterator[pb.NodeEvent]:
        try:
            async with aclosing(self._backend_for(context).watch_nodes()) as events:
                async for event in events:
                    yield event
        except ProcedureError as error:
            await context.abort(error.code, str(error))

    async def _subscribe(
        self, requests: AsyncIterator[pb.SubscribeRequest], context: Context
    ) -> None:
        room = None if self._room is None else self._room(context)
        call = SubscribeCall(self._backend_for(context), self._depth, room)
        self._calls.add(call)
        try:
            await call.run(requests, context.write)
        except ProcedureError as error:
            await context.abort(error.code, str(error))
        finally:
            self._calls.discard(call)

    async def _control(self, requests: AsyncIterator[pb.ControlRequest], context: Context) -> None:
        call = ControlCall(self._backend_for(context), requests, context)
        self._calls.add(call)
        try:
            await call.run()
        except ProcedureError as error:
            await context.abort(error.code, str(error))
        finally:
            self._calls.discard(call)
