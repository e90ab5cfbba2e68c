"""Training with carried state, continued trainings, and the export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_corpus import BOTH, corpus, layout
from rlc_model import FEATURES, MinMaxScaler
from rlc_train import backtest, conformal, pipeline
from rlc_train.baselines import BASELINES
from rlc_train.commands.train import export
from rlc_train.errors import TrainError
from rlc_train.export.check import compare
from rlc_train.export.runner import StepRunner
from rlc_train.export.steps import network_step
from rlc_train.horizon import Layout
from rlc_train.lstm import network
from rlc_train.lstm.backend import tensorflow
from rlc_train.lstm.fit import Trained, fit
from rlc_train.lstm.lanes import Chunks, Lanes
from rlc_train.lstm.network import layer_weights, reference
from rlc_train.lstm.objective import Objective
from rlc_train.lstm.shape import FitSettings, NetworkShape, state_size
from rlc_train.series import labels
from rlc_train.settings import Settings
from rlc_train.splits import Part, Split, fit_scaler, split

AXES = layout()
SHAPE = NetworkShape(layers=1, units=8, dropout=0.1)
SCALER = MinMaxScaler.of([0.0] * 9, [1e6, 5e4, 6e4, 2e6, 3e6, 700.0, 4e5, 28.0, 3e4])
QUICK = FitSettings(
    epochs=3,
    lanes=8,
    steps=32,
    piece_samples=1024,
    warm_up_samples=64,
    samples_per_epoch=20 * 8 * 32,
    validation_samples=10 * 8 * 32,
)

pytestmark = pytest.mark.usefixtures("keras")


def parts() -> Split:
    return split(corpus(4_000), AXES, held_out_cells=["c"])


def train(directory: Path | None, settings: FitSettings = QUICK, **callbacks: Any) -> Trained:
    held = parts()
    return fit(
        held.train, held.validation, AXES, SHAPE, settings, seed=5, directory=directory, **callbacks
    )


def test_lanes_carry_time_forward_and_start_pieces_cold() -> None:
    held = parts()
    scaler = fit_scaler(held.train)
    unit = np.ones(AXES.shape[:2], np.float32)
    lanes = Lanes(held.train, AXES, scaler, unit, QUICK)
    model = network.build(SHAPE, AXES, scaler, 1)
    objective = Objective(model, AXES, QUICK, scaler, unit)
    before: dict[int, float] = {}
    counted = 0.0
    for chunks in lanes.plan(np.random.default_rng(1)):
        batch = lanes.batch(chunks)
        for lane, chunk in enumerate(chunks):
            if chunk is None:
                continue
            piece, start = chunk
            # A chunk continues the previous one of its lane, or starts from zero.
            assert batch.keep[lane, 0] == float(start != piece.start)
            if batch.keep[lane, 0]:
                assert start == before[lane]
            before[lane] = start + QUICK.steps
            cold = max(0, piece.start + piece.cold - start)
            none = batch.values.shape[1] - 1
            assert (batch.rows[lane, : -(-cold // QUICK.label_stride)] == none).all()
        _, known = objective.labels(batch)
        counted += float(np.asarray(known).sum())
    axes = AXES.shape[0] * AXES.shape[1] / QUICK.label_stride
    rows = sum(len(part) for part in held.train)
    assert counted <= rows * axes * 1.01, "a label each stride"
    assert counted > 0.75 * rows * axes


def lanes_of(held: list[Part], settings: FitSettings = QUICK) -> Lanes:
    unit = np.ones(AXES.shape[:2], np.float32)
    return Lanes(held, AXES, fit_scaler(held), unit, settings)


def rows_of(plan: list[Chunks]) -> set[tuple[int, int]]:
    """Part and row of each sample of a plan."""
    return {
        (piece.part, row)
        for chunks in plan
        for chunk in chunks
        if chunk is not None
        for piece, start in [chunk]
        for row in range(start, min(start + QUICK.steps, piece.stop))
    }


def test_each_epoch_of_bounded_length_takes_other_pieces() -> None:
    lanes, most = lanes_of(parts().train), 20 * QUICK.lanes * QUICK.steps
    whole = rows_of(lanes.plan(np.random.default_rng(0)))
    before: set[tuple[int, int]] = set()
    seen: set[tuple[int, int]] = set()
    for epoch in range(12):
        plan = lanes.plan(np.random.default_rng([5, epoch]), most)
        assert plan == lanes.plan(np.random.default_rng([5, epoch]), most), "as if resumed"
        assert len(plan) == 20
        rows = rows_of(plan)
        assert len(rows) < 0.6 * len(whole)
        assert len(rows & before) < 0.8 * len(rows)
        before, seen = rows, seen | rows
    assert len(seen & whole) > 0.95 * len(whole)


def test_a_bounded_validation_has_the_same_pieces_of_all_parts_and_times() -> None:
    held = parts().validation
    # A part has six pieces.
    lanes = lanes_of(held, QUICK.model_copy(update={"piece_samples": 128, "warm_up_samples": 32}))
    whole, most = lanes.plan(None), 8 * QUICK.lanes * QUICK.steps
    plan = lanes.plan(None, most)
    assert plan == lanes.plan(None, most)
    assert 6 <= len(plan) <= 8 < 0.6 * len(whole)
    for number, part in enumerate(held):
        rows = [row - part.start for of, row in rows_of(plan) if of == number]
        assert 0.3 * len(part) < len(rows) < 0.8 * len(part)
        assert min(rows) < 0.3 * len(part)
        assert max(rows) > 0.7 * len(part)


def test_an_epoch_below_the_bound_is_not_changed_by_it() -> None:
    held = parts()
    for lanes in (lanes_of(held.train), lanes_of(held.validation)):
        for rng in (None, 3):
            made = [
                lanes.plan(None if rng is None else np.random.default_rng(rng), most)
                for most in (None, 100_000)
            ]
            assert made[0] == made[1]
            assert len(made[0]) > 5


@pytest.mark.parametrize("missing", [[], [100, 101, 250, 251, 252]])
@pytest.mark.parametrize("axes", [AXES, Layout(BOTH, (11_000, 12_000, 15_000, 20_000, 30_000))])
@pytest.mark.parametrize("begin", [0, 200])
def test_labels_of_a_batch_are_those_of_the_series(
    missing: list[int], axes: Layout, begin: int
) -> None:
    whole = corpus(600)[0]
    rows = np.delete(np.arange(600), missing)
    arrays = {
        name: getattr(whole, name)[rows]
        for name in ("at_us", "features", "fresh", "targets", "limit_reported")
    }
    part = Part(replace(whole, **arrays), begin, len(rows) - 50)
    scaler, points = fit_scaler([part]), np.linspace(1, 2, axes.points, dtype=np.float32)
    unit = np.array([[0.02], [0.3]], np.float32) * points
    # The warm-up before a part is longer than a batch and its labels.
    changes = {"lanes": 1, "steps": 64, "piece_samples": 10_000, "warm_up_samples": 128}
    settings = QUICK.model_copy(update=changes)
    lanes = Lanes([part], axes, scaler, unit, settings)
    objective = Objective(network.build(SHAPE, axes, scaler, 1), axes, settings, scaler, unit)
    for chunks in lanes.plan(None):
        ((piece, start),) = chunks  # type: ignore[misc]
        actual, known = (np.asarray(a)[0] for a in objective.labels(lanes.batch(chunks)))
        origins = np.arange(start, min(start + 64, piece.stop), settings.label_stride)
        values = labels(part.series, axes, origins, part.stop)
        last = part.series.features[origins][:, axes.columns]
        expected = (values - last[..., None]) / scaler.span[axes.columns][:, None] / unit
        expected[origins < piece.start + piece.cold] = np.nan
        n = len(origins)
        np.testing.assert_array_equal(known[:n], ~np.isnan(expected))
        np.testing.assert_allclose(actual[:n], np.nan_to_num(expected), rtol=1e-5, atol=1e-5)
        assert not known[n:].any()


def test_the_gradient_of_the_loss_is_that_of_its_definition() -> None:
    """Automatic, analytic and numeric gradient."""
    tf = tensorflow()
    rng = np.random.default_rng(1)
    shape = (2, 3, *AXES.shape)
    actual = rng.normal(size=shape[:-1]).astype(np.float32)
    known = (rng.random(shape[:-1]) < 0.8).astype(np.float32)
    size = rng.uniform(0.5, 2, (2, 3, 2)).astype(np.float32)
    at = rng.normal(size=shape).astype(np.float32)
    variable = tf.Variable(at)
    with tf.GradientTape() as tape:
        loss = network.pinball_loss(actual, known, variable, size, AXES)
    gradient = tape.gradient(loss, variable).numpy()
    levels = AXES.levels
    slope = (actual[..., None] < at) - levels
    weight = known * (0.5 + 0.5 / size[..., None])
    expected = slope * weight[..., None] / len(levels) / known.sum()
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-9)
    direction = rng.normal(size=shape).astype(np.float32) * 1e-4
    above, below = (
        float(network.pinball_loss(actual, known, at + sign * direction, size, AXES))
        for sign in (1, -1)
    )
    assert above - below == pytest.approx(2 * float((gradient * direction).sum()), abs=2e-6)


def test_an_untrained_network_is_persistence_with_quantiles() -> None:
    model = network.build(SHAPE, AXES, SCALER, 1)
    wide = np.broadcast_to(np.array([-2, 0, 2], np.float32), AXES.shape)
    network.start_at(model, np.ascontiguousarray(wide))
    samples = np.random.default_rng(1).random((1, 50, len(FEATURES)), np.float32)
    forecast, _ = model([samples, np.zeros((1, state_size(SHAPE)), np.float32)])
    forecast = np.asarray(forecast)
    np.testing.assert_array_equal(forecast[..., 1], 0)
    assert (forecast[0, 20:, ..., 2] > 0).all()


def test_an_untrained_interval_is_of_the_size_of_changes_and_not_of_the_level() -> None:
    """A queue of a megabyte that fills and empties in a second changes little within 11 ms."""
    model = network.build(SHAPE, AXES, SCALER, 1)
    network.start_at(model, np.ones(AXES.shape, np.float32))
    run = reference(model, conformal.identity(AXES.shape))
    rng = np.random.default_rng(5)
    noise = 1e-3 * rng.standard_normal((2_000, 1))
    turn = 2 * np.pi * np.arange(2_000)[:, None] / 1_000
    widths, changes = [], []
    for level in (np.zeros_like(turn), 0.4 * np.sin(turn)):
        samples = np.repeat(0.5 + level + noise, len(FEATURES), axis=1).astype(np.float32)
        forecast, _ = run(samples, np.zeros(state_size(SHAPE), np.float32))
        widths.append(float(np.mean(forecast[1_000:])))
        changes.append(float(np.abs(samples[1_011:] - samples[1_000:-11]).mean()))
    assert widths[0] == pytest.approx(changes[0], rel=0.5)
    assert widths[1] == pytest.approx(changes[1], rel=0.5)


@pytest.mark.parametrize("kind", ["lstm", "ssm"])
def test_forecasts_do_not_depend_on_the_length_of_chunks(kind: Any) -> None:
    shape = NetworkShape(kind=kind, layers=2, units=8)
    model = network.build(shape, AXES, SCALER, 3)
    rng = np.random.default_rng(2)
    model.get_layer("head").set_weights(
        [0.3 * rng.standard_normal(w.shape) for w in model.get_layer("head").get_weights()]
    )
    samples = rng.random((1, 60, len(FEATURES)), np.float32)
    zero = np.zeros((1, state_size(shape)), np.float32)
    whole, after = model([samples, zero])
    state, parts_of = zero, []
    for at in range(0, 60, 7):
        forecast, state = model([samples[:, at : at + 7], np.asarray(state)])
        parts_of.append(np.asarray(forecast))
    np.testing.assert_allclose(np.concatenate(parts_of, axis=1), whole, atol=1e-5)
    np.testing.assert_allclose(state, after, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "layers", "rank"),
    [
        ("lstm", 1, 4),
        ("lstm", 2, 4),
        ("lstm", 1, 24),
        ("ssm", 1, 24),
        ("ssm", 2, 4),
        ("linear", 1, 4),
    ],
)
def test_the_export_equals_keras_from_a_nonzero_state(kind: Any, layers: int, rank: int) -> None:
    shape = NetworkShape(kind=kind, layers=layers, units=8, rank=rank)
    model = network.build(shape, AXES, SCALER, 4)
    rng = np.random.default_rng(4)
    for layer in model.layers:
        # Non-zero biases, so that swapped gates are detected.
        layer.set_weights([w + 0.2 * rng.standard_normal(w.shape) for w in layer.get_weights()])
    correction = conformal.Correction(0.1 * rng.standard_normal(AXES.shape).astype(np.float32))
    graph = network_step(layer_weights(model), shape, AXES, SCALER, correction)
    runner = StepRunner(graph, state_size(shape))
    samples = rng.random((3_000, len(FEATURES)), np.float32)
    found = compare(runner, reference(model, correction), samples, steps=10_000)
    assert found.holds, found
    assert found.forecast > 0
    wrong = compare(runner, reference(model, conformal.identity(AXES.shape)), samples, steps=500)
    assert not wrong.holds


def test_a_continued_training_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(epoch: int, loss: float, validation: float) -> None:
        if epoch == 0:
            raise KilledError

    (tmp_path / "cut").mkdir()
    whole = train(None)
    with pytest.raises(KilledError):
        train(tmp_path / "cut", on_epoch=kill)
    epochs: list[int] = []
    rest = train(tmp_path / "cut", on_epoch=lambda epoch, *_: epochs.append(epoch))
    assert epochs == [1, 2]
    assert rest.curve == whole.curve
    for a, b in zip(rest.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    brief = QUICK.model_copy(update={"epochs": 1, "xla": False})
    train(tmp_path, brief)
    with pytest.raises(TrainError, match="is of other settings or data"):
        train(tmp_path, brief.model_copy(update={"learning_rate": 0.01}))
    (tmp_path / "checkpoint.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(TrainError, match="is not a checkpoint"):
        train(tmp_path, brief)


def test_training_learns_what_persistence_cannot() -> None:
    held = split(corpus(8_000), AXES, held_out_cells=["c"])
    settings = QUICK.model_copy(update={"epochs": 8, "samples_per_epoch": None})
    trained = fit(held.train, held.validation, AXES, NetworkShape(units=16), settings, seed=1)
    assert trained.curve[-1][1] < 0.8 * trained.curve[0][1]
    candidate = export(trained, Settings(fit=settings), held, AXES)
    chosen = backtest.origins_of(held.unseen, AXES, 1_000)
    model = backtest.run(candidate.forecaster(), chosen, AXES)
    baseline = BASELINES["persistence"]()
    baseline.fit(held.train, AXES, 1)
    reference_losses = backtest.run(baseline, chosen, AXES)
    skill = backtest.Versus(model, reference_losses).skill(0, None, 1)
    assert skill.low > 0.2, skill


def test_t_m_is_measured_and_sets_the_labels() -> None:
    assert 0 < pipeline.measured_t_m_us(Settings()) < 10_000
    assert Settings().layout(13.0).points_us[0] == 11_000
    with pytest.raises(TrainError, match="11000 µs is not a point"):
        Settings().layout(2_000.0)
