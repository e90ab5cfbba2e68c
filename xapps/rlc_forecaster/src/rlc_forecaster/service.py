"""The gRPC service of `interfaces/proto/forecast.proto`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import grpc
from ric.access import Access, Right
from ric.access.grpc import Denial, caller_of
from ric.grpc_server import GrpcServer
from ric.security import Security
from sojourn_interfaces import check_identifiers
from sojourn_interfaces import forecast_pb2 as pb

from rlc_forecaster.core import Layout
from rlc_forecaster.encodings import Encodings
from rlc_forecaster.hub import Hub
from rlc_forecaster.selection import Selection, SelectionError
from rlc_forecaster.settings import ForecastServerSettings
from rlc_forecaster.turns import Turns

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[pb.ForecastRequest, bytes]

SERVICE = pb.DESCRIPTOR.services_by_name["Forecaster"].full_name
_OPTIONS: Final = (
    ("grpc.max_send_message_length", 64 * 2**20),
    # A request of 4096 bearers has 45 kB; a longer one is refused by its length, before it is read.
    ("grpc.max_receive_message_length", 2**17),
)


def now_us() -> int:
    """Wall clock, µs since the Unix epoch."""
    return time.time_ns() // 1_000


class ForecasterService:
    """Serves batches of the hub; messages are encoded by hand."""

    def __init__(
        self,
        hub: Hub,
        access: Access,
        encodings: Encodings,
        turns: Turns,
        *,
        oldest_s: float,
        period_ms: int,
    ) -> None:
        """`Predict` serves forecasts whose sample is at most `oldest_s` old.

        A node is forecast every `period_ms`.
        """
        self._hub = hub
        self._access = access
        self._oldest_s = oldest_s
        self._encodings = encodings
        self._turns = turns
        self._batches_per_s = 1_000 / period_ms

    def handlers(self) -> grpc.GenericRpcHandler:
        """The procedures of the proto."""
        parse = pb.ForecastRequest.FromString
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Subscribe": grpc.unary_stream_rpc_method_handler(self.Subscribe, parse),
                "Predict": grpc.unary_unary_rpc_method_handler(self.Predict, parse),
            },
        )

    async def Subscribe(  # noqa: N802
        self, request: pb.ForecastRequest, context: Context
    ) -> AsyncIterator[bytes]:
        """See the proto."""
        caller = caller_of(self._access, context)
        await _check_node_id(request, context)
        if denial := caller.denial("subscribe", request.node_id, "forecasts"):
            await context.abort(*denial)
        selection = await self._selection(request, context)
        encoder = self._encodings.encoder(selection)
        lost: list[Denial] = []
        layout = self._hub.layout
        caller.audit("subscribe", "accepted", node=request.node_id, what="forecasts")
        with (
            caller.watch("subscribe", request.node_id, lost.append),
            self._hub.queue(request.node_id) as queue,
            self._turns.stream(caller.account) as stream,
        ):
            async for batch in queue.batches():
                if lost:
                    await context.abort(*lost[0])
                if caller.sees(batch.node_id):
                    nodes = 1 if request.node_id else len(self._hub.latest)
                    await stream.wait(selection.cost_bytes(batch), nodes * self._batches_per_s)
                    # With fewer turns than there are forecasts, an old one is worth nothing.
                    current = batch if stream.assured else queue.newest(batch)
                    if current.layout is not layout:
                        layout = current.layout
                        await self._check_quantiles(selection, layout, context)
                    yield self._encodings.get(encoder, current)

    async def Predict(  # noqa: N802
        self, request: pb.ForecastRequest, context: Context
    ) -> bytes:
        """See the proto."""
        caller = caller_of(self._access, context)
        await _check_node_id(request, context)
        if denial := caller.denial("read", request.node_id, "forecasts"):
            await context.abort(*denial)
        selection = await self._selection(request, context)
        latest = self._hub.latest.values()
        wanted = [b for b in latest if selection.wants(b) and caller.sees(b.node_id)]
        if not wanted:
            node = request.node_id or "any node"
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no sample of {node} was received")
        newest = max(wanted, key=lambda batch: batch.origin_us)
        age_s = self._hub.age_s(newest.node_id)
        if age_s > self._oldest_s:
            await context.abort(
                grpc.StatusCode.UNAVAILABLE,
                f"the newest sample of {newest.node_id} is {age_s:.1f} s old; expected at most"
                f" {self._oldest_s:g} s",
            )
        await self._check_quantiles(selection, newest.layout, context)
        # Calls have a rate of their own.
        await self._turns.wait(caller.account, selection.cost_bytes(newest), assured=True)
        return self._encodings.get(self._encodings.encoder(selection), newest)

    async def _check_quantiles(
        self, selection: Selection, layout: Layout, context: Context
    ) -> None:
        """Another model may have other quantiles than when the request was checked."""
        try:
            selection.check_quantiles(layout)
        except SelectionError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    async def _selection(self, request: pb.ForecastRequest, context: Context) -> Selection:
        try:
            return Selection.of(request, self._hub.layout)
        except SelectionError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


async def _check_node_id(request: pb.ForecastRequest, context: Context) -> None:
    """Before anything is done with it: a pattern of nodes takes time by its length."""
    try:
        check_identifiers(node_id=request.node_id)
    except ValueError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


class ForecastServer(GrpcServer):
    """The gRPC server: forecast stream, health, reflection."""

    def __init__(
        self,
        hub: Hub,
        settings: ForecastServerSettings,
        security: Security,
        *,
        oldest_s: float,
        period_ms: int,
    ) -> None:
        """See :class:`ForecasterService`."""
        self.encodings = Encodings(now_us)
        turns = Turns(settings.max_load_bytes_per_s)
        service = ForecasterService(
            hub, security.access, self.encodings, turns, oldest_s=oldest_s, period_ms=period_ms
        )
        super().__init__(
            SERVICE,
            service.handlers(),
            settings,
            rights={"Subscribe": Right.SUBSCRIBE, "Predict": Right.READ},
            security=security,
            options=_OPTIONS,
        )

    async def stop(self, grace_s: float = 1.0) -> None:
        """Ends every stream."""
        await super().stop(grace_s)
