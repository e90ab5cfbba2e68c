"""The mix leaves a worse model, its name follows on evidence, and both return to the model."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import Floats, Oracle, Reports, served
from numpy.typing import NDArray
from rlc_forecaster.core import Fallback, Forecaster, Source
from rlc_forecaster.core.scores import Drift, Skill
from rlc_model.mix import LOSSES

PERIOD_US = 1_000


class NoisyOracle(Oracle):
    """Forecasts `series` plus `noise`."""

    def __init__(self, series: NDArray[np.int64], noise: float) -> None:
        super().__init__(0.0, change=self._replace)
        self.series = series
        self.noise = noise
        self.at = 0
        self._rng = np.random.default_rng(1)

    def _replace(self, values: Floats, state: Floats, features: Floats) -> None:
        for point in range(self.layout.points):
            at = self.at + self.layout.points_us[point] // PERIOD_US
            values[:, :, point] = self.series[at] + self.noise * self._rng.standard_normal()


def run(
    forecaster: Forecaster, model: NoisyOracle, report: Reports, steps: range
) -> list[Fallback]:
    reasons = []
    for k in steps:
        model.at = k
        batch = served(forecaster, report({17: (int(model.series[k]), 0)}), k * PERIOD_US + 1)
        reasons.append(Fallback(int(batch.fallback[0])))
        assert (batch.source[0] == Source.MODEL) == (reasons[-1] is Fallback.NONE)
    return reasons


def walk(steps: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(2)
    return (100_000 + 200 * np.cumsum(rng.standard_normal(steps))).astype(np.int64)


def model_weight(forecaster: Forecaster, slot: int = 0) -> float:
    return float(forecaster.run.mix.weights(slot)[0, :, 0].mean())


def test_a_worse_model_loses_its_weight_at_once_its_name_in_seconds_and_returns(
    report: Reports,
) -> None:
    model = NoisyOracle(walk(16_000), noise=3_000.0)
    forecaster = Forecaster("gnb", model)
    reasons = run(forecaster, model, report, range(400))
    assert model_weight(forecaster) < 0.2
    assert reasons[-1] is Fallback.NONE
    reasons = run(forecaster, model, report, range(400, 5_000))
    assert reasons[-1] is Fallback.WORSE_THAN_PERSISTENCE
    assert forecaster.run.skill.fallbacks == 1
    model.noise = 0.0
    reasons = run(forecaster, model, report, range(5_000, 15_000))
    assert model_weight(forecaster) > 0.8
    assert reasons[-1] is Fallback.NONE
    assert forecaster.run.skill.returns == 1
    assert not any(f is Fallback.NONE for f in reasons[:1_000])
    skill = forecaster.skill()
    assert (skill > 0.5).all()


def test_fallback_is_per_bearer(report: Reports) -> None:
    def change(values: Floats, state: Floats, features: Floats) -> None:
        values[1] += 5_000 * np.random.default_rng(int(state[0, 0])).standard_normal()

    # The model knows the slope of both, and errs for the second.
    forecaster = Forecaster("gnb", Oracle(100.0, change=change))
    rng = np.random.default_rng(4)
    levels = 50_000 + 100 * np.cumsum(1 + rng.standard_normal((5_000, 2)), axis=0)
    for k, (a, b) in enumerate(levels.astype(int)):
        forecaster.on_report(report({17: (a, 0), 18: (b, 0)}), k * PERIOD_US)
    assert forecaster.latest is not None
    assert forecaster.latest.fallback.tolist() == [Fallback.NONE, Fallback.WORSE_THAN_PERSISTENCE]
    assert model_weight(forecaster, 1) < 0.1 < model_weight(forecaster, 0)


def test_a_model_as_good_as_persistence_does_not_change_its_name() -> None:
    """Losses of equal mean, correlated over 30 outcomes as those of overlapping horizons are."""
    skill = Skill(Oracle.layout)
    skill.grow(1)
    rng = np.random.default_rng(3)
    slots, seconds = np.zeros(1, np.intp), 120
    for k in range(1_000 * seconds):
        if k % 30 == 0:
            losses = rng.exponential(1.0, (1, 1, len(LOSSES))).astype(np.float32)
        skill.note(skill.scores.learn(slots, k % 3, losses, 1_000 * k))
    assert skill.fallbacks <= 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_state_with_nan_or_infinity_is_reset(report: Reports, bad: float) -> None:
    def change(values: Floats, state: Floats, features: Floats) -> None:
        state[features[:, 0] > 90_000] = bad

    forecaster = Forecaster("gnb", Oracle(0.0, change=change))
    for k in range(40):
        high = 99_000 if k == 20 else 10_000
        batch = served(forecaster, report({17: (high, 0), 18: (5, 0)}), k * PERIOD_US + 1)
        assert np.isfinite(batch.values).all()
        expected = Fallback.WARMING_UP if k < 10 else Fallback.NONE
        if 20 <= k <= 30:
            expected = Fallback.NOT_FINITE
        assert batch.fallback[0] == expected, k
    assert batch.source.tolist() == [Source.MODEL, Source.MODEL]
    assert forecaster.run.carried is not None
    assert forecaster.run.carried.not_finite == 1


def test_a_model_that_is_never_finite_is_never_served(report: Reports) -> None:
    def change(values: Floats, state: Floats, features: Floats) -> None:
        values[...] = np.nan

    forecaster = Forecaster("gnb", Oracle(0.0, change=change))
    for k in range(60):
        batch = served(forecaster, report({17: (700, 0)}), k * PERIOD_US)
        assert batch.fallback.tolist() == [Fallback.NOT_FINITE]
        np.testing.assert_allclose(batch.values, 700)


def test_drift_raises_an_alarm_only_when_the_loss_rises() -> None:
    drift = Drift(np.zeros(1, np.float32), np.ones(1, np.float32))
    rng = np.random.default_rng(5)
    for _ in range(20_000):
        drift.update_losses(0.8 * float(rng.exponential()), 1.0)
    assert drift.alarms == 0
    for _ in range(2_000):
        drift.update_losses(1.4 * float(rng.exponential()), 1.0)
    assert drift.alarms >= 1


def test_feature_drift_is_the_share_outside_the_training_range() -> None:
    drift = Drift(np.zeros(2, np.float32), np.full(2, 10.0, np.float32))
    for k in range(8_000):
        drift.update_range(np.array([[5.0, 50.0 if k % 4 == 0 else 10.4]], np.float32))
    assert drift.outside[0] == 0
    assert drift.outside[1] == pytest.approx(0.25, abs=0.01)
