"""A small model with zero weights, for tests of what is done with a model."""

from __future__ import annotations

from made_corpus import layout
from rlc_model import Manifest, MinMaxScaler
from rlc_model.manifest import TrainingData
from rlc_train.candidate import Candidate
from rlc_train.conformal import identity
from rlc_train.export.check import Comparison
from rlc_train.export.steps import network_step
from rlc_train.lstm.shape import NetworkShape, state_size
from rlc_train.pipeline import zero_weights

SHAPE = NetworkShape(units=4)


def zero_model(name: str, version: str) -> tuple[Manifest, bytes]:
    """Its manifest and its graph, `model.onnx`."""
    axes = layout()
    scaler = MinMaxScaler.of([0.0] * 9, [1.0] * 9)
    weights = zero_weights(SHAPE, axes)
    graph = network_step(weights, SHAPE, axes, scaler, identity(axes.shape))
    check = Comparison(10_000, 0.0, 0.0)
    candidate = Candidate("lstm", graph, state_size(SHAPE), 10, scaler, axes, check, [])
    training = TrainingData(description="made", sha256="0" * 64)
    return candidate.manifest(name, version, training, [], ""), graph
