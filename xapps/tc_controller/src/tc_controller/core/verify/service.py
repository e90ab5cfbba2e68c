"""What the bearers of a node, slice and rule get: sampled sojourns, delays, drops, compliance.

Nothing is done per report: sojourns are taken from the windows each half second, every 10 ms of
node time a sample; the rest from the newest reports once a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.inputs import QueueStatus
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.inventory import FlowView
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.quality import Requirement, Score, score
from tc_controller.core.verify.compliance import Compliance
from tc_controller.core.verify.distribution import (
    BUCKETS,
    EDGES_US,
    MINUTES,
    Counts,
    MinuteRing,
    percentile_us,
)
from tc_controller.core.verify.kinds import Kind, KindMeter, Mean, Passed
from tc_controller.core.verify.unresponsive import Loss, QueuePackets, Unresponsive, loss_of

#: Period of taking samples from the windows, if they hold as much.
SAMPLE_US: Final = 500_000
#: Between two samples of a bearer: about a HARQ round trip, so that they are not the same packet.
_APART_MS: Final = 10
#: States in which a bearer is served, so that its delays count.
_SERVED: Final = (
    Compliance.MET,
    Compliance.AT_RISK,
    Compliance.VIOLATED,
    Compliance.INFEASIBLE,
)
_DROPPED, _FORWARDED, _SENT_BITS, _SATURATED_S = range(4)


class ServiceKey(NamedTuple):
    """Bearers that are counted together."""

    node_id: str
    #: Name in the policy; "" for none.
    slice_name: str
    rule: str


@dataclass(frozen=True, slots=True)
class Quality:
    """A score with the number of samples that it comes from."""

    samples: int
    #: ``None``: too few samples.
    score: Score | None


def quality_of(
    requirement: Requirement,
    counts: Counts,
    loss_ratio: float | None = None,
    throughput_mbps: float | None = None,
) -> Quality:
    """The score of a distribution of sojourns; none with fewer samples than are needed."""
    samples = int(counts.sum())
    if samples < requirement.least_samples:
        return Quality(samples, None)
    latency_us = {
        each.percentile: percentile_us(counts, each.percentile) or 0.0
        for each in requirement.latency
    }
    return Quality(samples, score(requirement, latency_us, loss_ratio, throughput_mbps))


@dataclass(slots=True)
class ServiceTotals:
    """Cumulative counts of one `ServiceKey`."""

    #: Sampled sojourns by bucket of `EDGES_US`, and their sum.
    sojourns: Counts = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))
    sojourn_sum_us: float = 0.0
    #: Mean delay in the pipeline and in the RLC, an observation per second and served bearer.
    pipeline_delay: Mean = field(default_factory=Mean)
    rlc_delay: Mean = field(default_factory=Mean)
    #: Packets dropped by queues and by policers, packets marked.
    queue_drops: int = 0
    policer_drops: int = 0
    marks: int = 0
    #: Seconds of bearers by state.
    compliance: Counter[Compliance] = field(default_factory=Counter)
    #: Samples of the last 15 minutes by bucket; `_DROPPED` and so on.
    recent_sojourns: MinuteRing = field(default_factory=lambda: MinuteRing((BUCKETS,)))
    recent: MinuteRing = field(default_factory=lambda: MinuteRing((4,)))
    #: The same: packets of each kind, and their delays in pipeline and RLC together, µs.
    recent_kinds: MinuteRing = field(default_factory=lambda: MinuteRing((len(Kind), 2)))

    def observe(
        self,
        view: BearerView | None,
        state: Compliance,
        now_us: int,
        delay_us: float | None,
        saturated_kbps: float | None,
    ) -> None:
        """Add the last second of a bearer.

        Args:
            view: ``None`` while no RLC report has it.
            state: its compliance.
            now_us: controller time.
            delay_us: mean in the pipeline, of `PacketMeter.add`.
            saturated_kbps: its rate if it had packets queued all the time.
        """
        self.compliance[state] += 1
        if view is None or state not in _SERVED:
            return
        self.rlc_delay.observe(view.mean_us)
        if delay_us is not None:
            self.pipeline_delay.observe(delay_us)
        if saturated_kbps is not None:
            recent = self.recent.now(now_us)
            recent[_SENT_BITS] += round(saturated_kbps * 1000)
            recent[_SATURATED_S] += 1

    def delays_by_kind(self, minutes: int, now_us: int) -> dict[Kind, Mean]:
        """Mean delays over a window; a kind without packets is absent."""
        rows = self.recent_kinds.over(minutes, now_us).tolist()
        means = zip(Kind, (Mean(*row) for row in rows), strict=True)
        return {kind: mean for kind, mean in means if mean.count}

    def quality(self, requirement: Requirement, minutes: int, now_us: int) -> Quality:
        """The score over a window."""
        counts = self.recent_sojourns.over(minutes, now_us)
        dropped, forwarded, sent_bits, saturated_s = self.recent.over(minutes, now_us).tolist()
        packets = dropped + forwarded
        return quality_of(
            requirement,
            counts,
            dropped / packets if packets else None,
            sent_bits / saturated_s / 1e6 if saturated_s else None,
        )


class ServiceMeter:
    """Samples the windows of one node.

    Args:
        windows: of the node; every change of its slots comes by `assign`.
        period_ms: of the RLC reports.
    """

    def __init__(self, windows: RlcWindows, period_ms: int) -> None:
        self._windows = windows
        self._stride = max(1, _APART_MS // period_ms)
        #: Reports looked at.
        self._taken = 0
        self._totals: list[ServiceTotals] = []
        #: Index in ``_totals`` of the bearer of a slot; -1: not counted.
        self._of_slot: NDArray[np.intp] = np.zeros(0, np.intp)
        self._by_slot = MinuteRing((0, BUCKETS), np.int32)

    def assign(self, slot: int, totals: ServiceTotals | None, *, new: bool = False) -> None:
        """Count a slot with others from now on, or not at all; ``new``: it is another bearer's."""
        self._fit()
        if new:
            self._by_slot.planes[:, slot] = 0
        if totals is None:
            self._of_slot[slot] = -1
            return
        known = (index for index, each in enumerate(self._totals) if each is totals)
        index = next(known, len(self._totals))
        if index == len(self._totals):
            self._totals.append(totals)
        self._of_slot[slot] = index

    def sample(self, now_us: int) -> None:
        """Take the samples of the reports since the last call, as far as the windows hold them."""
        self._fit()
        windows, stride = self._windows, self._stride
        slots, values = windows.samples(self._taken, stride)
        self._taken = windows.reports
        if not len(slots) or not self._totals:
            return
        counted = self._of_slot[slots] >= 0
        slots, values = slots[counted], values[counted]
        places = slots * BUCKETS + np.searchsorted(EDGES_US, values, side="left")
        counts = np.bincount(places, minlength=windows.capacity * BUCKETS)
        by_slot = counts.reshape(windows.capacity, BUCKETS)
        self._by_slot.now(now_us)[:] += by_slot.astype(np.int32)
        sums_us = np.bincount(slots, weights=values, minlength=windows.capacity)
        for index, totals in enumerate(self._totals):
            members = self._of_slot == index
            added = by_slot[members].sum(axis=0)
            totals.sojourns += added
            totals.sojourn_sum_us += float(sums_us[members].sum())
            totals.recent_sojourns.now(now_us)[:] += added

    def recent(self, slot: int, now_us: int) -> Counts:
        """Samples of one bearer over the last 15 minutes, by bucket."""
        self._fit()
        self._by_slot.now(now_us)
        counts: Counts = self._by_slot.planes[:, slot].sum(axis=0, dtype=np.int64)
        return counts

    def recent_percentiles_us(self, percentile: float, now_us: int) -> NDArray[np.float64]:
        """A percentile of each slot over the last 15 minutes, upper edge of its bucket, µs; 0
        without samples."""
        self._fit()
        cumulative = self._by_slot.over(MINUTES, now_us).cumsum(axis=1)
        total = cumulative[:, -1]
        above = cumulative < (percentile / 100.0 * total)[:, np.newaxis]
        edges_us = np.append(EDGES_US, EDGES_US[-1])[above.sum(axis=1)]
        return np.where(total > 0, edges_us, 0.0)

    def _fit(self) -> None:
        extra = self._windows.capacity - self._of_slot.size
        if extra > 0:
            self._of_slot = np.pad(self._of_slot, (0, extra), constant_values=-1)
            self._by_slot.planes = np.pad(self._by_slot.planes, ((0, 0), (0, extra), (0, 0)))


