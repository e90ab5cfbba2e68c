"""The LSTM's step as ONNX, from its Keras weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.conformal import Correction
from rlc_train.export.graph import StepGraph, moving_mean
from rlc_train.horizon import Layout
from rlc_train.lstm.shape import (
    BYTES,
    LEAST_DEVIATION,
    LEVEL_GAIN,
    LIMIT,
    MEAN_WEIGHT,
    OCCUPANCY,
    TAPPED,
    TAPS,
    Z_LIMIT,
    NetworkShape,
    bytes_per_occupancy,
    state_size,
)

Weights = dict[str, list[NDArray[np.float32]]]
"""Per layer: ``lstm_0…`` kernel (in, 4U), recurrent kernel (U, 4U) and bias (4U,), gates in Keras'
order i, f, c, o; ``head`` kernel and bias, and ``narrow`` kernel before it if it has a rank."""


def lstm_step(
    weights: Weights,
    shape: NetworkShape,
    layout: Layout,
    scaler: MinMaxScaler,
    correction: Correction,
) -> bytes:
    """The ONNX model; the conformal correction is folded into the head."""
    features, columns = len(FEATURES), len(TAPPED)
    graph = StepGraph(layout, state_size(shape))
    cells = [f"{part}_{layer}" for layer in range(shape.layers) for part in ("hidden", "cell")]
    graph.split(
        "state",
        [features, features, columns, (TAPS - 1) * columns, *[shape.units] * len(cells)],
        [
            "mean_before",
            "deviation_before",
            "oldest",
            "later",
            *(f"{cell}_before" for cell in cells),
        ],
    )
    graph.constant("mean_weight", MEAN_WEIGHT)
    graph.constant("least", LEAST_DEVIATION)
    mean = moving_mean(graph, "mean", "sample", "mean_before", "mean_weight")
    graph.add("Sub", ["sample", mean], "off")
    graph.add("Abs", ["off"], "distance")
    deviation = moving_mean(graph, "deviation", "distance", "deviation_before", "mean_weight")
    graph.add("Add", [deviation, "least"], "size")
    inside = graph.add("Concat", [*_views(graph, scaler), "oldest", "later"], "inside", axis=1)
    graph.constant("tapped", TAPPED, np.int64)
    graph.add("Gather", ["relative", "tapped"], "newest", axis=1)
    flow, after = inside, [mean, deviation, "later", "newest"]
    for layer in range(shape.layers):
        flow, cell = _cell(graph, layer, flow, weights[f"lstm_{layer}"], shape.units)
        after += [flow, cell]
    head_kernel, head_bias = weights["head"]
    kernel, bias = corrected_head(head_kernel, head_bias, layout, correction)
    graph.constant("head_kernel", kernel)
    graph.constant("head_bias", bias)
    head_in = graph.add("Concat", [flow, inside], "head_in", axis=1)
    if "narrow" in weights:
        graph.constant("narrow_kernel", weights["narrow"][0])
        head_in = graph.add("MatMul", [head_in, "narrow_kernel"], "narrow")
    graph.add("Gemm", [head_in, "head_kernel", "head_bias"], "answer_flat")
    graph.reshaped("answer_flat", "answer")
    graph.constant("columns", layout.columns, np.int64)
    graph.add("Gather", ["size", "columns"], "quantity_size", axis=1)
    graph.constant("axes", [2, 3], np.int64)
    graph.add("Unsqueeze", ["quantity_size", "axes"], "answer_size")
    graph.add("Mul", ["answer", "answer_size"], "forecast")
    graph.add("Concat", after, "next_state", axis=1)
    return graph.to_bytes()


def _views(graph: StepGraph, scaler: MinMaxScaler) -> list[str]:
    """Deviations with the room below the limit, and levels with bytes in one unit.

    What is done alike is done once: at one bearer a node costs its call.
    """
    graph.constant("bytes_columns", BYTES, np.int64)
    graph.constant("bytes_factors", bytes_per_occupancy(scaler))
    graph.constant("occupancy_column", [OCCUPANCY], np.int64)
    graph.add("Gather", ["sample", "bytes_columns"], "bytes_scaled", axis=1)
    graph.add("Mul", ["bytes_scaled", "bytes_factors"], "bytes_levels")
    graph.add("Gather", ["size", "occupancy_column"], "occupancy_size", axis=1)
    graph.add("Div", ["bytes_levels", "occupancy_size"], "bytes_ratio")
    room = np.zeros((len(BYTES), 1), np.float32)
    room[BYTES.index(LIMIT)], room[BYTES.index(OCCUPANCY)] = 1, -1
    graph.constant("limit_less_occupancy", room)
    graph.add("MatMul", ["bytes_ratio", "limit_less_occupancy"], "room")
    graph.add("Div", ["off", "size"], "deviations")
    graph.add("Concat", ["deviations", "room"], "relative_all", axis=1)
    graph.constant("z_low", -Z_LIMIT)
    graph.constant("z_high", Z_LIMIT)
    graph.add("Clip", ["relative_all", "z_low", "z_high"], "relative")
    graph.constant("level_gain", LEVEL_GAIN)
    graph.constant("level_scale", 1 / np.log1p(LEVEL_GAIN))
    graph.constant("one", 1)
    graph.add("Mul", ["sample", "level_gain"], "sample_gained")
    graph.add("Concat", ["sample_gained", "bytes_ratio"], "levels_less_one", axis=1)
    graph.add("Add", ["levels_less_one", "one"], "levels_plain")
    graph.add("Max", ["levels_plain", "one"], "levels_from_one")
    graph.add("Log", ["levels_from_one"], "levels_log")
    return ["relative", graph.add("Mul", ["levels_log", "level_scale"], "levels")]


def corrected_head(
    kernel: NDArray[np.float32],
    bias: NDArray[np.float32],
    layout: Layout,
    correction: Correction,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A linear head that answers the corrected quantiles: ``A·(W·x + b)``."""
    mixing = correction.mixing().astype(np.float64)
    shaped = kernel.reshape(len(kernel), *layout.shape).astype(np.float64)
    mixed = np.einsum("qpkj,iqpj->iqpk", mixing, shaped)
    shifted = np.einsum("qpkj,qpj->qpk", mixing, bias.reshape(layout.shape).astype(np.float64))
    return (
        mixed.reshape(kernel.shape).astype(np.float32),
        shifted.reshape(bias.shape).astype(np.float32),
    )


