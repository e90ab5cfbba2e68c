"""ONNX steps of the LSTM (from Keras weights) and of the linear quantile baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler
from rlc_model.contract import SCALE

from rlc_train.baselines import summary
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
order i, f, c, o; ``narrow`` kernel and ``head`` kernel and bias."""


def lstm_step(
    weights: Weights,
    shape: NetworkShape,
    layout: Layout,
    scaler: MinMaxScaler,
    correction: Correction,
) -> bytes:
    """The ONNX model; the conformal correction is folded into the head.

    Forecasts are in typical deviations, which are the output scale.

    Columns are selected by multiplication with 0/1 matrices, which is exact: with many bearers
    ``Gather`` and broadcasting operators take several times as long.
    """
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
    _picked(graph, "size", [*[OCCUPANCY] * len(BYTES), *layout.columns], "sizes")
    graph.split("sizes", [len(BYTES), len(layout.columns)], ["bytes_size", SCALE])
    inputs = [*_views(graph, scaler), "oldest", "later"]
    _picked(graph, "relative", TAPPED, "newest", columns=features + 1)
    flow, after = inputs, [mean, deviation, "later", "newest"]
    (narrow,) = weights["narrow"]
    for layer in range(shape.layers):
        parts = weights[f"lstm_{layer}"]
        # The head's product with the first layer's inputs is computed with its gates.
        extra = narrow[shape.units :] if layer == 0 else None
        hidden, cell = _cell(graph, layer, flow, weights=parts, extra=extra)
        flow = [hidden]
        after += [hidden, cell]
    graph.constant("narrow_flow", narrow[: shape.units])
    graph.add("Gemm", [*flow, "narrow_flow", "narrow_seen"], "narrow")
    kernel, bias = weights["head"]
    kernel, bias = corrected_head(kernel, bias, layout, correction)
    graph.constant("head_kernel", kernel)
    graph.constant("head_bias", bias)
    graph.add("Gemm", ["narrow", "head_kernel", "head_bias"], "forecast_flat")
    graph.reshaped("forecast_flat", "forecast")
    graph.add("Concat", after, "next_state", axis=1)
    return graph.to_bytes(scaled=True)


def _picked(
    graph: StepGraph,
    source: str,
    picked: Sequence[int],
    output: str,
    *,
    columns: int = len(FEATURES),
    factors: NDArray[np.float32] | None = None,
) -> str:
    """Selects columns of `source`, which has `columns`, each times its factor."""
    matrix = np.zeros((columns, len(picked)), np.float32)
    matrix[list(picked), range(len(picked))] = 1 if factors is None else factors
    graph.constant(f"{output}_picked", matrix)
    return graph.add("MatMul", [source, f"{output}_picked"], output)


def _views(graph: StepGraph, scaler: MinMaxScaler) -> list[str]:
    """Deviations with the room below the limit, and levels with bytes in one unit.

    Equal operations share a node: for one bearer the call of a node dominates.
    """
    _picked(graph, "sample", BYTES, "bytes_levels", factors=bytes_per_occupancy(scaler))
    graph.add("Div", ["bytes_levels", "bytes_size"], "bytes_ratio")
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
    """A linear head for the corrected quantiles: ``A·(W·x + b)``."""
    mixing = correction.mixing().astype(np.float64)
    shaped = kernel.reshape(len(kernel), *layout.shape).astype(np.float64)
    mixed = np.einsum("qpkj,iqpj->iqpk", mixing, shaped)
    shifted = np.einsum("qpkj,qpj->qpk", mixing, bias.reshape(layout.shape).astype(np.float64))
    return (
        mixed.reshape(kernel.shape).astype(np.float32),
        shifted.reshape(bias.shape).astype(np.float32),
    )


def _cell(
    graph: StepGraph,
    layer: int,
    inputs: list[str],
    *,
    weights: list[NDArray[np.float32]],
    extra: NDArray[np.float32] | None,
) -> tuple[str, str]:
    """One LSTM layer (Keras: ``c' = σ(f)·c + σ(i)·tanh(g)``, ``h' = σ(o)·tanh(c')``).

    Args:
        graph: The graph.
        layer: Index of the layer.
        inputs: Input tensors, concatenated.
        weights: Kernel, recurrent kernel and bias.
        extra: ``(in, R)`` kernel whose product with the inputs is the output ``narrow_seen``.
    """
    name = f"lstm_{layer}"
    kernel, recurrent, bias = weights
    units = len(recurrent)
    sizes, parts = [units] * 4, [f"{name}_{gate}" for gate in ("i", "f", "g", "o")]
    if extra is not None:
        rank = extra.shape[1]
        kernel = np.concatenate([kernel, extra], axis=1)
        recurrent = np.pad(recurrent, ((0, 0), (0, rank)))
        bias = np.pad(bias, (0, rank))
        sizes, parts = [*sizes, rank], [*parts, "narrow_seen"]
    graph.constant(f"{name}_weights", np.concatenate([kernel, recurrent]))
    graph.constant(f"{name}_bias", bias)
    graph.add("Concat", [*inputs, f"hidden_{layer}_before"], f"{name}_in", axis=1)
    graph.add("Gemm", [f"{name}_in", f"{name}_weights", f"{name}_bias"], f"{name}_gates")
    graph.split(f"{name}_gates", sizes, parts)
    for gate in ("i", "f", "o"):
        graph.add("Sigmoid", [f"{name}_{gate}"], f"{name}_{gate}_open")
    graph.add("Tanh", [f"{name}_g"], f"{name}_new")
    graph.add("Mul", [f"{name}_f_open", f"cell_{layer}_before"], f"{name}_kept")
    graph.add("Mul", [f"{name}_i_open", f"{name}_new"], f"{name}_added")
    cell = graph.add("Add", [f"{name}_kept", f"{name}_added"], f"cell_{layer}")
    graph.add("Tanh", [cell], f"{name}_squashed")
    hidden = graph.add("Mul", [f"{name}_o_open", f"{name}_squashed"], f"hidden_{layer}")
    return hidden, cell


def linear_step(
    weights: NDArray[np.float32],
    bias: NDArray[np.float32],
    layout: Layout,
    correction: Correction,
) -> bytes:
    """The ONNX model; the conformal correction is folded into the weights."""
    features = len(FEATURES)
    graph = StepGraph(layout, summary.STATE_SIZE)
    means = [f"mean_{i}" for i in range(len(summary.WEIGHTS))]
    graph.split(
        "state",
        [features] * (len(means) + 1),
        [*(f"{name}_before" for name in means), "deviation_before"],
    )
    for name, weight in zip(means, summary.WEIGHTS, strict=True):
        graph.constant(f"{name}_weight", weight)
        moving_mean(graph, name, "sample", f"{name}_before", f"{name}_weight")
    graph.add("Sub", ["sample", means[summary.DEVIATION_MEAN]], "off")
    graph.add("Abs", ["off"], "distance")
    graph.constant("deviation_weight", summary.DEVIATION_WEIGHT)
    moving_mean(graph, "deviation", "distance", "deviation_before", "deviation_weight")
    graph.add("Concat", [*means, "deviation"], "next_state", axis=1)
    graph.add("Concat", ["sample", "next_state"], "summary", axis=1)
    kernel, offset = corrected_head(weights, bias, layout, correction)
    graph.constant("kernel", kernel)
    graph.constant("bias", offset)
    graph.add("Gemm", ["summary", "kernel", "bias"], "forecast_flat")
    graph.reshaped("forecast_flat", "forecast")
    return graph.to_bytes()
