"""The shell: feeds the core what the gateway tells, does what the core wants done."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from ric.e2 import Indication as E2Indication
from ric.e2 import Node
from ric.errors import GatewayError, ServiceModelError
from ric.gateway import for_each_node
from ric.lifecycle import XApp
from ric.sm import RLC_OID, TC_V1_OID, tc
from ric.state_file import StateFile, write_document

from tc_controller.core.actions import Action, SaveDesired, SendControl, WriteRecord
from tc_controller.core.controller import TICK_US, Controller
from tc_controller.core.inputs import (
    Accepted,
    ForecastReport,
    Ie,
    NodeDown,
    NodeUp,
    Outcome,
    PipelineReport,
    Refused,
    Unanswered,
    parse_outcome,
)
from tc_controller.core.policy import Policy
from tc_controller.decision_log import DecisionLog
from tc_controller.forecasts import follow_forecasts
from tc_controller.latency import LoopLatencies
from tc_controller.metrics import ControllerCollector, ShellCounters
from tc_controller.policy_source import PolicySource
from tc_controller.reports import report_of
from tc_controller.settings import ControllerSettings
from tc_controller.subscriptions import capabilities, subscribe_all
from tc_controller.warm_up import probe, rehearse

OffLoop = Callable[[Callable[[], None]], Awaitable[None]]

_STATS_PERIOD_S: Final = 1.0
_NOTE_DELAY_S: Final = 0.05
_SAVE_DELAY_S: Final = 0.05
#: At a stop that releases, how long answers are waited for.
_RELEASE_S: Final = 2.0


class ControllerApp:
    """One running controller.

    ``off_loop`` runs what blocks, writing a file for one, without holding up reports.
    Raises `PolicyError` when the policy cannot be used at the start.
    """

    def __init__(
        self, xapp: XApp[ControllerSettings], off_loop: OffLoop = asyncio.to_thread
    ) -> None:
        self._xapp = xapp
        self._clock = xapp.clock
        self._off_loop = off_loop
        self._settings = xapp.settings
        self._shell = ShellCounters()
        self._source = PolicySource(self._settings, self._shell, xapp.clock)
        policy = self._source.load()
        self.latencies = LoopLatencies()
        self._last_us = 0
        start_us = self._now_us()
        self._state = StateFile(self._settings.state, xapp.registry)
        self.controller = _controller(xapp, policy, f"{start_us // 1_000_000:x}", self._state)
        self._enable_at_us: int | None = None
        self._log: DecisionLog | None = None
        self._sending: set[asyncio.Task[None]] = set()
        # The newest; filled by the loop, emptied by the thread that writes.
        self._unsaved: deque[SaveDesired] = deque(maxlen=1)
        self._unnoted: list[WriteRecord] = []
        self._save = asyncio.Event()
        # What is written last at a stop may come while what was before it is still on its way.
        self._writing = threading.Lock()
        self._resubscribe = asyncio.Event()
        self._subscription: dict[str, int] = {}
        self._runs: dict[str, object] = {}
        self._probed: set[str] = set()
        ControllerCollector(self.controller, self._shell, xapp.registry)

    async def main(self) -> None:
        """Run until cancelled."""
        settings, xapp = self._settings, self._xapp
        with contextlib.ExitStack() as files:
            if settings.decision_log.path is not None:
                log = settings.decision_log
                self._log = files.enter_context(
                    DecisionLog(log.path or Path(), max_bytes=log.max_bytes, keep=log.keep)
                )
            files.callback(self._write_last)
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                # Only a main thread's loop takes signals; tests run elsewhere.
                asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.enable)
            if settings.observe_for_s > 0:
                self.controller.acting = False
            xapp.on_stop(self._stopping)
            rehearse(self.controller.policy)
            tasks = [
                xapp.supervise("nodes", self._watch_nodes),
                xapp.supervise("tick", self._tick),
                xapp.supervise("policy", self._watch_policy),
                xapp.supervise("state", self._keep_state),
                xapp.supervise("stats", self._keep_stats),
            ]
            if settings.forecaster is not None:
                address = settings.forecaster
                tasks.append(
                    xapp.supervise(
                        "forecasts", lambda: follow_forecasts(address, xapp.clock, self._forecast)
                    )
                )
            self._xapp.announce_ready()
            await asyncio.gather(*tasks)

    def enable(self) -> None:
        """Begin to act, if only watching so far."""
        if not self.controller.acting:
            self.controller.enable()
            self._xapp.log.info("acting")

    # ------------------------------------------------------------------- inputs

    async def _watch_nodes(self) -> None:
        await for_each_node(self._xapp.gateway, RLC_OID, self._watch_node)

    async def _watch_node(self, node: Node) -> None:
        run = self._runs[node.id] = object()
        self._probed.discard(node.id)
        self._perform(
            self.controller.on_node_event(self._now_us(), NodeUp(node.id, capabilities(node)))
        )
        self._xapp.log.info("watching", node=node.id)
        try:
            while True:
                reports = self.controller.policy.reports
                self._resubscribe.clear()
                reading = asyncio.create_task(
                    subscribe_all(self._xapp.gateway, node, reports, self._indication)
                )
                changed = asyncio.create_task(self._resubscribe.wait())
                try:
                    await asyncio.wait((reading, changed), return_when=asyncio.FIRST_COMPLETED)
                    if reading.done():
                        # Every subscription was refused; other reports may be asked for one day.
                        await reading
                        await changed
                finally:
                    for task in (reading, changed):
                        task.cancel()
                    await asyncio.gather(reading, changed, return_exceptions=True)
        finally:
            # A node that came back at once is watched by another run before this one has ended.
            if self._runs.get(node.id) is run:
                del self._runs[node.id]
                self._subscription.pop(node.id, None)
                self._perform(self.controller.on_node_event(self._now_us(), NodeDown(node.id)))

    def _indication(self, indication: E2Indication) -> None:
        now_us = self._now_us()
        try:
            report = report_of(indication)
        except ServiceModelError as error:
            self._xapp.metrics.count_bad_message(indication.node_id, indication.oid)
            self._xapp.log.debug("bad message", node=indication.node_id, error=str(error))
            return
        is_rlc = indication.oid == RLC_OID
        if is_rlc:
            self._count_arrival(indication, now_us)
        elif isinstance(report, PipelineReport) and report.node_id not in self._probed:
            self._probe(report)
        self._perform(self.controller.on_indication(now_us, report))
        if is_rlc:
            took_us = self._now_us() - now_us
            self.latencies.handling.add(took_us)
            self._shell.handling.observe_us(took_us)

    def _count_arrival(self, indication: E2Indication, now_us: int) -> None:
        latency_us = indication.handled_at_us - indication.collected_at_us
        self.latencies.indication.add(latency_us)
        self._shell.indication_latency.observe_us(latency_us)
        if self._enable_at_us is None and not self.controller.acting:
            self._enable_at_us = now_us + int(self._settings.observe_for_s * 1e6)
        before = self._subscription.get(indication.node_id)
        self._subscription[indication.node_id] = indication.subscription
        if before is not None and before != indication.subscription:
            # The node or the way to it was away: counters and pipelines may have begun anew.
            node = next((n for n in self._xapp.gateway.nodes if n.id == indication.node_id), None)
            if node is not None:
                event = NodeUp(node.id, capabilities(node))
                self._perform(self.controller.on_node_event(now_us, event))

    def _forecast(self, report: ForecastReport) -> None:
        self._perform(self.controller.on_indication(self._now_us(), report))

    async def _tick(self) -> None:
        while True:
            await self._xapp.clock.sleep(2 * TICK_US / 1e6)
            now_us = self._now_us()
            if self._enable_at_us is not None and now_us >= self._enable_at_us:
                self._enable_at_us = None
                self.enable()
            self._perform(self.controller.on_tick(now_us))

    async def _watch_policy(self) -> None:
        while True:
            await self._xapp.clock.sleep(self._settings.policy_poll_s)
            policy = self._source.reload()
            if policy is not None:
                self._govern(policy)

    def _govern(self, policy: Policy) -> None:
        reports = self.controller.policy.reports
        self._perform(self.controller.set_policy(self._now_us(), policy))
        if policy.reports != reports:
            self._resubscribe.set()
        self._record({"event": "policy", "at_us": self._now_us(), "rules": len(policy.rules)})

    # ------------------------------------------------------------------ actions

    def _perform(self, actions: list[Action]) -> None:
        if not actions:
            return
        loop = asyncio.get_running_loop()
        for action in actions:
            if isinstance(action, SendControl):
                task = loop.create_task(self._control(action))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)
            elif isinstance(action, SaveDesired):
                self._unsaved.append(action)
                self._save.set()
            elif isinstance(action, WriteRecord):
                if not self._unnoted:
                    # When the controls have left: a log can wait, a queue grows.
                    loop.call_later(_NOTE_DELAY_S, self._note_all)
                self._unnoted.append(action)

    def _note_all(self) -> None:
        unnoted, self._unnoted = self._unnoted, []
        for action in unnoted:
            self._note(action)

    async def _control(self, action: SendControl) -> None:
        sent_us = self._now_us()
        outcome = await self._outcome(action.bearer.node_id, action.header, action.message)
        now_us = self._now_us()
        if not isinstance(outcome, Unanswered):
            self.latencies.control.add(now_us - sent_us)
        self._perform(self.controller.on_control_answer(now_us, action.control_id, outcome))

    def _probe(self, report: PipelineReport) -> None:
        """Ask the node for nothing, to see whether it answers."""
        if self._settings.dry_run or not report.statuses:
            return
        self._probed.add(report.node_id)
        task = asyncio.get_running_loop().create_task(
            self._probing(report.node_id, report.statuses[0]["bearer"])
        )
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _probing(self, node_id: str, bearer: Ie) -> None:
        sent_us = self._now_us()
        outcome = await self._outcome(node_id, *probe(bearer))
        if isinstance(outcome, Accepted):
            took_us = self._now_us() - sent_us
            self._xapp.log.info("controls get through", node=node_id, round_trip_us=took_us)
        else:
            self._xapp.log.warning("a control that changes nothing failed", outcome=outcome)

    async def _outcome(self, node_id: str, header_ie: Ie, message_ie: Ie) -> Outcome:
        try:
            header = tc.encode("control-header", header_ie)
            message = tc.encode("control", message_ie)
        except ServiceModelError as error:
            return Refused("malformed", "", str(error), None)
        try:
            answer = await self._xapp.gateway.control(node_id, TC_V1_OID, header, message)
            if not answer.outcome:
                return Unanswered(f"an answer without outcome: {answer.detail}")
            return parse_outcome(tc.decode("control-outcome", answer.outcome))
        except (GatewayError, ServiceModelError) as error:
            return Unanswered(str(error))

    def _note(self, action: WriteRecord) -> None:
        record = action.record
        self._record(record)
        event = record["event"]
        if event == "answered" and "unanswered" not in record["outcome"]:
            self.latencies.detect_to_ack.add(record["detect_to_ack_us"])
            self._shell.detect_to_ack.observe_us(record["detect_to_ack_us"])
        if event != "answered":
            self._xapp.log.info(event, **_brief(record))

    def _record(self, record: Any) -> None:
        if self._log is not None:
            self._log.write(record)
            self._shell.records_lost = self._log.lost

    # --------------------------------------------------------- what outlives us

    async def _keep_state(self) -> None:
        while True:
            await self._save.wait()
            # Many bearers may change at once; one write tells them all.
            await self._xapp.clock.sleep(_SAVE_DELAY_S)
            self._save.clear()
            # Off the loop: a disk takes longer to sync than a report may wait.
            await self._off_loop(self._write_state)

    def _write_state(self) -> None:
        with self._writing:
            if self._unsaved:
                self._state.save(self._unsaved.pop().document)

    async def _keep_stats(self) -> None:
        path = self._settings.stats
        while path is not None:
            await self._xapp.clock.sleep(_STATS_PERIOD_S)
            # Off the loop as well: percentiles of many thousand values, and a file.
            await self._off_loop(partial(self._write_stats, path))

    def _write_stats(self, path: Path) -> None:
        with self._writing:
            try:
                write_document(path, self.latencies.summary(), durable=False)
            except OSError as error:
                self._xapp.log.warning("stats not written", error=str(error))

    def _write_last(self) -> None:
        self._note_all()
        summary = self.latencies.summary()
        self._record({"event": "stats", "at_us": self._now_us(), **summary})
        if self._settings.stats is not None:
            self._write_stats(self._settings.stats)
        self._write_state()

    async def _stopping(self) -> None:
        if self._settings.on_stop == "release":
            self._perform(self.controller.release_all(self._now_us()))
            if self._sending:
                await asyncio.wait(self._sending, timeout=_RELEASE_S)

    # ------------------------------------------------------------------- other

    def _now_us(self) -> int:
        # The wall clock may be set back; the core's time must not go back.
        self._last_us = max(self._last_us, self._clock.now_us())
        return self._last_us


def _controller(
    xapp: XApp[ControllerSettings], policy: Policy, id_prefix: str, state: StateFile
) -> Controller:
    timeout_us = int(xapp.settings.gateway.control_timeout_s * 1.5e6)

    def controller(document: object = None) -> Controller:
        return Controller(
            policy, id_prefix=id_prefix, state=document, control_timeout_us=timeout_us
        )

    # Without a usable state, start from what the nodes report.
    return state.restore(controller) or controller()


def _brief(record: Any) -> dict[str, Any]:
    """The parts of a record that fit a log line."""
    brief = {
        name: record[name] for name in ("id", "bearer", "verdict", "reasons") if name in record
    }
    if "rung" in record:
        brief["template"] = record["rung"]["template"]
    return brief
