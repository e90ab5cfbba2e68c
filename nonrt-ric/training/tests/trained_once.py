"""Trains and exports on the backend of ``KERAS_BACKEND``: ``python trained_once.py WEIGHTS OUT``.

For comparisons between backends, which need a process each. Starts from the weights in the folder
WEIGHTS, or writes those of an untrained network there if it has none; OUT gets the losses of two
passes over the same batches, the weights and the difference of the exported step, and weights of an
uninterrupted and of a resumed training.
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
from rlc_train.lstm import checkpoint, network
from rlc_train.lstm.backend import choose, keras
from rlc_train.lstm.lanes import Lanes
from rlc_train.lstm.objective import Objective
from rlc_train.lstm.shape import FitSettings, NetworkShape, state_size
from rlc_train.splits import fit_scaler, split

SETTINGS = FitSettings(lanes=8, steps=32, piece_samples=1024, warm_up_samples=64, xla=False)
BATCHES = 20
AXES = layout()
KINDS = ("lstm", "ssm")


class Run:
    """A network, its optimiser and batches."""

    def __init__(self, kind: str, dropout: float = 0.0) -> None:
        parts = split(corpus(3_000), AXES)
        self.samples = parts.train[0].series.features
        self.scaler, unit = (
            fit_scaler(parts.train),
            np.repeat(np.array([[0.1], [0.2]], np.float32), AXES.points, axis=1),
        )
        self.shape = NetworkShape.model_validate({"kind": kind, "units": 8, "dropout": dropout})
        self.model = network.build(self.shape, AXES, self.scaler, 1)
        self.adam = keras().optimizers.Adam(3e-3, clipnorm=1.0)
        self.model.compile(self.adam, Objective(self.model, AXES, SETTINGS, self.scaler, unit))
        self._lanes = Lanes(parts.train, AXES, self.scaler, unit, SETTINGS)
        self._plan = self._lanes.plan(np.random.default_rng(1))[:BATCHES]
        self._zero = np.zeros((SETTINGS.lanes, state_size(self.shape)), np.float32)

    def learn(self) -> float:
        """The loss of a pass over the batches."""
        batches = map(self._lanes.batch, self._plan)
        return self.model.engine.learn(batches, self._zero, len(self._plan))

    def evaluate(self) -> float:
        """The same without training."""
        batches = map(self._lanes.batch, self._plan)
        return self.model.engine.evaluate(batches, self._zero, len(self._plan))


def trained(kind: str, weights: Path) -> dict[str, np.ndarray]:
    """Losses, weights and export of a network of one kind."""
    run = Run(kind)
    if weights.exists():
        with np.load(weights) as arrays:
            run.model.set_weights([arrays[name] for name in arrays.files])
    else:
        np.savez(weights, *run.model.get_weights())
    losses = [run.learn(), run.learn(), run.evaluate()]
    same = conformal.identity(AXES.shape)
    layers = network.layer_weights(run.model)
    graph = network_step(layers, run.shape, AXES, run.scaler, same)
    step = StepRunner(graph, state_size(run.shape))
    samples = run.scaler.transform(run.samples)
    found = compare(step, network.reference(run.model, same), samples, steps=1_000)
    return {
        "losses": np.array(losses),
        "export": np.array(found.forecast),
        **{f"weight_{i}": np.asarray(w) for i, w in enumerate(run.model.get_weights())},
    }


def continued(folder: Path) -> dict[str, np.ndarray]:
    """Weights after two passes, and after a pass, a checkpoint and another pass by new objects."""
    found = {}
    path = folder / f"{choose()}.checkpoint"
    for name in ("whole", "resumed"):
        run = Run("lstm", dropout=0.2)
        if checkpoint.load(path, "", run.model, run.adam) is None:
            run.learn()
            checkpoint.save(path, "", checkpoint.Progress(1, [], 0, []), run.model, run.adam)
        run.learn()
        found |= {f"{name}/{i}": np.asarray(w) for i, w in enumerate(run.model.variables)}
    return found


if __name__ == "__main__":
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    results = continued(folder)
    for kind in KINDS:
        of = trained(kind, folder / f"{kind}.npz")
        results |= {f"{kind}/{name}": value for name, value in of.items()}
    np.savez(out, **results)
