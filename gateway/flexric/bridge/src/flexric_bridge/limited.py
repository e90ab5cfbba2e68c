"""The bridge as one client may use it: within its rates, and its share of the load of reports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import grpc
from e2_gateway_server import Backend, Outbox, ProcedureError
from ric.errors import ServiceModelError
from ric.limits import Exceeded, Limits, Pool, Rate
from ric.sm import TC_V1_OID, ran_function_name
from ric.sm.plain import event_trigger_period_ms
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.metrics import Metrics
from flexric_bridge.v1_reports import selections

SUBSCRIPTIONS: Final = Rate("subscriptions", per_s=200, burst=400, what="subscriptions")
CONTROLS: Final = Rate("controls", per_s=2000, burst=4000, what="controls")
REPORT_BYTES: Final = 8192
"""Cost of a report besides its bytes: of the calls that pass it on."""
UNKNOWN_BYTES: Final = 4096
"""Assumed size of a report before the first of its kind: 27 RLC bearers."""
MEASURE_S: Final = 1.0
_ALPHA: Final = 2.0
"""One client alone may have two thirds."""


@dataclass(slots=True, eq=False)
class _Reading:
    """A subscription, and the load that it is counted with."""

    client: str
    node_id: str
    oid: str
    per_s: float
    names_bytes: int
    load: float = 0.0


class ReportLoad:
    """The load of all subscriptions, (bytes + `REPORT_BYTES`) times rate, shared by clients."""

    def __init__(self, bytes_per_s: float, limits: Limits, metrics: Metrics) -> None:
        self.shares = Pool(bytes_per_s, _ALPHA)
        self._limits = limits
        self._metrics = metrics
        self._readings: set[_Reading] = set()

    def open(self, reading: _Reading) -> Exceeded | None:
        """Count a subscription, by what its reports were so far; or why not."""
        reading.load = self._load(reading)
        exceeded = self._limits.hold(
            reading.client, self.shares, "report bytes/s", reading.load, label="report_load"
        )
        if exceeded is None:
            self._readings.add(reading)
        return exceeded

    def close(self, reading: _Reading) -> None:
        """A subscription has ended."""
        self._readings.discard(reading)
        self.shares.give(reading.client, reading.load)

    def measure(self) -> None:
        """Count the subscriptions by what their reports are now; call it regularly."""
        for reading in self._readings:
            load = self._load(reading)
            self.shares.change(reading.client, load - reading.load)
            reading.load = load

    def _load(self, reading: _Reading) -> float:
        flow = self._metrics.flows.get((reading.node_id, ran_function_name(reading.oid)))
        message = flow.message_bytes if flow is not None else 0
        size = (message or UNKNOWN_BYTES) + reading.names_bytes + REPORT_BYTES
        return size * reading.per_s


class LimitedBackend:
    """A `Backend` in front of another, for one client."""

    def __init__(self, backend: Backend, client: str, load: ReportLoad, limits: Limits) -> None:
        self._backend = backend
        self._client = client
        self._load = load
        self._limits = limits

    def nodes(self) -> Iterable[pb.Node]:
        """See `Backend.nodes`."""
        return self._backend.nodes()

    async def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        """See `Backend.watch_nodes`."""
        async with aclosing(self._backend.watch_nodes()) as events:
            async for event in events:
                yield event

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        """See `Backend.subscribe`."""
        _raise_if(self._limits.take(self._client, SUBSCRIPTIONS))
        reading = _Reading(
            self._client,
            subscription.node_id,
            subscription.ran_function_oid,
            1000 / _period_ms(subscription),
            sum(map(len, subscription.kpm_measurements)),
        )
        _raise_if(self._load.open(reading))
        try:
            async with self._backend.subscribe(subscription, outbox):
                yield
        finally:
            self._load.close(reading)

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """See `Backend.control`."""
        _raise_if(self._limits.take(self._client, CONTROLS))
        return await self._backend.control(request)


def _period_ms(subscription: pb.Subscription) -> int:
    """Period of the reports; the longest for a trigger that the backend is about to refuse."""
    trigger = subscription.event_trigger
    try:
        if subscription.ran_function_oid == TC_V1_OID:
            # Reports on change come each millisecond at most.
            first, *_ = selections(trigger, subscription.action_definitions)
            return first.period_ms or 1
        return event_trigger_period_ms(trigger) or 1
    except (ServiceModelError, ProcedureError):
        return 1000


def _raise_if(exceeded: Exceeded | None) -> None:
    if exceeded is not None:
        raise ProcedureError(grpc.StatusCode.RESOURCE_EXHAUSTED, exceeded.detail)
