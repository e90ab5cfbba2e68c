"""The gRPC service of `interfaces/proto/forecast.proto`."""

from __future__ import annotations

import time
from typing import Final

import grpc
from ric.access import Refusal
from ric.grpc_server import GrpcServer
from ric.procedures import Call, Handlers
from ric.security import Security
from sojourn_interfaces import check_identifiers
from sojourn_interfaces import forecast_pb2 as pb
from sojourn_serving import Message

from rlc_forecaster.core import Layout
from rlc_forecaster.encodings import Encodings
from rlc_forecaster.hub import Hub
from rlc_forecaster.selection import Selection, SelectionError
from rlc_forecaster.settings import ForecastServerSettings
from rlc_forecaster.turns import Turns

SERVICE: Final = pb.DESCRIPTOR.services_by_name["Forecaster"]
_MAX_REQUEST_BYTES: Final = 2**17
"""A request of 4096 bearers has 45 kB; a longer one is refused by its length, before it is read."""


def now_us() -> int:
    """Wall clock, µs since the Unix epoch."""
    return time.time_ns() // 1_000


class ForecasterService:
    """Serves batches of the hub; messages are encoded by hand."""

    def __init__(
        self,
        hub: Hub,
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
        self._oldest_s = oldest_s
        self._encodings = encodings
        self._turns = turns
        self._batches_per_s = 1_000 / period_ms

    def handlers(self) -> Handlers:
        """The procedures of the proto."""
        return {"Subscribe": ("subscribe", self.subscribe), "Predict": ("read", self.predict)}

    async def subscribe(self, request: pb.ForecastRequest, call: Call) -> None:
        """See the proto."""
        caller = call.caller
        _check_node_id(request, call)
        if refusal := caller.refusal("subscribe", request.node_id, what="forecasts"):
            call.abort(refusal.code, refusal.detail)
        selection = self._selection(request, call)
        encoder = self._encodings.encoder(selection)
        lost: list[Refusal] = []
        layout = self._hub.layout
        caller.audit("subscribe", "accepted", node=request.node_id, what="forecasts")
        with (
            caller.watch("subscribe", request.node_id, lost.append),
            self._hub.queue(request.node_id) as queue,
            self._turns.stream(caller.account) as stream,
        ):
            async for batch in queue.batches():
                if lost:
                    call.abort(lost[0].code, lost[0].detail)
                if caller.sees(batch.node_id):
                    nodes = 1 if request.node_id else len(self._hub.latest)
                    await stream.wait(selection.cost_bytes(batch), nodes * self._batches_per_s)
                    # With fewer turns than there are forecasts, an old one is worth nothing.
                    current = batch if stream.assured else queue.newest(batch)
                    if current.layout is not layout:
                        layout = current.layout
                        _check_quantiles(selection, layout, call)
                    await call.write(self._encodings.get(encoder, current))

    async def predict(self, request: pb.ForecastRequest, call: Call) -> Message:
        """See the proto."""
        caller = call.caller
        _check_node_id(request, call)
        if refusal := caller.refusal("read", request.node_id, what="forecasts"):
            call.abort(refusal.code, refusal.detail)
        selection = self._selection(request, call)
        latest = self._hub.latest.values()
        wanted = [b for b in latest if selection.wants(b) and caller.sees(b.node_id)]
        if not wanted:
            node = request.node_id or "any node"
            call.abort(grpc.StatusCode.NOT_FOUND, f"no sample of {node} was received")
        newest = max(wanted, key=lambda batch: batch.origin_us)
        age_s = self._hub.age_s(newest.node_id)
        if age_s > self._oldest_s:
            call.abort(
                grpc.StatusCode.UNAVAILABLE,
                f"the newest sample of {newest.node_id} is {age_s:.1f} s old; expected at most"
                f" {self._oldest_s:g} s",
            )
        _check_quantiles(selection, newest.layout, call)
        # Calls have a rate of their own.
        await self._turns.wait(caller.account, selection.cost_bytes(newest), assured=True)
        return self._encodings.get(self._encodings.encoder(selection), newest)

    def _selection(self, request: pb.ForecastRequest, call: Call) -> Selection:
        try:
            selection = Selection.of(request, self._hub.layout)
        except SelectionError as error:
            call.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        self._hub.wants_cumulated |= selection.cumulated
        return selection


def _check_quantiles(selection: Selection, layout: Layout, call: Call) -> None:
    """Another model may have other quantiles than when the request was checked."""
    try:
        selection.check_quantiles(layout)
    except SelectionError as error:
        call.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


def _check_node_id(request: pb.ForecastRequest, call: Call) -> None:
    """Before anything is done with it: a pattern of nodes takes time by its length."""
    try:
        check_identifiers(node_id=request.node_id)
    except ValueError as error:
        call.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


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
            hub, self.encodings, turns, oldest_s=oldest_s, period_ms=period_ms
        )
        super().__init__(
            SERVICE,
            service.handlers(),
            settings,
            security=security,
            max_request_bytes=_MAX_REQUEST_BYTES,
        )

    async def stop(self, grace_s: float = 1.0) -> None:
        """Ends every stream."""
        await super().stop(grace_s)
