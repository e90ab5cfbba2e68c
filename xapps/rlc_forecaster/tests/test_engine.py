"""The core on virtual time: right forecasts whatever reports do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_model
from numpy.typing import NDArray
from rlc_forecaster.core import Forecaster, Layout, Source
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import FEATURES, Quantity
from rlc_reports import Reports

PERIOD_US = 1_000
SHORT = Layout((Quantity.OCCUPANCY,), 2_000, 1_000, 3, (0.1, 0.5, 0.9))


class Oracle:
    """A model that adds `slope` per millisecond to the occupancy; its state counts its steps."""

    name = "oracle:1"
    layout = SHORT
    state_size = 1
    warm_up_steps = 10

    def __init__(self, slope: float) -> None:
        self._slope = slope

    def step(
        self, features: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        ahead = np.array([SHORT.horizon_us(p) / 1000 for p in range(SHORT.points)], np.float32)
        level = features[:, :1] + self._slope * ahead
        values = np.repeat(level[:, None, :, None], len(SHORT.quantiles), axis=3)
        return values.astype(np.float32), state + 1


def ramp(forecaster: Forecaster, report: Reports, steps: range, slope: int = 100) -> None:
    for k in steps:
        forecaster.on_report(report({17: (50_000 + slope * k, 1_000 * k)}), k * PERIOD_US + 1)


def test_persistence_says_the_last_value_first(report: Reports) -> None:
    batch = Forecaster("gnb").on_report(report({17: (4_000, 0), 18: (8_000, 0)}), 1)
    assert batch is not None
    assert batch.rnti.tolist() == [17, 18]
    assert batch.source.tolist() == [Source.PERSISTENCE, Source.PERSISTENCE]
    assert (batch.values[0, 0] == 4_000).all()
    assert (batch.values[1, 0] == 8_000).all()


def test_persistence_widens_to_the_errors_it_makes(report: Reports) -> None:
    rng = np.random.default_rng(3)
    forecaster = Forecaster("gnb", layout=SHORT)
    inside, asked = 0, 0
    pending: dict[int, tuple[float, float]] = {}
    for k in range(12_000):
        level = int(50_000 + 1_000 * rng.standard_normal())
        batch = forecaster.on_report(report({17: (level, 0)}), k * PERIOD_US)
        assert batch is not None
        if k in pending and k > 6_000:
            low, high = pending.pop(k)
            asked += 1
            inside += low <= level <= high
        pending[k + 2] = (float(batch.values[0, 0, 0, 0]), float(batch.values[0, 0, 0, 2]))
    # The 80 % interval of a noise around a constant, seen from a last value that is noise too.
    assert 0.72 <= inside / asked <= 0.88


def test_a_model_is_served_after_its_warm_up(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    ramp(forecaster, report, range(10))
    assert forecaster.latest is not None
    assert forecaster.latest.source.tolist() == [Source.PERSISTENCE]
    ramp(forecaster, report, range(10, 12))
    assert forecaster.latest.source.tolist() == [Source.MODEL]
    assert forecaster.latest.model == "oracle:1"
    assert forecaster.latest.values[0, 0, :, 1].tolist() == [51_300, 51_400, 51_500]


def test_skill_is_positive_for_a_model_that_knows(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    ramp(forecaster, report, range(60))
    skill = forecaster.skill()
    assert skill is not None
    assert (skill > 0.5).all()


def test_a_model_worse_than_persistence_is_set_aside_and_comes_back(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(-300.0))
    ramp(forecaster, report, range(1_000))
    assert forecaster.latest is not None
    assert forecaster.latest.source.tolist() == [Source.PERSISTENCE]
    top = 50_000 + 100 * 999
    for k in range(4_000):
        forecaster.on_report(report({17: (top - 300 * (k % 300), 0)}), (1_000 + k) * PERIOD_US + 1)
    assert forecaster.latest.source.tolist() == [Source.MODEL]


def test_late_and_duplicate_reports_change_nothing(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    ramp(forecaster, report, range(20))
    before = forecaster.latest
    assert forecaster.on_report(report({17: (1, 1)}), 19 * PERIOD_US + 1) is None
    assert forecaster.on_report(report({17: (1, 1)}), 5 * PERIOD_US + 1) is None
    assert forecaster.latest is before
    assert forecaster.counters.late_or_duplicate == 2


def test_a_long_silence_starts_the_state_anew(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0))
    ramp(forecaster, report, range(20))
    forecaster.on_report(report({17: (1_000, 0)}), 150 * PERIOD_US)
    assert forecaster.latest is not None
    assert forecaster.latest.source.tolist() == [Source.PERSISTENCE]
    assert forecaster.counters.gaps == 1
    ramp(forecaster, report, range(151, 160))
    assert forecaster.latest.source.tolist() == [Source.PERSISTENCE]
    ramp(forecaster, report, range(160, 165))
    assert forecaster.latest.source.tolist() == [Source.MODEL]


def test_bearers_come_and_go(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=SHORT)
    for k in range(50):
        forecaster.on_report(report({17: (10, 0), 18: (20, 0)}), k * PERIOD_US)
    for k in range(50, 1_200):
        forecaster.on_report(report({18: (20, 0)}), k * PERIOD_US)
    assert forecaster.bearers == 1
    assert forecaster.counters.bearers_gone == 1
    batch = forecaster.on_report(report({19: (70, 0), 18: (20, 0)}), 1_200 * PERIOD_US)
    assert batch is not None
    assert batch.rnti.tolist() == [19, 18]
    # 19 sits in the slot that 17 left, and nothing of 17 is left in it.
    assert (batch.values[0, 0] == 70).all()


def test_an_empty_report_is_no_forecast(report: Reports) -> None:
    assert Forecaster("gnb").on_report(report({}), 1) is None


def test_a_thousand_bearers_are_those_thousand_alone(report: Reports, tmp_path: Path) -> None:
    """A batch answers what each bearer alone would get: rows never mix."""
    model = OnnxStep.load(tiny_model.write(tmp_path))
    together = Forecaster("gnb", model)
    alone = Forecaster("gnb", model)
    rng = np.random.default_rng(1)
    occupancy = rng.integers(0, 90_000, (30, 1_000))
    for k in range(30):
        rows = {r: (int(occupancy[k, r]), 500 * k) for r in range(1_000)}
        together.on_report(report(rows), k * PERIOD_US + 1)
        alone.on_report(report({600: rows[600]}), k * PERIOD_US + 1)
    assert together.latest is not None
    assert alone.latest is not None
    assert together.latest.source[600] == Source.MODEL
    np.testing.assert_allclose(together.latest.values[600], alone.latest.values[0], rtol=1e-5)


def test_the_carried_state_is_that_of_the_model(report: Reports, tmp_path: Path) -> None:
    """The graph's arithmetic, done here in NumPy over the whole series, gives the same."""
    forecaster = Forecaster("gnb", OnnxStep.load(tiny_model.write(tmp_path)))
    w = tiny_model.weights()
    span = np.array(tiny_model.manifest().scaler.maximum, np.float32)
    state = np.zeros(tiny_model.STATE, np.float32)
    batch = None
    for k in range(200):
        occupancy, pdu_bytes = 40_000 + 300 * (k % 40), 1_200 * k
        batch = forecaster.on_report(report({17: (occupancy, pdu_bytes)}), k * PERIOD_US + 1)
        sample = np.zeros(len(FEATURES), np.float32)
        sample[0], sample[5] = occupancy, occupancy // 1500
        if k:
            before = 40_000 + 300 * ((k - 1) % 40)
            sample[1], sample[2] = 1_200, max(occupancy - before + 1_200, 0)
        state = np.tanh((sample / span) @ w["w"] + state @ w["u"] + w["b"])
    assert batch is not None
    flat = (state @ w["v"] + w["c"]).reshape(2, tiny_model.POINTS, 3) * span[:2, None, None]
    flat += np.array([sample[0], sample[1]])[:, None, None]
    expected = np.maximum(np.sort(flat, axis=-1), 0)
    np.testing.assert_allclose(batch.values[0], expected, rtol=1e-4)