_Counts = tuple[int, int, int, int]
_NONE: Final[_Counts] = (0, 0, 0, 0)


def _counts(queue: QueueStatus) -> _Counts:
    """Packets forwarded, dropped and marked and bytes forwarded, cumulative."""
    return (
        queue.forwarded_packets,
        queue.dropped_packets,
        queue.marked_packets,
        queue.forwarded_bytes,
    )


class PacketMeter:
    """Counts the packets of one bearer from its status reports, once a second."""

    __slots__ = (
        "_at_us",
        "_kinds",
        "_queues",
        "_revision",
        "_seen",
        "_total",
        "_unresponsive",
        "by_kind",
        "passed",
        "span_s",
    )

    def __init__(self) -> None:
        #: Last status: node time, revision, packets dropped, and per queue packets
        #: forwarded, dropped and marked and bytes forwarded.
        self._at_us = 0
        self._revision: int | None = None
        self._total = 0
        self._queues: dict[int, _Counts] = {}
        self._unresponsive = Unresponsive()
        #: Revision of the newest status.
        self._seen: int | None = None
        self._kinds = KindMeter()
        #: Packets of the last second of each queue with flows that do not back off.
        self.passed: dict[int, QueuePackets] = {}
        self.span_s = 0.0
        #: The same: delays in front of the radio by kind of packet; empty without an inventory.
        self.by_kind: dict[Kind, Mean] = {}

    def see(self, pipeline: PipelineView) -> None:
        """A status: counting begins with the first; another revision than before took effect."""
        if pipeline.revision == self._seen:
            return
        if self._seen is None:
            self._queues = {queue.id: _counts(queue) for queue in pipeline.queues}
        else:
            self._kinds.took_effect(pipeline.collected_at_us)
        self._seen = pipeline.revision

    def add(
        self,
        pipeline: PipelineView,
        flows: FlowView | None,
        totals: ServiceTotals,
        now_us: int,
        rlc_us: float,
    ) -> float | None:
        """Add what the newest status has more than the last one; ``rlc_us`` is the mean delay in
        the RLC. Returns the mean delay of the packets forwarded meanwhile in the pipeline, µs,
        ``None`` without any."""
        first, same = self._revision is None, self._revision == pipeline.revision
        sparse = {queue.id for queue in pipeline.ungreedy_queues}
        dropped = forwarded = waited_us = 0
        passed: dict[int, QueuePackets] = {}
        waits: list[Passed] = []
        for queue in pipeline.queues:
            now = _counts(queue)
            # A status leaves out queues without a backlog and without traffic since the last one:
            # what is known of these stays.
            before = self._queues.get(queue.id, now if first and self._seen is None else _NONE)
            self._queues[queue.id] = now
            if now[0] < before[0]:
                before = _NONE
            sent, lost = now[0] - before[0], max(0, now[1] - before[1])
            forwarded, dropped = forwarded + sent, dropped + lost
            totals.marks += max(0, now[2] - before[2])
            # Without packets in the last 100 ms there is no mean.
            wait_us = queue.mean_sojourn_us or queue.last_sojourn_us
            waited_us += sent * wait_us
            waits.append(Passed(queue.id, sent, wait_us))
            if sent or lost:
                count = 1 if flows is None else flows.in_queue(queue.id, len(pipeline.queues))
                sent_bytes = max(0, now[3] - before[3])
                passed[queue.id] = QueuePackets(sent, lost, sent_bytes, wait_us, count)
        at_us, span_us = pipeline.collected_at_us, pipeline.collected_at_us - self._at_us
        self.by_kind = (
            {} if flows is None else self._kinds.add(waits, flows, rlc_us, at_us, span_us)
        )
        kinds = totals.recent_kinds.now(now_us)
        for index, kind in enumerate(Kind):
            mean = self.by_kind.get(kind, Mean())
            kinds[index] += (mean.count, round(mean.sum_us))
        every = 0 if first else max(0, pipeline.dropped_packets - self._total)
        self._revision, self._total = pipeline.revision, pipeline.dropped_packets
        if not same:
            # A queue that was removed took its count along: what is missing was not policed.
            dropped = max(dropped, every)
        totals.queue_drops += dropped
        totals.policer_drops += max(0, every - dropped)
        self.span_s = span_us / 1e6
        self._at_us = at_us
        unresponsive = self._unresponsive.add(passed, self.span_s)
        self.passed = {number: passed[number] for number in unresponsive}
        harmed = [each for number, each in passed.items() if number in sparse | unresponsive]
        recent = totals.recent.now(now_us)
        recent[_DROPPED] += sum(each.dropped for each in harmed)
        recent[_FORWARDED] += sum(each.forwarded for each in harmed)
        return waited_us / forwarded if forwarded else None

    def unresponsive_loss(self, of_interest: Callable[[int], bool] = lambda _: True) -> Loss | None:
        """Loss of the last second in the queues of interest, by id, whose flows do not back off;
        ``None`` without any."""
        among = [number for number in self.passed if of_interest(number)]
        return loss_of(self.passed, among, self.span_s)
