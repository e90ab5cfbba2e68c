"""Drained bytes per bearer over the last seconds, in segments: the capacity under backlog."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.observe.rlc_windows import RlcWindows

#: Span of a segment and number of them: five seconds.
SEGMENT_US = 100_000
SEGMENTS = 50


class DrainHistory:
    """Drained bytes and least RLC occupancy of each segment, for the bearers in `RlcWindows`."""

    def __init__(self, windows: RlcWindows) -> None:
        self._windows = windows
        self._at_us: NDArray[np.int64] = np.zeros(SEGMENTS, np.int64)
        self._drained: NDArray[np.int64] = np.zeros((SEGMENTS, 0), np.int64)
        #: 0 where the RLC was empty at some time of the segment that ends with the row.
        self._least: NDArray[np.int64] = np.zeros((SEGMENTS, 0), np.int64)
        self._running: NDArray[np.int64] = np.zeros(0, np.int64)
        self._first: NDArray[np.int64] = np.zeros(0, np.int64)
        self._count = 0
        self._newest_us = 0

    def step(self) -> None:
        """Add the newest report of the windows."""
        windows = self._windows
        self._fit()
        np.minimum(self._running, windows.occupancy_bytes, out=self._running)
        now_us = windows.newest_us()
        if not self._count or now_us - self._newest_us >= SEGMENT_US:
            self._newest_us = now_us
            at = self._count % SEGMENTS
            self._at_us[at] = now_us
            self._drained[at] = windows.drained_bytes
            self._least[at] = self._running
            self._running[:] = windows.occupancy_bytes
            self._count += 1

    def born(self, slot: int) -> None:
        """The slot belongs to a new bearer."""
        self._fit()
        self._first[slot] = self._count
        self._running[slot] = 0

    def mean_kbps(self, slot: int) -> float | None:
        """Drain rate over the history."""
        rows = self._rows(slot)
        return None if rows.size < 2 else self._rate(slot, rows[0], rows[-1])

    def lowest_kbps(self, slot: int, span_us: int) -> float | None:
        """The lowest drain rate over any ``span_us`` in which the RLC was never empty; ``None``
        where it was never backlogged for so long. Under backlog, the drain rate is the capacity of
        the radio."""
        rows = self._rows(slot)
        steps = max(1, span_us // SEGMENT_US)
        if rows.size <= steps:
            return None
        drained, at_us = self._drained[rows, slot], self._at_us[rows]
        empty = np.cumsum(self._least[rows, slot] == 0)
        backlogged = empty[steps:] == empty[:-steps]
        if not bool(backlogged.any()):
            return None
        rates = (drained[steps:] - drained[:-steps]) * 8_000.0 / (at_us[steps:] - at_us[:-steps])
        return float(rates[backlogged].min())

    def _rows(self, slot: int) -> NDArray[np.int64]:
        oldest = max(int(self._first[slot]), self._count - SEGMENTS)
        return np.arange(oldest, self._count) % SEGMENTS

    def _rate(self, slot: int, first: np.int64, last: np.int64) -> float:
        drained = int(self._drained[last, slot] - self._drained[first, slot])
        return drained * 8_000.0 / int(self._at_us[last] - self._at_us[first])

    def _fit(self) -> None:
        extra = self._windows.capacity - self._running.size
        if extra > 0:
            self._drained = np.pad(self._drained, ((0, 0), (0, extra)))
            self._least = np.pad(self._least, ((0, 0), (0, extra)))
            self._running = np.pad(self._running, (0, extra))
            self._first = np.pad(self._first, (0, extra))
