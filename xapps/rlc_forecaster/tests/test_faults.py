"""Missing, late, repeated, reordered and invalid reports; bearers that appear and disappear."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import SHORT, Oracle, Reports, rows_of, served
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rlc_forecaster.core import Batch, Fallback, Forecaster, Source
from rlc_model import ContractError

PERIOD_US = 1_000
RATE = 1_000


def feed(forecaster: Forecaster, report: Reports, steps: range) -> Batch:
    for k in steps:
        batch = forecaster.on_report(report({17: (50_000, RATE * k)}), k * PERIOD_US + 1)
    assert batch is not None
    return batch


def test_duplicate_and_late_reports_change_nothing(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    feed(forecaster, report, range(20))
    before = forecaster.latest
    assert forecaster.on_report(report({17: (1, 1)}), 19 * PERIOD_US + 1) is None
    assert forecaster.on_report(report({17: (1, 1)}), 5 * PERIOD_US + 1) is None
    assert forecaster.on_report(report({17: (1, 1)}), 5 * PERIOD_US + 500) is None
    assert forecaster.latest is before
    assert (forecaster.counters.duplicates, forecaster.counters.late) == (2, 1)


def test_a_reordered_report_counts_as_lost_and_rates_stay_correct(report: Reports) -> None:
    straight, crossed = Forecaster("gnb"), Forecaster("gnb")
    feed(straight, report, range(400))
    feed(crossed, report, range(10))
    for k in (11, 10, 12, 13):
        crossed.on_report(report({17: (50_000, RATE * k)}), k * PERIOD_US + 1)
    assert crossed.counters.late == 1
    batch = feed(crossed, report, range(14, 400))
    assert straight.latest is not None
    middle = batch.values[..., 1], straight.latest.values[..., 1]
    np.testing.assert_allclose(*middle, rtol=1e-3)
    np.testing.assert_allclose(batch.values[0, 1, :, 1], RATE, rtol=1e-3)


def test_missing_reports_are_counted(report: Reports) -> None:
    forecaster = Forecaster("gnb")
    feed(forecaster, report, range(5))
    feed(forecaster, report, range(9, 12))
    assert (forecaster.counters.gaps, forecaster.counters.missing) == (1, 4)


def test_a_short_gap_keeps_the_state_and_a_long_one_resets_it(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    feed(forecaster, report, range(20))
    batch = feed(forecaster, report, range(60, 61))
    assert batch.source.tolist() == [Source.MODEL]
    batch = feed(forecaster, report, range(200, 201))
    assert batch.fallback.tolist() == [Fallback.WARMING_UP]
    batch = feed(forecaster, report, range(201, 210))
    assert batch.source.tolist() == [Source.PERSISTENCE]
    batch = feed(forecaster, report, range(210, 212))
    assert batch.source.tolist() == [Source.MODEL]


def test_the_silence_of_one_bearer_resets_its_state(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    both = {17: (10, 0), 18: (20, 0)}
    for k in range(400):
        bearers = both if k < 50 or k >= 300 else {18: (20, 0)}
        forecaster.on_report(report(bearers), k * PERIOD_US)
    assert forecaster.latest is not None
    assert forecaster.latest.source.tolist() == [Source.MODEL, Source.MODEL]
    sources = []
    for k in range(400, 800):
        bearers = both if k < 410 or k >= 550 else {18: (20, 0)}
        batch = served(forecaster, report(bearers), k * PERIOD_US)
        sources.append(batch.source.tolist())
    # 17 was silent for 140 ms, so its state was reset; 18 was not.
    assert sources[150] == [Source.PERSISTENCE, Source.MODEL]
    assert sources[161] == [Source.MODEL, Source.MODEL]


def test_a_counter_wrap_is_neither_a_burst_nor_a_reset(report: Reports) -> None:
    forecaster = Forecaster("gnb")
    for k in range(20):
        pdu_bytes = 2**32 - 10_000 + RATE * k
        batch = served(forecaster, report({17: (9_000, pdu_bytes)}), k * PERIOD_US)
        if k:
            assert batch.values[0, 1, 0, 1] == RATE
    forecaster.learn()
    assert forecaster.counters.counter_resets == 0


def test_a_counter_reset_is_not_learned_as_drain(report: Reports) -> None:
    forecaster = Forecaster("gnb")
    for k in range(200):
        counter = 3 * 10**9 + RATE * k if k < 100 else RATE * (k - 100)
        batch = forecaster.on_report(report({17: (9_000, counter)}), k * PERIOD_US)
    forecaster.learn()
    assert forecaster.counters.counter_resets == 1
    assert batch is not None
    # The drain is constant, so the interval has no width.
    np.testing.assert_allclose(batch.values[0, 1], RATE, rtol=0.02)


def test_bearers_are_added_and_removed(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=SHORT)
    for k in range(50):
        forecaster.on_report(report({17: (10, 0), 18: (20, 0)}), k * PERIOD_US)
    for k in range(50, 1_200):
        forecaster.on_report(report({18: (20, 0)}), k * PERIOD_US)
    assert forecaster.bearers == 1
    assert forecaster.counters.bearers_gone == 1
    batch = served(forecaster, report({19: (70, 0), 18: (20, 0)}), 1_200 * PERIOD_US)
    assert batch.rnti.tolist() == [19, 18]
    # 19 reuses the slot of 17 without its state.
    assert (batch.values[0, 0] == 70).all()


def test_a_repeated_bearer_counts_once(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    twice = np.concatenate([report({17: (10, 0), 18: (20, 0)}), report({17: (99, 0)})])
    for k in range(30):
        batch = served(forecaster, twice, k * PERIOD_US)
        assert batch.rnti.tolist() == [17, 18]
    assert batch.source.tolist() == [Source.MODEL, Source.MODEL]
    assert forecaster.counters.duplicate_rows == 30


def test_an_empty_report_gives_no_forecast(report: Reports) -> None:
    assert Forecaster("gnb").on_report(report({}), 1) is None


@pytest.mark.parametrize("at_us", [-1, -(2**63), 2**63 - 1])
def test_a_time_out_of_range_is_refused_and_the_next_report_served(
    report: Reports, at_us: int
) -> None:
    forecaster = Forecaster("gnb")
    with pytest.raises(ContractError, match=r"report.tstamp: .* expected 0 to"):
        forecaster.on_report(report({17: (1, 0)}), at_us)
    assert forecaster.on_report(report({17: (1, 0)}), 5) is not None


def test_a_report_without_a_field_is_refused(report: Reports) -> None:
    rows = report({17: (1, 0)})[["rnti", "rbid", "txpdu_bytes"]]
    with pytest.raises(ContractError, match="lacks txbuf_occ_bytes"):
        Forecaster("gnb").on_report(rows, 1)


@pytest.mark.parametrize("jump_us", [-3_600_000_000, 3_600_000_000])
def test_a_clock_that_was_set_is_followed(report: Reports, jump_us: int) -> None:
    begin_us = 10_000_000_000
    forecaster = Forecaster("gnb", Oracle(0.0))
    for k in range(30):
        forecaster.on_report(report({17: (5, 0)}), begin_us + k * PERIOD_US)
    by_model = []
    for k in range(30, 200):
        at_us = begin_us + jump_us + k * PERIOD_US
        batch = forecaster.on_report(report({17: (5, 0)}), at_us)
        by_model.append(batch is not None and batch.source[0] == Source.MODEL)
    assert all(by_model[70:])
    assert forecaster.counters.clock_resets == (1 if jump_us < 0 else 0)


def test_one_report_from_the_far_future_does_not_block_the_following(report: Reports) -> None:
    forecaster = Forecaster("gnb")
    feed(forecaster, report, range(20))
    forecaster.on_report(report({17: (5, 0)}), 10**15)
    batches = [
        forecaster.on_report(report({17: (5, 0)}), k * PERIOD_US + 1) for k in range(20, 100)
    ]
    assert batches[60] is not None
    assert forecaster.counters.clock_resets == 1


@pytest.mark.parametrize("kind", ["doubled", "late"])
@pytest.mark.parametrize("every", [1, 2, 10, 100])
def test_doubled_and_late_reports_among_those_in_time_reset_nothing(
    report: Reports, every: int, kind: str
) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    for k in range(6_000):
        feed(forecaster, report, range(k, k + 1))
        if k and k % every == 0:
            at_us = k * PERIOD_US + 1 if kind == "doubled" else k * PERIOD_US - 499
            assert forecaster.on_report(report({17: (50_000, RATE * k)}), at_us) is None
    counters = forecaster.counters
    assert counters.duplicates + counters.late == 5_999 // every
    assert counters.clock_resets == 0
    assert counters.bearers_added == 1
    assert forecaster.latest is not None
    assert forecaster.latest.source.tolist() == [Source.MODEL]


def test_a_clock_that_was_set_back_is_followed_though_reports_are_doubled_and_reordered(
    report: Reports,
) -> None:
    begin_us = 10_000_000_000
    forecaster = Forecaster("gnb", Oracle(0.0))
    feed(forecaster, report, range(10_000_000, 10_000_030))
    # The first is one that was late before the clock was set.
    forecaster.on_report(report({17: (5, 0)}), begin_us + 500)
    for k in range(100):
        for late in (k ^ 1 if k % 8 == 0 else k,) * (2 if k % 5 == 0 else 1):
            forecaster.on_report(report({17: (5, 0)}), begin_us - 10**9 + late * PERIOD_US)
    assert forecaster.counters.clock_resets == 1
    assert forecaster.latest is not None
    assert forecaster.latest.origin_us == begin_us - 10**9 + 99 * PERIOD_US


def test_a_backlog_that_arrives_in_reverse_is_no_clock_that_was_set(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    feed(forecaster, report, range(20))
    feed(forecaster, report, range(200, 201))
    for k in range(199, 20, -1):
        assert forecaster.on_report(report({17: (5, 0)}), k * PERIOD_US + 1) is None
    assert forecaster.counters.clock_resets == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(-3_000, 130_000),
            st.lists(
                st.tuples(st.integers(1, 6), st.integers(1, 2), st.integers(0, 2**32 - 1)),
                max_size=8,
            ),
        ),
        max_size=60,
    ),
    st.booleans(),
)
def test_forecasts_are_complete_for_any_reports(
    script: list[tuple[int, list[tuple[int, int, int]]]], with_model: bool
) -> None:
    """Whatever times, bearers and counters are, each bearer of a report has exactly one forecast,
    finite and increasing along the quantiles."""
    forecaster = Forecaster("gnb", Oracle(10.0, warm_up_steps=2) if with_model else None)
    at_us = 10_000
    for step_us, bearers in script:
        at_us = max(0, at_us + step_us)
        batch = forecaster.on_report(rows_of(bearers), at_us)
        if batch is None:
            continue
        named = list(zip(batch.rnti.tolist(), batch.drb.tolist(), strict=True))
        assert named == list(dict.fromkeys((rnti, drb) for rnti, drb, _ in bearers))
        assert np.isfinite(batch.values).all()
        assert (batch.values >= 0).all()
        assert (np.diff(batch.values, axis=-1) >= 0).all()
        model: NDArray[np.bool_] = batch.source == Source.MODEL
        assert (model == (batch.fallback == Fallback.NONE)).all()
