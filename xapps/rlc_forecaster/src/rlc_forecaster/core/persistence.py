"""Persistence: the last value, widened by the errors it made lately.

The widening of each quantile is learned online as the quantile of the residual
``value − last value``: stochastic gradient descent on the pinball loss, whose minimiser is that
quantile (Koenker and Bassett 1978). The step is a fraction of the residual's mean size, so it
needs no unit and follows a change of load.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import grown
from rlc_forecaster.core.forecast import Layout

RATE: Final = 0.05
"""Fraction of the mean residual by which one observation moves a quantile."""
SIZE_WEIGHT: Final = 0.02
"""Weight of the newest residual in its mean size: about 50 observations of memory."""


class Persistence:
    """Quantiles around the last value, per bearer, quantity, point and level."""

    def __init__(self, layout: Layout) -> None:
        self._levels = np.array(layout.quantiles, np.float32)
        shape = (0, len(layout.quantities), layout.points)
        self._offset = np.zeros((*shape, len(layout.quantiles)), np.float32)
        self._size = np.zeros(shape, np.float32)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Starts anew for the bearers of these slots."""
        known = slots[slots < len(self._size)]
        self._offset[known] = 0
        self._size[known] = 0

    def learn(self, slots: NDArray[np.intp], point: int, residual: NDArray[np.float32]) -> None:
        """Takes in ``(N, quantity)`` residuals at a point."""
        if not len(slots):
            return
        self._make_room(int(slots.max()) + 1)
        size = self._size[slots, :, point]
        size += SIZE_WEIGHT * (np.abs(residual) - size)
        self._size[slots, :, point] = size
        offset = self._offset[slots, :, point]
        below = residual[..., None] <= offset
        offset += RATE * size[..., None] * (self._levels - below)
        self._offset[slots, :, point] = offset

    def forecast(self, slots: NDArray[np.intp], last: NDArray[np.float32]) -> NDArray[np.float32]:
        """``(B, quantity, M, Q)`` from ``(B, quantity)`` last values."""
        self._make_room(int(slots.max()) + 1 if len(slots) else 0)
        values: NDArray[np.float32] = last[:, :, None, None] + self._offset[slots]
        # Quantiles learned one by one may cross; sorting them never raises the pinball loss
        # (Chernozhukov, Fernández-Val and Galichon 2010).
        values.sort(axis=-1)
        return np.maximum(values, 0.0, out=values)

    def _make_room(self, rows: int) -> None:
        self._offset = grown(self._offset, rows)
        self._size = grown(self._size, rows)
