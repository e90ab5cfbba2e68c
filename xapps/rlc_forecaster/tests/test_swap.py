"""Replacing the model without interrupting forecasts."""

from __future__ import annotations

import numpy as np
from doubles import SHORT, Floats, Oracle, Reports, served
from rlc_forecaster.core import Fallback, Forecaster, Layout, Source, SwapResult
from rlc_forecaster.core.model_swap import RECENT_SAMPLES, SAMPLES_PER_REPORT
from rlc_model import Quantity

PERIOD_US = 1_000


def feed(forecaster: Forecaster, report: Reports, steps: range) -> list[tuple[str, int]]:
    forecasts = []
    for k in steps:
        batch = served(forecaster, report({17: (50_000 + 100 * k, 0)}), k * PERIOD_US + 1)
        forecasts.append((batch.model, int(batch.source[0])))
    return forecasts


def test_models_are_swapped_without_a_gap(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    feed(forecaster, report, range(300))
    forecaster.swap_model(Oracle(100.0, "oracle:2", warm_up_steps=100))
    assert forecaster.warming_up == "oracle:2"
    forecasts = feed(forecaster, report, range(300, 500))
    assert {source for _, source in forecasts} == {Source.MODEL}
    names = [name for name, _ in forecasts]
    assert names == sorted(names)
    # It warms up on recent samples, not only on new ones.
    assert names.index("oracle:2") <= RECENT_SAMPLES // (SAMPLES_PER_REPORT - 1) + 2
    assert forecaster.swap_results() == [SwapResult("oracle:2")]
    assert forecaster.swap_results() == []
    assert forecaster.warming_up == ""


def test_a_swapped_model_has_the_state_of_one_active_from_the_start(report: Reports) -> None:
    steps: list[float] = []

    def count(values: Floats, state: Floats, features: Floats) -> None:
        steps.append(float(state[0, 0]))

    new = Oracle(100.0, "oracle:2", change=count)
    forecaster = Forecaster("gnb", Oracle(100.0))
    feed(forecaster, report, range(50))
    forecaster.swap_model(new)
    feed(forecaster, report, range(50, 100))
    assert forecaster.latest is not None
    assert forecaster.latest.model == "oracle:2"
    assert steps[-1] == 100


def test_the_first_model_warms_up_beside_persistence(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=SHORT)
    feed(forecaster, report, range(40))
    forecaster.swap_model(Oracle(100.0))
    forecasts = feed(forecaster, report, range(40, 80))
    assert forecasts[0] == ("", Source.PERSISTENCE)
    assert forecasts[-1] == ("oracle:1", Source.MODEL)


def test_a_model_with_other_quantities_and_horizons_can_replace_one(report: Reports) -> None:
    class Wide(Oracle):
        layout = Layout(
            (Quantity.OCCUPANCY, Quantity.DRAIN), tuple(range(5_000, 12_000, 1_000)), (0.25, 0.75)
        )

    forecaster = Forecaster("gnb", Oracle(100.0))
    feed(forecaster, report, range(300))
    forecaster.swap_model(Wide(100.0, "wide:1"))
    forecasts = feed(forecaster, report, range(300, 500))
    assert forecasts[-1] == ("wide:1", Source.MODEL)
    assert forecaster.latest is not None
    assert forecaster.latest.values.shape == (1, 2, 7, 2)


def test_a_model_that_outputs_nan_is_refused_and_the_old_one_stays(report: Reports) -> None:
    def change(values: Floats, state: Floats, features: Floats) -> None:
        values[state[:, 0] > 31] = np.nan

    forecaster = Forecaster("gnb", Oracle(100.0))
    feed(forecaster, report, range(50))
    forecaster.swap_model(Oracle(0.0, "broken:1", change=change))
    forecasts = feed(forecaster, report, range(50, 120))
    assert set(forecasts) == {("oracle:1", Source.MODEL)}
    (result,) = forecaster.swap_results()
    assert result.model == "broken:1"
    assert "NaN or infinity for 1 samples while warming up" in result.refused


def test_before_any_report_a_model_is_active_at_once(report: Reports) -> None:
    forecaster = Forecaster("gnb")
    forecaster.swap_model(Oracle(0.0))
    assert forecaster.swap_results() == [SwapResult("oracle:1")]
    assert forecaster.layout == SHORT
    assert feed(forecaster, report, range(1)) == [("oracle:1", Source.PERSISTENCE)]


def test_a_second_model_replaces_one_that_is_warming_up(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    feed(forecaster, report, range(300))
    forecaster.swap_model(Oracle(100.0, "oracle:2"))
    feed(forecaster, report, range(300, 303))
    forecaster.swap_model(Oracle(100.0, "oracle:3"))
    forecasts = feed(forecaster, report, range(303, 500))
    assert {name for name, _ in forecasts} == {"oracle:1", "oracle:3"}


def test_a_model_becomes_active_though_bearers_keep_arriving(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(0.0, warm_up_steps=5))
    for k in range(2_000):
        if k == 500:
            forecaster.swap_model(Oracle(0.0, "oracle:2", warm_up_steps=50))
        # Bearers last for 30 reports: between the old and the new warm-up.
        batch = served(forecaster, report({k // 30: (10, 0), 9_999: (10, 0)}), k * PERIOD_US)
        assert batch.source[1] == Source.MODEL or k < 5
    assert batch.model == "oracle:2"
    assert batch.fallback.tolist() == [Fallback.WARMING_UP, Fallback.NONE]


def test_the_quantiles_of_persistence_survive_a_swap(report: Reports) -> None:
    rng = np.random.default_rng(8)
    forecaster = Forecaster("gnb", Oracle(0.0))
    for k in range(3_000):
        if k == 2_000:
            forecaster.swap_model(Oracle(0.0, "oracle:2"))
        level = int(50_000 + 1_000 * rng.standard_normal())
        forecaster.on_report(report({17: (level, 0)}), k * PERIOD_US)
    forecaster.model_stale = True
    batch = served(forecaster, report({17: (50_000, 0)}), 3_000 * PERIOD_US)
    assert batch.fallback.tolist() == [Fallback.MODEL_STALE]
    assert batch.values[0, 0, 0, 2] - batch.values[0, 0, 0, 0] > 1_000
