"""Online calibration in a back-test uses only past outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from made_corpus import layout, series
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler, Quantity
from rlc_train.baselines.naive import AdaptivePersistence
from rlc_train.export.runner import ServedForecaster, StepRunner
from rlc_train.metrics import Calibration
from rlc_train.online import track
from rlc_train.series import labels
from rlc_train.splits import Part

AXES = layout(points=2)


def test_wrong_quantiles_reach_their_nominal_coverage() -> None:
    rng = np.random.default_rng(1)
    levels = 50_000 + 1_000 * rng.standard_normal((12_000, 2))
    one = series(levels=levels)
    # Centred on the wrong value, and a tenth as wide as it should be.
    wrong = np.broadcast_to(
        48_000 + np.array([-130.0, 0.0, 130.0], np.float32), (12_000, *AXES.shape)
    ).astype(np.float32)
    origins = np.arange(4_000, 11_900, dtype=np.intp)
    corrected = track(one, AXES, wrong, origins)
    actual = labels(one, AXES, origins)[..., None]
    below = (actual < corrected).mean(axis=0)
    found = Calibration(AXES.levels, below, (actual <= corrected).mean(axis=0))
    assert found.deviation().max() < 0.02
    assert found.interval_deviation().max() < 0.03


class CrossedModel(StepRunner):
    """Forecasts the quantiles of noise, a tenth of the time in reverse order."""

    def __init__(self) -> None:
        self.state_size, self._rng = 0, np.random.default_rng(8)

    def plain_step(
        self, sample: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], None]:
        quantiles = 50_000 + 1_282 * np.array([-1, 0, 1], np.float32)
        if self._rng.random() < 0.1:
            quantiles = quantiles[::-1]
        shape = (len(sample), *AXES.shape)
        return np.broadcast_to(quantiles, shape).astype(np.float32), state, None


def test_a_model_with_crossed_quantiles_is_calibrated_as_it_is_served() -> None:
    rng = np.random.default_rng(1)
    one = series(levels=50_000 + 1_000 * rng.standard_normal((12_000, 2)))
    scaler = MinMaxScaler.of([0.0] * len(FEATURES), [1.0] * len(FEATURES))
    model = ServedForecaster("crossed", CrossedModel(), scaler, AXES, tracked=True, absolute=True)
    origins = np.arange(4_000, 11_900, dtype=np.intp)
    forecast = model.predict(Part(one, 0, 12_000), origins)
    actual = labels(one, AXES, origins)[..., None]
    below, up_to = (actual < forecast).mean(axis=0), (actual <= forecast).mean(axis=0)
    found = Calibration(AXES.levels, below, up_to)
    assert found.deviation()[0].max() < 0.02
    assert found.interval_deviation()[0].max() < 0.02


def test_each_point_is_checked_in_every_slot_of_a_tdd_pattern() -> None:
    """One slot of five is uncertain; each point must be checked in all slots."""
    rng = np.random.default_rng(2)
    rows = 16_000
    spread = np.where(np.arange(rows) % 5 == 2, 3_000.0, 30.0)
    levels = 50_000 + spread[:, None] * rng.standard_normal((rows, 2))
    one = series(levels=levels)
    axes = layout(points=20)
    forecasts = np.broadcast_to(
        50_000 + np.array([-100.0, 0.0, 100.0], np.float32), (rows, *axes.shape)
    ).astype(np.float32)
    origins = np.arange(6_000, 15_900, dtype=np.intp)
    corrected = track(one, axes, forecasts, origins)
    actual = labels(one, axes, origins)[..., None]
    below, up_to = (actual < corrected).mean(axis=0), (actual <= corrected).mean(axis=0)
    assert Calibration(axes.levels, below, up_to).deviation().max() < 0.07
    assert np.abs(below.mean(axis=(0, 1)) - axes.levels).max() < 0.01


def test_a_permanent_change_leaves_the_offsets_bounded() -> None:
    """A learned offset becomes wrong at once; it must shrink, not reinforce itself."""
    levels = np.full((8_000, 2), 50_000.0)
    levels[4_000:] = 40_000.0
    one = series(levels=levels)
    forecasts = np.full((7_900, *AXES.shape), 45_000, np.float32)
    corrected = track(one, AXES, forecasts, np.arange(4_100, 7_900, dtype=np.intp))
    assert np.abs(corrected - 45_000).max() < 20 * 5_000 * 1.5
    assert np.abs(corrected[-1] - 40_000).max() < 5_000


def test_an_empty_queue_forecast_as_empty_changes_nothing() -> None:
    one = series(levels=np.zeros((2_000, 2)))
    origins = np.arange(1_000, 1_900, dtype=np.intp)
    corrected = track(one, AXES, np.zeros((1_900, *AXES.shape), np.float32), origins)
    np.testing.assert_array_equal(corrected, 0)


def test_a_longer_history_makes_no_relevant_difference() -> None:
    one = series(rows=9_000)
    forecaster = AdaptivePersistence()
    forecaster.fit([], AXES, 1)
    late = np.arange(8_000, 8_900, dtype=np.intp)
    short = forecaster.predict(Part(one, 8_000, 9_000), late)
    from_start = np.concatenate([[0], late]).astype(np.intp)
    whole = forecaster.predict(Part(one, 0, 9_000), from_start)[1:]
    width = (whole[..., -1] - whole[..., 0]).mean()
    assert np.abs(short - whole).mean() < 0.02 * width


def test_limits_are_learned_when_they_are_reported() -> None:
    """A limit that changes every millisecond, reported every 20 ms: the back-test calibrates by
    what the forecaster gets, and the truth between two reports is covered as well."""
    rng = np.random.default_rng(3)
    rows, every = 20_000, 20
    limit = (100_000 + 500 * np.cumsum(rng.standard_normal(rows))).astype(np.float32)
    reported = np.arange(rows) % every == 0
    features, targets = series(rows=rows).features, series(rows=rows).targets
    last = limit[np.maximum(np.arange(rows) - 1, 0) // every * every]
    features[:, FEATURES.index("queue_limit_bytes")] = last
    targets[:, list(Quantity).index(Quantity.QUEUE_LIMIT)] = limit
    one = replace(series(rows=rows), features=features, targets=targets, limit_reported=reported)
    axes = layout(points=20, quantities=(Quantity.QUEUE_LIMIT,))
    forecast = np.broadcast_to(last[:, None, None, None], (rows, *axes.shape))
    origins = np.arange(6_000, rows - 40, dtype=np.intp)
    corrected = track(one, axes, forecast, origins)
    actual = labels(one, axes, origins)[..., None]
    below = (actual < corrected).mean(axis=(0, 1, 2))
    assert np.abs(below - axes.levels).max() < 0.03
    # Between two reports nothing is learned.
    never = replace(one, limit_reported=np.zeros(rows, np.bool_))
    np.testing.assert_array_equal(track(never, axes, forecast, origins), forecast[origins])
    targets[~reported] = np.nan
    only_reported = replace(one, targets=targets)
    np.testing.assert_array_equal(track(only_reported, axes, forecast, origins), corrected)
