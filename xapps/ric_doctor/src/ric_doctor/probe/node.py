"""One node, observed for a few seconds: every known RAN function, and a dry run."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from ric.clock import Clock
from ric.e2 import Node, SubscriptionRequest
from ric.errors import (
    AccessDenied,
    GatewayError,
    GatewayProtocolError,
    NodeGone,
    RanFunctionUnknown,
    ServiceModelError,
    ServiceModelUnavailable,
    SubscriptionRefused,
)
from ric.gateway.link import GatewayLink
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, tc
from ric.sm.plain import event_trigger

from ric_doctor.facts import INVENTORY, KPM_MEASUREMENT, STATUS, Definition, DryRun, Stream
from ric_doctor.probe.control import dry_run
from ric_doctor.probe.record import StreamRecord

_QUEUE_DEPTH: Final = 1024
"""One second of RLC, so that losses are not caused by this reader."""
_STATUS_WAIT: Final = 0.7
"""Part of the time to wait for a pipeline status before the dry run is sent without one."""
_ENDINGS: Final[dict[type[GatewayError], str]] = {
    SubscriptionRefused: "refused",
    AccessDenied: "denied",
    RanFunctionUnknown: "unknown",
    NodeGone: "gone",
    GatewayProtocolError: "protocol",
}


@dataclass(frozen=True, slots=True)
class Periods:
    """Requested report periods, ms."""

    rlc_ms: int = 1
    mac_ms: int = 10
    kpm_ms: int = 100
    tc_ms: int = 100


@dataclass(slots=True)
class NodeFacts:
    """The facts about one node."""

    streams: list[Stream] = field(default_factory=list)
    dry_runs: list[DryRun] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)


@dataclass(eq=False)
class NodeProbe:
    """Observes one node."""

    link: GatewayLink
    clock: Clock
    node: Node
    periods: Periods
    control_timeout_s: float
    control: bool = True
    """Send a dry run."""
    _records: dict[str, StreamRecord] = field(default_factory=dict)
    _status_came: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self, seconds: float) -> NodeFacts:
        """All subscriptions are closed when this returns."""
        facts = NodeFacts()
        wanted = [self._request(oid, style) for oid, style in self._reports()]
        async with asyncio.TaskGroup() as tasks:
            streams = [tasks.create_task(self._stream(*one, seconds)) for one in wanted]
            if self.node.ran_function(TC_V1_OID) is not None:
                facts.definitions.append(definition(self.node))
            if self.control and facts.definitions:
                tried = tasks.create_task(self._try(seconds * _STATUS_WAIT))
                facts.dry_runs.append(await tried)
        facts.streams.extend(stream.result() for stream in streams)
        return facts

    def _reports(self) -> list[tuple[str, str]]:
        """OID and style of what is subscribed to."""
        known = [(RLC_OID, ""), (MAC_OID, ""), (KPM_OID, "")]
        if tc.available():
            known += [(TC_V0_OID, ""), (TC_V1_OID, STATUS), (TC_V1_OID, INVENTORY)]
        return [one for one in known if self.node.ran_function(one[0]) is not None]

    def _request(self, oid: str, style: str) -> tuple[SubscriptionRequest, int, str]:
        p = self.periods
        period_ms = {RLC_OID: p.rlc_ms, MAC_OID: p.mac_ms, KPM_OID: p.kpm_ms}.get(oid, p.tc_ms)
        if oid == TC_V1_OID:
            action = {"style": style, "bearers": [], "top_flows": 1}
            trigger = tc.encode("event-trigger", {"periodic": {"period_ms": period_ms}})
            actions: tuple[bytes, ...] = (tc.encode("action-definition", action),)
        else:
            trigger, actions = event_trigger(period_ms), ()
        measurements = (KPM_MEASUREMENT,) if oid == KPM_OID else ()
        request = SubscriptionRequest(
            self.node.id, oid, trigger, actions, measurements, _QUEUE_DEPTH
        )
        return request, period_ms, style

    async def _stream(
        self, request: SubscriptionRequest, period_ms: int, style: str, seconds: float
    ) -> Stream:
        now_us = self.clock.now_us
        record = StreamRecord(request.node_id, request.oid, period_ms, now_us(), style)
        ended = detail = ""
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(self.link.indications(request)) as indications,
            ):
                async for indication in indications:
                    record.add(indication, now_us())
                    if record.status:
                        self._records[request.oid] = record
                        self._status_came.set()
            ended = "unavailable"
        except TimeoutError:
            pass
        except GatewayError as error:
            ended = _ENDINGS.get(type(error), "unavailable")
            # The message of the gateway; node and RAN function are given separately.
            detail = str(getattr(error, "detail", error))
        return record.facts(now_us(), ended, detail)

    async def _try(self, wait_s: float) -> DryRun:
        """The dry run, after the node reported a bearer or was silent for `wait_s`."""
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._status_came.wait()
            record = self._records.get(TC_V1_OID)
            status = record.status[0] if record is not None and record.status else None
            tried = await dry_run(
                self.link, self.clock, self.node.id, status, self.control_timeout_s
            )
            if tried.cause != "stale_revision":
                break
            # The pipeline changed in between: repeat once, with the next report.
            self._status_came.clear()
        return tried


def definition(node: Node) -> Definition:
    """The TC v1 RAN function definition of a node that has one."""
    function = node.ran_function(TC_V1_OID)
    raw = b"" if function is None else function.definition
    try:
        decoded = tc.decode("ran-function-definition", raw)
    except (ServiceModelError, ServiceModelUnavailable) as error:
        return Definition(node.id, str(error))
    return Definition(node.id, capabilities=decoded["capabilities"])
