"""When the RIC is queried for absent nodes."""

from __future__ import annotations

import itertools

import pytest
from flexric_bridge.absence import Absences


def queries_s(away_for_s: float) -> list[float]:
    """When the RIC is queried for a node that is away from 0 on, s."""
    absences, at_s, queries = Absences(), 0.0, []
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
