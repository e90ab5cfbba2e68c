"""How often what came was within the outermost quantiles that were served."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.forecast import Layout


class Coverage:
    """Counts per quantity and horizon point, cumulative."""

    def __init__(self, layout: Layout) -> None:
        shape = (len(layout.quantities), layout.points)
        self.checked = np.zeros(shape, np.int64)
        self.covered = np.zeros(shape, np.int64)

    def learn(self, point: int, actual: NDArray[np.float32], served: NDArray[np.float32]) -> None:
        """Takes in ``(N, quantity)`` outcomes, NaN where not known, of ``(N, quantity, Q)``."""
        self.checked[:, point] += (~np.isnan(actual)).sum(axis=0)
        inside = (actual >= served[..., 0]) & (actual <= served[..., -1])
        self.covered[:, point] += inside.sum(axis=0)
