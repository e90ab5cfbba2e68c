"""ONNX nodes of the summary of a bearer's past (:mod:`rlc_train.baselines.summary`)."""

from __future__ import annotations

from rlc_model import FEATURES

from rlc_train.baselines import summary
from rlc_train.export.graph import StepGraph, moving_mean


def add_summary(graph: StepGraph) -> str:
    """Adds the recurrences and the next state; returns the ``(B, SIZE)`` summary."""
    features = len(FEATURES)
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
    return graph.add("Concat", ["sample", "next_state"], "summary", axis=1)
