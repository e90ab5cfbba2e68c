"""The last reports of each bearer, to hold forecasts against what came.

One horizon point is checked per report, in turn: the cost stays that of one point, and each point
is still checked many times a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import grown
from rlc_forecaster.core.forecast import Layout


@dataclass(frozen=True, slots=True)
class Checked:
    """What was said for now, at one horizon point, by those bearers that said it.

    Attributes:
        point: The horizon point.
        rows: ``(N,)`` rows of the present report.
        levels: ``(N, quantity)`` levels at the origin: what persistence said.
        forecasts: ``(N, quantity, Q)`` what the model said.
        modelled: ``(N,)`` whether a warm model said it.
    """

    point: int
    rows: NDArray[np.intp]
    levels: NDArray[np.float32]
    forecasts: NDArray[np.float32]
    modelled: NDArray[np.bool_]


class History:
    """Ring of the last reports, as deep as the farthest horizon."""

    def __init__(self, layout: Layout, period_us: int) -> None:
        self._layout = layout
        self._period_us = period_us
        farthest = layout.horizon_us(layout.points - 1)
        self._depth = farthest // period_us + 2
        quantities, quantiles = len(layout.quantities), len(layout.quantiles)
        self._tick = np.full((0, self._depth), -1, np.int64)
        self._levels = np.zeros((0, self._depth, quantities), np.float32)
        self._forecasts = np.zeros(
            (0, self._depth, quantities, layout.points, quantiles), np.float32
        )
        self._modelled = np.zeros((0, self._depth), np.bool_)
        self._next_point = 0

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Drops what the bearers of these slots said."""
        self._tick[slots[slots < len(self._tick)]] = -1

    def record(
        self,
        slots: NDArray[np.intp],
        at_us: int,
        levels: NDArray[np.float32],
        forecasts: NDArray[np.float32] | None,
        modelled: NDArray[np.bool_],
    ) -> None:
        """Keeps what is said now: ``(B, quantity)`` levels, ``(B, quantity, M, Q)`` forecasts."""
        self._make_room(int(slots.max()) + 1 if len(slots) else 0)
        tick = at_us // self._period_us
        ring = tick % self._depth
        self._tick[slots, ring] = tick
        self._levels[slots, ring] = levels
        self._modelled[slots, ring] = modelled
        if forecasts is not None:
            self._forecasts[slots, ring] = forecasts

    def check(self, slots: NDArray[np.intp], at_us: int) -> Checked:
        """What the bearers of these rows said for `at_us` at the next horizon point."""
        point = self._next_point
        self._next_point = (point + 1) % self._layout.points
        tick = (at_us - self._layout.horizon_us(point)) // self._period_us
        ring = tick % self._depth
        self._make_room(int(slots.max()) + 1 if len(slots) else 0)
        rows = np.flatnonzero(self._tick[slots, ring] == tick)
        there = slots[rows]
        return Checked(
            point,
            rows,
            self._levels[there, ring],
            self._forecasts[there, ring, :, point],
            self._modelled[there, ring],
        )

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._tick):
            return
        old = len(self._tick)
        self._levels = grown(self._levels, rows)
        self._forecasts = grown(self._forecasts, rows)
        self._modelled = grown(self._modelled, rows)
        self._tick = grown(self._tick, rows)
        self._tick[old:] = -1
