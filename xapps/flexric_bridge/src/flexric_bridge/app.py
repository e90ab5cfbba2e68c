"""The bridge as a program: puts its parts together, keeps its state, stops in good order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry
from ric.clock import Clock, SystemClock
from ric.health import Condition, HealthServer, Readiness
from ric.metrics import GatewayMetrics
from ric.settings import printable

from flexric_bridge.budget import Budget
from flexric_bridge.controls import Lane, Rate
from flexric_bridge.discovery import Discovery
from flexric_bridge.gateway import Gateway, GatewayServer
from flexric_bridge.hub import Hub
from flexric_bridge.metrics import BridgeCollector, BridgeState, Metrics
from flexric_bridge.nodes import NodeBook
from flexric_bridge.ric_state import RicState
from flexric_bridge.sdk import E2Node
from flexric_bridge.session import Session
from flexric_bridge.settings import BridgeSettings
from flexric_bridge.state_file import StateError, read_state, set_aside, write_state
from flexric_bridge.tc.messages import Answer, definition
from flexric_bridge.tc.warm_up import warm_up
from flexric_bridge.traffic_control import ServedNode, TrafficControl

_log = structlog.get_logger()

SAVE_S: Final = 1.0
LEASE_TICK_S: Final = 0.02
READINESS_S: Final = 0.25
RIC_PORTS: Final = ("36421", "36422")
"""Of FlexRIC's near-RT RIC, E2 and E42: of SCTP, but where TCP stands in for it."""
FREE_PORT: Final = 36431
AGAIN_S: Final = 1.0
"""After work that failed for want of forethought."""


