"""The parts that need no process: budget, state, rate, records, counters, the command line."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fake_flexric import kpm_message, record
from flexric_bridge.absence import Absences
from flexric_bridge.budget import UNCLEAN_MARGIN, Budget, BudgetSpent, Use
from flexric_bridge.cli import main
from flexric_bridge.controls import ControlQueue, Rate, RateExceeded
from flexric_bridge.readers import Thinning
from flexric_bridge.records import (
    BlockError,
    kpm_report,
    records,
)
from flexric_bridge.report_timing import MissingReports, ReportLag
from flexric_bridge.sdk import RECORD_HEAD
from hypothesis import given
from hypothesis import strategies as st
from ric.errors import ServiceModelError
from ric.state_file import write_document
from ric.testing import LoopClock, run_virtual

U64 = st.integers(0, 2**64 - 1)


# ---------------------------------------------------------------------------- budget


def test_controls_stop_at_the_reserve_and_everything_at_the_total() -> None:
    budget = Budget(100, 10)
    budget.spend(Use.CONTROL, 89)
    budget.refuse(Use.CONTROL)
    with pytest.raises(BudgetSpent, match="11 of the 100 requests"):
        budget.refuse(Use.CONTROL, 2)
    budget.refuse(Use.SAFE, 11)
    budget.spend(Use.SUBSCRIPTION, 11)
    for use in Use:
        with pytest.raises(BudgetSpent, match="restart the RIC"):
            budget.refuse(use)


def test_each_threshold_warns_once_and_again_after_a_restart_of_the_ric() -> None:
    budget = Budget(100, 0, warn_at=(0.5, 0.9))
    told = [budget.spend(Use.CONTROL) for _ in range(100)]
    assert {n + 1: share for n, share in enumerate(told) if share} == {50: 0.5, 90: 0.9}
    budget.renew()
    assert budget.left == 100
    assert budget.spend(Use.CONTROL, 95) == 0.9


def test_a_session_number_that_does_not_grow_is_a_restart_of_the_ric() -> None:
    budget = Budget(100, 0)
    assert not budget.begin_session(7)
    assert not budget.begin_session(8)
    budget.spend(Use.CONTROL, 60)
    # Not told: the count goes on.
    assert not budget.begin_session(None)
    again = Budget(100, 0)
    again.load(budget.to_json(clean=True))
    assert not again.begin_session(9)
    assert (again.used, again.sessions) == (60, 4)
    assert again.begin_session(7)
    assert (again.used, again.sessions) == (0, 1)


def test_an_unclean_count_gets_a_safety_margin() -> None:
    budget = Budget(1000, 0)
    budget.spend(Use.CONTROL, 7)
    clean, unclean = Budget(1000, 0), Budget(1000, 0)
    clean.load(budget.to_json(clean=True))
    unclean.load(budget.to_json(clean=False))
    assert (clean.used, unclean.used) == (7, 7 + UNCLEAN_MARGIN)
    fine = budget.to_json(clean=True)
    wrongs: tuple[Any, ...] = (None, [], {}, {**fine, "used": -1}, {**fine, "sessions": "0"})
    for wrong in wrongs:
        with pytest.raises(ValueError, match="budget: "):
            clean.load(wrong)


# ----------------------------------------------------------------------------- state


def test_the_budget_command_prints_and_resets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "state.json"
    assert main(["budget", str(path)]) == 2
    assert "does not exist" in capsys.readouterr().err
    budget = {"used": 60_000, "sessions": 3, "newest_session": 9, "clean": True}
    write_document(
        path, {"version": 1, "ric": "10.0.0.1", "budget": budget, "pipelines": {"n": None}}
    )
    assert main(["budget", str(path)]) == 0
    assert "60000 of 64500 requests used, 4500 left" in capsys.readouterr().out
    assert main(["budget", str(path), "--reset"]) == 0
    assert "0 of 64500 requests used" in capsys.readouterr().out
    assert json.loads(path.read_text())["pipelines"] == {"n": None}
    path.write_text('{"version": 1, "budget": 5}')
    assert main(["budget", str(path)]) == 2
    assert "expected used, sessions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ric", "ric.example"], "expected IPv4 without a port"),
        (["--libraries", "/nowhere/at/all"], "expected a file or directory that exists"),
        (["--listen", "0.0.0.0:1"], "plain text on 0.0.0.0:1"),
        (["--budget-reserve", "64500"], "expected less than requests"),
        (["--ric-sdk", "no_such_module_here:Sdk"], "no_such_module_here is not installed"),
        (["--tc-bearers", "[{node: x, drb: 99}]"], "--tc-bearers: [0].drb"),
    ],
)
def test_settings_that_are_wrong_are_told_in_a_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


# ---------------------------------------------------------------------- rate and lane


def test_controls_wait_for_the_rate_limit_and_are_refused_when_that_takes_too_long() -> None:
    async def scenario() -> None:
        clock = LoopClock()
        rate = Rate(10, 5, clock)
        loop = asyncio.get_running_loop()
        await rate.take(5)
        assert loop.time() == 0
        await rate.take(5)
        assert loop.time() == pytest.approx(0.5)
        with pytest.raises(RateExceeded, match="at most 5"):
            await rate.take(6)
        # Ten a second and five at once: what waits longer than two seconds is refused.
        took = await asyncio.gather(*(rate.take(5) for _ in range(6)), return_exceptions=True)
        assert [isinstance(result, RateExceeded) for result in took] == [False] * 4 + [True] * 2

    run_virtual(scenario())


def test_a_cancelled_caller_leaves_the_queue() -> None:
    async def scenario() -> None:
        lane: ControlQueue[str] = ControlQueue()
        ran: list[str] = []

        async def job(name: str) -> str:
            ran.append(name)
            await asyncio.sleep(1)
            return name

        async def failing() -> str:
            raise OSError("the caller's")

        async def run(name: str, key: str | None = None) -> str:
            return await lane.run(key, lambda: job(name), lambda: "superseded")

        working = asyncio.create_task(lane.work())
        first = asyncio.create_task(run("first"))
        await asyncio.sleep(0)
        impatient = asyncio.create_task(run("impatient"))
        same = [asyncio.create_task(run(name, "key")) for name in ("old", "new")]
        await asyncio.sleep(0.5)
        impatient.cancel()
        assert await first == "first"
        assert [await task for task in same] == ["superseded", "new"]
        with pytest.raises(OSError, match="the caller's"):
            await lane.run(None, failing, lambda: "")
        assert ran == ["first", "new"]
        assert lane.superseded == 1
        working.cancel()

    run_virtual(scenario())


# --------------------------------------------------------------------------------- lag

SECOND_US = 1_000_000


def lags(delays_us: list[int], offset_us: int = 0, every_us: int = 1_000) -> list[int]:
    """Of reports collected `every_us`, by a clock that is ahead by `offset_us`."""
    lag, found = ReportLag(), []
    for k, delay_us in enumerate(delays_us):
        collected_at_us = 10**15 + k * every_us
        lag.note(collected_at_us + offset_us, collected_at_us + delay_us)
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
    lag.note(100 * SECOND_US, 100 * SECOND_US)
    lag.note(90 * SECOND_US, 101 * SECOND_US)
    assert lag.us == 0
    lag.note(92 * SECOND_US, 104 * SECOND_US)
    assert lag.us == pytest.approx(SECOND_US, rel=0.001)
    lag.note(500 * SECOND_US, 105 * SECOND_US)
    assert lag.us == 0
    lag.note(501 * SECOND_US, 108 * SECOND_US)
    assert lag.us == pytest.approx(2 * SECOND_US, rel=0.001)


# --------------------------------------------------------------------- report timing

MS_US = 1_000


def missing(collected_at_us: Iterable[float], period_ms: int = 1, lost: int = 0) -> int:
    """What of a period's reports did not come, when these did."""
    reports = MissingReports()
    reports.begin(period_ms)
    for at_us in collected_at_us:
        reports.note(int(at_us), lost)
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
        reports.note(k * MS_US, 0)
    assert reports.count == 0


