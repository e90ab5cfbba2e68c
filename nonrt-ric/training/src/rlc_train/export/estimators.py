"""The ONNX step of fitted estimators, and what it is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES

from rlc_train.baselines import summary
from rlc_train.conformal import Correction
from rlc_train.estimators.regressor import LEAST_DEVIATION, Fitted, Regressor
from rlc_train.export.check import Reference
from rlc_train.export.converters import to_onnx
from rlc_train.export.graph import StepGraph
from rlc_train.export.linear import as_linear, linear_step
from rlc_train.export.summaries import add_summary
from rlc_train.horizon import Layout


def estimator_step(model: Regressor, correction: Correction) -> bytes:
    """The ONNX model of a fitted estimator.

    Raises:
        TrainError: It has no ONNX graph.
    """
    linear = as_linear(model)
    if linear is not None:
        return linear_step(*linear, model.layout, correction)
    return _Step(model).to_bytes(correction)


class _Step:
    """A step made of the graphs of estimators."""

    def __init__(self, model: Regressor) -> None:
        self._model, self._layout = model, model.layout
        self._graph = StepGraph(model.layout, summary.STATE_SIZE)
        self._rows = add_summary(self._graph)
        self._width = summary.SIZE + int(model.point_is_input)
        self._graph.constant("first_axis", [1], np.int64)

    def to_bytes(self, correction: Correction) -> bytes:
        """The model."""
        graph, layout = self._graph, self._layout
        self._deviations()
        if self._model.point_is_input:
            self._rows = self._with_distance()
        of_quantity = [self._quantity(q) for q in range(len(layout.quantities))]
        graph.add("Concat", of_quantity, "values", axis=1)
        graph.constant("unit", self._model.unit[None, ..., None])
        graph.add("Mul", ["values", "unit"], "plain")
        for name, index in (("lowest", 0), ("highest", layout.shape[2] - 1)):
            graph.constant(f"{name}_index", [index], np.int64)
            graph.add("Gather", ["plain", f"{name}_index"], name, axis=3)
        graph.add("Sub", ["highest", "lowest"], "width")
        graph.constant("shift", correction.shift[None])
        graph.add("Mul", ["width", "shift"], "shifted")
        graph.add("Add", ["plain", "shifted"], "forecast")
        return graph.to_bytes()

    def _deviations(self) -> None:
        """``(B, Q)`` deviations of the quantities, not below the least."""
        picked = np.zeros((len(FEATURES), len(self._layout.columns)), np.float32)
        picked[self._layout.columns, range(len(self._layout.columns))] = 1
        self._graph.constant("picked", picked)
        self._graph.constant("least", LEAST_DEVIATION)
        self._graph.add("MatMul", ["deviation", "picked"], "deviation_plain")
        self._graph.add("Add", ["deviation_plain", "least"], "sizes")

    def _with_distance(self) -> str:
        """``(B·M, SIZE + 1)`` rows with the distance of each point: a sum with zeros is exact."""
        graph, points = self._graph, self._layout.points
        wide = np.eye(summary.SIZE, self._width, dtype=np.float32)
        distance = np.zeros((1, points, self._width), np.float32)
        distance[0, :, -1] = self._layout.ahead
        graph.constant("wide", wide)
        graph.constant("distance_of_points", distance)
        graph.constant("rows_shape", [-1, self._width], np.int64)
        graph.add("MatMul", [self._rows, "wide"], "summary_wide")
        graph.add("Unsqueeze", ["summary_wide", "first_axis"], "summary_rows")
        graph.add("Add", ["summary_rows", "distance_of_points"], "rows_of_points")
        return graph.add("Reshape", ["rows_of_points", "rows_shape"], "rows")

    def _quantity(self, quantity: int) -> str:
        """``(B, 1, M, K)`` values of a quantity, in units."""
        graph = self._graph
        mine = [one for one in self._model.fitted if one.quantity == quantity]
        name = f"quantity_{quantity}"
        graph.constant(f"{name}_index", [quantity], np.int64)
        graph.add("Gather", ["sizes", f"{name}_index"], f"{name}_size", axis=1)
        graph.constant(f"{name}_shape", [-1, 1, 1, 1], np.int64)
        graph.add("Reshape", [f"{name}_size", f"{name}_shape"], f"{name}_sizes")
        # Of a quantity that is never known all are 0.
        graph.constant(f"{name}_offset", self._model.offset[quantity][None, None])
        spread = graph.add("Mul", [f"{name}_sizes", f"{name}_offset"], f"{name}_spread")
        if not mine:
            return spread
        at_levels = [
            self._level(name, mine, level) for level in dict.fromkeys(m.level for m in mine)
        ]
        value = at_levels[0]
        if len(at_levels) > 1:
            value = graph.add("Concat", at_levels, f"{name}_levels", axis=3)
        return graph.add("Add", [value, spread], f"{name}_values")

    def _level(self, name: str, mine: list[Fitted], level: int | None) -> str:
        """``(B, 1, M, 1)`` values at a quantile."""
        graph, points = self._graph, self._layout.points
        found: list[str] = []
        for one in (one for one in mine if one.level == level):
            prefix = f"{name}_{level}_{one.point}"
            model = to_onnx(one.estimator, self._width, self._model.name)
            found += graph.include(model, prefix, [self._rows], [prefix])
        joined = found[0]
        if len(found) > 1:
            joined = graph.add("Concat", found, f"{name}_{level}_points", axis=1)
        shape = graph.constant(f"{name}_{level}_shape", [-1, 1, points, 1], np.int64)
        return graph.add("Reshape", [joined, shape], f"{name}_{level}_values")


def estimator_reference(model: Regressor, layout: Layout, correction: Correction) -> Reference:
    """The estimators themselves on the summary, sample by sample, with explicit state."""
    weights = np.array(summary.WEIGHTS, np.float32)[:, None]
    columns = len(FEATURES)

    def answer(
        samples: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        means = state[: weights.size * columns].reshape(weights.size, columns).copy()
        deviation = state[weights.size * columns :].copy()
        summaries = np.empty((len(samples), summary.SIZE), np.float32)
        for row, sample in enumerate(samples):
            means += weights * (sample - means)
            off = np.abs(sample - means[summary.DEVIATION_MEAN])
            deviation += np.float32(summary.DEVIATION_WEIGHT) * (off - deviation)
            summaries[row] = np.concatenate([sample, means.ravel(), deviation])
        answers = model.residual(summaries, layout)
        return correction.apply(answers), np.concatenate([means.ravel(), deviation])

    return answer
