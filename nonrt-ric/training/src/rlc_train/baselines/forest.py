"""Random forest on the summary of the past, with quantiles.

A quantile regression forest (Meinshausen 2006): the trees weight training samples by similarity,
and the quantiles are those of the weighted training labels.
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

TRAINING_ORIGINS: Final = 6_000
CHUNK: Final = 500
"""Origins whose weights over all training samples are in memory at once."""


class RandomForest(SummaryForecaster):
    """A forest of regression trees."""

    name = "random-forest"

    def __init__(self, trees: int = 50, leaf: int = 20, most_origins: int = 1_000) -> None:
        super().__init__()
        self._trees, self._leaf = trees, leaf
        self.most_origins: int | None = most_origins
        self._forest: Any = None
        self._leaves = np.zeros((0, 0), np.int64)
        self._order = np.zeros((0, 0), np.intp)
        self._labels = np.zeros((0, 0), np.float32)

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Grows the trees on the residuals at all points at once."""
        ensemble = need("sklearn.ensemble", "baselines")
        data = list(self.training_data(parts, layout, TRAINING_ORIGINS))
        x, y = (np.concatenate(arrays) for arrays in zip(*data, strict=True))
        self._labels = np.nan_to_num(y, nan=0.0).reshape(len(y), -1)
        self._forest = ensemble.RandomForestRegressor(
            n_estimators=self._trees,
            min_samples_leaf=self._leaf,
            max_features="sqrt",
            random_state=seed,
        ).fit(x, self._labels)
        self._leaves = np.asarray(self._forest.apply(x))
        self._order = np.argsort(self._labels, axis=0)

    def residual(self, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """Weighted quantiles of the training residuals."""
        parts = [self._quantiles(x[at : at + CHUNK], layout) for at in range(0, len(x), CHUNK)]
        return np.concatenate(parts or [np.zeros((0, *layout.shape), np.float32)])

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
