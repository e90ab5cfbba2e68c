"""Past forecasts, to compare them with outcomes.

One horizon point is due per check, in turn: the cost is that of one point, and each point is still
checked many times per second. Of many bearers only a part is checked in one round of the points, so
that learning never takes longer than forecasting. Many bearers are checked at every third report
only, more of them at once: with 256 bearers this takes 0.6 of the time of checking a third of them
at every report. A queue limit is reported more rarely, once per TC status, and then checked at all
points. Forecasts are kept by reference, not copied.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model.calibration import round_length

from rlc_forecaster.core.bearers import Index, Rows, grown, slots_in
from rlc_forecaster.core.forecast import Layout

ROWS_A_REPORT: Final = 64
"""Bearers checked per report, on average."""
REPORTS_PER_CHECK: Final = 3
"""Reports per check where bearers are many: a check must not delay the next report. An even number,
or five, would never check some slots of a TDD pattern."""
LATEST_STATUS_REPORTS: Final = 4
"""Number of reports by which a TC status may come after the RLC report of its instant."""


class PastForecasts(NamedTuple):
    """Forecasts made at one report.

    Attributes:
        tick: Number of the report period.
        rows: The bearers.
        limited: ``(B,)`` whether a queue limit was known; else there is no forecast of it.
        served: ``(B, quantity, M, Q)`` as they were served.
        uncalibrated: ``(B, quantity, M, Q)`` of the model; None without a model.
        warm: ``(B,)`` whether the model was warmed up.
    """

    tick: int
    rows: Rows
    limited: NDArray[np.bool_]
    served: NDArray[np.float32]
    uncalibrated: NDArray[np.float32] | None
    warm: NDArray[np.bool_]


class DueForecasts(NamedTuple):
    """Past forecasts for one instant at one point.

    Attributes:
        point: The horizon point.
        rows: Of those asked for, the N that have a forecast.
        then: Their rows in `past`.
        past: The forecasts that they are among.
    """

    point: int
    rows: Index
    then: Index
    past: PastForecasts

    @property
    def outcomes(self) -> int:
        """N."""
        if isinstance(self.rows, slice):
            return int(self.rows.stop - self.rows.start)
        return len(self.rows)

    @property
    def arrays(self) -> rlc_native.Due:
        """Arguments of :func:`rlc_native.compare`."""
        past = self.past
        return self.point, self.then, past.served, past.uncalibrated, past.warm


class History:
    """A ring of past forecasts, somewhat deeper than the farthest horizon."""

    def __init__(self, layout: Layout, period_us: int) -> None:
        self._layout = layout
        self._period_us = period_us
        farthest = layout.points_us[-1]
        self._ring: list[PastForecasts | None] = [None] * (
            farthest // period_us + 2 + LATEST_STATUS_REPORTS
        )
        self._first_tick = np.zeros(0, np.int64)
        self._limit_checked_us = np.zeros(0, np.int64)
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
        past = self._for(at_us, point)
        if past is None:
            return None
        most = wait * ROWS_A_REPORT
        parts = -(-len(rows) // most)
        first = self._round % parts * most
        end = min(first + most, len(rows))
        if past.rows is rows:
            # The bearers did not change in between.
            same = slice(first, end)
            return DueForecasts(point, same, same, past)
        slots = rows.slots[first:end]
        then = _rows_of(slots, past.rows)
        known = np.flatnonzero(self._valid(slots, then, past))
        return DueForecasts(point, first + known, then[known], past)

    def due_of(
        self, slots: NDArray[np.intp], at_us: int
    ) -> tuple[list[DueForecasts], NDArray[np.intp]] | None:
        """Forecasts of queue limits for `at_us` at all points, and all their rows in `slots`.

        Of many slots those checked longest ago are taken. None if no forecast was made.
        """
        self._limit_checked_us = grown(
            self._limit_checked_us, int(slots.max()) + 1 if len(slots) else 0
        )
        chosen = np.arange(len(slots))
        if len(slots) > ROWS_A_REPORT:
            chosen = np.argsort(self._limit_checked_us[slots], kind="stable")[:ROWS_A_REPORT]
        slots = slots[chosen]
        self._limit_checked_us[slots] = at_us
        due: list[DueForecasts] = []
        then, of_rows = chosen, None
        for point in range(self._layout.points):
            past = self._for(at_us, point)
            if past is None:
                continue
            if past.rows is not of_rows:
                then, of_rows = _rows_of(slots, past.rows), past.rows
            known = np.flatnonzero(self._valid(slots, then, past) & past.limited[then])
            if len(known):
                due.append(DueForecasts(point, chosen[known], then[known], past))
        return (due, np.concatenate([slots_in(one.rows) for one in due])) if due else None

    def _for(self, at_us: int, point: int) -> PastForecasts | None:
        """The forecasts that have `at_us` at a point."""
        tick = self.tick(at_us - self._layout.points_us[point])
        past = self._ring[tick % len(self._ring)]
        return None if past is None or past.tick != tick else past

    def _valid(
        self, slots: NDArray[np.intp], then: NDArray[np.intp], past: PastForecasts
    ) -> NDArray[np.bool_]:
        """Whether the slots have forecasts, and had the same bearers."""
        self._first_tick = grown(self._first_tick, int(slots.max()) + 1 if len(slots) else 0)
        return np.asarray((then >= 0) & (self._first_tick[slots] <= past.tick))


def _rows_of(slots: NDArray[np.intp], rows: Rows) -> NDArray[np.intp]:
    """``(N,)`` rows of slots in an earlier report; −1 if it does not have them."""
    highest = max(rows.highest, int(slots.max()) + 1 if len(slots) else 0)
    where = np.full(highest, -1, np.intp)
    where[rows.slots] = np.arange(len(rows))
    return where[slots]
