"""Persistence: the last value, widened by the errors it made lately."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import Index
from rlc_forecaster.core.forecast import Layout
from rlc_forecaster.core.tracker import QuantileTracker, in_order


class Persistence:
    """Quantiles around the last value, per bearer, quantity, point and level."""

    def __init__(self, layout: Layout) -> None:
        self._tracker = QuantileTracker(layout)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Starts anew for the bearers of these slots."""
        self._tracker.forget(slots)

    def forecast(self, index: Index, rows: int, last: NDArray[np.float32]) -> NDArray[np.float32]:
        """``(B, quantity, M, Q)`` from ``(B, quantity)`` last values.

        Args:
            index: The slots.
            rows: One more than the highest slot.
            last: The last values.
        """
        return in_order(last, self._tracker.offset(index, rows))

    def learn(
        self,
        slots: Index,
        point: int,
        actual: NDArray[np.float32],
        last: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Holds what it would have said at a point against what came.

        Args:
            slots: N of them.
            point: The horizon point.
            actual: ``(N, quantity)``; NaN where it is not known.
            last: ``(N, quantity)`` values at the origin.

        Returns:
            ``(N, quantity, Q)`` what it would have said.
        """
        said = self.said_at(slots, point, last)
        self._tracker.learn(slots, point, actual, last)
        return said

    def said_at(self, slots: Index, point: int, last: NDArray[np.float32]) -> NDArray[np.float32]:
        """``(N, quantity, Q)`` what it says at a point, from ``(N, quantity)`` last values."""
        return self._tracker.said_at(slots, point, last)
