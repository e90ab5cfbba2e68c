"""Requests to the RIC: their budget, the command that shows it, rate and order of controls."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from flexric_bridge.absence import Absences
from flexric_bridge.budget import UNCLEAN_MARGIN, Budget, BudgetSpent, Use
from flexric_bridge.cli import main
from flexric_bridge.controls import ControlQueue, Rate, RateExceeded
from ric.state_file import write_document
from ric.testing import LoopClock, run_virtual

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
    passed = [budget.spend(Use.CONTROL) for _ in range(100)]
    assert {n + 1: share for n, share in enumerate(passed) if share} == {50: 0.5, 90: 0.9}
    budget.renew()
    assert budget.left == 100
    assert budget.spend(Use.CONTROL, 95) == 0.9


def test_a_session_number_that_does_not_grow_is_a_restart_of_the_ric() -> None:
    budget = Budget(100, 0)
    assert not budget.begin_session(7)
    assert not budget.begin_session(8)
    budget.spend(Use.CONTROL, 60)
    # Without a number the count continues.
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
    ("arguments", "problem"),
    [
        (["--ric", "ric:36421"], "without a port: E42 has always 36422, and 36421 is E2, for gNBs"),
        (["--libraries", "/nowhere/at/all"], "expected a file or directory that exists"),
        (["--listen", "0.0.0.0:1"], "plain text on 0.0.0.0:1"),
        (["--budget-reserve", "64500"], "expected less than requests"),
        (["--ric-sdk", "no_such_module_here:Sdk"], "no_such_module_here is not installed"),
        (["--tc-bearers", "[{node: x, drb: 99}]"], "--tc-bearers: [0].drb"),
    ],
)
def test_invalid_settings_are_refused_in_one_sentence(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    printed = capsys.readouterr().err
    assert problem in printed
    assert "Traceback" not in printed


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


# ---------------------------------------------------------------- queries for absent nodes


def queries_s(away_for_s: float) -> list[float]:
    """When the RIC is queried for a node that is away from 0 on, s."""
    absences, at_s = Absences(), 0.0
    queries: list[float] = []
    while True:
        absences.update("gnb", present=False, now_ns=int(at_s * 1e9))
        delay_s = absences.next_query_s(int(at_s * 1e9))
        assert delay_s is not None
        at_s += delay_s
        if at_s > away_for_s:
            return queries
        queries.append(at_s)


def test_queries_are_frequent_at_first_and_become_rare() -> None:
    queries = queries_s(3600)
    gaps = [round(later - earlier, 6) for earlier, later in itertools.pairwise([0.0, *queries])]
    assert gaps[0] == 1
    assert all(gap <= max(1, 0.2 * look + 1e-6) for gap, look in zip(gaps, queries, strict=True))
    assert gaps == sorted(gaps)
    assert gaps[-1] == 120
    # Sessions, of 65,536, that an hour without a node costs.
    assert len(queries) < 60


def test_a_listed_but_silent_node_is_queried_less_and_less_often() -> None:
    absences = Absences()
    absences.update("gnb", present=False, now_ns=0)
    absences.update("gnb", present=True, now_ns=100 * 10**9)
    assert absences.next_query_s(100 * 10**9) is None
    absences.update("gnb", present=False, now_ns=105 * 10**9)
    assert absences.next_query_s(105 * 10**9) == pytest.approx(21)
    absences.update("other", present=False, now_ns=106 * 10**9)
    assert absences.next_query_s(106 * 10**9) == 1
    absences.update("gnb", present=True, now_ns=107 * 10**9)
    absences.update("gnb", present=True, now_ns=118 * 10**9)
    absences.update("other", present=True, now_ns=118 * 10**9)
    absences.update("gnb", present=False, now_ns=119 * 10**9)
    assert absences.next_query_s(119 * 10**9) == 1


def test_a_node_that_reported_after_it_was_found_counts_as_returned() -> None:
    absences = Absences()
    absences.update("gnb", present=False, now_ns=0)
    absences.update("gnb", present=True, now_ns=100 * 10**9)
    absences.update("gnb", present=False, now_ns=105 * 10**9, last_report_ns=103 * 10**9)
    assert absences.next_query_s(105 * 10**9) == 1
