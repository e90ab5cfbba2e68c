"""Trains and exports on the backend of ``KERAS_BACKEND``: ``python trained_once.py WEIGHTS OUT``.

For comparisons between backends, which need a process each. Starts from the weights in WEIGHTS, or
writes those of an untrained network there if it does not exist; OUT gets the losses of two passes
over the same batches, the weights and the difference of the exported step.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from made_corpus import corpus, layout
from rlc_train import conformal
from rlc_train.export.check import compare
from rlc_train.export.runner import StepRunner
from rlc_train.export.steps import network_step
from rlc_train.lstm import network
from rlc_train.lstm.backend import keras
from rlc_train.lstm.engine import engine
from rlc_train.lstm.lanes import Lanes
from rlc_train.lstm.objective import Objective
from rlc_train.lstm.shape import FitSettings, NetworkShape, state_size
from rlc_train.splits import fit_scaler, split

SETTINGS = FitSettings(lanes=8, steps=32, piece_samples=1024, warm_up_samples=64, xla=False)
BATCHES = 20
KINDS = ("lstm", "ssm", "linear")


def trained(kind: str, weights: Path) -> dict[str, np.ndarray]:
    """Losses, weights and export of a network of one kind."""
    axes = layout()
    parts = split(corpus(3_000), axes)
    scaler, unit = fit_scaler(parts.train), np.array([0.1, 0.2], np.float32)
    shape = NetworkShape.model_validate({"kind": kind, "units": 8})
    model = network.build(shape, axes, scaler, 1)
    if weights.exists():
        with np.load(weights) as arrays:
            model.set_weights([arrays[name] for name in arrays.files])
    else:
        np.savez(weights, *model.get_weights())
    adam = keras().optimizers.Adam(3e-3, clipnorm=1.0)
    adam.build(model.trainable_variables)
    runner = engine(Objective(model, axes, SETTINGS, scaler, unit), adam, xla=False)
    lanes = Lanes(parts.train, axes, scaler, unit, SETTINGS)
    plan = list(lanes.plan(np.random.default_rng(1)))[:BATCHES]
    zero = np.zeros((SETTINGS.lanes, state_size(shape)), np.float32)
    losses = [runner.learn(map(lanes.batch, plan), zero, len(plan)) for _ in range(2)]
    losses.append(runner.evaluate(map(lanes.batch, plan), zero, len(plan)))
    same = conformal.identity(axes.shape)
    graph = network_step(network.layer_weights(model), shape, axes, scaler, same)
    samples = scaler.transform(parts.train[0].series.features)
    step = StepRunner(graph, state_size(shape))
    found = compare(step, network.reference(model, same), samples, steps=1_000)
    return {
        "losses": np.array(losses),
        "export": np.array(found.forecast),
        **{f"weight_{i}": np.asarray(w) for i, w in enumerate(model.get_weights())},
    }


if __name__ == "__main__":
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    np.savez(
        out,
        **{
            f"{kind}/{name}": value
            for kind in KINDS
            for name, value in trained(kind, folder / f"{kind}.npz").items()
        },
    )
