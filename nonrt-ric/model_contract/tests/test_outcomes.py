"""The drain of a point is the mean since the point before, over whole runs and report by report."""

from __future__ import annotations

import numpy as np
import pytest
from rlc_model import FEATURES, Quantity, known_drain, outcomes, recent_drain, span_mean

DRAIN = FEATURES.index(Quantity.DRAIN.value)


def reports(drain: np.ndarray) -> np.ndarray:
    features = np.zeros((len(drain), len(FEATURES)), np.float32)
    features[:, DRAIN] = drain
    return features


def test_a_tdd_pattern_does_not_alias_with_points_at_its_distance() -> None:
    # Downlink in the first slot of five: 5000 bytes, else nothing; points 5 ms apart.
    drain = np.where(np.arange(40) % 5 == 0, 5_000, 0).astype(np.float32)
    assert set(drain[4::5]) == {0.0}, "instants show one slot alone"
    assert (span_mean(drain, 5)[4:] == 1_000).all()


def test_an_unknown_report_makes_the_spans_with_it_unknown() -> None:
    drain = np.array([3, 4, np.nan, 5, 9, 10], np.float32)
    np.testing.assert_array_equal(
        span_mean(drain, 2), np.array([np.nan, 3.5, np.nan, np.nan, 7, 9.5], np.float32)
    )
    np.testing.assert_array_equal(span_mean(drain, 1), drain)
    assert np.isnan(span_mean(drain, 7)).all(), "longer than the run"


@pytest.mark.parametrize("as_slice", [True, False])
def test_report_by_report_the_means_are_those_of_the_run(*, as_slice: bool) -> None:
    rng = np.random.default_rng(7)
    drain = rng.integers(0, 10_000_000, (60, 3)).astype(np.float32)
    drain[rng.random(drain.shape) < 0.05] = np.nan
    # No report of any bearer at these.
    drain[[12, 13, 30]] = np.nan
    slots = slice(4, 7) if as_slice else np.array([5, 0, 9])
    recent = recent_drain(10)
    recent.grow(10)
    means = {span: span_mean(drain, span) for span in (1, 2, 5, 10)}
    for tick in range(60):
        if np.isnan(drain[tick]).all():
            continue
        fresh = ~np.isnan(drain[tick])
        recent.add(slots, 1_000 + tick, reports(np.nan_to_num(drain[tick])), fresh)
        for span, expected in means.items():
            np.testing.assert_array_equal(recent.mean(slots, span), expected[tick])


def test_after_a_pause_or_a_set_clock_nothing_older_counts() -> None:
    slots, fresh = np.array([0]), np.array([True])
    recent = recent_drain(4)
    recent.grow(1)
    for tick in (100, 101, 102, 103):
        recent.add(slots, tick, reports(np.array([8])), fresh)
    assert recent.mean(slots, 4) == 8
    recent.add(slots, 20, reports(np.array([2])), fresh)
    assert (recent.mean(slots, 1)[0], bool(np.isnan(recent.mean(slots, 2)[0]))) == (2, True)
    recent.add(slots, 24, reports(np.array([6])), fresh)
    assert np.isnan(recent.mean(slots, 2)[0])


def test_the_outcome_of_the_drain_is_that_of_the_span() -> None:
    features, fresh = reports(np.array([5, 7])), np.array([True, False])
    quantities = (Quantity.OCCUPANCY, Quantity.DRAIN)
    alone = outcomes(quantities, features, fresh)
    np.testing.assert_array_equal(alone[:, 1], known_drain(features, fresh))
    means = np.array([np.nan, 2], np.float32)
    of_span = outcomes(quantities, features, fresh, drain=means)
    np.testing.assert_array_equal(of_span[:, 1], means)
    np.testing.assert_array_equal(of_span[:, 0], alone[:, 0])
