"""Detection on synthetic series: when it begins, when it ends, what it takes for a burst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tc_controller.core.inputs import BearerKey
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.schema import Objective
from tc_world import rlc_message

MS = 1_000


def rows(*bearers: tuple[int, float, float]) -> bytes:
    """A report of (C-RNTI, head-of-line ms, mean ms) of each bearer."""
    return rlc_message(
        *((0, 0, mean_ms * MS, hol_ms * MS, rnti, 1) for rnti, hol_ms, mean_ms in bearers)
    )


def changes(windows: RlcWindows, ms: int, message: bytes) -> tuple[list[int], list[int]]:
    """Take a report; slots of the bearers that are new and C-RNTIs of those that are gone."""
    found = windows.take(ms * MS, message)
    return ([], []) if found is None else (found.new, [code >> 8 for code in found.gone])


class Bench:
    """Windows and detector fed one report per ms."""

    def __init__(self, **objective: Any) -> None:
        self.objective = Objective(**objective)
        self.windows = RlcWindows("n", 256, MS)
        self.at_us = 0
        self.began: list[tuple[int, int]] = []
        self.ended: list[tuple[int, int]] = []

    def report(self, *bearers: tuple[int, float, float]) -> None:
        self.at_us += MS
        found = self.windows.take(self.at_us, rows(*bearers))
        if found is None:
            return
        began, ended = found.began, found.ended
        for slot in found.new:
            self.windows.promise(slot, self.objective)
        if found.new or found.gone:
            began, ended = self.windows.judge()
        ms = self.at_us // MS
        self.began += [(ms, slot) for slot in began]
        self.ended += [(ms, slot) for slot in ended]

    def series(self, *hol_ms: float, mean_ms: float = 0.0) -> None:
        for value in hol_ms:
            self.report((7, value, mean_ms))


def test_a_head_of_line_above_the_bound_is_a_violation_after_the_confirm_time() -> None:
    bench = Bench(bound_ms=10, confirm_ms=3)
    bench.series(9, 9, 10, 11, 12, 13)
    assert bench.began == [(6, 0)]
    assert bench.windows.over_for_us(0) == 3 * MS


def test_the_mean_confirms_at_once() -> None:
    bench = Bench(bound_ms=10, confirm_ms=50)
    bench.series(11, mean_ms=9)
    bench.series(11, mean_ms=10.5)
    assert bench.began == [(2, 0)]


def test_a_burst_shorter_than_the_confirm_time_is_tolerated() -> None:
    bench = Bench(bound_ms=10, confirm_ms=3, percentile=90, window_ms=100)
    bench.series(*([1] * 20 + [50, 60] + [1] * 200))
    assert not bench.began


def test_many_short_bursts_break_the_percentile() -> None:
    """p95 over 100 ms tolerates five samples; the sixth within the window is one too many."""
    bench = Bench(bound_ms=10, confirm_ms=50, percentile=95, window_ms=100)
    bench.series(*([20, 1] * 6))
    assert bench.began == [(11, 0)]


def test_samples_that_left_the_window_do_not_count() -> None:
    bench = Bench(bound_ms=10, confirm_ms=50, percentile=95, window_ms=100)
    bench.series(*(([20] * 5 + [1] * 100) * 10))
    assert not bench.began


def test_hysteresis_needs_the_clear_time_below_the_clear_ratio() -> None:
    bench = Bench(bound_ms=10, confirm_ms=1, clear_ratio=0.5, clear_ms=20)
    bench.series(*([11] * 5 + [6] * 100 + [4] * 19 + [6] + [4] * 19))
    assert not bench.ended
    bench.series(4)
    assert len(bench.began) == len(bench.ended) == 1


def test_a_late_or_duplicate_report_changes_nothing() -> None:
    bench = Bench(bound_ms=10, confirm_ms=1)
    bench.series(1, 1)
    for at_us in (bench.at_us, bench.at_us - 500):
        found = bench.windows.take(at_us, rows((7, 50, 0)))
        assert found is not None
        assert found.late
    assert bench.windows.reports == 2
    assert bench.windows.sojourn_us(0) == MS
    assert not bench.windows.violating()


def test_bearers_are_identified_when_they_appear_vanish_and_change_rows() -> None:
    bench = Bench(bound_ms=10, confirm_ms=2)
    bench.report((1, 0, 0), (2, 0, 0))
    bench.report((2, 20, 0), (1, 0, 0))
    bench.report((3, 0, 0), (2, 20, 0), (1, 0, 0))
    (began,) = bench.began
    key = bench.windows.key_at(began[1])
    assert key is not None
    assert key.rnti == 2


def test_a_new_bearer_in_an_old_slot_starts_clean() -> None:
    bench = Bench(bound_ms=10, confirm_ms=50)
    for _ in range(6):
        bench.report((1, 20, 0))
    key = bench.windows.key_at(0)
    assert key is not None
    bench.windows.forget(key)
    began_before = len(bench.began)
    bench.report((2, 20, 0))
    assert len(bench.began) == began_before, "one sample above, not seven"


def test_bearers_that_cannot_be_addressed_are_counted_and_left_out() -> None:
    windows = RlcWindows("n", 16)
    windows.take(MS, rlc_message(*((0, 0, 0, 0, *name) for name in ((1, 1), (70_000, 1), (2, 0)))))
    assert windows.bearers == 1
    assert windows.unaddressable == 2


def test_a_report_without_bearers_after_the_only_one_was_removed() -> None:
    windows = RlcWindows("n", 16)
    windows.take(MS, rows((1, 20, 0)))
    key = windows.key_at(0)
    assert key is not None
    windows.forget(key)
    assert changes(windows, 2, rows()) == ([], [])
    assert windows.bearers == 0
    assert changes(windows, 3, rows((1, 5, 0))) == ([0], [])
    assert windows.sojourn_us(0) == 5 * MS


def test_a_bearer_is_gone_after_it_was_missing_for_a_while() -> None:
    windows = RlcWindows("n", 16, gone_after=5)
    windows.take(MS, rows((1, 0, 0), (2, 0, 0)))
    gone = []
    for ms in range(2, 12):
        for rnti in changes(windows, ms, rows((1, 0, 0)))[1]:
            gone.append((ms, rnti))
            windows.forget(BearerKey("n", rnti, 1))
    assert gone == [(7, 2)]


def test_missing_is_counted_from_the_last_report_that_named_the_bearer() -> None:
    windows = RlcWindows("n", 64, gone_after=5)
    gone = []
    for ms in range(1, 60):
        named = ((1, 0, 0), (2, 0, 0)) if ms < 40 else ((1, 0, 0),)
        for rnti in changes(windows, ms, rows(*named))[1]:
            gone.append((ms, rnti))
            windows.forget(BearerKey("n", rnti, 1))
    assert gone == [(45, 2)]


@settings(deadline=None)
@given(
    start=st.integers(0, 2**32 - 1),
    steps=st.lists(st.integers(0, 100_000), min_size=2, max_size=60),
)
def test_drain_rate_does_not_see_the_counter_wrap(start: int, steps: list[int]) -> None:
    windows = RlcWindows("n", 128)
    counter = start
    windows.take(MS, _counting(counter))
    for index, step in enumerate(steps):
        counter = (counter + step) % 2**32
        windows.take((index + 2) * MS, _counting(counter))
    expected = sum(steps) * 8 / len(steps)
    assert windows.drain_kbps(0, 0) == pytest.approx(expected)


def test_a_restarted_counter_is_no_traffic() -> None:
    windows = RlcWindows("n", 16)
    for ms, counter in ((1, 3_000), (2, 4_000), (3, 0), (4, 500)):
        windows.take(ms * MS, _counting(counter))
    assert windows.drained_bytes(0) == 1_500


def _counting(counter: int) -> bytes:
    return rlc_message((counter, 0, 0, 0, 1, 1))


@settings(max_examples=50, deadline=None)
@given(
    hol=st.lists(st.floats(0, 40), min_size=1, max_size=300),
    window_ms=st.integers(10, 120),
    percentile=st.floats(50, 99),
)
def test_counting_agrees_with_the_percentile(
    hol: list[float], window_ms: int, percentile: float
) -> None:
    """A violation without confirm time or mean is one exactly when more samples of the last window
    are above the bound than the percentile leaves over."""
    bench = Bench(
        bound_ms=10, confirm_ms=10_000, percentile=percentile, window_ms=window_ms, clear_ms=1
    )
    tolerated = int((1 - percentile / 100) * window_ms + 1e-9)
    violating = False
    for index, value in enumerate(hol):
        bench.series(value)
        above = sum(
            np.float32(v * MS) // 1 > 10 * MS
            for v in hol[max(0, index + 1 - window_ms) : index + 1]
        )
        now = np.float32(int(value * MS))
        if not violating:
            violating = bool(now > 10 * MS and above > tolerated)
        elif now <= np.float32(10 * MS * 0.7):
            violating = False
        assert bench.windows.violates(0) == violating


_HOL_MS = st.one_of(st.just(0.0), st.floats(0, 30))


@settings(max_examples=50, deadline=None)
@given(
    series=st.lists(
        st.tuples(st.integers(1, 40), st.tuples(_HOL_MS, _HOL_MS, _HOL_MS), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_the_verdict_of_a_bearer_does_not_depend_on_others(
    series: list[tuple[int, tuple[float, float, float], bool]],
) -> None:
    """Whether the others are quiet or not, there or not."""
    objective = {"bound_ms": 10, "confirm_ms": 3, "window_ms": 20, "percentile": 80, "clear_ms": 5}
    together = Bench(**objective)
    alone = [Bench(**objective) for _ in range(3)]
    together.report(*((rnti, 0, 0) for rnti in range(3)))
    for rnti, bench in enumerate(alone):
        bench.report((rnti, 0, 0))
    for times, hol_ms, all_there in series:
        for _ in range(times):
            named = range(3) if all_there else (2, 0)
            together.report(*((rnti, hol_ms[rnti], 0) for rnti in named))
            for rnti, bench in enumerate(alone):
                bench.report((rnti, hol_ms[rnti] if rnti in named else 0, 0))
    for rnti, bench in enumerate(alone):
        slot = together.windows.slot(BearerKey("n", rnti, 1))
        assert [ms for ms, at in together.began if at == slot] == [ms for ms, _ in bench.began]
        assert [ms for ms, at in together.ended if at == slot] == [ms for ms, _ in bench.ended]
        assert together.windows.over_for_us(slot or 0) == bench.windows.over_for_us(0)


@settings(max_examples=50, deadline=None)
@given(noise=st.lists(st.floats(-2.9, 2.9), min_size=200, max_size=400))
def test_a_queue_that_hovers_at_the_bound_does_not_flap(noise: list[float]) -> None:
    bench = Bench(bound_ms=10, confirm_ms=3)
    bench.series(*(10 + value for value in noise))
    assert len(bench.began) <= 1
    assert not bench.ended
