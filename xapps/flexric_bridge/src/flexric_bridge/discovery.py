"""Finding nodes that came after the session was opened, and nodes that are back.

FlexRIC tells an xApp the nodes once, when it connects. So now and then a second child connects,
asks for the list, and leaves. That takes none of the RIC's requests and subscribes to nothing, so
its leaving harms nobody; but the RIC does not survive an answer above 32 KiB, so with many nodes
nobody asks. Nor does it survive the question while it has no node at all; where all are away, a
look waits until they should be back, and what it may cost is a RIC that serves nobody.

What the look tells:
- a node of the session that was away is there again: it is subscribed to again, in the session;
- a node is missing: it is gone;
- a node is new: a new session has to be opened, which takes two requests for each subscription.
  That waits while a node with subscriptions is away, for the RIC would not survive our leaving
  then.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from ric.clock import Clock

from flexric_bridge.absence import Absences
from flexric_bridge.budget import Budget
from flexric_bridge.child_process import ChildLost, ChildProcess
from flexric_bridge.hub import Hub
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import NodeBook
from flexric_bridge.sdk import E2Node, SdkError
from flexric_bridge.session import Session
from flexric_bridge.settings import NodeSettings

_log = structlog.get_logger()

ANSWER_BYTES: Final = 32 * 1024
"""Above this the RIC's list of nodes ends the RIC."""
MAX_SESSIONS: Final = 60_000
"""The RIC numbers sessions with 16 bits as well."""
CHECK_S: Final = 0.25


class Discovery:
    """See the module. `watch` and `look_around` must be running."""

    def __init__(
        self,
        *,
        session: Session,
        nodes: NodeBook,
        hub: Hub,
        metrics: Metrics,
        clock: Clock,
        settings: NodeSettings,
        budget: Budget,
        nodes_come_within_s: float,
    ) -> None:
        self._session = session
        self._nodes = nodes
        self._hub = hub
        self._metrics = metrics
        self._clock = clock
        self._settings = settings
        self._budget = budget
        self._nodes_come_within_s = nodes_come_within_s
        self._wake = asyncio.Event()
        self._absences = Absences()
        self._looked_for: frozenset[str] = frozenset()
        self._looking: ChildProcess | None = None
        self._abandoning: asyncio.Task[None] | None = None
        self._told = ""

    # ------------------------------------------------------------------------ silence

    async def watch(self) -> None:
        """Find nodes that are silent, for ever."""
        while True:
            await self._clock.sleep(CHECK_S)
            if self._session.up:
                self.check()

    def check(self) -> None:
        """Take nodes that are silent for too long for gone."""
        silent = self._hub.silent()
        for known, seconds in silent.items():
            self._hub.node_went(known, f"no report for {seconds:.1f} s although subscribed")
        self._note()
        missing = self._missing()
        if missing - self._looked_for:
            self._wake.set()
        self._looked_for = missing

    # -------------------------------------------------------------------------- looks

    async def look_around(self) -> None:
        """Look for nodes now and then, for ever."""
        while True:
            delay_s, for_absent = self._next_s(), bool(self._missing())
            self._wake.clear()
            if delay_s is None:
                await self._wake.wait()
                continue
            waiting = [
                asyncio.ensure_future(self._clock.sleep(delay_s)),
                asyncio.ensure_future(self._wake.wait()),
            ]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()
            if not waiting[0].done() or (for_absent and not self._missing()):
                continue
            if self._session.up and self._may_look():
                await self.look()

    def _next_s(self) -> float | None:
        if self._session.up:
            # Without a session all nodes are away, and none of them for that.
            self._note()
        period_s = self._settings.look_again_s or None
        delay_s = self._absences.next_look_s(self._clock.monotonic_ns())
        if delay_s is None:
            return period_s
        if period_s is not None:
            delay_s = min(delay_s, period_s)
        if not self._nodes.messages():
            # A RIC without nodes does not survive a look.
            delay_s = max(delay_s, self._nodes_come_within_s)
        return delay_s

    def _note(self) -> None:
        now_ns = self._clock.monotonic_ns()
        for known in self._nodes.known.values():
            heard_ns = self._hub.heard_ns(known)
            self._absences.note(known.id, present=known.present, now_ns=now_ns, heard_ns=heard_ns)

    def _missing(self) -> frozenset[str]:
        """The nodes that are away though there is a session."""
        known = self._nodes.known.values() if self._session.up else ()
        return frozenset(node.id for node in known if not node.present)

    def _may_look(self) -> bool:
        """Whether the RIC survives another question."""
        known = list(self._nodes.known.values())
        total = sum(node.setup_bytes for node in known)
        room = total + max((node.setup_bytes for node in known), default=0)
        why = ""
        if len(known) >= self._settings.max_nodes:
            why = f"{len(known)} nodes are known; at most nodes.max_nodes may be"
        elif room > ANSWER_BYTES:
            why = f"the RIC's list is about {total} bytes; one node more may be above 32 KiB"
        elif self._budget.sessions >= MAX_SESSIONS:
            why = f"{self._budget.sessions} sessions in the RIC's life; it numbers no more"
        if why and why != self._told:
            _log.warning("nodes are not looked for", why=why)
        self._told = why
        return not why

    async def look(self) -> None:
        """Ask the RIC for its list once, and act on it."""
        try:
            nodes = await self._ask()
        except (ChildLost, SdkError, OSError) as error:
            self._metrics.looks["failed"] += 1
            _log.warning("the RIC did not tell its nodes", error=str(error))
            if isinstance(error, SdkError) and error.kind in {"timeout", "absent"}:
                self._session.distrust("the RIC does not answer a second session")
            return
        self._metrics.looks["answered"] += 1
        if self._session.up:
            await self._take(nodes)

    async def _ask(self) -> list[E2Node]:
        child = self._looking = self._session.new_child(_ignore, lambda: None)
        try:
            await child.start()
            await self._session.open_child(child)
            return await child.nodes()
        except SdkError as error:
            if error.kind == "no-nodes":
                return []
            raise
        finally:
            self._looking = None
            await child.close()

    def abandon(self, why: str) -> None:
        """End a look that is under way: the RIC it was meant for is gone, and the next one would
        not survive it before its nodes are there."""
        if self._looking is not None:
            self._abandoning = asyncio.create_task(self._looking.kill(why))

    async def _take(self, nodes: list[E2Node]) -> None:
        there = {node.id: node for node in nodes}
        for known in list(self._nodes.known.values()):
            if known.present and known.id not in there:
                self._hub.node_went(known, "not in the RIC's list")
            elif not known.present and known.id in there:
                _log.info("node is back", node=known.id)
                self._hub.node_restarted(known, there[known.id])
        new = [node_id for node_id in there if node_id not in self._nodes.known]
        if not new:
            return
        if left := self._hub.left_behind():
            _log.warning(
                "new nodes have to wait: a node with subscriptions is away, or the RIC is behind,"
                " and it would not survive a new session",
                new=new,
                subscriptions=len(left),
            )
            return
        _log.info("new nodes: opening another session", new=new)
        await self._session.reopen()


def _ignore(_block: bytes) -> None:
    """A look subscribes to nothing."""
