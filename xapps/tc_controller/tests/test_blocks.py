"""Reports in blocks give the windows, violations and drain rates of reports one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tc_controller.core.observe.backlog import Backlog
from tc_controller.core.observe.detect import Detector
from tc_controller.core.observe.drain_history import DrainHistory
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.schema import Objective
from tc_world import RLC_FIELDS

MS = 1_000
DEPTH = 130
OBJECTIVES = (
    Objective(bound_ms=10, percentile=90, window_ms=40, confirm_ms=3, clear_ms=5),
    Objective(bound_ms=20, percentile=50, window_ms=100, confirm_ms=8, clear_ms=2),
    None,
)


class Bench:
    """What a node keeps of three bearers."""

    def __init__(self) -> None:
        self.windows = RlcWindows("n", DEPTH)
        self.detector = Detector(self.windows, MS)
        self.history = DrainHistory(self.windows)
        self.began: list[int] = []
        self.ended: list[int] = []

    def one(self, at_us: int, rows: Any) -> None:
        changes = self.windows.update(at_us, rows)
        assert changes is not None
        for slot in changes[0]:
            self.history.born(slot)
            self.detector.watch(slot, OBJECTIVES[slot])
        self.history.step()
        self._note(*self.detector.step())

    def block(self, at_us: Any, rows: Any, pipeline_us: Any) -> None:
        block = self.windows.extend(at_us, rows, pipeline_us)
        self.history.step_block(block)
        self._note(*self.detector.step_block(block))

    def _note(self, began: list[int], ended: list[int]) -> None:
        self.began += began
        self.ended += ended

    def state(self) -> dict[str, Any]:
        windows, detector, history = self.windows, self.detector, self.history
        rows = windows.rows_since(0)
        return {
            "rings": (windows.sojourn_ring[rows], windows.drained_ring[rows], windows.at_us[rows]),
            "newest": (windows.hol_us, windows.mean_us, windows.occupancy_bytes),
            "sojourn": (windows.sojourn_us, windows.drained_bytes),
            "violating": (detector.violating, [detector.any_violating]),
            "changes": (sorted(self.began), sorted(self.ended)),
            "over": ([detector.over_for_us(slot) for slot in range(3)],),
            "drain": ([history.mean_kbps(slot) for slot in range(3)],),
            "lowest": ([history.lowest_kbps(slot, 100 * MS) for slot in range(3)],),
        }


def table(count: int, seed: int) -> Any:
    """Reports of three bearers with queues that come and go, and counters that wrap and restart."""
    random = np.random.default_rng(seed)
    rows = np.zeros((count, 3), RLC_FIELDS)
    rows["rnti"], rows["rbid"] = (5, 3, 9), 1
    busy = np.repeat(random.random((count // 20 + 1, 3)) < 0.4, 20, axis=0)[:count]
    rows["txsdu_wt_us"] = random.integers(0, 9 * MS, (count, 3)) + busy * random.integers(
        0, 30 * MS, (count, 3)
    )
    rows["txsdu_avg_time_to_tx"] = random.integers(0, 25 * MS, (count, 3))
    rows["txbuf_occ_bytes"] = (random.random((count, 3)) > 0.015) * 3_000
    start = np.array([0, 2**32 - 40_000, 5], np.uint32)
    rows["txpdu_bytes"] = start + random.integers(0, 3_000, (count, 3)).cumsum(axis=0).astype("u4")
    rows["txpdu_bytes"][count // 2 :, 2] = 7
    return rows


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1_000_000), sizes=st.lists(st.integers(1, 70), min_size=1, max_size=12))
def test_blocks_have_the_effect_of_reports_one_by_one(seed: int, sizes: list[int]) -> None:
    rows = table(1 + sum(sizes), seed)
    random = np.random.default_rng(seed)
    single, blocks, backlog = Bench(), Bench(), Backlog()
    at_us = [MS * (index + 1) for index in range(len(rows))]
    for bench in (single, blocks):
        bench.one(at_us[0], rows[0])
    begin = 1
    for size in sizes:
        chosen = slice(begin, begin + size)
        changes = {int(at): int(random.integers(0, 5 * MS)) for at in random.integers(0, size, 2)}
        if random.random() < 0.3:
            # A status after the block before, with no report of its own.
            single.windows.pipeline_us[1] = 7 * MS
            backlog.add([], rows[:0], blocks.windows.pipeline_us)
            if backlog.reports:
                blocks.windows.pipeline_us = backlog.changeable()
            blocks.windows.pipeline_us[1] = 7 * MS
        backlog.add(at_us[chosen], rows[chosen], blocks.windows.pipeline_us)
        for index in range(size):
            if index in changes and random.random() < 0.7:
                slot = int(random.integers(0, 3))
                single.windows.pipeline_us[slot] = changes[index]
                backlog.come_to(index)
                blocks.windows.pipeline_us = backlog.changeable()
                blocks.windows.pipeline_us[slot] = changes[index]
            single.one(at_us[begin + index], rows[begin + index])
        begin += size
        if random.random() < 0.5:
            catch_up(blocks, backlog)
    catch_up(blocks, backlog)
    for (name, ours), theirs in zip(blocks.state().items(), single.state().values(), strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert np.array_equal(one, other), name


def test_an_empty_rlc_counts_in_the_segment_of_its_report() -> None:
    for empty in range(90, 115):
        rows = np.zeros((240, 3), RLC_FIELDS)
        rows["rnti"], rows["rbid"], rows["txbuf_occ_bytes"] = (5, 3, 9), 1, 3_000
        rows["txbuf_occ_bytes"][empty] = 0
        # The later, the slower: without the empty RLC the last segment is the slowest.
        rows["txpdu_bytes"] = np.arange(240, 0, -1).cumsum()[:, np.newaxis]
        single, blocks = Bench(), Bench()
        at_us = [MS * (index + 1) for index in range(len(rows))]
        for bench in (single, blocks):
            bench.one(at_us[0], rows[0])
        for index in range(1, len(rows)):
            single.one(at_us[index], rows[index])
        for begin in range(1, len(rows), 90):
            chosen = slice(begin, begin + 90)
            blocks.block(at_us[chosen], rows[chosen], np.zeros(4, np.float32))
        rates = [bench.history.lowest_kbps(0, 100 * MS) for bench in (single, blocks)]
        assert rates[0] == rates[1], empty


def catch_up(bench: Bench, backlog: Backlog) -> None:
    if backlog.reports:
        for at_us, rows, pipeline_us in backlog.take(bench.detector.longest_block):
            bench.block(at_us, rows, pipeline_us)


def test_a_block_continues_only_reports_of_the_same_bearers_that_are_older() -> None:
    windows, rows = RlcWindows("n", DEPTH), table(4, 1)
    assert not windows.continues(0, [1], rows[:1]), "nothing is known before the first report"
    windows.update(10, rows[0])
    assert windows.continues(10, [11, 12, 13], rows[1:])
    assert not windows.continues(10, [10, 11, 12], rows[1:])
    assert not windows.continues(10, [11, 13, 12], rows[1:])
    assert not windows.continues(10, [11, 12, 13], rows[1:, :2])
    others = rows[1:].copy()
    others["rbid"][2, 0] = 2
    assert not windows.continues(10, [11, 12, 13], others)
    windows.update(14, rows[3][:2])
    assert not windows.continues(14, [15], rows[:1, :2]), "one bearer may be gone soon"
