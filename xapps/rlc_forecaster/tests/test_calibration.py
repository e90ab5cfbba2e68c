"""Quantiles have their nominal coverage for any model and any series."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import SHORT, Floats, Oracle, Reports, served
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rlc_forecaster.core import Forecaster, Layout, Source
from rlc_forecaster.core.calibration import QuantileTracker, add_offsets
from rlc_model import Quantity

PERIOD_US = 1_000
ONE = Layout((Quantity.OCCUPANCY,), 1_000, 1_000, 1, (0.1, 0.5, 0.9))


def covered(
    forecaster: Forecaster, report: Reports, levels: NDArray[np.int64], since: int
) -> float:
    """Share of the levels from `since` on within the outer quantiles served 2 ms before."""
    intervals: dict[int, tuple[float, float]] = {}
    inside = []
    for k, level in enumerate(levels):
        batch = served(forecaster, report({17: (int(level), 0)}), k * PERIOD_US)
        if k >= since:
            low, high = intervals[k]
            inside.append(low <= level <= high)
        intervals[k + 2] = (float(batch.values[0, 0, 0, 0]), float(batch.values[0, 0, 0, -1]))
    return float(np.mean(inside))


def test_quantiles_of_persistence_widen_to_its_errors(report: Reports) -> None:
    rng = np.random.default_rng(3)
    levels = (50_000 + 1_000 * rng.standard_normal(9_000)).astype(np.int64)
    assert covered(Forecaster("gnb", layout=SHORT), report, levels, 4_000) == pytest.approx(
        0.8, abs=0.02
    )


@pytest.mark.parametrize("bias", [-50.0, 0.0, 50.0])
def test_a_model_without_width_and_with_a_bias_is_calibrated(report: Reports, bias: float) -> None:
    rng = np.random.default_rng(4)
    levels = (50_000 + 30 * np.cumsum(rng.standard_normal(9_000))).astype(np.int64)
    forecaster = Forecaster("gnb", Oracle(bias))
    assert covered(forecaster, report, levels, 4_000) == pytest.approx(0.8, abs=0.02)


def test_calibration_follows_a_change_of_the_series(report: Reports) -> None:
    """Ten times the noise after 5 s."""
    rng = np.random.default_rng(5)
    noise = np.where(np.arange(12_000) < 5_000, 100, 1_000)
    levels = (50_000 + noise * rng.standard_normal(12_000)).astype(np.int64)
    forecaster = Forecaster("gnb", Oracle(0.0))
    assert covered(forecaster, report, levels, 4_000) == pytest.approx(0.8, abs=0.03)
    coverage = forecaster.run.coverage
    assert coverage.covered.sum() / coverage.checked.sum() == pytest.approx(0.8, abs=0.05)


def test_an_empty_queue_does_not_inflate_the_offsets(report: Reports) -> None:
    """An empty queue for 12 s, then load: calibrated within a second."""
    rng = np.random.default_rng(6)
    quiet = np.zeros(12_000, np.int64)
    busy = (50_000 + 1_000 * rng.standard_normal(5_000)).astype(np.int64)
    forecaster = Forecaster("gnb", layout=SHORT)
    share = covered(forecaster, report, np.concatenate([quiet, busy]), 13_000)
    assert share == pytest.approx(0.8, abs=0.04)


def test_the_error_of_coverage_is_bounded_for_any_series() -> None:
    """|θ| is bounded, so errors average out on any series, here an adversarial one."""
    tracker = QuantileTracker(ONE)
    slots, outcomes = np.zeros(1, np.intp), 4_000
    above = np.zeros(3)
    for k in range(outcomes):
        forecast = 100 + tracker.offset(slots, 1)[:, :, 0]
        actual = np.array([[120.0 if (k // 50) % 2 else 80.0]], np.float32)
        above += actual[0, 0] > forecast[0, 0]
        tracker.learn(slots, 0, actual, np.full((1, 1, 3), 100, np.float32))
    np.testing.assert_allclose(above / outcomes, [0.9, 0.5, 0.1], atol=0.05)


def test_a_permanent_change_does_not_inflate_the_offsets() -> None:
    """A learned offset becomes wrong at once; it must shrink, not reinforce itself."""
    tracker = QuantileTracker(ONE)
    slots, largest = np.zeros(1, np.intp), 0.0
    for k in range(6_000):
        offset = tracker.offset(slots, 1)[:, :, 0]
        largest = max(largest, float(np.abs(offset).max()))
        actual = np.array([[50_000 if k < 3_000 else 40_000]], np.float32)
        tracker.learn(slots, 0, actual, np.full((1, 1, 3), 45_000, np.float32))
    assert largest < 20 * 5_000 * 1.1
    assert np.abs(tracker.offset(slots, 1)[:, :, 0] + 5_000).max() < 5_000


def test_a_new_bearer_starts_with_the_offsets_of_the_others(report: Reports) -> None:
    rng = np.random.default_rng(7)
    forecaster = Forecaster("gnb", layout=SHORT)
    for k in range(4_000):
        levels = (50_000 + 1_000 * rng.standard_normal(20)).astype(int)
        bearers = {rnti: (int(level), 0) for rnti, level in enumerate(levels)}
        forecaster.on_report(report(bearers), k * PERIOD_US)
    batch = served(forecaster, report({99: (50_000, 0)}), 4_000 * PERIOD_US)
    width = batch.values[0, 0, :, 2] - batch.values[0, 0, :, 0]
    # The 80 % interval of the difference of two values of deviation 1000.
    np.testing.assert_allclose(width, 2 * 1.28 * 1_414, rtol=0.25)


def test_calibration_is_per_bearer(report: Reports) -> None:
    rng = np.random.default_rng(8)
    forecaster = Forecaster("gnb", Oracle(0.0))
    for k in range(6_000):
        a, b = 50_000 + np.array([100, 5_000]) * rng.standard_normal(2)
        batch = forecaster.on_report(report({1: (int(a), 0), 2: (int(b), 0)}), k * PERIOD_US)
    assert batch is not None
    assert batch.source.tolist() == [Source.MODEL, Source.MODEL]
    width = (batch.values[:, 0, :, 2] - batch.values[:, 0, :, 0]).mean(axis=1)
    assert width[1] / width[0] == pytest.approx(50, rel=0.5)


@given(
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.02, 1.0]),
)
def test_adding_offsets_sorts_the_quantiles(
    quantiles: int, rows: int, seed: int, crossing: float
) -> None:
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(0, 100, (rows, 2, 3, quantiles)), axis=-1).astype(np.float32)
    swapped = rng.random(values.shape[:-1]) < crossing
    values[swapped] = values[swapped][:, ::-1]
    offset = rng.normal(0, 10, values.shape).astype(np.float32)
    expected = np.maximum(np.sort(values + offset, axis=-1), 0)
    np.testing.assert_array_equal(add_offsets(values, offset), expected)
    # One value for all quantiles, and for all points and quantiles.
    for last in (values[..., 0], values[:, :, 0, 0]):
        spread = last.reshape(*last.shape, *[1] * (values.ndim - last.ndim))
        expected = np.maximum(np.sort(spread + offset, axis=-1), 0)
        np.testing.assert_array_equal(add_offsets(last, offset), expected)


def test_each_of_many_bearers_is_checked_at_each_horizon(report: Reports) -> None:
    """More bearers than are checked per report; all are checked in turn."""
    rng = np.random.default_rng(9)
    forecaster = Forecaster("gnb", layout=SHORT)
    for k in range(600):
        levels = (50_000 + 1_000 * rng.standard_normal(150)).astype(int)
        bearers = {rnti: (int(level), 0) for rnti, level in enumerate(levels)}
        batch = forecaster.on_report(report(bearers), k * PERIOD_US)
    assert batch is not None
    width = batch.values[:, 0, :, 2] - batch.values[:, 0, :, 0]
    assert (width > 500).all()
    assert width.mean(axis=0).min() > 1_500


def test_a_forecast_clipped_at_zero_does_not_change_its_offset(report: Reports) -> None:
    """The model forecasts 9 kB every third millisecond for an empty queue. The offset that corrects
    this exceeds the mean error, and the served forecast is clipped at 0: the error must be that of
    the forecast without offset, else the offset grows."""

    def change(values: Floats, state: Floats, features: Floats) -> None:
        values += np.float32(9_000) * (state[:, 0] % 3 == 0)[:, None, None, None]

    forecaster = Forecaster("gnb", Oracle(0.0, change=change))
    largest = 0.0
    for k in range(12_000):
        served(forecaster, report({17: (0, 0)}), k * PERIOD_US)
        offset = forecaster.run.calibration.offset(np.zeros(1, np.intp), 1)
        largest = max(largest, float(np.abs(offset).max()))
    assert largest < 2 * 9_000
