"""stolidis2024's model with random weights, in its size: time does not depend on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Weights = dict[str, NDArray[np.float32] | NDArray[np.int64]]


def windowed(units: int, window: int, points: int) -> bytes:
    """stolidis2024's shape (§III-B): a whole window through one LSTM, then a dense layer."""
    rng = np.random.default_rng(2)
    weights: Weights = {
        "w": _normal(rng, 0.05, 1, 4 * units, 1),
        "r": _normal(rng, 0.05, 1, 4 * units, units),
        "head": _normal(rng, 0.05, units, points),
        "axis": np.array([0], np.int64),
    }
    nodes = [
        helper.make_node("LSTM", ["window", "w", "r"], ["", "last"], hidden_size=units),
        helper.make_node("Squeeze", ["last", "axis"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "head"], ["forecast"]),
    ]
    return _graph(nodes, weights, {"window": [window, 1, 1]}, {"forecast": [1, points]})


def _normal(rng: np.random.Generator, scale: float, *shape: int) -> NDArray[np.float32]:
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def _graph(
    nodes: list[NodeProto],
    weights: Weights,
    inputs: dict[str, list[str | int]],
    outputs: dict[str, list[str | int]],
) -> bytes:
    def infos(tensors: dict[str, list[str | int]]) -> list[ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in tensors.items()
        ]

    graph = helper.make_graph(
        nodes,
        "step",
        infos(inputs),
        infos(outputs),
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    made: bytes = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    return made
