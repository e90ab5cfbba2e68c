"""Linear quantile regression (Koenker and Bassett 1978) on the summary of the past.

Solved for all quantities, points and quantiles at once by Adam on the pinball loss with averaging
over the last steps; an exact solver needs a linear program for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rlc_train.baselines.summary import SummaryForecaster
from rlc_train.horizon import Layout
from rlc_train.splits import Part

TRAINING_ORIGINS: Final = 200_000
STEPS: Final = 2000
BATCH: Final = 1024
AVERAGED: Final = 0.25
"""Share of the steps, at the end, over which the weights are averaged."""


class LinearQuantile(SummaryForecaster):
    """Residual linear in the summary.

    Attributes:
        weights: ``(SIZE, Q·M·K)`` from summaries to scaled residuals, after `fit`.
        bias: ``(Q·M·K,)``.
    """

    name = "linear-quantile"
    most_origins: int | None = None

    def __init__(self, learning_rate: float = 0.01, steps: int = STEPS) -> None:
        super().__init__()
        self._learning_rate = learning_rate
        self._steps = steps
        self.weights = np.zeros((0, 0), np.float32)
        self.bias = np.zeros(0, np.float32)

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Learns the weights."""
        data = list(self.training_data(parts, layout, TRAINING_ORIGINS))
        x, y = (np.concatenate(arrays) for arrays in zip(*data, strict=True))
        # The products of a step take a millisecond: threads would wait for each other for longer.
        with threadpool_limits(1, "blas"):
            self._solve(x, y.reshape(len(x), -1), layout, seed)

    def residual(self, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """The linear function."""
        forecast = x @ self.weights + self.bias
        return np.asarray(forecast.reshape(len(x), *layout.shape))

    def _solve(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        layout: Layout,
        seed: int,
    ) -> None:
        """Adam (Kingma and Ba 2015) on standardised columns, rescaled at the end."""
        centre, width = x.mean(axis=0), x.std(axis=0)
        width = np.where(width > 0, width, 1).astype(np.float32)
        known = ~np.isnan(y)
        y = np.where(known, y, 0)
        scale = np.abs(y).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        scale = np.where(scale > 0, scale, 1).astype(np.float32)
        x, y = (x - centre) / width, y / scale
        rng = np.random.default_rng(seed)
        levels, quantiles = layout.levels, len(layout.quantiles)
        weights = np.zeros((x.shape[1] + 1, y.shape[1], quantiles), np.float32)
        weights[-1] = np.quantile(y, levels, axis=0).T
        mean, square, averaged = (np.zeros_like(weights) for _ in range(3))
        tail = max(1, int(self._steps * AVERAGED))
        for step in range(1, self._steps + 1):
            rows = rng.integers(0, len(x), min(BATCH, len(x)))
            batch = np.concatenate([x[rows], np.ones((len(rows), 1), np.float32)], axis=1)
            forecast = np.tensordot(batch, weights, 1)
            slope = (y[rows][..., None] < forecast) - levels
            slope *= known[rows][..., None]
            gradient = np.tensordot(batch.T, slope, 1) / len(rows)
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            rate = self._learning_rate * (1 - step / (self._steps + 1)) ** 0.5
            unbiased = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
            weights -= (rate * unbiased).astype(np.float32)
            if step > self._steps - tail:
                averaged += weights / tail
        averaged *= scale[None, :, None]
        folded = averaged[:-1] / width[:, None, None]
        bias = averaged[-1] - np.tensordot(centre, folded, 1)
        self.weights = folded.reshape(x.shape[1], -1).astype(np.float32)
        self.bias = bias.reshape(-1).astype(np.float32)
