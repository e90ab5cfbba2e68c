"""The shell around the core: reports in, actions out, time, settings and files.

`nodes` subscribes, `reports` decodes, `core` decides, `actuator` acts, `latency` measures.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ric.e2 import Indication
from ric.errors import ServiceModelError
from ric.health import Condition
from ric.lifecycle import XApp
from ric.sm import RLC_OID
from ric.state_file import StateFile, write_document

from tc_controller.a1.identities import load_identities
from tc_controller.a1.server import A1Server
from tc_controller.a1.store import InstanceStore
from tc_controller.actuator import Actuator, ControlSender, OffLoop, RecordWriter, StateWriter
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.sharing import Replica
from tc_controller.core.actions import Action
from tc_controller.core.controller import TICK_US, Controller
from tc_controller.core.inputs import ForecastReport, NodeEvent, NodeUp, Outcome, PipelineReport
from tc_controller.core.mode import Mode
from tc_controller.core.policy.schema import Policy
from tc_controller.decision_log import DecisionLog
from tc_controller.forecasts import follow_forecasts
from tc_controller.latency import LoopLatencies
from tc_controller.live import runbooks
from tc_controller.live.decisions import RecentDecisions
from tc_controller.live.feed import Feed
from tc_controller.live.server import LivePage
from tc_controller.log_server import LogServer
from tc_controller.metrics import ControllerCollector
from tc_controller.mode_server import ModeServer
from tc_controller.mode_source import ModeSource
from tc_controller.nodes import NodeWatcher
from tc_controller.policy_source import PolicySource
from tc_controller.reports import report_of
from tc_controller.settings import ControllerSettings
from tc_controller.tracing import DecisionTraces, close_provider, open_provider
from tc_controller.warm_up import rehearse
from tc_controller.worst_bearers import WorstBearers

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

T = TypeVar("T")

_STATS_PERIOD_S: Final = 1.0
#: How long a stop that releases the bearers waits for answers.
_RELEASE_S: Final = 2.0


class ControllerApp:
    """One running controller.

    ``off_loop`` runs blocking work, such as writing a file, without delaying reports; ``provider``
    of OpenTelemetry is for tests. Raises `PolicyError` when the policy is invalid at the start,
    `TracingError`.
    """

    def __init__(
        self,
        xapp: XApp[ControllerSettings],
        off_loop: OffLoop = asyncio.to_thread,
        provider: TracerProvider | None = None,
    ) -> None:
        self._xapp = xapp
        self._settings = settings = xapp.settings
        self._off_loop = off_loop
        self._newest_us = 0
        self._writing_stats = threading.Lock()
        self._enable_at_us: int | None = None
        self._policy = PolicySource(settings, xapp.clock)
        state = StateFile(settings.state, xapp.registry)
        self._a1_store = (
            InstanceStore(settings.a1.state, load_identities(settings.a1.identities), off_loop)
            if settings.a1.listen
            else None
        )
        self._file_policy = self._policy.load()
        self._mode = ModeSource(settings, xapp.clock)
        self._replica = Replica(**settings.replica.model_dump())
        self._identity = settings.identity or _identity(xapp.clock.now_us())
        self.controller = self._restored(self._in_force(), state)
        self.latencies = LoopLatencies()
        if provider is None and settings.tracing.enabled:
            provider = open_provider()
        self._provider = provider
        self._traces = (
            None if provider is None else DecisionTraces(provider.get_tracer("tc_controller"))
        )
        log = settings.decision_log
        self._decision_log = (
            None
            if log.path is None
            else DecisionLog(log.path, max_bytes=log.max_bytes, keep=log.keep)
        )
        decisions = RecentDecisions()
        self._actuator = Actuator(
            ControlSender(
                xapp.gateway, self._identity, self._now_us, self.latencies, self._answered
            ),
            RecordWriter(self._decision_log, self.latencies, decisions.add),
            StateWriter(state, xapp.clock, off_loop),
        )
        self._nodes = NodeWatcher(
            xapp.gateway,
            lambda: self.controller.policy.reports,
            self._node_event,
            self._indication,
            self._replica.watches,
        )
        xapp.readiness.excuse("indications", self._nothing_to_watch)
        if log.path is not None:
            xapp.readiness.require("decision_log", self._actuator.records.condition)
        if settings.state is not None:
            xapp.readiness.require("state_file", state.condition)
        xapp.readiness.require("policy", self._policy.condition)
        xapp.readiness.require("mode", self._mode.condition)
        self._live = LivePage(
            Feed(
                self.controller,
                decisions,
                xapp.readiness.conditions,
                self._policy.reloads,
                settings.live.history_s,
            ),
            xapp.clock,
            self._now_us,
            settings.live.max_viewers,
            peers=settings.peers,
            fleet=settings.fleet,
        )
        records = self._actuator.records
        xapp.registry.register(
            ControllerCollector(
                self.controller,
                self._policy,
                self.latencies,
                lambda: records.lost,
                self._now_us,
                WorstBearers(settings.metrics.top_bearers),
            )
        )

    def _restored(self, policy: Policy, state: StateFile) -> Controller:
        """A controller with the state of the last run, or without if there is no valid one."""
        timeout_us = int(self._settings.gateway.control_timeout_s * 1.5e6)
        id_prefix = f"{self._now_us() // 1_000_000:x}"

        def controller(document: object = None) -> Controller:
            return Controller(
                policy,
                owner=self._identity,
                replica=self._replica,
                id_prefix=id_prefix,
                state=document,
                mode=self._mode.mode,
                control_timeout_us=timeout_us,
            )

        return state.restore(controller) or controller()

    def _in_force(self) -> Policy:
        """The policy of the file, with the A1 policies before its rules."""
        if self._a1_store is None:
            return self._file_policy
        return self._a1_store.apply_to(self._file_policy)

    def _apply_a1(self) -> None:
        policy = self._in_force()
        self._actuator.perform(self.controller.set_policy(self._now_us(), policy))

    async def main(self) -> None:
        """Run until cancelled."""
        if self._a1_store is None:
            await self._main({})
            return
        a1 = A1Server(
            self._a1_store,
            self.controller,
            self._apply_a1,
            self._xapp.clock,
            settings=self._settings.a1,
            security=self._xapp.security,
        )
        address = await a1.start()
        try:
            self._xapp.log.info("A1-P", address=address)
            self._xapp.supervise("a1-notifications", a1.notify)
            await self._main({"a1": address})
        finally:
            await a1.stop()

    async def _main(self, addresses: dict[str, str]) -> None:
        settings, xapp = self._settings, self._xapp
        with contextlib.ExitStack() as files:
            if self._decision_log is not None:
                files.enter_context(self._decision_log)
            files.callback(self._write_last)
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                # Only the loop of the main thread takes signals; tests run elsewhere.
                asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.enable)
            if settings.observe_for_s > 0 and self._mode.mode is not Mode.OFF:
                self.controller.acting = False
            if self._provider is not None:
                xapp.on_stop(self._flush_traces)
            xapp.on_stop(self._stopping)
            rehearse(self.controller.policy)
            tasks = [
                xapp.supervise("nodes", self._nodes.run),
                xapp.supervise("tick", self._tick),
                xapp.supervise("policy", self._watch_policy),
                xapp.supervise("state", self._actuator.state.run),
            ]
            if settings.stats is not None:
                tasks.append(xapp.supervise("stats", partial(self._save_stats, settings.stats)))
            if settings.forecasts.address is not None:
                follow = partial(follow_forecasts, settings.forecasts, xapp.clock, self._forecast)
                tasks.append(xapp.supervise("forecasts", follow))
            if settings.http.listen:
                ModeServer(self._mode, self._switched, self._blocking).add_routes(xapp.http)
                runbooks.add_routes(xapp.http)
                log = settings.decision_log.path
                LogServer(log, self._identity, self._blocking).add_routes(xapp.http)
            if settings.http.listen and settings.live.max_viewers > 0:
                self._live.add_routes(xapp.http)
                xapp.on_stop(self._live.close)
                tasks.append(xapp.supervise("live page", self._live.run))
            xapp.readiness.require("nodes", self._roles)
            xapp.announce_ready(**addresses)
            await asyncio.gather(*tasks)

    def enable(self) -> None:
        """Begin to act, if the controller only observes so far."""
        if not self.controller.acting:
            self.controller.enable()
            self._xapp.log.info("acting")

    def _roles(self) -> Condition:
        """The role at each node, for readiness; a standby is ready, a duplicate is not."""
        ownerships = [node.ownership for node in self.controller.nodes.values()]
        roles = Counter(ownership.detail() for ownership in ownerships)
        parts = [f"{role}: {count}" for role, count in sorted(roles.items())]
        alone = all(ownership.role is not Role.DUPLICATE for ownership in ownerships)
        return Condition(alone, f"{self._identity}; " + (", ".join(parts) or "no nodes"))

    def _nothing_to_watch(self) -> str | None:
        """Why no indication is expected: every node is left to other replicas."""
        nodes = self._xapp.gateway.nodes
        if not nodes or any(self._replica.watches(node.id) for node in nodes):
            return None
        return f"all {len(nodes)} nodes are left to other replicas"

    # ------------------------------------------------------------------- inputs

    def _node_event(self, event: NodeEvent) -> None:
        if isinstance(event, NodeUp):
            self._actuator.controls.forget(event.node_id)
        self._actuator.perform(self.controller.on_node_event(self._now_us(), event))

    def _indication(self, indication: Indication) -> None:
        now_us = self._now_us()
        try:
            report = report_of(indication)
        except ServiceModelError as error:
            self._xapp.metrics.count_bad_message(indication.node_id, indication.oid)
            self._xapp.log.debug("bad message", node=indication.node_id, error=str(error))
            return
        if isinstance(report, PipelineReport) and self._mode.mode is Mode.ACT:
            self._actuator.controls.probe(report)
        actions = self.controller.on_indication(now_us, report)
        self._perform(actions, now_us, indication.collected_at_us)
        if indication.oid == RLC_OID:
            self.latencies.indication.add(indication.handled_at_us - indication.collected_at_us)
            self.latencies.handling.add(self._now_us() - now_us)
            if self._enable_at_us is None and not self.controller.acting:
                self._enable_at_us = now_us + int(self._settings.observe_for_s * 1e6)

    def _forecast(self, report: ForecastReport) -> None:
        self._actuator.perform(self.controller.on_indication(self._now_us(), report))

    def _answered(self, now_us: int, control_id: int, outcome: Outcome) -> None:
        if self._traces is not None:
            self._traces.answered(control_id, outcome, now_us)
        self._perform(self.controller.on_control_answer(now_us, control_id, outcome), now_us)

    def _perform(
        self, actions: Sequence[Action], began_us: int, collected_at_us: int | None = None
    ) -> None:
        """Carry out actions; ``began_us``: of handling what led to them, ``collected_at_us``: of
        the report, if it was one."""
        self._actuator.perform(actions)
        if self._traces is not None:
            self._traces.sent(actions, began_us, self._now_us(), collected_at_us)

    async def _tick(self) -> None:
        while True:
            await self._xapp.clock.sleep(2 * TICK_US / 1e6)
            now_us = self._now_us()
            if self._enable_at_us is not None and now_us >= self._enable_at_us:
                self._enable_at_us = None
                self.enable()
            self.controller.gateway_connected = self._xapp.metrics.connected
            self._perform(self.controller.on_tick(now_us), now_us)

    async def _watch_policy(self) -> None:
        while True:
            await self._xapp.clock.sleep(self._settings.policy_poll_s)
            if await self._blocking(self._mode.reload):
                self._switched()
            policy = await self._blocking(self._policy.reload)
            if policy is None:
                continue
            resubscribe = policy.reports != self.controller.policy.reports
            self._file_policy = policy
            self._actuator.perform(self.controller.set_policy(self._now_us(), self._in_force()))
            if resubscribe:
                self._nodes.resubscribe()
            self._actuator.records.write(
                {"event": "policy", "at_us": self._now_us(), "rules": len(policy.rules)}
            )

    async def _blocking(self, call: Callable[[], T]) -> T:
        """What a call returns, off the loop: a file may be large, and a file system may hang."""
        found: list[T] = []
        await self._off_loop(lambda: found.append(call()))
        return found[0]

    def _switched(self) -> None:
        """The mode in force has changed."""
        self._perform(self.controller.set_mode(self._now_us(), self._mode.mode), self._now_us())
        document = self._mode.document()
        self._xapp.log.info("mode", **document)
        self._actuator.records.write({"event": "mode", "at_us": self._now_us(), **document})

    # -------------------------------------------------------------------- files

    async def _save_stats(self, path: Path) -> None:
        while True:
            await self._xapp.clock.sleep(_STATS_PERIOD_S)
            # Off the loop: percentiles of many thousand values, and a file.
            await self._off_loop(partial(self._write_stats, path))

    def _write_stats(self, path: Path) -> None:
        # The last write, at a stop, may overlap with an earlier one.
        with self._writing_stats:
            try:
                write_document(path, self.latencies.summary(), durable=False)
            except OSError as error:
                self._xapp.log.warning("stats not written", error=str(error))

    def _write_last(self) -> None:
        self._actuator.records.flush()
        summary = self.latencies.summary()
        self._actuator.records.write({"event": "stats", "at_us": self._now_us(), **summary})
        if self._settings.stats is not None:
            self._write_stats(self._settings.stats)
        self._actuator.state.write()

    async def _stopping(self) -> None:
        if self._settings.on_stop == "release":
            self._actuator.perform(self.controller.release_all(self._now_us()))
            await self._actuator.controls.drain(_RELEASE_S)
        self._actuator.perform(self.controller.give_up(self._now_us()))
        await self._actuator.controls.drain(_RELEASE_S)

    async def _flush_traces(self) -> None:
        if self._provider is not None:
            await self._off_loop(partial(close_provider, self._provider))

    def _now_us(self) -> int:
        # The wall clock may be set back; the core's time must not go back.
        self._newest_us = max(self._newest_us, self._xapp.clock.now_us())
        return self._newest_us


def _identity(now_us: int) -> str:
    """Host name and start time."""
    host = socket.gethostname().encode("ascii", "replace").decode()
    return f"{host[:40]}/{now_us}"
