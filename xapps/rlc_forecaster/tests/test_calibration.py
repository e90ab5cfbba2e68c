"""Quantiles have their nominal coverage for any model and any series."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import SHORT, Floats, Oracle, Reports, served
from numpy.typing import NDArray
from rlc_forecaster.core import Forecaster, Source

PERIOD_US = 1_000


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


def test_each_of_many_bearers_is_checked_at_each_horizon(report: Reports) -> None:
    """More bearers than are checked per report; all are checked in turn."""
    rng = np.random.default_rng(9)
    forecaster = Forecaster("gnb", layout=SHORT)
    coverage = forecaster.run.coverage
    for k in range(5_000):
        levels = (50_000 + 1_000 * rng.standard_normal(150)).astype(int)
        bearers = {rnti: (int(level), 0) for rnti, level in enumerate(levels)}
        batch = forecaster.on_report(report(bearers), k * PERIOD_US)
        if k == 3_000:
            before = coverage.checked.copy(), coverage.covered.copy()
    assert batch is not None
    width = batch.values[:, 0, :, 2] - batch.values[:, 0, :, 0]
    assert (width > 500).all()
    assert width.mean(axis=0).min() > 1_500
    # A round of 7 outcomes checks the first of three points thrice, the others twice.
    checked, inside = coverage.checked - before[0], coverage.covered - before[1]
    assert checked.min() >= 0.66 * checked.max()
    np.testing.assert_allclose(inside / checked, 0.8, atol=0.04)


def test_a_forecast_clipped_at_zero_does_not_inflate_what_is_served(report: Reports) -> None:
    """The model forecasts 9 kB every third millisecond for an empty queue. The offset that corrects
    this exceeds the mean error, and the served forecast is clipped at 0: the error must be that of
    the forecast without offset, else the offset grows."""

    def change(values: Floats, state: Floats, features: Floats) -> None:
        values += np.float32(9_000) * (state[:, 0] % 3 == 0)[:, None, None, None]

    forecaster = Forecaster("gnb", Oracle(0.0, change=change))
    largest = 0.0
    for k in range(12_000):
        batch = served(forecaster, report({17: (0, 0)}), k * PERIOD_US)
        largest = max(largest, float(batch.values.max())) if k > 2_000 else 0.0
    assert largest < 2 * 9_000
