"""Persistence as the forecaster serves it: widened by the errors each bearer made lately.

The stronger of the two persistences, and what a model has to beat to be worth serving: it is what
the forecaster falls back to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.online import begin, track
from rlc_train.splits import Part


class AdaptivePersistence:
    """The last value, plus quantiles of the errors that the bearer has shown."""

    name = "adaptive-persistence"
    most_origins: int | None = None

    def __init__(self) -> None:
        self._layout: Layout | None = None

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Nothing is learned before the series is seen."""
        del parts, seed
        self._layout = layout

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """Runs over the series up to the last origin, as a server would have."""
        layout = self._layout
        if layout is None:
            raise TrainError(self.name, "is not fitted")
        if not len(origins):
            return np.empty((0, *layout.shape), np.float32)
        first, stop = begin(origins), int(origins[-1]) + 1
        last = part.series.features[first:stop, layout.columns]
        flat = np.broadcast_to(last[:, :, None, None], (stop - first, *layout.shape))
        return track(part.series.cut(first, stop), layout, flat, origins - first)
