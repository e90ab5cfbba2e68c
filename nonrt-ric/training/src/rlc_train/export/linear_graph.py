"""The linear quantile baseline's step as ONNX: the summary of the past is its state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES

from rlc_train.baselines import summary
from rlc_train.conformal import Correction
from rlc_train.export.graph import StepGraph, moving_mean
from rlc_train.export.lstm_graph import corrected_head
from rlc_train.horizon import Layout


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
