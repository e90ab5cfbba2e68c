"""What bearers get: samples, percentiles of 15 minutes, packets, the worst bearers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tc_controller.core.distribution import BUCKETS, EDGES_US, MinuteRing, percentile_us
from tc_controller.core.inputs import BearerKey
from tc_controller.core.rlc_windows import RlcWindows
from tc_controller.core.service import PacketMeter, ServiceMeter, ServiceTotals
from tc_controller.core.unresponsive import tcp_packets_per_s
from tc_controller.worst_bearers import WorstBearers
from tc_world import RLC_FIELDS

MINUTE_US = 60_000_000


def key(rnti: int) -> BearerKey:
    return BearerKey("gnb-1", rnti, 1)


class Bench:
    """Windows of one node, one RLC report per ms, and their meter."""

    def __init__(self, rntis: list[int], depth: int = 600) -> None:
        self.rntis = rntis
        self.windows = RlcWindows("gnb-1", depth)
        self.meter = ServiceMeter(self.windows, 1)
        self.totals = ServiceTotals()
        self.sent = dict.fromkeys(rntis, 0)
        self.at_us = 0

    def report(self, hol_ms: dict[int, float], sent: tuple[int, ...] = ()) -> None:
        """One report; ``sent``: bearers that drained bytes."""
        self.at_us += 1_000
        rows = np.zeros(len(self.rntis), RLC_FIELDS)
        for index, rnti in enumerate(self.rntis):
            self.sent[rnti] += 100 * (rnti in sent)
            rows[index] = (self.sent[rnti], 0, 0.0, int(hol_ms.get(rnti, 0) * 1000), rnti, 1)
        changes = self.windows.update(self.at_us, rows)
        assert changes is not None
        for slot in changes[0]:
            self.meter.assign(slot, self.totals, new=True)


def test_a_sample_is_taken_each_10_ms_of_bearers_that_queue_or_send() -> None:
    bench = Bench([1, 2, 3])
    for _ in range(500):
        bench.report({1: 30}, sent=(2,))
    bench.meter.sample(bench.at_us)
    assert int(bench.totals.sojourns.sum()) == 2 * 50
    assert bench.totals.sojourn_sum_us == pytest.approx(50 * 30_000)
    assert percentile_us(bench.meter.recent(0, bench.at_us), 95) == pytest.approx(30_000, rel=0.2)
    assert int(bench.meter.recent(2, bench.at_us).sum()) == 0, "the third is idle"


def test_no_report_is_sampled_twice_and_none_is_left_out() -> None:
    bench = Bench([1])
    for turn in range(1, 1001):
        bench.report({1: 7})
        if turn % 333 == 0 or turn == 1000:
            bench.meter.sample(bench.at_us)
    assert int(bench.totals.sojourns.sum()) == 100


def test_windows_shorter_than_the_period_lose_samples_and_nothing_else() -> None:
    bench = Bench([1], depth=100)
    for _ in range(1000):
        bench.report({1: 7})
    bench.meter.sample(bench.at_us)
    assert int(bench.totals.sojourns.sum()) == 9


def test_a_new_bearer_in_an_old_slot_begins_without_samples() -> None:
    bench = Bench([1])
    for _ in range(100):
        bench.report({1: 7})
    bench.meter.sample(bench.at_us)
    assert int(bench.meter.recent(0, bench.at_us).sum()) > 0
    bench.meter.assign(0, bench.totals, new=True)
    assert int(bench.meter.recent(0, bench.at_us).sum()) == 0


@given(
    values=st.lists(st.floats(0, 2e7), min_size=1, max_size=200),
    percentile=st.floats(1, 99.9),
)
def test_a_percentile_is_in_the_bucket_of_the_exact_one(
    values: list[float], percentile: float
) -> None:
    places = np.searchsorted(EDGES_US, values, side="left")
    found = percentile_us(np.bincount(places, minlength=BUCKETS), percentile)
    assert found is not None
    exact = float(np.percentile(values, percentile, method="inverted_cdf"))
    bucket = int(np.searchsorted(EDGES_US, exact, side="left"))
    if bucket == len(EDGES_US):
        assert found == float("inf")
    else:
        low = 0.0 if bucket == 0 else EDGES_US[bucket - 1]
        assert low <= found <= EDGES_US[bucket]


def test_a_window_forgets_what_is_older() -> None:
    ring = MinuteRing((1,))
    for minute in range(20):
        ring.now(minute * MINUTE_US)[:] += 1
    now_us = 19 * MINUTE_US
    assert ring.over(15, now_us)[0] == 15
    assert ring.over(5, now_us)[0] == 5
    assert ring.over(5, now_us + 3 * MINUTE_US)[0] == 2
    assert ring.over(15, now_us + 60 * MINUTE_US)[0] == 0


@dataclass
class Queue:
    """A ``QueueStatus``."""

    id: int
    forwarded_packets: int = 0
    dropped_packets: int = 0
    marked_packets: int = 0
    mean_sojourn_us: int = 0
    forwarded_bytes: int = 0


@dataclass
class Pipeline:
    """What `PacketMeter` reads of a `PipelineView`."""

    queues: list[Queue]
    dropped_packets: int = 0
    revision: int = 1
    greedy: set[int] = field(default_factory=set)
    collected_at_us: int = 0

    @property
    def ungreedy_queues(self) -> list[Queue]:
        return [queue for queue in self.queues if queue.id not in self.greedy]


def feed(*statuses: Pipeline) -> tuple[ServiceTotals, float | None]:
    totals, meter, delay_us = ServiceTotals(), PacketMeter(), None
    for status in statuses:
        delay_us = meter.add(status, None, totals, 0)  # type: ignore[arg-type]
    return totals, delay_us


def test_packets_count_from_the_first_status_on() -> None:
    totals, delay_us = feed(
        Pipeline([Queue(0, 100, 50, 7)], dropped_packets=60),
        Pipeline([Queue(0, 130, 55, 9, mean_sojourn_us=4_000)], dropped_packets=68),
    )
    assert (totals.queue_drops, totals.policer_drops, totals.marks) == (5, 3, 2)
    assert delay_us == 4_000


def test_the_mean_delay_is_weighted_by_packets() -> None:
    _, delay_us = feed(
        Pipeline([Queue(0), Queue(1)]),
        Pipeline([Queue(0, 10, mean_sojourn_us=1_000), Queue(1, 30, mean_sojourn_us=5_000)]),
    )
    assert delay_us == 4_000


def test_another_pipeline_polices_nothing_by_its_change() -> None:
    totals, _ = feed(
        Pipeline([Queue(0, 10, 0)]),
        Pipeline([Queue(5, 3, 1)], dropped_packets=4, revision=2),
    )
    assert (totals.queue_drops, totals.policer_drops) == (4, 0)


def seconds(count: int, sent: int, lost: int, *, sojourn_us: int = 5_000) -> list[Pipeline]:
    """Statuses of a sparse flow that loses nothing and a greedy one, each second."""
    return [
        Pipeline(
            [
                Queue(0, 90 * second),
                Queue(1, sent * second, lost * second, 0, sojourn_us, 1_000 * sent * second),
            ],
            dropped_packets=lost * second,
            greedy={1},
            collected_at_us=1_000_000 * second,
        )
        for second in range(count + 1)
    ]


def test_what_an_aqm_drops_of_a_flow_that_backs_off_is_no_loss() -> None:
    # TCP at 1 %: 520 packets/s with a round trip of 15 ms beside its queue.
    totals, _ = feed(*seconds(5, 500, 5))
    assert totals.recent.over(15, 0).tolist()[:2] == [0, 450]
    # A burst of losses, as at the end of slow start.
    totals, _ = feed(*seconds(2, 3_000, 900))
    assert totals.recent.over(15, 0).tolist()[:2] == [0, 180]


def test_what_a_flow_loses_that_does_not_back_off_counts_from_the_third_second_on() -> None:
    totals, _ = feed(*seconds(5, 590, 410))
    assert totals.recent.over(15, 0).tolist()[:2] == [3 * 410, 450 + 3 * 590]
    meter = PacketMeter()
    for status in seconds(5, 590, 410):
        meter.add(status, None, totals, 0)  # type: ignore[arg-type]
    loss = meter.unresponsive_loss()
    assert loss is not None
    assert loss.ratio == pytest.approx(0.41)
    assert loss.arrived_mbps == pytest.approx(8.0)
    assert meter.unresponsive_loss(lambda queue: queue == 0) is None


def test_the_rate_of_tcp_is_that_of_its_throughput_equation() -> None:
    # RFC 5348 appendix B: for p of 1 % and a round trip of 100 ms about 11 packets a round trip.
    assert tcp_packets_per_s(0.01, 0.1) * 0.1 == pytest.approx(11.2, abs=0.5)
    assert tcp_packets_per_s(0.0, 0.1) == float("inf")
    assert tcp_packets_per_s(0.4, 0.1) < 1


def test_the_list_of_the_worst_changes_only_for_one_that_is_a_fifth_worse() -> None:
    worst = WorstBearers(2)
    assert worst.choose({key(1): 50.0, key(2): 40.0, key(3): 30.0}) == [key(1), key(2)]
    assert worst.choose({key(1): 50.0, key(2): 40.0, key(3): 45.0}) == [key(1), key(2)]
    assert worst.choose({key(1): 50.0, key(2): 40.0, key(3): 49.0}) == [key(1), key(3)]
    assert worst.choose({key(2): 1.0}) == [key(2)], "the others left"