def _cell(
    graph: StepGraph, layer: int, flow: str, weights: list[NDArray[np.float32]], units: int
) -> tuple[str, str]:
    """One LSTM layer (Keras: ``c' = σ(f)·c + σ(i)·tanh(g)``, ``h' = σ(o)·tanh(c')``)."""
    name = f"lstm_{layer}"
    kernel, recurrent, bias = weights
    graph.constant(f"{name}_weights", np.concatenate([kernel, recurrent]))
    graph.constant(f"{name}_bias", bias)
    graph.add("Concat", [flow, f"hidden_{layer}_before"], f"{name}_in", axis=1)
    graph.add("Gemm", [f"{name}_in", f"{name}_weights", f"{name}_bias"], f"{name}_gates")
    gates = [f"{name}_{gate}" for gate in ("i", "f", "g", "o")]
    graph.split(f"{name}_gates", [units] * 4, gates)
    for gate in ("i", "f", "o"):
        graph.add("Sigmoid", [f"{name}_{gate}"], f"{name}_{gate}_open")
    graph.add("Tanh", [f"{name}_g"], f"{name}_new")
    graph.add("Mul", [f"{name}_f_open", f"cell_{layer}_before"], f"{name}_kept")
    graph.add("Mul", [f"{name}_i_open", f"{name}_new"], f"{name}_added")
    cell = graph.add("Add", [f"{name}_kept", f"{name}_added"], f"cell_{layer}")
    graph.add("Tanh", [cell], f"{name}_squashed")
    hidden = graph.add("Mul", [f"{name}_o_open", f"{name}_squashed"], f"hidden_{layer}")
    return hidden, cell
