"""Forecasts and loss of a batch, in Keras's operations: the same on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rlc_model import MinMaxScaler

from rlc_train.horizon import Layout
from rlc_train.lstm import network
from rlc_train.lstm.backend import keras
from rlc_train.lstm.lanes import Batch
from rlc_train.lstm.shape import FitSettings


class Objective:
    """Loss of a model on batches."""

    def __init__(
        self,
        model: Any,
        layout: Layout,
        settings: FitSettings,
        scaler: MinMaxScaler,
        unit: NDArray[np.float32],
    ) -> None:
        """`unit` is ``(Q, M)``: the mean residual of each quantity and point, in spans."""
        self.model = model
        self._body = network.before_head(model)
        self._layout = layout
        self._stride = settings.label_stride
        self._measure = network.pinball_loss if settings.loss == "pinball" else network.squared_loss
        self._unit = unit
        self._columns = layout.outcome_columns.astype(np.int32)
        self._span = scaler.span[layout.columns][:, None]

    def __call__(self, batch: Batch, state: Any, *, training: bool) -> tuple[Any, Any, Any]:
        """Mean loss, number of known labels, and the state after the batch.

        The loss has no gradient with respect to what happened before the batch: `state` is a value
        (truncated back-propagation).
        """
        ops = keras().ops
        seen, unit, after = self._body([batch.samples, state * batch.keep], training=training)
        labelled = slice(None, None, self._stride)
        forecast = network.at_head(self.model, seen[:, labelled], unit[:, labelled])
        actual, known = self.labels(batch)
        loss = self._measure(
            actual, known, forecast / self._unit[..., None], batch.size, self._layout
        )
        return loss, ops.sum(known), after

    def labels(self, batch: Batch) -> tuple[Any, Any]:
        """``(B, N, Q, M)`` residuals to the last value in mean residuals of quantity and point, 0
        if unknown, and 1 for a known one."""
        ops = keras().ops
        lanes, wide, kinds = batch.values.shape
        _, origins, points = batch.rows.shape
        first = np.arange(lanes, dtype=np.int32)[:, None, None] * wide
        index = ops.expand_dims(batch.rows + first, 2) * kinds + self._columns
        values = ops.take(ops.reshape(batch.values, (-1,)), ops.reshape(index, (-1,)), axis=0)
        values = ops.reshape(values, (lanes, origins, len(self._columns), points))
        residual = (values - ops.expand_dims(batch.last, -1)) / self._span / self._unit
        known = ops.logical_not(ops.isnan(residual))
        return ops.where(known, residual, 0.0), ops.cast(known, "float32")
