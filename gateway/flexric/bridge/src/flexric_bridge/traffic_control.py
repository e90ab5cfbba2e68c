"""E2SM-TC v1 for all nodes that have v0 alone: their RAN functions and their `Port`s."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import e2sm_tc
import structlog
from e2_gateway_server.indication import encode_header, encode_report, encode_source
from ric.clock import Clock
from ric.errors import ServiceModelError
from ric.sm import RLC_OID, TC_V0_OID, TC_V1_OID

from flexric_bridge.budget import Budget, BudgetSpent, Use
from flexric_bridge.controls import Rate
from flexric_bridge.hub import Hub
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import KnownNode, NodeRegistry
from flexric_bridge.readers import Reader, Tap, Thinning
from flexric_bridge.sdk import SdkError
from flexric_bridge.session import Session, SessionDown
from flexric_bridge.settings import TcSettings
from flexric_bridge.subscription import NodeGone, UnsupportedSubscription
from flexric_bridge.tc.ran_function import QueueActivity, RanFunction

_log = structlog.get_logger()

TC_PERIOD_MS: Final = 10
RLC_PERIOD_MS: Final = 100
"""Period of detecting bearers, and age of the RLC occupancy in a status."""
FIRST_REPORT_S: Final = 0.5
"""How long a control waits for the node's first report of its pipeline: half of the time that xApps
wait for an answer."""
_LOG_DELAY_S: Final = 0.002


@dataclass(frozen=True, slots=True)
class Wanted:
    """Content of one v1 subscription."""

    styles: tuple[str, ...]
    period_ms: int | None
    """Period of the status; `None`: on each change."""
    bearers: tuple[dict[str, Any], ...]

    def concerns(self, bearer: Mapping[str, Any]) -> bool:
        """Whether it includes reports of a bearer."""
        return not self.bearers or bearer in self.bearers


def wanted(trigger: bytes, actions: Sequence[bytes]) -> Wanted:
    """Decode a v1 trigger and actions; raises `UnsupportedSubscription` for what v0 lacks."""
    try:
        kind = e2sm_tc.decode("event-trigger", trigger)
        definitions = [e2sm_tc.decode("action-definition", action) for action in actions]
    except e2sm_tc.CodecError as error:
        raise UnsupportedSubscription(str(error)) from None
    if isinstance(kind, dict) and "threshold" in kind:
        raise UnsupportedSubscription(
            "event trigger: threshold; an E2SM-TC v0 node has periodic reports only"
        )
    if not definitions:
        raise UnsupportedSubscription("actions: none; expected pipeline_status or events")
    styles = tuple(definition["style"] for definition in definitions)
    if "flow_inventory" in styles:
        raise UnsupportedSubscription(
            "action: flow_inventory; an E2SM-TC v0 node does not report its flows"
        )
    bearers = [tuple(definition["bearers"]) for definition in definitions]
    period_ms = kind["periodic"]["period_ms"] if isinstance(kind, dict) else None
    return Wanted(styles, period_ms, bearers[0] if all(bearers) else ())


@dataclass(eq=False, slots=True)
class _V1Reader:
    reader: Reader
    wanted: Wanted
    activity: QueueActivity = field(default_factory=dict)


class ServedNode:
    """One node's RAN function, its taps and its v1 readers; the function's `Port`."""

    def __init__(self, known: KnownNode, traffic: TrafficControl) -> None:
        self.known = known
        self._traffic = traffic
        function = known.functions[TC_V0_OID]
        self._function_id = function.id
        self._source = encode_source(known.id, function.id, TC_V1_OID)
        self.function = RanFunction(known.id, traffic.settings, self)
        if RLC_OID not in known.functions:
            self.function.bearer.assume_configured()
        self.readers: list[_V1Reader] = []
        self._first = asyncio.Event()
        self._tc_tap = Tap(TC_PERIOD_MS, self._on_tc_report)
        self._rlc_tap = Tap(RLC_PERIOD_MS, self._on_rlc_report)

    async def listen(self, period_ms: int = TC_PERIOD_MS) -> None:
        """Subscribe to the node's reports, for as long as it is connected; raises as `Hub.read`."""
        if period_ms * 1000 < self._tc_tap.thinning.period_us:
            self._tc_tap.thinning = Thinning(period_ms)
        hub = self._traffic.hub
        await hub.read(self.known, TC_V0_OID, period_ms, (), self._tc_tap)
        if RLC_OID in self.known.functions and not self.known.no_tc:
            await hub.read(self.known, RLC_OID, RLC_PERIOD_MS, (), self._rlc_tap)
        if self.known.no_tc:
            # Detected by the first reports, before all subscriptions were made.
            self.end_subscriptions(self.known.no_tc)
            raise UnsupportedSubscription(f"node {self.known.id}: {self.known.no_tc}")

    async def first_report(self) -> None:
        """Wait until pipeline and bearer are known, the TC function turns out to be a stub, or
        `FIRST_REPORT_S` is over."""
        if self.function.in_force is not None and self.function.bearer.id is not None:
            return
        try:
            async with asyncio.timeout(FIRST_REPORT_S):
                while not self.known.no_tc and (
                    self.function.in_force is None or self.function.bearer.id is None
                ):
                    self._first.clear()
                    await self._first.wait()
        except TimeoutError:
            # The answer to the control names what is missing.
            pass

    def gone(self) -> None:
        """The node disconnected."""
        self.function.node_gone()
        for item in self.readers:
            item.reader.end(NodeGone(f"node {self.known.id} disconnected"))
        self.readers.clear()

    def end_subscriptions(self, why: str) -> None:
        """End all subscriptions; the readers get the reason."""
        for item in self.readers:
            item.reader.end(UnsupportedSubscription(f"node {self.known.id}: {why}"))
        self.readers.clear()
        self._first.set()
        hub = self._traffic.hub
        hub.leave(self.known, TC_V0_OID, self._tc_tap)
        hub.leave(self.known, RLC_OID, self._rlc_tap)

    # ------------------------------------------------------------------------ reports

    def _on_tc_report(self, message: bytes, collected_at_us: int, received_at_us: int) -> None:
        self.function.on_indication(message)
        if self.function.watch.verdict:
            self._traffic.give_up(self, self.function.watch.verdict)
            return
        self._first.set()
        for item in self.readers:
            period_ms = item.wanted.period_ms
            if period_ms is None or "pipeline_status" not in item.wanted.styles:
                continue
            every_us = self._tc_tap.thinning.period_us
            if item.reader.thinning.due(collected_at_us, every_us):
                self._put_status(item, collected_at_us, received_at_us)

    def _on_rlc_report(self, message: bytes, _collected_at_us: int, _received_at_us: int) -> None:
        self.function.on_rlc(message)
        self._first.set()

    def _put_status(self, item: _V1Reader, collected_at_us: int, received_at_us: int) -> None:
        status = self.function.status(item.activity)
        statuses = [] if status is None else [status]
        if status is not None and not item.wanted.concerns(status["bearer"]):
            statuses = []
        self._put(item, {"pipeline_status": statuses}, collected_at_us, received_at_us)

    def _put(
        self, item: _V1Reader, message: Any, collected_at_us: int, received_at_us: int
    ) -> None:
        header = e2sm_tc.encode("indication-header", {"collected_at_us": collected_at_us})
        item.reader.put(
            encode_report(
                self._source + encode_header(header),
                e2sm_tc.encode("indication", message),
                collected_at_us,
                received_at_us,
            )
        )

    # --------------------------------------------------------------------------- port

    def now_us(self) -> int:
        """See `Port.now_us`."""
        return self._traffic.clock.now_us()

    async def admit(self, controls: int, *, safe: bool) -> None:
        """See `Port.admit`."""
        self._traffic.budget.refuse(Use.SAFE if safe else Use.CONTROL, controls)
        await self._traffic.rate.take(controls)

    async def controls(
        self, header: bytes, groups: Sequence[Sequence[bytes]], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        """See `Port.controls`."""
        if self.known.no_tc:
            raise SessionDown(f"node {self.known.id}: {self.known.no_tc}")
        if suspect_reason := await self._traffic.hub.freshness.await_recent_report(self.known):
            raise SessionDown(suspect_reason)
        return await self._traffic.session.controls(
            self.known.id, self._function_id, header, groups, safe=safe
        )

    def changed(self) -> None:
        """See `Port.changed`."""
        self._traffic.on_change()

    def publish(self, events: Sequence[Mapping[str, Any]]) -> None:
        """See `Port.publish`."""
        now_us = self.now_us()
        for event in events:
            kind = event["kind"]
            if isinstance(kind, dict):
                ((name, content),) = kind.items()
                # After the answer is sent: logging is not urgent, the queue in the RAN is.
                asyncio.get_running_loop().call_later(
                    _LOG_DELAY_S,
                    partial(_log.info, name.replace("_", " "), node=self.known.id, **content),
                )
        for item in self.readers:
            mine = [event for event in events if item.wanted.concerns(event["bearer"])]
            if mine and "events" in item.wanted.styles:
                self._put(item, {"events": mine}, now_us, now_us)
            if mine and item.wanted.period_ms is None and "pipeline_status" in item.wanted.styles:
                self._put_status(item, now_us, now_us)


@dataclass(eq=False, kw_only=True)
class TrafficControl:
    """The RAN functions of all nodes with E2SM-TC v0."""

    session: Session
    nodes: NodeRegistry
    hub: Hub
    metrics: Metrics
    clock: Clock
    budget: Budget
    rate: Rate
    settings: TcSettings
    on_change: Callable[[], None]
    served: dict[str, ServedNode] = field(default_factory=dict)
    _remembered: dict[str, Any] = field(default_factory=dict)

    def of(self, known: KnownNode) -> ServedNode:
        """A node with its RAN function, created on first use."""
        served = self.served.get(known.id)
        if served is None:
            served = self.served[known.id] = ServedNode(known, self)
            if known.id in self._remembered:
                try:
                    served.function.load(self._remembered.pop(known.id))
                except ValueError as error:
                    _log.warning("stored pipeline ignored", error=str(error))
        return served

    async def subscribe(self, known: KnownNode, subscription: Wanted, reader: Reader) -> None:
        """Send v1 reports to `reader` until `leave`; raises as `Hub.read`."""
        served = self.of(known)
        await served.listen(min(subscription.period_ms or TC_PERIOD_MS, TC_PERIOD_MS))
        served.readers.append(_V1Reader(reader, subscription))

    def leave(self, known: KnownNode, reader: Reader) -> None:
        """The inverse of `subscribe`."""
        served = self.served.get(known.id)
        if served is not None:
            served.readers = [item for item in served.readers if item.reader is not reader]

    def give_up(self, served: ServedNode, why: str) -> None:
        """A node's TC function is a stub: stop using it."""
        if self.served.get(served.known.id) is served:
            del self.served[served.known.id]
            self.on_change()
            # Later: a report of this node is being delivered to these readers.
            asyncio.get_running_loop().call_soon(served.end_subscriptions, why)
            self.nodes.without_tc(served.known, why)

    def controlled(self, known: KnownNode) -> None:
        """An xApp sent the node a v0 control directly."""
        if served := self.served.get(known.id):
            served.function.watch.controlled()

    def node_gone(self, node_id: str) -> None:
        """A node disconnected."""
        if served := self.served.get(node_id):
            served.gone()

    # ------------------------------------------------------------------------- leases

    async def resume_supervision(self) -> None:
        """Subscribe to nodes that have a pipeline from an earlier process: its lease goes on."""
        for known in list(self.nodes.known.values()):
            if known.present and known.id in self._remembered and TC_V0_OID in known.functions:
                try:
                    await self.of(known).listen()
                except (NodeGone, UnsupportedSubscription, BudgetSpent, SdkError) as error:
                    _log.warning("pipeline not supervised", node=known.id, error=str(error))

    def leases_over(self) -> list[ServedNode]:
        """The connected nodes whose lease is over."""
        return [
            served
            for served in self.served.values()
            if served.function.lease_over() and not self.hub.freshness.suspect_reason(served.known)
        ]

    async def end_lease(self, served: ServedNode) -> None:
        """Return a node to its safe pipeline."""
        try:
            await served.function.end_lease()
        except (SdkError, SessionDown, ServiceModelError) as error:
            _log.warning(
                "lease over, safe pipeline not restored yet", node=served.known.id, error=str(error)
            )

    # --------------------------------------------------------------------- state file

    def to_json(self) -> dict[str, Any]:
        """State for a restart."""
        kept = {node_id: served.function.to_json() for node_id, served in self.served.items()}
        return {**self._remembered, **{key: value for key, value in kept.items() if value}}

    def load(self, value: Any) -> None:
        """Restore the result of `to_json`; raises `ValueError` for anything else."""
        if not isinstance(value, dict):
            raise ValueError("pipelines: expected an object")  # noqa: TRY004 - of a file
        self._remembered = dict(value)
