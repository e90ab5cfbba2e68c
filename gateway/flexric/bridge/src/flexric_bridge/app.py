"""The bridge as a program: builds its parts, stores its state, stops gracefully."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry
from ric.clock import Clock
from ric.errors import SettingsError
from ric.health import Condition
from ric.lifecycle import Service
from ric.state_file import StateFile, require_version

from flexric_bridge.budget import Budget
from flexric_bridge.collector import BridgeCollector
from flexric_bridge.controls import ControlQueue, Rate
from flexric_bridge.discovery import Discovery
from flexric_bridge.gateway import Gateway, GatewayServer
from flexric_bridge.hub import Hub
from flexric_bridge.limited import MEASURE_S
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import NodeRegistry
from flexric_bridge.sdk import E2Node
from flexric_bridge.session import Session
from flexric_bridge.settings import BridgeSettings
from flexric_bridge.tc.messages import Answer, definition
from flexric_bridge.tc.own_v1 import OwnV1
from flexric_bridge.tc.warm_up import warm_up
from flexric_bridge.traffic_control import ServedNode, TrafficControl

_log = structlog.get_logger()

SAVE_S: Final = 1.0
LEASE_TICK_S: Final = 0.02
READINESS_S: Final = 0.25
RIC_PORTS: Final = ("36421", "36422")
"""E2 and E42 ports of FlexRIC's near-RT RIC: SCTP, or TCP where TCP carries SCTP."""
FREE_PORT: Final = 36431
STATE_VERSION: Final = 1


