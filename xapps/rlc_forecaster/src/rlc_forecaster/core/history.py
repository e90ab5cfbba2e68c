"""What was said in the last reports, to hold it against what came.

One horizon point is checked at a time, in turn: the cost stays that of one point, and each point
is still checked many times a second. Of many bearers some are checked for one round of the points,
then the next, so that checking never takes longer than forecasting. Many bearers are checked at
fewer reports, more of them at once: with 256 bearers learning takes 0.6 of the time that it takes
at each report for a quarter of them. What was said is kept by reference, not copied.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rlc_model.calibration import round_length

from rlc_forecaster.core.bearers import Index, Rows, grown
from rlc_forecaster.core.forecast import Layout

ROWS_A_REPORT: Final = 64
"""Bearers checked per report, on average."""
LONGEST_WAIT: Final = 3
"""Reports to a check of many bearers; one check must not make the next report late. With an even
number, or five, some slots of a TDD pattern would never be met."""


class Said(NamedTuple):
    """What was said at one report.

    Attributes:
        tick: Which report period it was.
        rows: The bearers.
        levels: ``(B, quantity)`` levels then: what persistence says.
        forecasts: ``(B, quantity, M, Q)`` what the model said, calibrated; None without a model.
        plain: ``(B, quantity, M, Q)`` what it said before that; None without.
        modelled: ``(B,)`` whether a warm model said it.
        served: ``(B,)`` whether it was also what consumers got.
    """

    tick: int
    rows: Rows
    levels: NDArray[np.float32]
    forecasts: NDArray[np.float32] | None
    plain: NDArray[np.float32] | None
    modelled: NDArray[np.bool_]
    served: NDArray[np.bool_]


class Checked(NamedTuple):
    """What was said for now, at one horizon point, by those bearers that said it.

    Attributes:
        point: The horizon point.
        rows: The N rows of the present report.
        levels: ``(N, quantity)``, as in :class:`Said`.
        forecasts: ``(N, quantity, Q)``; None without a model.
        plain: ``(N, quantity, Q)``; None without.
        modelled: ``(N,)``.
        served: ``(N,)``.
    """

    point: int
    rows: Index
    levels: NDArray[np.float32]
    forecasts: NDArray[np.float32] | None
    plain: NDArray[np.float32] | None
    modelled: NDArray[np.bool_]
    served: NDArray[np.bool_]


class History:
    """Ring of the last reports, as deep as the farthest horizon."""

    def __init__(self, layout: Layout, period_us: int) -> None:
        self._layout = layout
        self._period_us = period_us
        farthest = layout.horizon_us(layout.points - 1)
        self._ring: list[Said | None] = [None] * (farthest // period_us + 2)
        self._born = np.zeros(0, np.int64)
        self._turns = round_length(layout.points)
        self._next_turn = 0
        self._round = 0
        self._waited = 0

    def tick(self, at_us: int) -> int:
        """Which report period a time is in."""
        return at_us // self._period_us

    def clear(self) -> None:
        """Drops everything: the clock was set."""
        self._ring = [None] * len(self._ring)
        self._born[:] = np.iinfo(np.int64).min

    def forget(self, slots: NDArray[np.intp], at_us: int) -> None:
        """What was said of these slots before `at_us` was said of other bearers."""
        if len(slots):
            self._born = grown(self._born, int(slots.max()) + 1)
            self._born[slots] = self.tick(at_us)

    def record(self, said: Said) -> None:
        """Keeps what is said now."""
        self._ring[said.tick % len(self._ring)] = said

    def check(self, rows: Rows, at_us: int) -> Checked | None:
        """What the bearers of a report said for `at_us` at the next horizon point.

        None at a report at which nothing is checked, and where nothing was said.
        """
        wait = 1 if len(rows) <= ROWS_A_REPORT else LONGEST_WAIT
        self._waited += 1
        if self._waited < wait:
            return None
        self._waited = 0
        point = self._next_turn % self._layout.points
        self._next_turn = (self._next_turn + 1) % self._turns
        if self._next_turn == 0:
            self._round += 1
        tick = self.tick(at_us - self._layout.horizon_us(point))
        said = self._ring[tick % len(self._ring)]
        if said is None or said.tick != tick:
            return None
        most = wait * ROWS_A_REPORT
        parts = -(-len(rows) // most)
        first = self._round % parts * most
        end = min(first + most, len(rows))
        if said.rows is rows:
            # Nobody came or went in between.
            asked = slice(first, end)
            return _checked(said, point, asked, asked)
        self._born = grown(self._born, max(rows.highest, said.rows.highest))
        where = np.full(max(rows.highest, said.rows.highest), -1, np.intp)
        where[said.rows.slots] = np.arange(len(said.rows))
        slots = rows.slots[first:end]
        then = where[slots]
        there = np.flatnonzero((then >= 0) & (self._born[slots] <= tick))
        return _checked(said, point, first + there, then[there])


def _checked(said: Said, point: int, rows: Index, then: Index) -> Checked:
    """What was said at a point in rows `then`, by bearers that are in `rows` now."""
    return Checked(
        point,
        rows,
        said.levels[then],
        None if said.forecasts is None else said.forecasts[then, :, point],
        None if said.plain is None else said.plain[then, :, point],
        said.modelled[then],
        said.served[then],
    )
