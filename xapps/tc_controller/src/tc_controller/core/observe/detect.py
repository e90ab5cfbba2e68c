"""Detects sojourn violations of all bearers of a node at once.

A bearer violates its objective when the sojourn *now* is above the bound and one of these
confirms that it is not a short burst:

- it has been above without a break for the confirm time,
- the RLC's mean over 100 ms is above as well,
- so many samples of the window are above that the percentile cannot be met any more: with W
  samples, "the p-th percentile is within the bound" allows ⌊(1 − p)·W⌋ of them above it. Counting
  needs no sorting and detects this before the window is full.

The violation ends when the sojourn stayed below a share of the bound for the clear time
(hysteresis), so that a queue that hovers at the bound makes one violation, not hundreds.

While no bearer is above its bound, was so within its window or violates, a report costs one
comparison and changes no counter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.schema import Objective


class Detector:
    """Violation state of the bearers in `RlcWindows`."""

    def __init__(self, windows: RlcWindows, period_us: int) -> None:
        self._windows = windows
        self._period_us = period_us
        self._bound_us: NDArray[np.float32] = np.zeros(0, np.float32)
        self._clear_us: NDArray[np.float32] = np.zeros(0, np.float32)
        self._window: NDArray[np.int64] = np.zeros(0, np.int64)
        self._tolerated: NDArray[np.int64] = np.zeros(0, np.int64)
        self._confirm: NDArray[np.int64] = np.zeros(0, np.int64)
        self._clear: NDArray[np.int64] = np.zeros(0, np.int64)
        self._over_count: NDArray[np.int64] = np.zeros(0, np.int64)
        self._over_run: NDArray[np.int64] = np.zeros(0, np.int64)
        self._clear_run: NDArray[np.int64] = np.zeros(0, np.int64)
        self._judged = 0
        self._slots: NDArray[np.intp] = np.empty(0, np.intp)
        #: Samples above, of all bearers; and whether any violates.
        self._over_total = 0
        self.any_violating = False
        #: Whether the bearer of a slot violates its objective.
        self.violating: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def watch(self, slot: int, objective: Objective | None) -> None:
        """Set the objective of a slot's bearer; ``None`` stops watching it."""
        self._fit()
        window = 1
        if objective is None:
            # No sojourn exceeds an infinite bound.
            self._bound_us[slot] = self._clear_us[slot] = np.inf
        else:
            bound_us = objective.bound_ms * 1000.0
            window = min(self._samples(objective.window_ms), self._windows.depth - 1)
            self._bound_us[slot] = bound_us
            self._clear_us[slot] = bound_us * objective.clear_ratio
            self._tolerated[slot] = int((1.0 - objective.percentile / 100.0) * window + 1e-9)
            self._confirm[slot] = self._samples(objective.confirm_ms)
            self._clear[slot] = self._samples(objective.clear_ms)
        self._window[slot] = window
        # A report taken but not judged yet is counted by the coming step.
        pending = self._windows.reports - self._judged
        rows = (self._windows.row - pending - np.arange(window)) % self._windows.depth
        ring = self._windows.sojourn_ring
        self._over_count[slot] = int((ring[rows, slot] > self._bound_us[slot]).sum())
        self._over_run[slot] = self._clear_run[slot] = 0
        self.violating[slot] = False
        self._sum_up()

    def step(self) -> tuple[list[int], list[int]]:
        """Judge the newest report; returns the slots where a violation began and where one ended.

        Every new slot must have been given to `watch`, and every report to this.
        """
        self._fit()
        windows = self._windows
        self._judged = windows.reports
        now = windows.sojourn_us
        over = now > self._bound_us
        if not (self._over_total or self.any_violating or np.count_nonzero(over)):
            return [], []
        self._over_count += over
        evicted = (windows.row - self._window) % windows.depth
        self._over_count -= windows.sojourn_ring[evicted, self._slots] > self._bound_us
        self._over_run += 1
        self._over_run *= over
        self._clear_run += 1
        self._clear_run *= now <= self._clear_us
        mean = windows.mean_us + windows.pipeline_us
        confirmed = (
            (self._over_run >= self._confirm)
            | (self._over_count > self._tolerated)
            | (mean > self._bound_us)
        )
        began = over & confirmed & ~self.violating
        ended = self.violating & (self._clear_run >= self._clear)
        self.violating |= began
        self.violating &= ~ended
        self._sum_up()
        return began.nonzero()[0].tolist(), ended.nonzero()[0].tolist()

    def _sum_up(self) -> None:
        self._over_total = int(self._over_count.sum())
        self.any_violating = bool(np.count_nonzero(self.violating))

    def over_for_us(self, slot: int) -> int:
        """How long the sojourn has been above the bound without a break."""
        return int(self._over_run[slot]) * self._period_us

    def _samples(self, span_ms: int) -> int:
        return max(1, round(span_ms * 1000 / self._period_us))

    def _fit(self) -> None:
        extra = self._windows.capacity - self.violating.size
        if extra <= 0:
            return
        self._bound_us = np.pad(self._bound_us, (0, extra), constant_values=np.inf)
        self._clear_us = np.pad(self._clear_us, (0, extra), constant_values=np.inf)
        self._window = np.pad(self._window, (0, extra), constant_values=1)
        self._tolerated = np.pad(self._tolerated, (0, extra))
        self._confirm = np.pad(self._confirm, (0, extra), constant_values=1)
        self._clear = np.pad(self._clear, (0, extra), constant_values=1)
        self._over_count = np.pad(self._over_count, (0, extra))
        self._over_run = np.pad(self._over_run, (0, extra))
        self._clear_run = np.pad(self._clear_run, (0, extra))
        self.violating = np.pad(self.violating, (0, extra))
        self._slots = np.arange(self.violating.size)
