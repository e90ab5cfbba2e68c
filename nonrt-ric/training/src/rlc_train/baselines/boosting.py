"""LightGBM on the summary of the past, with the pinball loss.

One booster per quantity and quantile; the distance of the point is an input, so that the boosters
do not multiply with the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import MinMaxScaler

from rlc_train.baselines import summary
from rlc_train.baselines.base import training_rows
from rlc_train.errors import TrainError, need
from rlc_train.horizon import Layout
from rlc_train.splits import Part, fit_scaler

TRAINING_ORIGINS: Final = 40_000
POINTS_PER_ORIGIN: Final = 4


class LightGbm:
    """Residual to the last value, by boosted trees."""

    name = "lightgbm"
    most_origins: int | None = 20_000

    def __init__(self, rounds: int = 200, leaves: int = 31, learning_rate: float = 0.05) -> None:
        self._rounds, self._leaves, self._learning_rate = rounds, leaves, learning_rate
        self._layout: Layout | None = None
        self._scaler: MinMaxScaler | None = None
        self._boosters: list[list[Any]] = []

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Grows the boosters on a few points, drawn anew, of each origin."""
        lightgbm = need("lightgbm", "baselines")
        self._layout, self._scaler = layout, fit_scaler(parts)
        rng = np.random.default_rng(seed)
        inputs, residuals = [], []
        for part, origins, values in training_rows(parts, layout, TRAINING_ORIGINS):
            x = summary.summarise(part.series.features, self._scaler, origins)
            last = part.series.features[origins][:, layout.columns][:, :, None]
            scaled = (values - last) / self._scaler.span[layout.columns][:, None]
            points = rng.integers(0, layout.points, (len(x), min(POINTS_PER_ORIGIN, layout.points)))
            for column in range(points.shape[1]):
                chosen = points[:, column]
                inputs.append(_with_distance(x, layout.ahead[chosen]))
                residuals.append(scaled[np.arange(len(x)), :, chosen])
        x, y = np.concatenate(inputs), np.concatenate(residuals)
        self._boosters = [
            [self._grow(lightgbm, x, y[:, q], level, seed) for level in layout.quantiles]
            for q in range(len(layout.quantities))
        ]

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """The last value plus the boosters' residual."""
        layout, scaler = self._layout, self._scaler
        if layout is None or scaler is None:
            raise TrainError(self.name, "is not fitted")
        x = summary.summarise(part.series.features, scaler, origins)
        rows = np.repeat(x, layout.points, axis=0)
        rows = _with_distance(rows, np.tile(layout.ahead, len(x)))
        result = np.empty((len(x), *layout.shape), np.float32)
        for q, boosters in enumerate(self._boosters):
            for k, booster in enumerate(boosters):
                if booster is None:
                    result[:, q, :, k] = 0
                elif len(rows):
                    result[:, q, :, k] = booster.predict(rows, num_threads=1).reshape(len(x), -1)
        last = part.series.features[origins][:, layout.columns]
        span = scaler.span[layout.columns][:, None, None]
        forecast: NDArray[np.float32] = last[:, :, None, None] + result * span
        return forecast

    def _grow(
        self, lightgbm: Any, x: NDArray[np.float32], y: NDArray[np.float32], level: float, seed: int
    ) -> Any:
        """A booster; None for a quantity that is never known."""
        known = ~np.isnan(y)
        if not known.any():
            return None
        # The leaves' values are limited by nothing but their data: residuals of a few thousandths
        # need no unit.
        size = float(np.abs(y[known]).mean()) or 1.0
        booster = lightgbm.train(
            {
                "objective": "quantile",
                "alpha": level,
                "num_leaves": self._leaves,
                "learning_rate": self._learning_rate,
                "min_data_in_leaf": 50,
                "num_threads": 1,
                "seed": seed,
                "deterministic": True,
                "verbosity": -1,
            },
            lightgbm.Dataset(x[known], y[known] / size),
            self._rounds,
        )
        return _Scaled(booster, size)


class _Scaled:
    """A booster of a target that was divided by `size`."""

    def __init__(self, booster: Any, size: float) -> None:
        self._booster, self._size = booster, size

    def predict(self, x: NDArray[np.float32], num_threads: int) -> NDArray[np.float64]:
        answers: NDArray[np.float64] = self._booster.predict(x, num_threads=num_threads)
        return answers * self._size


def _with_distance(x: NDArray[np.float32], ahead: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.concatenate([x, ahead[:, None].astype(np.float32)], axis=1)
