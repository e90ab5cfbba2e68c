"""The best simple forecaster of :mod:`rlc_model.mix`, the reference of judging, gate and drift."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.judging.served import Served
from rlc_train.online import Lane, side_by_side
from rlc_train.splits import Part


class BestSimple:
    """Persistence, window quantiles, exponential mean or ridge, whichever was best before."""

    name = "best-simple"
    most_origins: int | None = None

    def __init__(self) -> None:
        self._layout: Layout | None = None

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Learns only online."""
        del parts, seed
        self._layout = layout

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """Runs over the series up to the last origin."""
        return self.predict_all([(part, origins)])[0]

    def predict_all(
        self, chosen: Sequence[tuple[Part, NDArray[np.intp]]]
    ) -> list[NDArray[np.float32]]:
        """Runs over each series."""
        layout = self._layout
        if layout is None:
            raise TrainError(self.name, "is not fitted")

        def run(lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
            return [Served(layout, 0).forecasts(lane, None)[1] for lane in lanes]

        return side_by_side(chosen, layout, run)
