"""Reports from the SDK: records, lag, missing reports, thinning."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from fake_flexric import kpm_message, record
from flexric_bridge.readers import Thinning
from flexric_bridge.records import BlockError, kpm_report, records
from flexric_bridge.report_timing import MissingReports, ReportLag
from flexric_bridge.sdk import RECORD_HEAD
from hypothesis import given
from hypothesis import strategies as st
from ric.errors import ServiceModelError

# --------------------------------------------------------------------------------- lag

SECOND_US = 1_000_000


def lags(delays_us: list[int], offset_us: int = 0, every_us: int = 1_000) -> list[int]:
    """Lags of reports collected `every_us`, by a clock that is ahead by `offset_us`."""
    lag, found = ReportLag(), []
    for k, delay_us in enumerate(delays_us):
        collected_at_us = 10**15 + k * every_us
        lag.observe(collected_at_us + offset_us, collected_at_us + delay_us)
        found.append(lag.us)
    return found


@given(
    st.lists(st.integers(0, 10 * SECOND_US), min_size=1, max_size=50),
    st.integers(-(10**12), 10**12),
)
def test_lag_is_the_growth_of_the_delay_for_any_clock_offset(
    delays: list[int], offset: int
) -> None:
    # Reports of one subscription keep their order.
    ordered = [max(delays[: k + 1]) - 1_000 * k for k in range(len(delays))]
    delays = [max(0, delay) for delay in ordered]
    for k, lag_us in enumerate(lags(delays, offset)):
        assert abs(lag_us - (delays[k] - min(delays[: k + 1]))) <= 3_000


def test_clock_drift_is_no_lag() -> None:
    day = 24 * 3_600
    drifting = [k * 100 for k in range(day)]
    assert max(lags(drifting, every_us=SECOND_US)) < SECOND_US // 100
    # 200 µs a second, of which each millisecond has a fifth of one.
    assert max(lags([k // 5 for k in range(100_000)])) <= 1
    # A queue that stays is believed to be the clock's only after an hour.
    standing = [0] * 10 + [2 * SECOND_US] * 3_600
    assert min(lags(standing, every_us=SECOND_US)[10:]) > SECOND_US


def test_a_clock_step_is_no_lag() -> None:
    lag = ReportLag()
    lag.observe(100 * SECOND_US, 100 * SECOND_US)
    lag.observe(90 * SECOND_US, 101 * SECOND_US)
    assert lag.us == 0
    lag.observe(92 * SECOND_US, 104 * SECOND_US)
    assert lag.us == pytest.approx(SECOND_US, rel=0.001)
    lag.observe(500 * SECOND_US, 105 * SECOND_US)
    assert lag.us == 0
    lag.observe(501 * SECOND_US, 108 * SECOND_US)
    assert lag.us == pytest.approx(2 * SECOND_US, rel=0.001)


# --------------------------------------------------------------------- report timing

MS_US = 1_000


def missing(collected_at_us: Iterable[float], period_ms: int = 1, lost: int = 0) -> int:
    """What of a period's reports did not come, when these did."""
    reports = MissingReports()
    reports.begin(period_ms)
    for at_us in collected_at_us:
        reports.observe(int(at_us), lost)
    return reports.count


@given(
    left_out=st.sets(st.integers(1, 398)),
    jitter_us=st.lists(st.integers(-200, 200), min_size=400, max_size=400),
    drift=st.floats(-2e-4, 2e-4),
)
def test_periods_without_a_report_are_counted(
    left_out: set[int], jitter_us: list[int], drift: float
) -> None:
    """Whatever the timers' jitter, and however free two clocks run."""
    came = [k for k in range(400) if k not in left_out]
    times = (k * MS_US * (1 + drift) + jitter_us[k] + 1e15 for k in came)
    assert missing(times) == len(left_out)


def test_reports_that_overtake_each_other_are_not_missing() -> None:
    order = [0, 1, 3, 2, 4, 6, 5, 7, 9, 8, 10]
    reports = MissingReports()
    reports.begin(1)
    for k in order:
        reports.observe(k * MS_US, 0)
    assert reports.count == 0


def test_the_missing_count_never_decreases() -> None:
    reports = MissingReports()
    reports.begin(1)
    found = []
    for k in [0, 2, 1, 4, 3, 6]:
        reports.observe(k * MS_US, 0)
        found.append(reports.count)
    assert found == [0, 1, 1, 1, 1, 1]


def test_a_late_report_is_not_counted_as_two_periods() -> None:
    times = [k * MS_US for k in range(50)]
    times[20] += 700
    assert missing(times) == 0


def test_reports_lost_in_the_ring_are_not_missing_too() -> None:
    assert missing([0, 2 * MS_US, 4 * MS_US], lost=1) == 0


def test_an_absence_or_a_clock_step_counts_no_missing_reports() -> None:
    day_us = 86_400 * SECOND_US
    for there in (day_us, -day_us):
        times = [k * MS_US for k in range(10)]
        assert missing([*times, *(there + at for at in times)]) == 0
    assert missing([0, 40 * SECOND_US, 60 * SECOND_US], period_ms=10_000) == 1
    reports = MissingReports()
    reports.begin(1)
    reports.observe(0, 0)
    reports.begin(10)
    reports.observe(SECOND_US, 0)
    assert reports.count == 0


# ----------------------------------------------------------------------------- records


@given(st.data())
def test_a_truncated_kpm_message_is_refused(data: st.DataObject) -> None:
    whole = kpm_message(100, {"DRB.UEThpDl": 2.5, "RRU.PrbTotDl": 7})
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ServiceModelError, match="kpm: "):
        kpm_report(whole[:cut])
    with pytest.raises(ServiceModelError, match="left over"):
        kpm_report(whole + b"x")


@given(st.lists(st.binary(max_size=20), max_size=5), st.integers(0, 200))
def test_a_block_is_split_into_records_or_refused(messages: list[bytes], cut: int) -> None:
    block = b"".join(record(n + 1, m, 1_000_000, n) for n, m in enumerate(messages))
    found = [(r.handle, r.message, r.lost) for r in records(block)]
    assert found == [(n + 1, m, n) for n, m in enumerate(messages)]
    ends = {0}
    for message in messages:
        ends.add(max(ends) + RECORD_HEAD.size + len(message))
    if cut < len(block) and cut not in ends:
        with pytest.raises(BlockError, match="expected"):
            list(records(block[:cut]))


# ---------------------------------------------------------------------------- readers


def test_thinning_tolerates_jitter_and_reordering() -> None:
    due = Thinning(100)
    times = [*range(0, 1_000_000, 10_000)]
    jittered = [t + (3_000 if n % 2 else -3_000) for n, t in enumerate(times)]
    passed = [t for t in jittered if due.due(t + 10_000_000, 10_000)]
    assert 9 <= len(passed) <= 11
    late = passed[-1] + 10_000_000 - 50_000
    assert not due.due(late, 10_000)
    # The node's clock was set back by an hour.
    assert due.due(late - 3_600_000_000, 10_000)
    assert all(Thinning(10).due(t, 10_000) for t in times)
