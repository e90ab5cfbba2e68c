"""Online conformal calibration of the quantiles of the model and of persistence.

Each quantile level of each bearer, quantity and horizon point has an offset of its own, which every
outcome updates by the rule of :mod:`rlc_model.calibration`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model.calibration import Offsets

from rlc_forecaster.core.bearers import Index, Points, end_of, grown, slots_in
from rlc_forecaster.core.forecast import Layout

POOL_EVERY: Final = 64
"""Outcomes between two updates of the offsets that a new bearer starts with."""
POOL_WEIGHT: Final = 0.2
"""Weight of the newest update: a memory of a few hundred reports."""


class QuantileTracker:
    """Offsets per slot, quantity, point and quantile."""

    def __init__(self, layout: Layout) -> None:
        quantities, points, quantiles = (
            len(layout.quantities),
            layout.points,
            len(layout.quantiles),
        )
        self._offsets = Offsets(np.array(layout.quantiles, np.float32), 0, quantities, points)
        self._pool_theta = np.zeros((quantities, points, quantiles), np.float32)
        self._pool_size = np.zeros((quantities, points), np.float32)
        self._pool_begun = np.zeros((quantities, points), np.bool_)
        self._learned = 0

    def offset(self, index: Index, rows: int) -> NDArray[np.float32]:
        """``(B, quantity, M, Q)`` in the quantities' units; read-only.

        Args:
            index: The slots.
            rows: One more than the highest slot.
        """
        self._make_room(rows)
        return self._offsets.offset[index]

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots: they start with the mean offsets of the others."""
        known = slots[slots < len(self._offsets.size)]
        self._initialize(known)

    def at_points(
        self, slots: Index, points: Points, base: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """``(N, quantity, Q)`` forecasts at points, from ``(N, quantity)`` values."""
        self._make_room(end_of(slots))
        return rlc_native.forecasts_at(slots, points, base, self._offsets.offset)

    def learn(
        self,
        slots: Index,
        points: Points,
        actual: NDArray[np.float32],
        base: NDArray[np.float32],
        *,
        counts: NDArray[np.bool_] | None = None,
    ) -> None:
        """Updates the offsets by outcomes; arguments as those of
        :meth:`rlc_model.calibration.Offsets.learn`."""
        if not len(actual):
            return
        self._make_room(end_of(slots))
        self._offsets.learn(slots, points, actual, base, counts=counts)
        self._learned += 1
        if self._learned % POOL_EVERY == 0:
            self._pool(slots if counts is None else slots_in(slots)[counts])

    def _pool(self, slots: Index) -> None:
        """Adds the mean of these bearers to the offsets that a new bearer starts with."""
        offsets = self._offsets
        begun = offsets.begun[slots]
        count = begun.sum(axis=0)
        share = (begun / np.maximum(count, 1)).astype(np.float32)
        mean_theta = (offsets.theta[slots] * share[..., None]).sum(axis=0)
        mean_size = (offsets.size[slots] * share).sum(axis=0)
        weight = np.where(self._pool_begun, np.float32(POOL_WEIGHT), np.float32(1))
        weight = np.where(count > 0, weight, np.float32(0))
        self._pool_theta += weight[..., None] * (mean_theta - self._pool_theta)
        self._pool_size += weight * (mean_size - self._pool_size)
        self._pool_begun |= count > 0

    def _initialize(self, slots: NDArray[np.intp]) -> None:
        offsets = self._offsets
        offsets.theta[slots] = self._pool_theta
        offsets.size[slots] = self._pool_size
        offsets.offset[slots] = self._pool_theta * self._pool_size[..., None]
        offsets.begun[slots] = False

    def _make_room(self, rows: int) -> None:
        offsets, old = self._offsets, len(self._offsets.size)
        if rows <= old:
            return
        offsets.theta, offsets.size = grown(offsets.theta, rows), grown(offsets.size, rows)
        offsets.offset, offsets.begun = grown(offsets.offset, rows), grown(offsets.begun, rows)
        self._initialize(np.arange(old, len(offsets.size)))


class Persistence:
    """The last value, with quantiles from the recent errors of persistence.

    Quantiles per bearer, quantity, point and level.
    """

    def __init__(self, layout: Layout) -> None:
        self._tracker = QuantileTracker(layout)

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots."""
        self._tracker.reset(slots)

    def forecast(self, index: Index, rows: int, last: NDArray[np.float32]) -> NDArray[np.float32]:
        """``(B, quantity, M, Q)`` from ``(B, quantity)`` last values.

        Args:
            index: The slots.
            rows: One more than the highest slot.
            last: The last values.
        """
        return add_offsets(last, self._tracker.offset(index, rows))

    def learn(
        self,
        slots: Index,
        points: Points,
        actual: NDArray[np.float32],
        last: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Updates the quantiles by outcomes.

        Args:
            slots: N of them.
            points: The horizon point, or ``(N,)``.
            actual: ``(N, quantity)``; NaN if unknown.
            last: ``(N, quantity)`` values at the origin.

        Returns:
            ``(N, quantity, Q)`` forecasts before the update.
        """
        forecast = self.at_points(slots, points, last)
        self._tracker.learn(slots, points, actual, last)
        return forecast

    def at_points(
        self, slots: Index, points: Points, last: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """``(N, quantity, Q)`` forecasts at points, from ``(N, quantity)`` last values."""
        return self._tracker.at_points(slots, points, last)


def add_offsets(base: NDArray[np.float32], offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """``base + offset``, sorted along the quantiles and at least 0.

    Quantiles that are learned independently may cross; sorting them never raises the pinball loss
    (Chernozhukov, Fernández-Val and Galichon 2010).

    Args:
        base: ``(…, Q)``, or without the axes of point and quantile.
        offset: ``(…, Q)``.
    """
    return rlc_native.add_and_order(np.ascontiguousarray(base), np.ascontiguousarray(offset))
