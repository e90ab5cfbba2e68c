"""The model of stolidis2024, a windowed LSTM (§IV-C, §IV-D), for comparison.

An LSTM layer of N nodes over the last N samples of one quantity, dropout, a dense layer of M
values; MSE, Adam, MinMax scaling; no shuffling. Every forecast processes the whole window, which
takes T_m; M·T_w must be at least T_m, so that the CU always has a forecast. The paper has one model
for the queue's size and one for its limit; N = 1000, M = 400.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from rlc_model import MinMaxScaler, Quantity

from rlc_train.baselines.base import residual_quantiles
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout, first_point_us
from rlc_train.lstm.backend import keras, tensorflow
from rlc_train.series import labels
from rlc_train.splits import Part, fit_scaler


class PaperShape(BaseModel):
    """Sizes of the paper's model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    window: int = Field(default=1000, ge=2, description="N: samples, and nodes of the LSTM.")
    points: int = Field(default=400, ge=1, description="M: forecast values.")
    dropout: float = Field(default=0.2, ge=0, le=0.5)
    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    epochs: int = Field(default=1, ge=1)
    batch: int = Field(default=16, ge=1)
    windows: int = Field(
        default=256, ge=2, description="Windows per epoch, over the training part."
    )


def build(shape: PaperShape) -> Any:
    """``(B, N, 1)`` scaled samples to ``(B, M)`` scaled values."""
    k = keras()
    model = k.Sequential(
        [
            k.Input((shape.window, 1)),
            k.layers.LSTM(shape.window),
            k.layers.Dropout(shape.dropout),
            k.layers.Dense(shape.points),
        ]
    )
    model.compile(optimizer=k.optimizers.Adam(shape.learning_rate), loss="mse")
    return model


@dataclass(frozen=True, slots=True)
class PaperTiming:
    """T_m of the windowed model: median and 99th percentile of one prediction, µs."""

    median_us: float
    p99_us: float


def measure(model: Any, shape: PaperShape, predictions: int = 10) -> PaperTiming:
    """Measures single predictions, as in the paper's loop."""
    window = np.random.default_rng(0).random((1, shape.window, 1), np.float32)
    run = predictor(model)
    run(window)
    took = np.empty(predictions)
    for i in range(predictions):
        began = time.perf_counter_ns()
        run(window)
        took[i] = (time.perf_counter_ns() - began) / 1000
    return PaperTiming(float(np.median(took)), float(np.quantile(took, 0.99)))


def predictor(model: Any) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """The model as a compiled function."""
    tf = tensorflow()

    def forward(window: Any) -> Any:
        return model(window, training=False)

    compiled = tf.function(forward, autograph=False, reduce_retracing=True)

    def run(window: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(compiled(tf.constant(window)))

    return run


class PaperLstm:
    """The paper's model in a back-test; its first label is T_RD + T_m + T_RC ahead with its own
    T_m.

    A point forecast plus the quantiles of its errors on the training part, for comparison with
    quantile forecasters.
    """

    name = "paper"
    most_origins: int | None = 100

    def __init__(self, shape: PaperShape | None = None) -> None:
        self.shape = shape or PaperShape()
        self._layout: Layout | None = None
        self._scaler: MinMaxScaler | None = None
        self._models: list[Any] = []
        self._offset = np.zeros((0, 0, 0), np.float32)
        self.curves: list[list[float]] = []

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Trains one model per quantity.

        Raises:
            TrainError: TensorFlow is not installed, the layout does not have M points, or all
                series are shorter than a window and its labels.
        """
        if layout.points != self.shape.points:
            raise TrainError(
                "paper", f"layout has {layout.points} points; M is {self.shape.points}"
            )
        keras().utils.set_random_seed(seed)
        self._layout, self._scaler = layout, fit_scaler(parts)
        chosen = [(part, self._origins(part, layout)) for part in parts]
        if not any(len(origins) for _, origins in chosen):
            needed = self.shape.window + int(layout.ahead[-1])
            raise TrainError("paper", f"no training series has {needed} samples")
        self._models = []
        residuals = []
        for q, column in enumerate(layout.columns):
            x = np.concatenate([self._windows(part, o, column) for part, o in chosen])
            actual = np.concatenate(
                [labels(part.series, layout, o, part.stop)[:, q] for part, o in chosen if len(o)]
            )
            scaled = (actual - self._scaler.minimum[column]) / self._scaler.span[column]
            known = ~np.isnan(scaled).any(axis=1)
            model = build(self.shape)
            if known.any():
                history = model.fit(
                    x[known],
                    scaled[known],
                    epochs=self.shape.epochs,
                    batch_size=self.shape.batch,
                    # "preserving causality by refraining from data shuffling" (§IV-C)
                    shuffle=False,
                    verbose=0,
                )
                self.curves.append([float(v) for v in history.history["loss"]])
            self._models.append(model)
            sampled = x[:: max(1, len(x) // 64)]
            errors = actual[:: max(1, len(x) // 64)] - self._values(model, sampled, column)
            residuals.append(errors)
        self._offset = residual_quantiles(np.stack(residuals, axis=1), layout.levels)

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """One window per origin."""
        layout = self._layout
        if layout is None:
            raise TrainError(self.name, "is not fitted")
        result = np.empty((len(origins), *layout.shape), np.float32)
        for q, (model, column) in enumerate(zip(self._models, layout.columns, strict=True)):
            values = self._values(model, self._windows(part, origins, column), column)
            result[:, q] = values[..., None] + self._offset[q]
        return result

    def _origins(self, part: Part, layout: Layout) -> NDArray[np.intp]:
        first = part.start + self.shape.window - 1
        last = part.stop - int(layout.ahead[-1])
        stride = max(1, (last - first) // self.shape.windows)
        return np.arange(first, max(last, first), stride, dtype=np.intp)

    def _windows(self, part: Part, origins: NDArray[np.intp], column: int) -> NDArray[np.float32]:
        """``(N, window, 1)``; the first sample is repeated before the series."""
        if self._scaler is None:
            raise TrainError(self.name, "is not fitted")
        rows = origins[:, None] + np.arange(1 - self.shape.window, 1)
        values = part.series.features[np.maximum(rows, 0), column]
        scaled = (values - self._scaler.minimum[column]) / self._scaler.span[column]
        windows: NDArray[np.float32] = scaled[..., None].astype(np.float32)
        return windows

    def _values(self, model: Any, windows: NDArray[np.float32], column: int) -> NDArray[np.float32]:
        if self._scaler is None:
            raise TrainError(self.name, "is not fitted")
        run = predictor(model)
        size = self.shape.batch
        parts = [run(windows[at : at + size]) for at in range(0, len(windows), size)]
        scaled = np.concatenate(parts) if parts else np.zeros((0, self.shape.points), np.float32)
        return self._scaler.inverse_column(column, scaled)


def layout_of(
    shape: PaperShape,
    *,
    quantities: tuple[Quantity, ...],
    quantiles: tuple[float, ...],
    t_m_us: float,
    t_rd_us: float,
    t_rc_us: float,
) -> Layout:
    """M points from ``T_RD + T_m + T_RC``, T_w = T_r = 1 ms (§IV-C)."""
    start = first_point_us(t_rd_us, t_m_us, t_rc_us, 1_000)
    points = range(start, start + 1_000 * shape.points, 1_000)
    return Layout(quantities, tuple(points), quantiles)
