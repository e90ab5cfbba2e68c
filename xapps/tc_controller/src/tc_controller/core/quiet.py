"""Reports that need no decision: a controller handles many of them at once in little time.

Where reports can be had faster than they happen, as from a simulated gNB, the caller asks with
`QuietReports.quiet` which reports need no decision, gathers those, and gives them together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from tc_controller.core.actions import Action
from tc_controller.core.inputs import Indication, RlcReport, RlcReports
from tc_controller.core.node.node import ANY_WAIT_US, Node

#: Period at which renewals, verifications and time-outs are checked.
TICK_US: Final = 5_000


class Quiet(NamedTuple):
    """Which reports of a node need no decision."""

    #: Those before this, when the next timer may be due.
    until_us: int
    #: RLC reports of the bearers known without a head of line above this; negative: none.
    stop_above_us: int
    #: Whether status reports and flow inventories are among them; MAC reports are. Events are not:
    #: a pipeline that changes by itself shows in an event before it shows in a status.
    statuses: bool


class QuietReports(ABC):
    """A controller's handling of reports that need no decision."""

    nodes: dict[str, Node]
    _ticked_at_us: int
    #: The rule of a bearer depends on its flows.
    _rematch: bool

    @abstractmethod
    def on_indication(self, now_us: int, indication: Indication) -> list[Action]:
        """Handle a report; ``now_us`` is when its handling began."""

    @abstractmethod
    def _handle(self, node: Node, indication: Indication, now_us: int) -> list[Action]: ...

    @abstractmethod
    def _due_at_us(self) -> int: ...

    def quiet(self, node_id: str) -> Quiet:
        """How far reports of a node may be given together, see `on_quiet`; the other nodes must not
        report meanwhile."""
        node = self.nodes.get(node_id)
        if node is None:
            return Quiet(0, -1, statuses=False)
        due_us, tick_us = self._due_at_us(), self._ticked_at_us + TICK_US
        if not node.acts:
            return Quiet(max(due_us, tick_us), ANY_WAIT_US, statuses=True)
        stop_above_us = node.stop_above_us()
        # What ungreedy flows wait in the pipeline is part of a sojourn that may need a decision.
        settled = due_us >= tick_us and stop_above_us == ANY_WAIT_US and not self._rematch
        return Quiet(max(due_us, tick_us), stop_above_us, statuses=settled and node.settled())

    def on_quiet(
        self,
        node_id: str,
        now_us: Sequence[int],
        reports: RlcReports,
        others: Sequence[tuple[int, int, Indication]] = (),
    ) -> list[Action]:
        """Handle reports of a node that keep within `quiet`: with the same effect as one by one, in
        less time.

        Args:
            node_id: the node.
            now_us: when the handling of each of the RLC reports would begin.
            reports: RLC reports.
            others: each with the number of RLC reports before it and when its handling would begin.
        """
        actions: list[Action] = []
        node = self.nodes.get(node_id)
        if node is None or not node.follows(reports):
            done = 0
            for before, at_us, indication in others:
                actions += self._one_by_one(now_us, reports, done, before)
                actions += self.on_indication(at_us, indication)
                done = before
            return actions + self._one_by_one(now_us, reports, done, len(now_us))
        node.wait(reports)
        come_to = -1
        for before, at_us, indication in others:
            if before != come_to:
                come_to = before
                node.come_to(before)
            actions += self._handle(node, indication, at_us)
        node.come_to(len(now_us))
        if now_us:
            node.reported_at_us = now_us[-1]
        times_us = sorted([*now_us, *(at_us for _, at_us, _ in others)])
        while times_us and times_us[-1] - self._ticked_at_us >= TICK_US:
            self._ticked_at_us = times_us[bisect_left(times_us, self._ticked_at_us + TICK_US)]
        return actions

    def _one_by_one(
        self, now_us: Sequence[int], reports: RlcReports, begin: int, end: int
    ) -> list[Action]:
        actions: list[Action] = []
        for index in range(begin, end):
            collected_at_us = reports.collected_at_us[index]
            report = RlcReport(reports.node_id, collected_at_us, reports.bearers[index])
            actions += self.on_indication(now_us[index], report)
        return actions
