"""What bearers get: samples, percentiles of 15 minutes, packets, the worst bearers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tc_controller.core.inputs import BearerKey
from tc_controller.core.observe.inventory import read_inventory
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.schema import GreedyFlows
from tc_controller.core.verify.distribution import BUCKETS, EDGES_US, MinuteRing, percentile_us
from tc_controller.core.verify.kinds import Kind
from tc_controller.core.verify.service import PacketMeter, ServiceMeter, ServiceTotals
from tc_controller.core.verify.unresponsive import tcp_packets_per_s
from tc_controller.worst_bearers import WorstBearers
from tc_world import Source, inventories, rlc_message

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
        for rnti in sent:
            self.sent[rnti] += 100
        message = rlc_message(
            *((self.sent[rnti], 0, 0, hol_ms.get(rnti, 0) * 1000, rnti, 1) for rnti in self.rntis)
        )
        found = self.windows.take(self.at_us, message)
        for slot in [] if found is None else found.new:
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
    last_sojourn_us: int = 0


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
        delay_us = meter.add(status, None, totals, 0, 0.0)  # type: ignore[arg-type]
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


def test_a_queue_that_a_status_leaves_out_is_not_counted_anew_when_it_is_back() -> None:
    _, delay_us = feed(
        Pipeline([Queue(0, 1_000), Queue(1, 1_000)]),
        Pipeline([Queue(1, 1_100, mean_sojourn_us=1_000)]),
        Pipeline([Queue(0, 1_010, mean_sojourn_us=9_000), Queue(1, 1_110, mean_sojourn_us=1_000)]),
    )
    assert delay_us == 5_000, "10 packets of each"


def test_a_queue_without_packets_in_the_last_100_ms_counts_with_its_last_sojourn() -> None:
    _, delay_us = feed(
        Pipeline([Queue(0)]), Pipeline([Queue(0, 5, mean_sojourn_us=0, last_sojourn_us=3_000)])
    )
    assert delay_us == 3_000


class KindBench:
    """A ping in queue 0 and a download in queue 1, or both in queue 0; a status each second."""

    def __init__(self, *, apart: bool = True) -> None:
        sources = (Source("ping", 8, 1, packet_bytes=100), Source("bulk", 40_000, 2))
        self.bulk_queue = int(apart)
        flows = [
            source.record(source.kbps, 0, queue)
            for source, queue in zip(sources, (0, self.bulk_queue), strict=True)
        ]
        bearer = key(1).ie()
        given = {"bearer": bearer, "active_flows": 2, "window_ms": 1000, "flows": flows}
        self.flows = read_inventory(0, inventories(given)[0], GreedyFlows())
        self.totals, self.meter, self.at_us = ServiceTotals(), PacketMeter(), 0
        self.sent = {0: 0, 1: 0}

    def second(
        self, ping_us: int, bulk_us: int, *, rlc_us: float = 0.0, revision: int = 1
    ) -> dict[str, tuple[int, float]]:
        """Packets and mean delay, µs, by kind; 10 packets of the ping, 3400 of the download."""
        self.at_us += 1_000_000
        self.sent[0] += 10
        self.sent[self.bulk_queue] += 3_400
        waits_us = {0: ping_us, self.bulk_queue: bulk_us}
        queues = [Queue(id_, self.sent[id_], mean_sojourn_us=us) for id_, us in waits_us.items()]
        status = Pipeline(queues, revision=revision, collected_at_us=self.at_us)
        # The status that shows a new revision comes half a second before the one that counts.
        self.meter.see(replace(status, collected_at_us=self.at_us - 500_000))  # type: ignore[arg-type]
        self.meter.add(status, self.flows, self.totals, 0, rlc_us)  # type: ignore[arg-type]
        return {kind.value: (m.count, m.mean_us) for kind, m in self.meter.by_kind.items()}


def test_the_delay_of_sparse_and_of_bulk_packets_is_that_of_their_queues_and_the_rlc() -> None:
    bench = KindBench()
    bench.second(0, 0)
    found = bench.second(1_000, 20_000, rlc_us=500.0)
    assert found == {"sparse": (10, 1_500.0), "bulk": (3_400, 20_500.0)}


def test_packets_of_a_shared_queue_are_divided_by_the_rates_of_its_flows() -> None:
    bench = KindBench(apart=False)
    bench.second(0, 0)
    (sparse, wait_us), (bulk, bulk_us) = bench.second(900_000, 900_000).values()
    assert wait_us == bulk_us == 900_000
    assert sparse + bulk == 3_410
    assert sparse == pytest.approx(10, abs=5)


def test_what_waited_when_the_pipeline_took_effect_is_inherited_until_it_has_left() -> None:
    bench = KindBench()
    bench.second(1_600_000, 1_600_000)
    before = bench.second(1_600_000, 1_600_000)
    assert set(before) == {"sparse", "bulk"}, "no change was seen"
    first = bench.second(1_000, 1_600_000, revision=2)
    assert first == {"sparse": (10, 1_000.0), "inherited": (3_400, 1_600_000.0)}
    # 100 ms of it are left after 1.5 s.
    assert bench.second(1_000, 1_600_000, revision=2)["inherited"] == (3_400, 1_600_000.0)
    last = {"sparse": (10, 1_000.0), "bulk": (3_060, 20_000.0), "inherited": (340, 1_600_000.0)}
    assert bench.second(1_000, 20_000, revision=2) == last
    after = bench.second(1_000, 20_000, revision=2)
    assert after == {"sparse": (10, 1_000.0), "bulk": (3_400, 20_000.0)}
    # Another second of as long a wait is bulk's own.
    assert "inherited" not in bench.second(1_000, 1_600_000, revision=2)
    found = bench.totals.delays_by_kind(15, 0)
    assert found[Kind.INHERITED].count == 7_140
    assert found[Kind.INHERITED].mean_us == 1_600_000


def test_without_an_inventory_no_kind_is_known() -> None:
    bench = KindBench()
    bench.flows = None  # type: ignore[assignment]
    bench.second(0, 0)
    assert bench.second(1_000, 20_000) == {}


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
        meter.add(status, None, totals, 0, 0.0)  # type: ignore[arg-type]
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
