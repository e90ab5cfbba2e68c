"""The bridge as one client may use it: within its rates, and its share of the load of reports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

import grpc
from e2_gateway_server import Backend, Outbox, ProcedureError
from ric.errors import ServiceModelError
from ric.sm import TC_V1_OID, ran_function_name
from ric.sm.plain import event_trigger_period_ms
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_serving import (
    REPORT_COST_BYTES,
    REPORT_SHARE_ALPHA,
    Account,
    Exceeded,
    Hold,
    Pool,
    Rate,
)

from flexric_bridge.metrics import Metrics
from flexric_bridge.v1_reports import selections

SUBSCRIPTIONS: Final = Rate("subscriptions", per_s=200, burst=400, what="subscriptions")
CONTROLS: Final = Rate("controls", per_s=2000, burst=4000, what="controls")
UNKNOWN_BYTES: Final = 4096
"""Assumed size of a report before the first of its kind: 27 RLC bearers."""
MEASURE_S: Final = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What the load of a subscription depends on."""

    node_id: str
    oid: str
    per_s: float
    names_bytes: int


class ReportLoad:
    """The load of all subscriptions, (bytes + `REPORT_COST_BYTES`) × rate, shared by clients."""

    def __init__(self, bytes_per_s: float, metrics: Metrics) -> None:
        self.shares = Pool(round(bytes_per_s), REPORT_SHARE_ALPHA)
        self._metrics = metrics
        self._held: dict[_Reading, Hold] = {}

    @contextmanager
    def held(self, client: Account, reading: _Reading) -> Iterator[None]:
        """Count a subscription of a client, by what its reports were so far, while the context
        lasts; raises `ProcedureError` if that is beyond the client's share."""
        held = client.hold(self.shares, "report bytes/s", self._load(reading), label="report_load")
        if isinstance(held, Exceeded):
            raise _refused(held)
        self._held[reading] = held
        try:
            yield
        finally:
            self._held.pop(reading).release()

    def measure(self) -> None:
        """Count the subscriptions by what their reports are now; call it regularly."""
        for reading, held in self._held.items():
            held.correct(self._load(reading))

    def _load(self, reading: _Reading) -> int:
        flow = self._metrics.flows.get((reading.node_id, ran_function_name(reading.oid)))
        message = flow.message_bytes if flow is not None else 0
        size = (message or UNKNOWN_BYTES) + reading.names_bytes + REPORT_COST_BYTES
        return round(size * reading.per_s)


class LimitedBackend:
    """A `Backend` in front of another, for one client."""

    def __init__(self, backend: Backend, client: Account, load: ReportLoad) -> None:
        self._backend = backend
        self._client = client
        self._load = load

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
        _raise_if(self._client.take(SUBSCRIPTIONS))
        reading = _Reading(
            subscription.node_id,
            subscription.ran_function_oid,
            1000 / _period_ms(subscription),
            sum(map(len, subscription.kpm_measurements)),
        )
        with self._load.held(self._client, reading):
            async with self._backend.subscribe(subscription, outbox):
                yield

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """See `Backend.control`."""
        _raise_if(self._client.take(CONTROLS))
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
        raise _refused(exceeded)


def _refused(exceeded: Exceeded) -> ProcedureError:
    return ProcedureError(grpc.StatusCode.RESOURCE_EXHAUSTED, exceeded.detail)
