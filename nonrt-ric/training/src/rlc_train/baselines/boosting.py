"""LightGBM on the summary of the past, with the pinball loss.

One booster per quantity and quantile; the horizon is an input, so that points need no boosters of
their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.baselines.summary import SummaryForecaster
from rlc_train.errors import need
from rlc_train.horizon import Layout
from rlc_train.splits import Part

TRAINING_ORIGINS: Final = 40_000
POINTS_PER_ORIGIN: Final = 4


class LightGbm(SummaryForecaster):
    """Boosted trees."""

    name = "lightgbm"
    most_origins: int | None = 20_000

    def __init__(self, rounds: int = 200, leaves: int = 31, learning_rate: float = 0.05) -> None:
        super().__init__()
        self._rounds, self._leaves, self._learning_rate = rounds, leaves, learning_rate
        self._boosters: list[list[Any]] = []

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Grows the boosters on a few random points of each origin."""
        lightgbm = need("lightgbm", "baselines")
        rng = np.random.default_rng(seed)
        inputs, residuals = [], []
        for x, scaled in self.training_data(parts, layout, TRAINING_ORIGINS):
            points = rng.integers(0, layout.points, (len(x), min(POINTS_PER_ORIGIN, layout.points)))
            for chosen in points.T:
                inputs.append(_with_distance(x, layout.ahead[chosen]))
                residuals.append(scaled[np.arange(len(x)), :, chosen])
        x, y = np.concatenate(inputs), np.concatenate(residuals)
        self._boosters = [
            [self._grow(lightgbm, x, y[:, q], level, seed) for level in layout.quantiles]
            for q in range(len(layout.quantities))
        ]

    def residual(self, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """Residuals that the boosters predict; 0 for a quantity that is never known."""
        rows = np.repeat(x, layout.points, axis=0)
        rows = _with_distance(rows, np.tile(layout.ahead, len(x)))
        result = np.zeros((len(x), *layout.shape), np.float32)
        for q, boosters in enumerate(self._boosters):
            for k, booster in enumerate(boosters):
                if booster is not None and len(rows):
                    result[:, q, :, k] = booster.predict(rows, num_threads=1).reshape(len(x), -1)
        return result

    def _grow(
        self, lightgbm: Any, x: NDArray[np.float32], y: NDArray[np.float32], level: float, seed: int
    ) -> Any:
        """A booster; None for a quantity that is never known."""
        known = ~np.isnan(y)
        if not known.any():
            return None
        # Residuals are normalised, because LightGBM has no scale of its own.
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
    """A booster whose target was divided by `size`."""

    def __init__(self, booster: Any, size: float) -> None:
        self._booster, self._size = booster, size

    def predict(self, x: NDArray[np.float32], num_threads: int) -> NDArray[np.float64]:
        residual: NDArray[np.float64] = self._booster.predict(x, num_threads=num_threads)
        return residual * self._size


def _with_distance(x: NDArray[np.float32], ahead: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.concatenate([x, ahead[:, None].astype(np.float32)], axis=1)
