"""The status report of a bearer's pipeline, reduced to what decisions need."""

from __future__ import annotations

from collections.abc import Sequence

from tc_controller.core.inputs import PipelineStatus, QueueStatus


class PipelineView:
    """One ``PipelineStatus``, reduced. Only a few of many reports are looked at more closely, so
    what is not compared with each report is computed when asked for.

    Args:
        collected_at_us: node time of the report.
        status: the report.
        used: the queues in which the inventory has ungreedy flows; ``None`` without flows.
    """

    __slots__ = ("_status", "_used", "collected_at_us")

    def __init__(
        self, collected_at_us: int, status: PipelineStatus, used: Sequence[int] | None
    ) -> None:
        self.collected_at_us = collected_at_us
        self._status = status
        self._used = used

    @property
    def ungreedy_sojourn_us(self) -> float:
        """Sojourn of ungreedy flows in the pipeline, µs."""
        return float(self._status.ungreedy_sojourn_us(self._used))

    @property
    def qos(self) -> tuple[Sequence[int], tuple[int, int | None] | None]:
        """5QIs and S-NSSAI (SST, SD) of what the bearer carries."""
        return self._status.qos

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
    def qos_flows(self) -> tuple[int, list[int]] | None:
        """Revision of the UE's mapping of QoS flows, and QFIs that the bearer carries; ``None``
        where they cannot move."""
        return self._status.qos_flows

    @property
    def queues(self) -> Sequence[QueueStatus]:
        """All queues."""
        return self._status.queues

    @property
    def ungreedy_queues(self) -> Sequence[QueueStatus]:
        """The queues that ungreedy flows use."""
        return self._status.ungreedy_queues(self._used)

    @property
    def backlog_bytes(self) -> int:
        """Backlog of all queues."""
        return sum(queue.backlog_bytes for queue in self.queues)

    @property
    def ungreedy_backlog_bytes(self) -> int:
        """Backlog of the queues that ungreedy flows use."""
        return sum(queue.backlog_bytes for queue in self.ungreedy_queues)

    @property
    def dropped_packets(self) -> int:
        """Cumulative."""
        return self._status.dropped_packets

    @property
    def marked_packets(self) -> int:
        """Cumulative."""
        return sum(queue.marked_packets for queue in self.queues)