def test_models_are_swapped_without_a_gap(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    ramp(forecaster, report, range(30))
    forecaster.swap_model(Oracle(0.0))
    for k in range(30, 60):
        batch = forecaster.on_report(report({17: (100 * k, 0)}), k * PERIOD_US + 1)
        assert batch is not None
        expected = Source.MODEL if k >= 40 else Source.PERSISTENCE
        assert batch.source.tolist() == [expected]
    forecaster.swap_model(None)
    batch = forecaster.on_report(report({17: (1, 0)}), 60 * PERIOD_US + 1)
    assert batch is not None
    assert batch.source.tolist() == [Source.PERSISTENCE]
    assert forecaster.skill() is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_state_that_is_no_number_is_left_behind(report: Reports, bad: float) -> None:
    class Poisoned(Oracle):
        def step(
            self, features: NDArray[np.float32], state: NDArray[np.float32]
        ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            values, state = super().step(features, state)
            state[features[:, 0] > 90_000] = bad
            return values, state

    forecaster = Forecaster("gnb", Poisoned(0.0))
    for k in range(40):
        high = 99_000 if k == 20 else 10_000
        batch = forecaster.on_report(report({17: (high, 0), 18: (5, 0)}), k * PERIOD_US + 1)
        assert batch is not None
        assert np.isfinite(batch.values).all()
        expected = Source.MODEL if 10 <= k < 20 or k > 30 else Source.PERSISTENCE
        assert batch.source[0] == expected, k
    assert batch is not None
    assert batch.source.tolist() == [Source.MODEL, Source.MODEL]