def test_the_missing_count_never_decreases() -> None:
    reports = MissingReports()
    reports.begin(1)
    told = []
    for k in [0, 2, 1, 4, 3, 6]:
        reports.note(k * MS_US, 0)
        told.append(reports.count)
    assert told == [0, 1, 1, 1, 1, 1]


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
    reports.note(0, 0)
    reports.begin(10)
    reports.note(SECOND_US, 0)
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
    told = [(r.handle, r.message, r.lost) for r in records(block)]
    assert told == [(n + 1, m, n) for n, m in enumerate(messages)]
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


# ------------------------------------------------------------------------ nodes away


def looks_s(away_for_s: float) -> list[float]:
    """When a node is looked for that is away from 0 on, s."""
    absences, at_s, looks = Absences(), 0.0, []
    while True:
        absences.note("gnb", present=False, now_ns=int(at_s * 1e9))
        delay_s = absences.next_query_s(int(at_s * 1e9))
        assert delay_s is not None
        at_s += delay_s
        if at_s > away_for_s:
            return looks
        looks.append(at_s)


def test_queries_are_frequent_at_first_and_become_rare() -> None:
    looks = looks_s(3600)
    gaps = [round(later - earlier, 6) for earlier, later in itertools.pairwise([0.0, *looks])]
    assert gaps[0] == 1
    assert all(gap <= max(1, 0.2 * look + 1e-6) for gap, look in zip(gaps, looks, strict=True))
    assert gaps == sorted(gaps)
    assert gaps[-1] == 120
    # An hour without a node costs the RIC this many of its 65,536 sessions.
    assert len(looks) < 60


def test_a_listed_but_silent_node_is_queried_ever_more_rarely() -> None:
    absences = Absences()
    absences.note("gnb", present=False, now_ns=0)
    absences.note("gnb", present=True, now_ns=100 * 10**9)
    assert absences.next_query_s(100 * 10**9) is None
    absences.note("gnb", present=False, now_ns=105 * 10**9)
    assert absences.next_query_s(105 * 10**9) == pytest.approx(21)
    absences.note("other", present=False, now_ns=106 * 10**9)
    assert absences.next_query_s(106 * 10**9) == 1
    absences.note("gnb", present=True, now_ns=107 * 10**9)
    absences.note("gnb", present=True, now_ns=118 * 10**9)
    absences.note("other", present=True, now_ns=118 * 10**9)
    absences.note("gnb", present=False, now_ns=119 * 10**9)
    assert absences.next_query_s(119 * 10**9) == 1


def test_a_node_that_reported_after_it_was_found_counts_as_returned() -> None:
    absences = Absences()
    absences.note("gnb", present=False, now_ns=0)
    absences.note("gnb", present=True, now_ns=100 * 10**9)
    absences.note("gnb", present=False, now_ns=105 * 10**9, last_report_ns=103 * 10**9)
    assert absences.next_query_s(105 * 10**9) == 1
