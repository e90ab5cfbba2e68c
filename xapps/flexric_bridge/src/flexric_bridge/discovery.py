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

from flexric_bridge.budget import Budget
from flexric_bridge.child_process import ChildLost
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
FIRST_LOOK_S: Final = 2.0
"""A node that has just gone is looked for after this, then after twice as long, and so on."""
LONGEST_S: Final = 120.0
CHECK_S: Final = 0.25
RELAPSE_S: Final = 10.0
"""A node that is silent again so soon after it was found is looked for more rarely."""


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
        self._delay_s = FIRST_LOOK_S
        self._found_ns = 0
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
        if silent:
            if (self._clock.monotonic_ns() - self._found_ns) / 1e9 > RELAPSE_S:
                self._delay_s = FIRST_LOOK_S
            self._wake.set()

    # -------------------------------------------------------------------------- looks

    async def look_around(self) -> None:
        """Look for nodes now and then, for ever."""
        while True:
            delay_s = self._next_s()
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
            if waiting[0].done() and self._session.up and self._may_look():
                await self.look()

    def _next_s(self) -> float | None:
        period_s = self._settings.look_again_s
        if not self._missing():
            return period_s or None
        delay_s = self._delay_s
        self._delay_s = min(2 * delay_s, max(period_s, LONGEST_S))
        if not self._nodes.messages():
            # A RIC without nodes does not survive a look.
            delay_s = max(delay_s, self._nodes_come_within_s)
        return delay_s

    def _missing(self) -> bool:
        return any(not known.present for known in self._nodes.known.values())

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
            if isinstance(error, SdkError) and error.kind == "timeout":
                self._session.distrust("the RIC does not answer a second session")
            return
        self._metrics.looks["answered"] += 1
        if self._session.up:
            await self._take(nodes)

    async def _ask(self) -> list[E2Node]:
        child = self._session.new_child(_ignore, lambda: None)
        try:
            await child.start()
            await self._session.open_child(child)
            return await child.nodes()
        finally:
            await child.close()

    async def _take(self, nodes: list[E2Node]) -> None:
        there = {node.id: node for node in nodes}
        for known in list(self._nodes.known.values()):
            if known.present and known.id not in there:
                self._hub.node_went(known, "not in the RIC's list")
            elif not known.present and known.id in there:
                _log.info("node is back", node=known.id)
                self._found_ns = self._clock.monotonic_ns()
                self._hub.node_restarted(known, there[known.id])
        new = [node_id for node_id in there if node_id not in self._nodes.known]
        if not new:
            return
        if left := self._hub.left_behind():
            _log.warning(
                "new nodes have to wait: a node with subscriptions is away, and the RIC would not"
                " survive a new session",
                new=new,
                subscriptions=len(left),
            )
            return
        _log.info("new nodes: opening another session", new=new)
        await self._session.reopen()


def _ignore(_block: bytes) -> None:
    """A look subscribes to nothing."""