class Bridge(Service[BridgeSettings]):
    """One running bridge; `clock` and `registry` are for tests."""

    def __init__(
        self,
        settings: BridgeSettings,
        *,
        clock: Clock | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        super().__init__("flexric-bridge", settings, registry=registry, clock=clock)
        budget = settings.budget
        self.budget = Budget(budget.requests, budget.reserve)
        self.metrics = Metrics()
        tc = settings.tc
        self.nodes = NodeRegistry(
            definition(tc.max_queues, tc.max_filters) if tc.v1 else None, settings.kpm.of_node
        )
        self.session = Session(
            settings.ric,
            self.budget,
            self.clock,
            on_up=self._up,
            on_down=self._down,
            on_reports=self._reports,
            on_spent=self._changed,
        )
        self.hub = Hub(
            session=self.session,
            nodes=self.nodes,
            metrics=self.metrics,
            clock=self.clock,
            subscriptions=settings.subscriptions,
            freshness=settings.nodes,
        )
        self.discovery = Discovery(
            session=self.session,
            nodes=self.nodes,
            hub=self.hub,
            metrics=self.metrics,
            clock=self.clock,
            settings=settings.nodes,
            budget=self.budget,
            nodes_come_within_s=settings.ric.nodes_come_within_s,
        )
        rate = Rate(settings.controls.per_s, settings.controls.burst, self.clock)
        self.lane: ControlQueue[Answer] = ControlQueue()
        self.traffic = TrafficControl(
            session=self.session,
            nodes=self.nodes,
            hub=self.hub,
            metrics=self.metrics,
            clock=self.clock,
            budget=self.budget,
            rate=rate,
            settings=tc,
            on_change=self._changed,
        )
        own_v1 = OwnV1(session=self.session, hub=self.hub, budget=self.budget, rate=rate)
        self.nodes.on_disconnected = self.traffic.node_gone
        self.gateway = Gateway(
            session=self.session,
            registry=self.nodes,
            hub=self.hub,
            traffic=self.traffic,
            own_v1=own_v1,
            lane=self.lane,
            rate=rate,
            metrics=self.metrics,
            clock=self.clock,
        )
        self.readiness.require("ric", self._ric_condition)
        self.readiness.require("nodes", self._nodes_condition)
        self.readiness.require("reports", self._reports_condition)
        self.address = ""
        """Address of the gateway, once running."""
        self.server: GatewayServer
        """Once running."""
        self._dirty = False
        self._file = StateFile(settings.state, self.registry)
        self.registry.register(
            BridgeCollector(
                self.budget,
                self.session,
                self.nodes,
                self.hub,
                self.lane,
                self.traffic,
                self.metrics,
                self.clock,
            )
        )

    # --------------------------------------------------------------------------- life

    async def run(self, on_ready: Callable[[Bridge], None] = lambda _: None) -> None:
        """Serve until stopped; `on_ready` is called once addresses are known.

        Raises `OSError` or `SettingsError` for an address or a certificate that cannot be used.
        """
        self._file.restore(self._load)
        server = self.server = self._server()

        async def main() -> None:
            await warm_up()
            await server.start()
            self.on_stop(lambda: self.session.stop(self.hub.undeletable()))
            self.on_stop(server.stop)
            listen = self.settings.server.listen
            host = listen.rpartition(":")[0]
            self.address = listen if listen.startswith("unix:") else f"{host}:{server.port}"
            _log.info("E2 gateway", address=self.address, metrics=self.http_address)
            on_ready(self)
            self.supervise("session", self.session.run)
            self.supervise("silence", self.discovery.watch)
            self.supervise("nodes", self.discovery.query_regularly)
            self.supervise("controls", self.lane.work)
            self.supervise("leases", self._end_leases)
            self.supervise("state", self._save_state)
            self.supervise("load", lambda: self._measure_load(server))
            self.supervise("health", lambda: self._publish_health(server))

        try:
            await self.run_tasks(main)
        finally:
            self._file.save(self._document(clean=True), last=True)

    def _server(self) -> GatewayServer:
        """The gateway's server, its address bound."""
        settings = self.settings
        listen = settings.server.listen
        at_ric = "" if listen.startswith("unix:") else listen.rpartition(":")[2]
        if at_ric not in RIC_PORTS:
            return GatewayServer(self.gateway, settings.server, self.security)
        why = (
            "where SCTP is carried over TCP (ric.preload), nearRT-RIC itself needs the TCP ports"
            f" {' and '.join(RIC_PORTS)}"
        )
        another = f"--listen {listen.rpartition(':')[0]}:{FREE_PORT}, and the same for xApps"
        if settings.ric.preload is not None:
            _log.warning("the gateway listens on a port of the RIC", why=why, choose=another)
        try:
            return GatewayServer(self.gateway, settings.server, self.security)
        except SettingsError as error:
            raise SettingsError([f"{error}; {why}: choose {another}"]) from None

    # ------------------------------------------------------------------------ session

    def _up(self, nodes: list[E2Node]) -> None:
        self.hub.session_up(nodes)
        self.supervise("pipelines", self.traffic.resume_supervision)

    def _down(self, why: str) -> None:
        self.discovery.abandon("the session with the RIC ended")
        self.hub.session_down(why)

    def _reports(self, block: bytes) -> None:
        self.hub.on_reports(block)

    async def _end_leases(self) -> None:
        while True:
            await self.clock.sleep(LEASE_TICK_S)
            for served in self.traffic.leases_over():
                await self.lane.run(None, partial(self._end_lease, served), _nothing)

    async def _end_lease(self, served: ServedNode) -> Answer:
        await self.traffic.end_lease(served)
        return _nothing()

    async def _publish_health(self, server: GatewayServer) -> None:
        while True:
            await server.set_ready(self.readiness.ready)
            await self.clock.sleep(READINESS_S)

    async def _measure_load(self, server: GatewayServer) -> None:
        while True:
            await self.clock.sleep(MEASURE_S)
            server.load.measure()

    # -------------------------------------------------------------------------- state

    def _changed(self) -> None:
        self._dirty = True

    def _load(self, document: dict[str, Any]) -> None:
        require_version(document, STATE_VERSION)
        ric = document.get("ric")
        if ric == self.settings.ric.address:
            self.budget.load(document.get("budget"))
        else:
            _log.info("the state file is for another RIC; its request count is ignored", ric=ric)
        self.traffic.load(document.get("pipelines"))

    async def _save_state(self) -> None:
        while True:
            await self.clock.sleep(SAVE_S)
            if self._dirty:
                self._dirty = False
                # In a thread: a sync of the disk takes longer than a report may wait.
                saved = await asyncio.to_thread(self._file.save, self._document(clean=False))
                self._dirty |= not saved

    def _document(self, *, clean: bool) -> dict[str, Any]:
        return {
            "version": STATE_VERSION,
            "ric": self.settings.ric.address,
            "budget": self.budget.to_json(clean=clean),
            "pipelines": self.traffic.to_json(),
        }

    # ---------------------------------------------------------------------- readiness

    def _ric_condition(self) -> Condition:
        session = self.session
        detail = f"{session.state.value}: {session.why}" if session.why else "session open"
        return Condition(session.up, detail)

    def _nodes_condition(self) -> Condition:
        count = len(self.nodes.messages())
        return Condition(count > 0, f"{count} connected")

    def _reports_condition(self) -> Condition:
        silent = self.hub.freshness.silent()
        return Condition(not silent, f"{len(silent)} nodes are silent")


def _nothing() -> Answer:
    return Answer(True, b"")
