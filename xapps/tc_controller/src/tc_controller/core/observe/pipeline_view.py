"""The status report of a bearer's pipeline, reduced to what decisions need."""

from __future__ import annotations

from collections.abc import Sequence

from tc_controller.core.inputs import PipelineStatus, QueueStatus
from tc_controller.core.observe.inventory import FlowView


class PipelineView:
    """One ``PipelineStatus``, reduced. Only a few of many reports are looked at more closely, so
    what is not compared with each report is computed when asked for.

    Args:
        collected_at_us: node time of the report.
        status: the report.
        flows: maps flows to queues.
    """

    __slots__ = ("_queues", "_status", "_ungreedy", "collected_at_us", "ungreedy_sojourn_us")

    def __init__(
        self, collected_at_us: int, status: PipelineStatus, flows: FlowView | None
    ) -> None:
        self.collected_at_us = collected_at_us
        self._status = status
        self._queues = self._ungreedy = queues = status.queues
        longest_us = 0
        if queues:
            self._ungreedy = queues = _ungreedy_queues(queues, flows)
            for queue in queues:
                sojourn_us = queue.mean_sojourn_us
                if sojourn_us == 0 and queue.backlog_bytes > 0:
                    # A queue that forwards nothing has no mean over 100 ms; its last counts.
                    sojourn_us = queue.last_sojourn_us
                longest_us = max(longest_us, sojourn_us)
        #: Sojourn of ungreedy flows in the pipeline, µs.
        self.ungreedy_sojourn_us = float(longest_us)

    @property
    def revision(self) -> int:
        """Revision in force."""
        return self._status.revision

    @property
    def name(self) -> str:
        """Name of the pipeline in force."""
        return self._status.name

    @property
    def digest(self) -> int | None:
        """Digest of the pipeline in force; ``None`` if the RAN function does not report it."""
        return self._status.digest

    @property
    def safe(self) -> bool:
        """Whether it is the node's safe pipeline."""
        return self._status.safe

    @property
    def lease_left_ms(self) -> int | None:
        """Remaining lease."""
        return self._status.lease_left_ms

    @property
    def owner(self) -> str | None:
        """Controller that installed it, if it named itself."""
        return self._status.owner

    @property
    def by_default(self) -> tuple[int, int, int] | None:
        """Revision and rule of the node default that it comes from, and its age, ms."""
        return self._status.by_default

    @property
    def queues(self) -> Sequence[QueueStatus]:
        """All queues."""
        return self._queues

    @property
    def ungreedy_queues(self) -> Sequence[QueueStatus]:
        """The queues that ungreedy flows use."""
        return self._ungreedy

    @property
    def backlog_bytes(self) -> int:
        """Backlog of all queues."""
        return sum(queue.backlog_bytes for queue in self._queues)

    @property
    def ungreedy_backlog_bytes(self) -> int:
        """Backlog of the queues that ungreedy flows use."""
        return sum(queue.backlog_bytes for queue in self._ungreedy)

    @property
    def dropped_packets(self) -> int:
        """Cumulative."""
        return self._status.dropped_packets

    @property
    def marked_packets(self) -> int:
        """Cumulative."""
        return sum(queue.marked_packets for queue in self._queues)


def _ungreedy_queues(
    queues: Sequence[QueueStatus], flows: FlowView | None
) -> Sequence[QueueStatus]:
    """The queues that ungreedy flows use; the largest sojourn among them counts.

    The delay of a greedy flow in a queue of its own harms no other flow: its own congestion control
    built that queue. Without an inventory flows cannot be assigned to queues: one queue is shared
    by all; of several, the one that forwarded most is taken as the greedy flow's.
    """
    if flows is not None and flows.reported:
        used = flows.queues_of_ungreedy
        return [queue for queue in queues if queue.id in used]
    if len(queues) == 1:
        return queues
    busiest = max(queues, key=lambda queue: queue.forwarded_bytes)
    return [queue for queue in queues if queue is not busiest]
