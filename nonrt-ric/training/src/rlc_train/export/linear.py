"""The ONNX step of estimators that are linear in the summary: one product."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.baselines import summary
from rlc_train.baselines.summary import DEVIATIONS
from rlc_train.conformal import Correction
from rlc_train.estimators.regressor import LEAST_DEVIATION, Regressor
from rlc_train.export.graph import StepGraph
from rlc_train.export.steps import corrected_head
from rlc_train.export.summaries import add_summary
from rlc_train.horizon import Layout

AFFINE: Final = frozenset({"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PCA"})
"""Steps of scikit-learn's pipelines that are affine, if they do not clip."""

Linear = tuple[NDArray[np.float32], NDArray[np.float32]]
"""``(SIZE, Q·M·K)`` weights from summaries to scaled residuals, and ``(Q·M·K,)`` bias."""


def as_linear(model: Regressor) -> Linear | None:
    """The weights of a fitted model whose estimators are all linear; None if one is not.

    They are found by asking it for the zero and the unit vectors, in double precision.
    """
    if not model.fitted or not all(is_affine(one.estimator) for one in model.fitted):
        return None
    layout = model.layout
    weights = np.zeros((summary.SIZE + 1, *layout.shape))
    for one in model.fitted:
        levels = slice(None) if one.level is None else slice(one.level, one.level + 1)
        points = range(layout.points) if one.point is None else [one.point]
        rows = np.zeros((summary.SIZE + 1, summary.SIZE))
        np.fill_diagonal(rows, 1)
        for position, point in enumerate(points):
            asked = rows
            if model.point_is_input:
                distance = np.full((len(rows), 1), float(layout.ahead[point]))
                asked = np.concatenate([rows, distance], axis=1)
            found = np.asarray(one.estimator.predict(asked), np.float64).reshape(len(rows), -1)
            values = found[:, position if found.shape[1] > 1 else 0]
            column = np.concatenate([values[:-1] - values[-1], values[-1:]])
            weights[:, one.quantity, point, levels] = column[:, None]
    for quantity, feature in enumerate(layout.columns):
        # Quantiles of errors are in deviations, which are columns of the summary.
        weights[DEVIATIONS.start + feature, quantity] += model.offset[quantity]
        weights[-1, quantity] += model.offset[quantity] * LEAST_DEVIATION
    weights *= model.unit[..., None]
    flat = weights.reshape(summary.SIZE + 1, -1).astype(np.float32)
    return flat[:-1], flat[-1]


def is_affine(estimator: Any) -> bool:
    """Whether scikit-learn's estimator computes a linear function of X and a constant."""
    if hasattr(estimator, "steps"):
        *before, (_, last) = estimator.steps
        return is_affine(last) and all(
            type(step).__module__.startswith("sklearn.")
            and type(step).__name__ in AFFINE
            and not getattr(step, "clip", False)
            for _, step in before
        )
    # Generalised linear models have a link between the linear function and what they predict.
    return (
        type(estimator).__module__.startswith("sklearn.linear_model.")
        and hasattr(estimator, "coef_")
        and not hasattr(estimator, "_base_loss")
    )


def linear_step(
    weights: NDArray[np.float32],
    bias: NDArray[np.float32],
    layout: Layout,
    correction: Correction,
) -> bytes:
    """The ONNX model; the conformal correction is folded into the weights."""
    graph = StepGraph(layout, summary.STATE_SIZE)
    rows = add_summary(graph)
    kernel, offset = corrected_head(weights, bias, layout, correction)
    graph.constant("kernel", kernel)
    graph.constant("bias", offset)
    graph.add("Gemm", [rows, "kernel", "bias"], "forecast_flat")
    graph.reshaped("forecast_flat", "forecast")
    return graph.to_bytes()
