"""How often what came was within the outermost quantiles that were served."""

from __future__ import annotations

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_forecaster.core.forecast import Layout


class Coverage:
    """Counts per quantity and horizon point, cumulative."""

    def __init__(self, layout: Layout) -> None:
        shape = (len(layout.quantities), layout.points)
        self.checked = np.zeros(shape, np.int64)
        self.covered = np.zeros(shape, np.int64)

    def learn(
        self,
        point: int,
        actual: NDArray[np.float32],
        persistence: NDArray[np.float32],
        model: NDArray[np.float32] | None = None,
        served: NDArray[np.bool_] | None = None,
    ) -> None:
        """Takes in outcomes at a point.

        Args:
            point: The horizon point.
            actual: ``(N, quantity)``; NaN where it is not known.
            persistence: ``(N, quantity, Q)`` what it said.
            model: ``(N, quantity, Q)`` what the model said; None without one.
            served: ``(N,)`` whether that was served; None when it never was.
        """
        rlc_native.cover(
            point,
            actual,
            persistence,
            model,
            served,
            checked=self.checked,
            covered=self.covered,
        )
