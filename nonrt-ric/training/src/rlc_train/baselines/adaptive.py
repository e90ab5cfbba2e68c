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
from rlc_train.online import Lane, side_by_side, track_all
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
        return self.predict_all([(part, origins)])[0]

    def predict_all(
        self, chosen: Sequence[tuple[Part, NDArray[np.intp]]]
    ) -> list[NDArray[np.float32]]:
        """Runs over all series side by side."""
        layout = self._layout
        if layout is None:
            raise TrainError(self.name, "is not fitted")

        def run(lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
            levels = np.zeros((lanes[0].stop, len(lanes), len(layout.quantities)), np.float32)
            for index, lane in enumerate(lanes):
                levels[: lane.stop, index] = lane.series.features[: lane.stop, layout.columns]

            def says(row: int, count: int) -> NDArray[np.float32]:
                last = levels[row, :count, :, None, None]
                return np.broadcast_to(last, (count, *layout.shape))

            return track_all(lanes, layout, says)

        return side_by_side(chosen, layout, run)
