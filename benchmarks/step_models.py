"""Models with random weights, as large as those that are served: time does not depend on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from rlc_model import FEATURES, Manifest, Quantity, write_contract
from rlc_model.manifest import ExporterCheck, Horizon, Scaler, TrainingData

Weights = dict[str, NDArray[np.float32] | NDArray[np.int64]]

QUANTILES = (0.1, 0.5, 0.9)
POINTS = 20
MAXIMUM = (1e5, 1e4, 1e4, 1e6, 1e6, 1e3, 1e6, 28.0, 1e5)


def streaming(directory: Path, units: int = 32, layers: int = 2) -> Path:
    """Writes a model of the contract: LSTM layers, their states packed, and a linear head."""
    rng = np.random.default_rng(1)
    outputs = len(Quantity) * POINTS * len(QUANTILES)
    weights: Weights = {}
    parts = [name for layer in range(layers) for name in (f"h{layer}", f"c{layer}")]
    nodes = [helper.make_node("Split", ["state"], parts, axis=1, num_outputs=2 * layers)]
    for layer in range(layers):
        nodes += _lstm_step(rng, weights, layer, units)
    # Next to persistence, so that it is served and not set aside for what it does not know, with
    # quantiles that grow, as those of a trained model nearly always do.
    weights["head"] = _normal(rng, 1e-6, units, outputs)
    weights["bias"] = np.tile(np.array([-1e-4, 0.0, 1e-4], np.float32), outputs // 3)
    weights["shape"] = np.array([-1, len(Quantity), POINTS, len(QUANTILES)], np.int64)
    nodes += [
        helper.make_node("Gemm", [f"next_h{layers - 1}", "head", "bias"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["forecast"]),
        helper.make_node("Concat", [f"next_{p}" for p in parts], ["next_state"], axis=1),
    ]
    state = 2 * layers * units
    graph = _graph(
        nodes,
        weights,
        {"sample": ["b", len(FEATURES)], "state": ["b", state]},
        {
            "forecast": ["b", len(Quantity), POINTS, len(QUANTILES)],
            "next_state": ["b", state],
        },
    )
    manifest = Manifest(
        model_name="benchmark",
        model_version=f"{units}x{layers}",
        features=list(FEATURES),
        scaler=Scaler(minimum=[0.0] * len(FEATURES), maximum=list(MAXIMUM)),
        quantities=list(Quantity),
        target="residual",
        horizon=Horizon(start_us=11_000, step_us=1_000, points=POINTS),
        quantiles=list(QUANTILES),
        state_size=state,
        training_data=TrainingData(description="none: random weights", sha256="0" * 64),
        exporter_check=ExporterCheck(steps=1, max_abs_difference=0.0),
    )
    write_contract(directory, manifest, graph)
    return directory


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


def _lstm_step(
    rng: np.random.Generator, weights: Weights, layer: int, units: int
) -> list[NodeProto]:
    below, width = (f"next_h{layer - 1}", units) if layer else ("sample", len(FEATURES))
    w, u, b = f"w{layer}", f"u{layer}", f"b{layer}"
    weights[w] = _normal(rng, 0.1, width, 4 * units)
    weights[u] = _normal(rng, 0.1, units, 4 * units)
    weights[b] = _normal(rng, 0.1, 4 * units)
    gates = [f"{gate}{layer}" for gate in ("i", "f", "g", "o")]
    i, f, g, o = (f"{gate}_" for gate in gates)
    node = helper.make_node
    return [
        node("Gemm", [below, w, b], [f"x{layer}"]),
        node("Gemm", [f"h{layer}", u, f"x{layer}"], [f"sum{layer}"]),
        node("Split", [f"sum{layer}"], gates, axis=1, num_outputs=4),
        node("Sigmoid", [gates[0]], [i]),
        node("Sigmoid", [gates[1]], [f]),
        node("Tanh", [gates[2]], [g]),
        node("Sigmoid", [gates[3]], [o]),
        node("Mul", [f, f"c{layer}"], [f"kept{layer}"]),
        node("Mul", [i, g], [f"added{layer}"]),
        node("Add", [f"kept{layer}", f"added{layer}"], [f"next_c{layer}"]),
        node("Tanh", [f"next_c{layer}"], [f"out{layer}"]),
        node("Mul", [o, f"out{layer}"], [f"next_h{layer}"]),
    ]


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
