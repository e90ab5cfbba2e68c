"""All baselines have the interface of forecasters and use no future samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_corpus import corpus, layout, series, waves
from rlc_model import FEATURES, MinMaxScaler
from rlc_train import backtest
from rlc_train.baselines import BASELINES, Forecaster, summary
from rlc_train.baselines.naive import MeanOfK, SeasonalNaive
from rlc_train.baselines.sarima import Sarima
from rlc_train.errors import TrainError
from rlc_train.splits import Part, split

AXES = layout(points=3)
CHEAP = ("persistence", "adaptive-persistence", "seasonal-naive", "mean-of-5")


def fitted(name: str) -> Forecaster:
    forecaster = BASELINES[name]()
    if name == "sarima":
        forecaster = Sarima(order=(1, 0, 0), seasonal=(0, 0, 0, 10))
    forecaster.fit(split(corpus(1_500), AXES).train, AXES, 1)
    return forecaster


def with_changed_future(part: Part, row: int) -> Part:
    """The same series with other values after `row`."""
    one = part.series
    features, targets = one.features.copy(), one.targets.copy()
    features[row + 1 :] *= 3
    targets[row + 1 :] *= 3
    return replace(part, series=replace(one, features=features, targets=targets))


def check(name: str) -> None:
    forecaster = fitted(name)
    part = Part(series("new", 1_500, seed=9), 1_000, 1_500)
    origins = np.array([1_100, 1_200], np.intp)
    forecast = forecaster.predict(part, origins)
    assert forecast.shape == (2, *AXES.shape)
    assert forecast.dtype == np.float32
    assert np.isfinite(forecast).all()
    assert (np.diff(np.sort(forecast, axis=-1).mean(axis=(0, 1, 2))) > 0).all()
    unaware = forecaster.predict(with_changed_future(part, 1_200), origins)
    np.testing.assert_array_equal(unaware, forecast)


@pytest.mark.parametrize("name", CHEAP)
def test_a_baseline_forecasts_without_future_samples(name: str) -> None:
    check(name)


@pytest.mark.usefixtures("baselines_extra")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_sarima_forecasts_without_future_samples() -> None:
    check("sarima")


def test_a_mean_uses_the_available_samples() -> None:
    part = Part(series(rows=100), 0, 100)
    forecaster = MeanOfK(4)
    values = forecaster.point(part, AXES, np.array([1, 50], np.intp))
    occupancy = part.series.features[:, 0]
    assert values[0, 0, 0] == pytest.approx(occupancy[:2].mean())
    assert values[1, 0, 2] == pytest.approx(occupancy[47:51].mean(), rel=1e-6)
    with pytest.raises(TrainError, match="is 0; expected 1 or more"):
        MeanOfK(0)


def test_a_season_is_found_and_repeated() -> None:
    rng = np.random.default_rng(1)
    pattern = rng.uniform(1_000, 9_000, (10, 2))
    levels = np.tile(pattern, (300, 1)) + rng.normal(0, 50, (3_000, 2))
    part = Part(series(levels=levels), 0, 3_000)
    forecaster = SeasonalNaive()
    forecaster.prepare([part], AXES)
    assert all(season % 10 == 0 for season in forecaster.seasons)
    origin = 1_500
    found = forecaster.point(part, AXES, np.array([origin], np.intp))[0, 0]
    expected = pattern[(origin + AXES.ahead) % 10, 0]
    np.testing.assert_allclose(found, expected, atol=250)


def test_adaptive_persistence_learns_the_spread_of_each_bearer() -> None:
    rng = np.random.default_rng(2)
    shares = []
    for size in (100.0, 10_000.0):
        levels = 50_000 + size * rng.standard_normal((6_000, 2))
        part = Part(series(levels=levels), 3_000, 6_000)
        forecaster = BASELINES["adaptive-persistence"]()
        forecaster.fit([], AXES, 1)
        chosen = backtest.origins_of([part], AXES, 1_000)
        covered = backtest.run(forecaster, chosen, AXES).calibration(AXES.levels)
        shares.append(covered.interval()[1][0])
    np.testing.assert_allclose(shares, 0.8, atol=0.06)


def test_a_summary_equals_the_recurrence_of_the_export() -> None:
    rng = np.random.default_rng(5)
    features = rng.random((700, len(FEATURES)), np.float32)
    scaler = MinMaxScaler.of([0.0] * len(FEATURES), [1.0] * len(FEATURES))
    rows = np.array([0, 5, 127, 128, 300, 699], np.intp)
    found = summary.summarise(features, scaler, rows)
    weights = np.array(summary.WEIGHTS)[:, None]
    means, deviation = np.zeros((len(weights), len(FEATURES))), np.zeros(len(FEATURES))
    for row, sample in enumerate(features):
        means += weights * (sample - means)
        off = np.abs(sample - means[summary.DEVIATION_MEAN])
        deviation += summary.DEVIATION_WEIGHT * (off - deviation)
        if row in rows:
            expected = np.concatenate([sample, means.ravel(), deviation])
            np.testing.assert_allclose(found[rows.tolist().index(row)], expected, atol=1e-6)
    assert summary.summarise(features, scaler, rows[:0]).shape == (0, summary.SIZE)


def test_sarima_forecasts_the_last_value_without_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """statsmodels raises this if the initial covariance is not stationary."""

    class Unsolvable:
        def fit(self, **_: object) -> None:
            raise np.linalg.LinAlgError

    sarima = Sarima()
    monkeypatch.setattr(sarima, "_layout", AXES)
    monkeypatch.setattr(sarima, "_model", lambda _: Unsolvable())
    part = Part(series(rows=3_000), 2_000, 3_000)
    forecast = sarima.predict(part, np.array([2_500], np.intp))
    last = part.series.features[2_500][AXES.columns]
    expected = np.broadcast_to(last[:, None, None], AXES.shape)
    np.testing.assert_allclose(forecast[0], expected, rtol=1e-6)


def test_an_unfitted_baseline_is_refused() -> None:
    part, empty = Part(series(rows=100), 0, 100), np.zeros(0, np.intp)
    for name in CHEAP:
        with pytest.raises(TrainError, match="is not fitted"):
            BASELINES[name]().predict(part, empty)


def test_the_synthetic_series_vary() -> None:
    occupancy = waves(4_000, 1)[:, 0]
    assert 15_000 < occupancy.mean() < 25_000
    assert occupancy.std() > 5_000
