"""The core on virtual time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_model
from doubles import Floats, Oracle, Reports, plain_mixer, served
from rlc_forecaster.core import Fallback, Forecaster, Layout, Source
from rlc_forecaster.core.bearers import BearerSlots
from rlc_forecaster.core.model import CarriedState
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import FEATURES, Quantity

PERIOD_US = 1_000


def ramp(forecaster: Forecaster, report: Reports, steps: range, slope: int = 100) -> None:
    for k in steps:
        forecaster.on_report(report({17: (50_000 + slope * k, 1_000 * k)}), k * PERIOD_US + 1)


def test_persistence_starts_with_the_last_value(report: Reports) -> None:
    batch = Forecaster("gnb").on_report(report({17: (4_000, 0), 18: (8_000, 0)}), 1)
    assert batch is not None
    assert batch.rnti.tolist() == [17, 18]
    assert batch.source.tolist() == [Source.PERSISTENCE, Source.PERSISTENCE]
    assert (batch.values[0, 0] == 4_000).all()
    assert (batch.values[1, 0] == 8_000).all()


def test_a_model_is_served_after_its_warm_up(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    ramp(forecaster, report, range(10))
    assert forecaster.latest is not None
    assert forecaster.latest.source.tolist() == [Source.PERSISTENCE]
    assert forecaster.latest.fallback.tolist() == [Fallback.WARMING_UP]
    ramp(forecaster, report, range(10, 12))
    assert forecaster.latest.source.tolist() == [Source.MODEL]
    assert forecaster.latest.fallback.tolist() == [Fallback.NONE]
    assert forecaster.latest.model == "oracle:1"
    # The last value is 51.1 kB, to which the model adds 100 B per ms. It begins with 0.65 of the
    # weight, and the last season, before the first report, is 50 kB with 0.05.
    added = forecaster.latest.values[0, 0, :, 1] - 51_100
    model = np.array([200, 300, 400])
    assert (added > 0.65 * model - 0.05 * 1_100).all()
    assert (added < 1.01 * model).all()


def test_skill_is_positive_for_an_accurate_model(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    ramp(forecaster, report, range(60))
    skill = forecaster.skill()
    assert (skill > 0.5).all()


# Too few reports for an outcome: of many bearers only some are checked at each, unlike of one, and
# of more than 24 the windows of only some are renewed.
@pytest.mark.parametrize(("bearers", "reports"), [(1_000, 2), (24, 40)])
def test_a_bearer_in_a_batch_is_forecast_as_if_alone(
    report: Reports, tmp_path: Path, bearers: int, reports: int
) -> None:
    """Rows of a batch are independent."""
    model = OnnxStep.load(tiny_model.write(tmp_path, warm_up_steps=1))
    together = Forecaster("gnb", model)
    alone = Forecaster("gnb", model)
    rng = np.random.default_rng(1)
    occupancy = rng.integers(0, 90_000, (reports, bearers))
    for k in range(reports):
        rows = {r: (int(occupancy[k, r]), 500 * k) for r in range(bearers)}
        together.on_report(report(rows), k * PERIOD_US + 1)
        alone.on_report(report({20: rows[20]}), k * PERIOD_US + 1)
    assert together.latest is not None
    assert alone.latest is not None
    assert together.latest.source[20] == Source.MODEL
    np.testing.assert_allclose(together.latest.values[20], alone.latest.values[0], rtol=1e-4)


def test_the_carried_state_is_that_of_the_model(tmp_path: Path) -> None:
    """Equals the graph in NumPy over the whole series, though order and number of bearers
    change."""
    w = tiny_model.weights()
    manifest = tiny_model.manifest()
    span = np.array(manifest.scaler.maximum, np.float32)
    carried = CarriedState(OnnxStep.load(tiny_model.write(tmp_path)))
    slots = BearerSlots(10**9)
    rng = np.random.default_rng(5)
    states = {rnti: np.zeros(tiny_model.STATE, np.float32) for rnti in range(4)}
    for k in range(200):
        present = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 1]][k // 7 % 3]
        named = np.array([(r, 1) for r in present], [("rnti", "<u4"), ("rbid", "u1")])
        rows = slots.rows(named, 1_000 * k)
        features = (span * rng.random((len(present), len(FEATURES)))).astype(np.float32)
        plain = carried.step(rows, features, plain_mixer).uncalibrated
        for row, rnti in enumerate(present):
            x = features[row] / span
            states[rnti] = np.tanh(x @ w["w"] + states[rnti] @ w["u"] + w["b"])
            flat = states[rnti] @ w["v"] + w["c"]
            expected = flat.reshape(2, tiny_model.POINTS, 3) * span[:2, None, None]
            expected += features[row, :2][:, None, None]
            np.testing.assert_allclose(plain[row], expected, rtol=1e-4, atol=0.1)


def test_no_forecast_is_nan_or_infinite() -> None:
    def change(values: Floats, state: Floats, features: Floats) -> None:
        values[1, 0, 2, 1] = np.nan

    carried = CarriedState(Oracle(0.0, warm_up_steps=0, change=change))
    named = np.array([(1, 1), (2, 1)], [("rnti", "<u4"), ("rbid", "u1")])
    features = np.full((2, len(FEATURES)), 100, np.float32)
    output = carried.step(BearerSlots(10**9).rows(named, 1_000), features, plain_mixer)
    assert output.warm.tolist() == [True, False]
    assert (output.uncalibrated[0] == 100).all()
    assert (output.mixed[0] == 105).all()
    assert np.isfinite(output.uncalibrated).all()


def test_scaling_outside_the_graph_equals_scaling_inside(report: Reports, tmp_path: Path) -> None:
    inside, outside = (
        Forecaster("gnb", OnnxStep.load(tiny_model.write(tmp_path / str(out), scale_out=out)))
        for out in (False, True)
    )
    plain = Forecaster("gnb", OnnxStep.load(tiny_model.write(tmp_path / "plain")))
    rng = np.random.default_rng(3)
    for k in range(6):
        rows = {r: (int(rng.integers(0, 90_000)), 500 * k) for r in range(5)}
        batches = [f.on_report(report(rows), k * PERIOD_US + 1) for f in (inside, outside, plain)]
    first, second, without = (batch.values for batch in batches if batch is not None)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    assert not np.allclose(first, without, rtol=1e-2)


def test_persistence_is_served_while_the_model_is_stale(report: Reports) -> None:
    forecaster = Forecaster("gnb", Oracle(100.0))
    ramp(forecaster, report, range(20))
    forecaster.model_stale = True
    ramp(forecaster, report, range(20, 21))
    assert forecaster.latest is not None
    assert forecaster.latest.fallback.tolist() == [Fallback.MODEL_STALE]
    assert forecaster.latest.source.tolist() == [Source.PERSISTENCE]
    forecaster.model_stale = False
    ramp(forecaster, report, range(21, 22))
    assert forecaster.latest.source.tolist() == [Source.MODEL]


def test_the_queue_limit_is_forecast_where_it_is_reported(report: Reports) -> None:
    layout = Layout(
        (Quantity.OCCUPANCY, Quantity.QUEUE_LIMIT), (2_000, 3_000, 4_000), (0.1, 0.5, 0.9)
    )
    forecaster = Forecaster("gnb", layout=layout)
    both = report({17: (10, 0), 18: (10, 0)})
    forecaster.on_report(both, 1_000)
    bearers = np.array([18, 99]), np.array([1, 1])
    forecaster.update_limits(*bearers, np.array([30_000.0, 1.0]), 1_500)
    batch = served(forecaster, both, 2_000)
    assert batch.limited.tolist() == [False, True]
    assert (batch.values[1, 1] == 30_000).all()


def test_mcs_and_transport_block_reach_all_bearers_of_a_ue(report: Reports) -> None:
    seen: list[Floats] = []

    def watch(values: Floats, state: Floats, features: Floats) -> None:
        seen.append(features[:, 7:9].copy())

    forecaster = Forecaster("gnb", Oracle(0.0, change=watch))
    forecaster.update_mac(np.array([17]), [1], [1], 1)
    rows = np.concatenate([report({18: (1, 0), 17: (1, 0)}), report({17: (1, 0)})])
    rows["rbid"][2] = 2
    forecaster.on_report(rows, 1_000)
    forecaster.update_mac(np.array([17, 20], np.uint32), [9, 5], [400, 1], 1_500)
    forecaster.on_report(rows, 2_000)
    assert seen[0].tolist() == [[0, 0]] * 3
    assert seen[1].tolist() == [[0, 0], [9, 400], [9, 400]]


def test_the_drain_at_coarse_points_is_the_mean_between_them(report: Reports) -> None:
    """A TDD pattern of 5 ms with downlink in one slot: instants 5 ms apart would alias with it."""
    points_us = (5_000, 10_000, 20_000)
    layout = Layout((Quantity.OCCUPANCY, Quantity.DRAIN), points_us, (0.1, 0.5, 0.9))
    forecaster = Forecaster("gnb", layout=layout)
    pdu_bytes = 0
    for k in range(400):
        pdu_bytes += 5_000 if k % 5 == 0 else 0
        batch = served(forecaster, report({17: (9_000, pdu_bytes)}), 1_000 * k)
        if k > 300:
            np.testing.assert_allclose(batch.values[0, 1], 1_000, rtol=0.02)
    forecaster.learn()
    coverage = forecaster.run.coverage
    assert (coverage.checked[1] > 50).all()


def test_a_mean_with_a_lost_report_is_no_outcome(report: Reports) -> None:
    layout = Layout((Quantity.DRAIN,), (2_000, 12_000), (0.5,))
    forecaster = Forecaster("gnb", layout=layout)
    for k in (k for k in range(200) if k % 8):
        forecaster.on_report(report({17: (9_000, 100 * k)}), 1_000 * k)
    forecaster.learn()
    assert forecaster.run.coverage.checked.sum() == 0, "no ten reports in a row"
