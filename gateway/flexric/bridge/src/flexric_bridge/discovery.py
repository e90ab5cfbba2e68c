"""Finds nodes that connected after the session was opened, and nodes that reconnected.

FlexRIC lists its nodes to an xApp once, when the xApp connects. So at intervals a second child
connects, asks for the list and disconnects: a query. It costs none of the RIC's requests and has no
subscriptions, so its end is harmless; but the RIC aborts on an answer above 32 KiB, so with many
nodes there are no queries. It also aborts on the question while it has no node; where all nodes are
away, a query waits until they should be back. The child of the next query starts while that waits:
on a busy machine a start takes seconds.

What a query finds:
- a node of the session that was away is connected again: it is subscribed again, in the session;
- a node is missing: it is disconnected;
- a node is new: another session has to be opened, which costs two requests per subscription. That
  waits while a node with subscriptions is away, because the RIC aborts when we disconnect then.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

import structlog
from ric.clock import Clock

from flexric_bridge.absence import Absences
from flexric_bridge.budget import Budget
from flexric_bridge.child_process import ChildLost, ChildProcess
from flexric_bridge.hub import Hub
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import NodeRegistry
from flexric_bridge.sdk import E2Node, SdkError
from flexric_bridge.session import Session
from flexric_bridge.settings import NodeSettings

_log = structlog.get_logger()

ANSWER_BYTES: Final = 32 * 1024
"""The RIC aborts on a longer list of nodes."""
MAX_SESSIONS: Final = 60_000
"""The RIC numbers sessions with 16 bits."""
CHECK_S: Final = 0.25


@dataclass(eq=False, kw_only=True)
class Discovery:
    """See the module. `watch` and `query_regularly` must be running."""

    session: Session
    nodes: NodeRegistry
    hub: Hub
    metrics: Metrics
    clock: Clock
    settings: NodeSettings
    budget: Budget
    nodes_come_within_s: float
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _absences: Absences = field(default_factory=Absences)
    _known_missing: frozenset[str] = frozenset()
    _query_child: ChildProcess | None = None
    _starting: asyncio.Task[ChildProcess] | None = None
    """The child of the next query."""
    _abandoning: asyncio.Task[None] | None = None
    _last_warning: str = ""

    # ------------------------------------------------------------------------ silence

    async def watch(self) -> None:
        """Detect silent nodes, for ever."""
        while True:
            await self.clock.sleep(CHECK_S)
            if self.session.up:
                self.check()

    def check(self) -> None:
        """Treat nodes that have been silent for too long as disconnected."""
        silent = self.hub.freshness.silent()
        for known, seconds in silent.items():
            self.hub.node_disconnected(known, f"no report for {seconds:.1f} s although subscribed")
        self._update_presence()
        missing = self._missing()
        if missing != self._known_missing:
            self._wake.set()
        self._known_missing = missing

    # ------------------------------------------------------------------------ queries

    async def query_regularly(self) -> None:
        """Query the RIC for its nodes at intervals, for ever."""
        try:
            await self._query_regularly()
        finally:
            await self._discard_child()

    async def _query_regularly(self) -> None:
        while True:
            delay_s, for_absent = self._next_query_s(), bool(self._missing())
            self._wake.clear()
            if not for_absent:
                await self._discard_child()
            elif self._query_is_safe():
                self._start_child()
            if delay_s is None:
                await self._wake.wait()
                continue
            waiting = [
                asyncio.ensure_future(self.clock.sleep(delay_s)),
                asyncio.ensure_future(self._wake.wait()),
            ]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()
            if not waiting[0].done() or (for_absent and not self._missing()):
                continue
            if self.session.up and self._query_is_safe():
                await self.query()

    def _next_query_s(self) -> float | None:
        if self.session.up:
            # Without a session all nodes are away, but that is not their absence.
            self._update_presence()
        period_s = self.settings.query_period_s or None
        delay_s = self._absences.next_query_s(self.clock.monotonic_ns())
        if delay_s is None:
            return period_s
        if period_s is not None:
            delay_s = min(delay_s, period_s)
        if not self.nodes.messages():
            # A RIC without nodes aborts on a query.
            delay_s = max(delay_s, self.nodes_come_within_s)
        return delay_s

    def _update_presence(self) -> None:
        now_ns = self.clock.monotonic_ns()
        for known in self.nodes.known.values():
            last_report_ns = self.hub.last_report_ns(known)
            self._absences.update(
                known.id, present=known.present, now_ns=now_ns, last_report_ns=last_report_ns
            )

    def _missing(self) -> frozenset[str]:
        """The nodes that are away while there is a session."""
        known = self.nodes.known.values() if self.session.up else ()
        return frozenset(node.id for node in known if not node.present)

    def _query_is_safe(self) -> bool:
        """Whether the RIC survives another query."""
        known = list(self.nodes.known.values())
        total = sum(node.setup_bytes for node in known)
        room = total + max((node.setup_bytes for node in known), default=0)
        why = ""
        if len(known) >= self.settings.max_nodes:
            why = f"{len(known)} nodes are known; nodes.max_nodes allows no more"
        elif room > ANSWER_BYTES:
            why = f"the RIC's list has about {total} bytes; one more node may exceed 32 KiB"
        elif self.budget.sessions >= MAX_SESSIONS:
            why = f"{self.budget.sessions} sessions since the RIC started; it numbers no more"
        if why and why != self._last_warning:
            _log.warning("no node queries", why=why)
        self._last_warning = why
        return not why

    async def query(self) -> None:
        """Ask the RIC for its list of nodes once, and act on it."""
        try:
            nodes = await self._list_nodes()
        except (ChildLost, SdkError, OSError) as error:
            self.metrics.node_queries["failed"] += 1
            _log.warning("node query failed", error=str(error))
            if isinstance(error, SdkError) and error.kind in {"timeout", "absent"}:
                self.session.give_up_session("the RIC does not answer a second session")
            return
        self.metrics.node_queries["answered"] += 1
        if self.session.up:
            await self._apply(nodes)

    async def _list_nodes(self) -> list[E2Node]:
        child = self._query_child = await self._started_child()
        try:
            if not self.session.up:
                raise ChildLost("was not needed: the session with the RIC ended")
            await self.session.open_child(child)
            return await child.nodes()
        except SdkError as error:
            if error.kind == "no-nodes":
                return []
            raise
        finally:
            self._query_child = None
            await child.close()

    def _start_child(self) -> asyncio.Task[ChildProcess]:
        if self._starting is None:
            self._starting = asyncio.create_task(self._new_child(), name="child of a node query")
        return self._starting

    async def _new_child(self) -> ChildProcess:
        child = self.session.new_child(_ignore, lambda: None)
        try:
            await child.start()
            await child.load()
        except BaseException:
            await child.kill("a query does not need it")
            raise
        return child

    async def _started_child(self) -> ChildProcess:
        starting = self._start_child()
        try:
            return await starting
        finally:
            self._starting = None

    async def _discard_child(self) -> None:
        """End the child that started for a query, if there is one."""
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await starting.result().kill("no node is away")

    def abandon(self, why: str) -> None:
        """End a query that is under way: its RIC is gone, and the next one would abort on it before
        its nodes have connected."""
        if self._query_child is not None:
            self._abandoning = asyncio.create_task(self._query_child.kill(why))

    async def _apply(self, nodes: list[E2Node]) -> None:
        listed = {node.id: node for node in nodes}
        for known in list(self.nodes.known.values()):
            if known.present and known.id not in listed:
                self.hub.node_disconnected(known, "not in the RIC's list")
            elif not known.present and known.id in listed:
                _log.info("node reconnected", node=known.id)
                self.hub.node_restarted(known, listed[known.id])
        new = [node_id for node_id in listed if node_id not in self.nodes.known]
        if not new:
            return
        if left := self.hub.undeletable():
            _log.warning(
                "new nodes have to wait: a node with subscriptions is away or the RIC is behind,"
                " and it would abort on a new session",
                new=new,
                subscriptions=len(left),
            )
            return
        _log.info("new nodes: opening another session", new=new)
        await self.session.reopen()


def _ignore(_block: bytes) -> None:
    """A query has no subscriptions."""
