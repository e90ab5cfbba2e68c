"""Past forecasts, to compare them with outcomes.

One horizon point is due per check, in turn: the cost is that of one point, and each point is still
checked many times per second. Of many bearers only a part is checked in one round of the points, so
that learning never takes longer than forecasting. Many bearers are checked at every third report
only, more of them at once: with 256 bearers this takes 0.6 of the time of checking a third of them
at every report. Forecasts are kept by reference, not copied.
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
REPORTS_PER_CHECK: Final = 3
"""With many bearers; one check must not delay the next report. With an even number, or five, some
slots of a TDD pattern would never be checked."""


class PastForecasts(NamedTuple):
    """Forecasts made at one report.

    Attributes:
        tick: Number of the report period.
        rows: The bearers.
        levels: ``(B, quantity)`` values at the report, the basis of persistence.
        forecasts: ``(B, quantity, M, Q)`` of the model, calibrated; None without a model.
        uncalibrated: ``(B, quantity, M, Q)`` of the model; None without a model.
        warm: ``(B,)`` whether the model was warmed up.
        served: ``(B,)`` whether the model's forecast was served.
    """

    tick: int
    rows: Rows
    levels: NDArray[np.float32]
    forecasts: NDArray[np.float32] | None
    uncalibrated: NDArray[np.float32] | None
    warm: NDArray[np.bool_]
    served: NDArray[np.bool_]


class DueForecasts(NamedTuple):
    """Past forecasts for the present report at one horizon point; fields as in `PastForecasts`.

    Attributes:
        point: The horizon point.
        rows: The N rows of the present report that have one.
        levels: ``(N, quantity)``.
        forecasts: ``(N, quantity, Q)``; None without a model.
        uncalibrated: ``(N, quantity, Q)``; None without a model.
        warm: ``(N,)``.
        served: ``(N,)``.
    """

    point: int
    rows: Index
    levels: NDArray[np.float32]
    forecasts: NDArray[np.float32] | None
    uncalibrated: NDArray[np.float32] | None
    warm: NDArray[np.bool_]
    served: NDArray[np.bool_]


class History:
    """A ring of past forecasts, as deep as the farthest horizon."""

    def __init__(self, layout: Layout, period_us: int) -> None:
        self._layout = layout
        self._period_us = period_us
        farthest = layout.horizon_us(layout.points - 1)
        self._ring: list[PastForecasts | None] = [None] * (farthest // period_us + 2)
        self._first_tick = np.zeros(0, np.int64)
        self._round_length = round_length(layout.points)
        self._turn = 0
        self._round = 0
        self._reports = 0

    def tick(self, at_us: int) -> int:
        """Number of the report period of a time."""
        return at_us // self._period_us

    def clear(self) -> None:
        """Drops everything, because the clock was set."""
        self._ring = [None] * len(self._ring)
        self._first_tick[:] = np.iinfo(np.int64).min

    def reset(self, slots: NDArray[np.intp], at_us: int) -> None:
        """Forecasts of these slots before `at_us` were for other bearers."""
        if len(slots):
            self._first_tick = grown(self._first_tick, int(slots.max()) + 1)
            self._first_tick[slots] = self.tick(at_us)

    def record(self, forecasts: PastForecasts) -> None:
        """Keeps the forecasts of the present report."""
        self._ring[forecasts.tick % len(self._ring)] = forecasts

    def due(self, rows: Rows, at_us: int) -> DueForecasts | None:
        """Forecasts for `at_us` of the bearers of a report, at the next horizon point.

        None if this report is not checked or no forecast was made for it.
        """
        wait = 1 if len(rows) <= ROWS_A_REPORT else REPORTS_PER_CHECK
        self._reports += 1
        if self._reports < wait:
            return None
        self._reports = 0
        point = self._turn % self._layout.points
        self._turn = (self._turn + 1) % self._round_length
        if self._turn == 0:
            self._round += 1
        tick = self.tick(at_us - self._layout.horizon_us(point))
        past = self._ring[tick % len(self._ring)]
        if past is None or past.tick != tick:
            return None
        most = wait * ROWS_A_REPORT
        parts = -(-len(rows) // most)
        first = self._round % parts * most
        end = min(first + most, len(rows))
        if past.rows is rows:
            # The bearers did not change in between.
            same = slice(first, end)
            return _at_point(past, point, same, same)
        self._first_tick = grown(self._first_tick, max(rows.highest, past.rows.highest))
        where = np.full(max(rows.highest, past.rows.highest), -1, np.intp)
        where[past.rows.slots] = np.arange(len(past.rows))
        slots = rows.slots[first:end]
        then = where[slots]
        known = np.flatnonzero((then >= 0) & (self._first_tick[slots] <= tick))
        return _at_point(past, point, first + known, then[known])


def _at_point(past: PastForecasts, point: int, rows: Index, then: Index) -> DueForecasts:
    """Forecasts at a point of the bearers in rows `then`, which are in `rows` now."""
    return DueForecasts(
        point,
        rows,
        past.levels[then],
        None if past.forecasts is None else past.forecasts[then, :, point],
        None if past.uncalibrated is None else past.uncalibrated[then, :, point],
        past.warm[then],
        past.served[then],
    )
