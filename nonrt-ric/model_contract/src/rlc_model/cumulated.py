"""Quantiles of the drain summed from an origin to each point, learned from each bearer alone.

A pacer milliseconds away from the radio needs to know how much drains until its packets arrive.
Quantiles of points do not add up to those of the sum: errors of points cancel out. So the sums are
forecast themselves: the product of the time and an exponential mean of the drain over 10, 30, 100,
300 or 1000 report periods, plus tracked quantiles of its errors (:mod:`rlc_model.calibration`),
mixed by recent loss as the experts of :mod:`rlc_model.mix` are. Every 23rd report is an outcome at
all points. Quantiles increase along points: to a later one drains at least as much.

What drains is no more than what is there. A report with an empty buffer, and each sum with one, is
a lower bound of what the radio carries: quantiles below it rise, others by the probability that the
forecast itself gives them above it (Efron 1967; Portnoy 2003). Else a pacer that sends too little
by a forecast would teach it that little drains.

Memory per bearer: 8 kB with eight levels and 20 points up to 100 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_model.features import FEATURES
from rlc_model.manifest import Quantity

LEVELS: Final = (0.1, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Quantiles. A pacer that may lose a share of the radio needs one near 1 less that share (the
newsvendor's), so that they are dense there."""

_DRAIN: Final = FEATURES.index(Quantity.DRAIN.value)
_OCCUPANCY: Final = FEATURES.index(Quantity.OCCUPANCY.value)


class CumulatedDrain:
    """Forecasts of the summed drain of S slots."""

    def __init__(self, points_us: Sequence[int], period_us: int) -> None:
        """Points after an origin, µs, are multiples of the report period."""
        ahead = np.array(points_us, np.int64) // period_us
        self._period_ms = np.float32(period_us / 1_000)
        self._state = rlc_native.Cumulated(np.array(LEVELS, np.float32), ahead)

    def grow(self, slots: int) -> None:
        """Makes room for this many slots."""
        self._state.grow(slots)

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots."""
        self._state.reset(slots)

    def add(
        self,
        slots: slice | NDArray[np.intp],
        tick: int,
        features: NDArray[np.float32],
        fresh: NDArray[np.bool_],
    ) -> None:
        """Adds a report and learns from it.

        Args:
            slots: N of them.
            tick: Number of the report period.
            features: ``(N, F)`` of :data:`rlc_model.FEATURES`.
            fresh: ``(N,)`` whether rates are known.
        """
        drain = np.where(fresh, features[:, _DRAIN], np.float32(np.nan)) * self._period_ms
        self._state.add(slots, tick, drain, features[:, _OCCUPANCY])

    def forecasts(self, slots: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """``(N, M, L)`` bytes until each point after the newest report, at :data:`LEVELS`."""
        return self._state.forecasts(slots)