class Bridge:
    """One running bridge; `clock` and `registry` are for tests."""

    def __init__(
        self,
        settings: BridgeSettings,
        *,
        clock: Clock | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self.settings = settings
        self.registry = registry or CollectorRegistry()
        self._clock = clock or SystemClock()
        budget = settings.budget
        self.budget = Budget(budget.requests, budget.reserve)
        self.metrics = Metrics()
        tc = settings.tc
        self.nodes = NodeBook(definition(tc.max_queues, tc.max_filters) if tc.v1 else None)
        self.session = Session(
            settings.ric,
            self.budget,
            self._clock,
            on_up=self._up,
            on_down=self._down,
            on_reports=self._reports,
            on_spent=self._changed,
        )
        self.hub = Hub(
            session=self.session,
            nodes=self.nodes,
            metrics=self.metrics,
            clock=self._clock,
            subscriptions=settings.subscriptions,
            freshness=settings.nodes,
        )
        self.discovery = Discovery(
            session=self.session,
            nodes=self.nodes,
            hub=self.hub,
            metrics=self.metrics,
            clock=self._clock,
            settings=settings.nodes,
            budget=self.budget,
            nodes_come_within_s=settings.ric.nodes_come_within_s,
        )
        rate = Rate(settings.controls.per_s, settings.controls.burst, self._clock)
        self.lane: Lane[Answer] = Lane()
        self.traffic = TrafficControl(
            session=self.session,
            nodes=self.nodes,
            hub=self.hub,
            metrics=self.metrics,
            clock=self._clock,
            budget=self.budget,
            rate=rate,
            settings=tc,
            on_change=self._changed,
        )
        self.nodes.on_went = self.traffic.node_gone
        self.gateway = Gateway(
            session=self.session,
            nodes=self.nodes,
            hub=self.hub,
            traffic=self.traffic,
            lane=self.lane,
            rate=rate,
            metrics=self.metrics,
            clock=self._clock,
        )
        self.readiness = _Readiness(self)
        self.address = ""
        """Where the gateway is, once running."""
        self.http_address = ""
        self._dirty = False
        self._saving = threading.Lock()
        self._saved_last = False
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        BridgeCollector(self.metrics, self._state(), self._clock, self.registry)

    # --------------------------------------------------------------------------- life

    def stop(self) -> None:
        """Begin a graceful stop."""
        self._stop.set()

    async def run(self, ready: Callable[[Bridge], None] = lambda _bridge: None) -> None:
        """Serve until stopped; `ready` is called once addresses are known.

        Raises `OSError` and `RuntimeError` when an address cannot be had, `SettingsError` for a
        certificate that cannot be read.
        """
        _log.info("starting", settings=printable(self.settings))
        self._load()
        health = HealthServer(self.registry, self.readiness)
        server = self._server()
        try:
            if self.settings.http.listen:
                self.http_address = await health.start(self.settings.http.listen)
            await warm_up()
            await server.start()
            listen = self.settings.door.listen
            self.address = (
                listen
                if listen.startswith("unix:")
                else f"{listen.rpartition(':')[0]}:{server.port}"
            )
            _log.info("E2 gateway", address=self.address, metrics=self.http_address)
            ready(self)
            self._supervise("session", self.session.run)
            self._supervise("silence", self.discovery.watch)
            self._supervise("nodes", self.discovery.look_around)
            self._supervise("controls", self.lane.work)
            self._supervise("leases", self._end_leases)
            self._supervise("state", self._keep_state)
            self._supervise("health", lambda: self._tell_health(server))
            await self._stop.wait()
        finally:
            await self._end(server)
            await health.stop()
        _log.info("stopped")

    def _server(self) -> GatewayServer:
        """The gateway's server, its address bound."""
        settings = self.settings
        listen = settings.door.listen
        at_ric = "" if listen.startswith("unix:") else listen.rpartition(":")[2]
        if at_ric not in RIC_PORTS:
            return GatewayServer(self.gateway, settings.door)
        why = (
            "where SCTP is carried over TCP (ric.preload), nearRT-RIC itself needs the TCP ports"
            f" {' and '.join(RIC_PORTS)}"
        )
        another = f"--listen {listen.rpartition(':')[0]}:{FREE_PORT}, and the same for xApps"
        if settings.ric.preload is not None:
            _log.warning("the gateway is at a port of the RIC", why=why, choose=another)
        try:
            return GatewayServer(self.gateway, settings.door)
        except RuntimeError as error:
            raise RuntimeError(
                f"door.listen: {listen} cannot be had; {why}: choose {another} ({error})"
            ) from error

    async def _end(self, server: GatewayServer) -> None:
        try:
            async with asyncio.timeout(self.settings.stop_timeout_s):
                await server.stop()
                await self.session.stop(self.hub.left_behind())
        except TimeoutError:
            _log.warning("stop took too long", limit_s=self.settings.stop_timeout_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.settings.state is not None:
            self._save(self.settings.state, self._kept(clean=True), last=True)

    def _supervise(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.get_running_loop().create_task(self._again(name, work), name=name)
        self._tasks.add(task)

    async def _again(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Work that must not end; what nobody thought of is told, and it goes on."""
        while True:
            try:
                await work()
            except Exception:
                _log.exception("task failed", task=name, again_in_s=AGAIN_S)
                await self._clock.sleep(AGAIN_S)
            else:
                return

    # ------------------------------------------------------------------------ session

    def _up(self, nodes: list[E2Node]) -> None:
        self.hub.session_up(nodes)
        task = asyncio.get_running_loop().create_task(self.traffic.listen_again())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _down(self, why: str) -> None:
        self.discovery.abandon("the session with the RIC ended")
        self.hub.session_down(why)

    def _reports(self, block: bytes) -> None:
        self.hub.on_reports(block)

    async def _end_leases(self) -> None:
        while True:
            await self._clock.sleep(LEASE_TICK_S)
            for served in self.traffic.leases_over():
                await self.lane.run(None, partial(self._end_lease, served), _nothing)

    async def _end_lease(self, served: ServedNode) -> Answer:
        await self.traffic.end_lease(served)
        return _nothing()

    async def _tell_health(self, server: GatewayServer) -> None:
        while True:
            await server.set_ready(self.readiness.ready)
            await self._clock.sleep(READINESS_S)

    # -------------------------------------------------------------------------- state

    def _changed(self) -> None:
        self._dirty = True

    def _load(self) -> None:
        path = self.settings.state
        if path is None:
            return
        try:
            document = read_state(path)
            if document is None:
                return
            ric = document.get("ric")
            if ric == self.settings.ric.address:
                self.budget.load(document.get("budget"))
            else:
                _log.info("state is of another RIC: its budget is not taken over", ric=ric)
            self.traffic.load(document.get("pipelines"))
        except (StateError, ValueError) as error:
            # Better to begin anew than not to begin.
            _log.warning("state unusable", error=str(error))
            with contextlib.suppress(OSError):
                _log.warning("state set aside", path=str(set_aside(path)))

    async def _keep_state(self) -> None:
        while True:
            await self._clock.sleep(SAVE_S)
            if self._dirty and self.settings.state is not None:
                self._dirty = False
                # Off the loop: a disk takes longer to sync than a report may wait.
                await asyncio.to_thread(self._save, self.settings.state, self._kept(clean=False))

    def _kept(self, *, clean: bool) -> dict[str, Any]:
        return {
            "ric": self.settings.ric.address,
            "budget": self.budget.to_json(clean=clean),
            "pipelines": self.traffic.to_json(),
        }

    def _save(self, path: Path, document: dict[str, Any], *, last: bool = False) -> None:
        with self._saving:
            if self._saved_last:
                return
            self._saved_last = last
            try:
                write_state(path, document)
            except OSError as error:
                _log.warning("state not kept", error=str(error))

    # ------------------------------------------------------------------------ metrics

    def _state(self) -> BridgeState:
        metrics, nodes, session, lane = self.metrics, self.nodes, self.session, self.lane
        return BridgeState(
            self.budget,
            {
                "up": ("1 while there is a session with the RIC.", lambda: float(session.up)),
                "nodes": ("E2 nodes connected.", lambda: float(len(nodes.messages()))),
                "subscriptions": ("RIC subscriptions.", lambda: float(self.hub.subscriptions)),
                "controls_waiting": ("Controls in line.", lambda: float(lane.length)),
            },
            {
                "restarts": (
                    "New sessions after one was lost, or for new nodes.",
                    "reason",
                    lambda: dict(session.restarts),
                ),
                "looks": ("Short sessions that look for nodes.", "outcome", lambda: metrics.looks),
                "controls_superseded": (
                    "Controls that a later one took the place of.",
                    "stage",
                    lambda: {"waiting": lane.superseded},
                ),
                "undone": (
                    "Transactions that failed on the way and were taken back.",
                    "node",
                    lambda: {
                        node_id: served.function.undone
                        for node_id, served in self.traffic.served.items()
                    },
                ),
            },
            {
                "ric_state": ("1 for the state that holds.", ("state",), self._ric_states),
                "tc_stub": (
                    "1 for a node whose TC function is not used: it only pretends.",
                    ("node",),
                    lambda: {(k.id,): 1.0 for k in nodes.known.values() if k.no_tc},
                ),
                "build_info": (
                    "The FlexRIC that the native module was built for.",
                    ("e2ap", "kpm", "s_nssai"),
                    self._build_info,
                ),
            },
        )

    def _ric_states(self) -> dict[tuple[str, ...], float]:
        return {(state.value,): float(state is self.session.state) for state in RicState}

    def _build_info(self) -> dict[tuple[str, ...], float]:
        versions = self.session.versions
        return {} if versions is None else {(versions.e2ap, versions.kpm, versions.s_nssai): 1.0}


class _Readiness(Readiness):
    """Ready means: a session with the RIC, a node, and reports where any are subscribed to."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(GatewayMetrics(), bridge._clock, bridge.settings.http.fresh_within_s)
        self._bridge = bridge

    def conditions(self) -> dict[str, Condition]:
        """How each condition stands now."""
        bridge = self._bridge
        there = len(bridge.nodes.messages())
        silent = bridge.hub.silent()
        return {
            "ric": Condition(
                bridge.session.up,
                f"{bridge.session.state.value}: {bridge.session.why}"
                if bridge.session.why
                else "session open",
            ),
            "nodes": Condition(there > 0, f"{there} connected"),
            "reports": Condition(not silent, f"{len(silent)} nodes are silent"),
        }


def _nothing() -> Answer:
    return Answer(True, b"")


async def serve(settings: BridgeSettings) -> None:
    """Run a bridge until SIGINT or SIGTERM; a second one stops at once."""
    bridge = Bridge(settings)
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()

    def on_signal(number: signal.Signals) -> None:
        _log.info("signal", name=number.name)
        if bridge._stop.is_set() and whole is not None:
            whole.cancel()
        bridge.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    await bridge.run(_say_ready)


def _say_ready(bridge: Bridge) -> None:
    line: dict[str, Any] = {
        "event": "ready",
        "listen": bridge.address,
        "metrics": bridge.http_address,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
