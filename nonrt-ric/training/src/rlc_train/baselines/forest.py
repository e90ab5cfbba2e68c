"""Random forest on the summary of the past, with quantiles.

A quantile regression forest (Meinshausen 2006): the trees of an ordinary forest say which training
samples are like the present one, and the quantiles are those of the weighted training labels.
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

TRAINING_ORIGINS: Final = 6_000
CHUNK: Final = 500
"""Origins whose weights over all training samples are held in memory at once."""


class RandomForest:
    """Residual to the last value, by a forest of regression trees."""

    name = "random-forest"

    def __init__(self, trees: int = 50, leaf: int = 20, most_origins: int = 1_000) -> None:
        self._trees, self._leaf = trees, leaf
        self.most_origins: int | None = most_origins
        self._layout: Layout | None = None
        self._scaler: MinMaxScaler | None = None
        self._forest: Any = None
        self._leaves = np.zeros((0, 0), np.int64)
        self._order = np.zeros((0, 0), np.intp)
        self._labels = np.zeros((0, 0), np.float32)

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Grows the trees on the residuals at all points at once."""
        ensemble = need("sklearn.ensemble", "baselines")
        self._layout, self._scaler = layout, fit_scaler(parts)
        inputs, residuals = [], []
        for part, origins, values in training_rows(parts, layout, TRAINING_ORIGINS):
            inputs.append(summary.summarise(part.series.features, self._scaler, origins))
            last = part.series.features[origins][:, layout.columns][:, :, None]
            scaled = (values - last) / self._scaler.span[layout.columns][:, None]
            residuals.append(np.nan_to_num(scaled, nan=0.0).reshape(len(origins), -1))
        x, self._labels = np.concatenate(inputs), np.concatenate(residuals)
        self._forest = ensemble.RandomForestRegressor(
            n_estimators=self._trees,
            min_samples_leaf=self._leaf,
            max_features="sqrt",
            random_state=seed,
        ).fit(x, self._labels)
        self._leaves = np.asarray(self._forest.apply(x))
        self._order = np.argsort(self._labels, axis=0)

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """The last value plus weighted quantiles of the training residuals."""
        layout, scaler = self._layout, self._scaler
        if layout is None or scaler is None:
            raise TrainError(self.name, "is not fitted")
        x = summary.summarise(part.series.features, scaler, origins)
        parts = [self._quantiles(x[at : at + CHUNK], layout) for at in range(0, len(x), CHUNK)]
        residual = np.concatenate(parts or [np.zeros((0, *layout.shape), np.float32)])
        last = part.series.features[origins][:, layout.columns]
        span = scaler.span[layout.columns][:, None, None]
        forecast: NDArray[np.float32] = last[:, :, None, None] + residual * span
        return forecast

    def _quantiles(self, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """``(N, Q, M, K)`` scaled residuals."""
        leaves = np.asarray(self._forest.apply(x))
        weights = np.zeros((len(x), len(self._leaves)), np.float32)
        for tree in range(leaves.shape[1]):
            same = leaves[:, tree, None] == self._leaves[None, :, tree]
            weights += same / np.maximum(same.sum(axis=1, keepdims=True), 1)
        weights /= leaves.shape[1]
        result = np.empty((len(x), self._labels.shape[1], len(layout.quantiles)), np.float32)
        for output in range(self._labels.shape[1]):
            order = self._order[:, output]
            reached = np.cumsum(weights[:, order], axis=1)
            values = self._labels[order, output]
            for k, level in enumerate(layout.quantiles):
                # The first training residual at which the weights reach the level.
                at = (reached < level - 1e-6).sum(axis=1)
                result[:, output, k] = values[np.minimum(at, len(values) - 1)]
        return result.reshape(len(x), *layout.shape)
