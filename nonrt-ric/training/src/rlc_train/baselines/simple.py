"""The best simple forecaster of :mod:`rlc_model.mix`, the reference of judging, gate and drift."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlc_train.judging.served import Served
from rlc_train.online import Lane, OnlineForecaster, threads


class BestSimple(OnlineForecaster):
    """Persistence, window quantiles, exponential mean or ridge, whichever was best before."""

    name = "best-simple"

    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """The forecasts of lanes."""
        layout = self.axes

        def one(lane: Lane) -> NDArray[np.float32]:
            return Served(layout, 0).forecasts(lane, None)[1]

        with threads() as pool:
            return list(pool.map(one, lanes))
