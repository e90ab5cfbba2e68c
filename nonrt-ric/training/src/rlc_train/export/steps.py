"""The ONNX step of the network, from Keras weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.conformal import Correction
from rlc_train.export.cells import cell
from rlc_train.export.graph import StepGraph, moving_mean
from rlc_train.horizon import Layout
from rlc_train.lstm.custom import CellGraph
from rlc_train.lstm.shape import (
    BYTES,
    CARRIED,
    FAST_WEIGHT,
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
    recurrent_layers,
    views_state_size,
)

Weights = dict[str, list[NDArray[np.float32]]]
"""Per layer: the recurrent ones (:mod:`rlc_train.export.cells`), ``narrow`` kernel, ``head`` kernel
and bias, logarithms of the weights of the ``unit``."""


def network_step(
    weights: Weights,
    shape: NetworkShape,
    layout: Layout,
    scaler: MinMaxScaler,
    correction: Correction,
    *,
    own: CellGraph | None = None,
) -> bytes:
    """The ONNX model; the conformal correction is folded into the head.

    `own` is the cell of a custom network.

    Columns are selected by multiplication with 0/1 matrices, which is exact: with many bearers
    ``Gather`` and broadcasting operators take several times as long.
    """
    features, columns = len(FEATURES), len(TAPPED)
    layers = recurrent_layers(shape)
    carried = [f"{part}_{index}" for index in range(len(layers)) for part in CARRIED[shape.kind]]
    sizes = [shape.units] * len(carried)
    if own is not None:
        sizes = list(own.state_sizes)
        carried = [f"own_{index}" for index in range(len(sizes))]
    graph = StepGraph(layout, views_state_size() + sum(sizes))
    graph.split(
        "state",
        [2 * features, 2 * features, columns, (TAPS - 1) * columns, *sizes],
        [
            "mean_before",
            "deviation_before",
            "oldest",
            "later",
            *(f"{one}_before" for one in carried),
        ],
    )
    graph.constant("mean_weights", np.repeat([MEAN_WEIGHT, FAST_WEIGHT], features))
    graph.constant("deviation_weight", MEAN_WEIGHT)
    graph.constant("least", LEAST_DEVIATION)
    graph.add("Concat", ["sample", "sample"], "both", axis=1)
    mean = moving_mean(graph, "mean", "both", "mean_before", "mean_weights")
    graph.add("Sub", ["both", mean], "offs")
    graph.add("Abs", ["offs"], "distance")
    deviation = moving_mean(graph, "deviation", "distance", "deviation_before", "deviation_weight")
    graph.add("Add", [deviation, "least"], "both_sizes")
    graph.split("offs", [features, features], ["off", "off_fast"])
    graph.split("both_sizes", [features, features], ["size", "size_fast"])
    _picked(graph, "size", [OCCUPANCY] * len(BYTES), "bytes_size")
    graph.add("Div", ["size", "size_fast"], "slow_over_fast")
    graph.add("Log", ["slow_over_fast"], "swing")
    inputs = [*_views(graph, scaler), "swing", "oldest", "later"]
    _picked(graph, "relative", TAPPED, "newest", columns=features + 1)
    if own is None:
        states = _narrowed(graph, weights, shape, inputs)
    else:
        states = _narrowed_own(graph, weights, own, inputs, carried)
    kernel, bias = weights["head"]
    kernel, bias = corrected_head(kernel, bias, layout, correction)
    graph.constant("head_kernel", kernel)
    graph.constant("head_bias", bias)
    graph.add("Gemm", ["narrow", "head_kernel", "head_bias"], "residual")
    graph.reshaped("residual", "forecast")
    (logs,) = weights["unit"]
    graph.constant("unit_weights", unit_weights(logs, layout))
    graph.add("MatMul", ["both_sizes", "unit_weights"], "unit")
    graph.scale("unit")
    graph.add("Concat", [mean, deviation, "later", "newest", *states], "next_state", axis=1)
    return graph.to_bytes()


def _narrowed(
    graph: StepGraph, weights: Weights, shape: NetworkShape, inputs: list[str]
) -> list[str]:
    """``narrow``, the inputs of the head, by way of the recurrent layers; their next states."""
    flow, after = inputs, []
    (narrow,) = weights["narrow"]
    for index, layer in enumerate(recurrent_layers(shape)):
        # The head's product with the first layer's inputs is computed with its gates.
        extra = narrow[shape.units :] if index == 0 else None
        output, states = cell(graph, shape.kind, index, flow, weights=weights[layer], extra=extra)
        flow = [output]
        after += states
    if after:
        graph.constant("narrow_flow", narrow[: shape.units])
        graph.add("Gemm", [*flow, "narrow_flow", "narrow_seen"], "narrow")
    else:
        graph.constant("narrow_kernel", narrow)
        graph.add("Concat", flow, "views", axis=1)
        graph.add("MatMul", ["views", "narrow_kernel"], "narrow")
    return after


def _narrowed_own(
    graph: StepGraph, weights: Weights, own: CellGraph, inputs: list[str], carried: list[str]
) -> list[str]:
    """The same by way of a user's cell, whose states are `carried`."""
    graph.add("Concat", inputs, "views", axis=1)
    after = [f"{one}_after" for one in carried]
    before = [f"{one}_before" for one in carried]
    graph.include(own.model, "own", ["views", *before], ["own_output", *after])
    graph.constant("narrow_kernel", weights["narrow"][0])
    graph.add("Concat", ["own_output", "views"], "views_and_output", axis=1)
    graph.add("MatMul", ["views_and_output", "narrow_kernel"], "narrow")
    return after


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


def unit_weights(logs: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
    """``(2F, Q·M)`` weights of slow and fast deviations in the unit of each forecast, from their
    ``(2, Q, M)`` logarithms."""
    features = len(FEATURES)
    weights = np.zeros((2, features, *layout.shape[:-1]), np.float32)
    for quantity, column in enumerate(layout.columns):
        weights[:, column, quantity] += np.exp(logs[:, quantity])
    return weights.reshape(2 * features, -1)


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
