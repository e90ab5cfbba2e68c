"""Quantile tracking: online conformal calibration, of the model's quantiles and of persistence's.

Each quantile level of each bearer, quantity and horizon point has an offset of its own, which goes
with every outcome by the rule of :mod:`rlc_model.calibration`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model.calibration import Offsets

from rlc_forecaster.core.bearers import Index, end_of, grown, slots_in
from rlc_forecaster.core.forecast import Layout

POOL_EVERY: Final = 64
"""Outcomes between two looks at what a new bearer is to begin with."""
POOL_WEIGHT: Final = 0.2
"""Weight of the newest look: a few hundred reports of memory."""


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
        """``(B, quantity, M, Q)`` in the quantities' units; to be read, not to be written to.

        Args:
            index: The slots.
            rows: One more than the highest slot.
        """
        self._make_room(rows)
        return self._offsets.offset[index]

    def forget(self, slots: NDArray[np.intp]) -> None:
        """The bearers of these slots begin with what the others have learned."""
        known = slots[slots < len(self._offsets.size)]
        self._begin(known)

    def said_at(self, slots: Index, point: int, plain: NDArray[np.float32]) -> NDArray[np.float32]:
        """``(N, quantity, Q)`` what is served at a point, from ``(N, quantity)`` values."""
        self._make_room(end_of(slots))
        return rlc_native.said_at(slots, point, plain, self._offsets.offset)

    def learn(
        self,
        slots: Index,
        point: int,
        actual: NDArray[np.float32],
        plain: NDArray[np.float32],
        *,
        counts: NDArray[np.bool_] | None = None,
    ) -> None:
        """Takes in outcomes at a point; arguments as :meth:`rlc_model.calibration.Offsets.learn`
        has them."""
        if not len(actual):
            return
        self._make_room(end_of(slots))
        self._offsets.learn(slots, point, actual, plain, counts=counts)
        self._learned += 1
        if self._learned % POOL_EVERY == 0:
            self._pool(slots if counts is None else slots_in(slots)[counts])

    def _pool(self, slots: Index) -> None:
        """Takes the mean of these bearers into what a new one begins with."""
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

    def _begin(self, slots: NDArray[np.intp]) -> None:
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
        self._begin(np.arange(old, len(offsets.size)))


def in_order(plain: NDArray[np.float32], offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """``plain + offset`` with quantiles that grow and do not fall below 0.

    Quantiles learned one by one may cross; sorting them never raises the pinball loss
    (Chernozhukov, Fernández-Val and Galichon 2010).

    Args:
        plain: ``(…, Q)``, or the values from which the Q begin without those axes.
        offset: ``(…, Q)``.
    """
    return rlc_native.add_and_order(np.ascontiguousarray(plain), np.ascontiguousarray(offset))
