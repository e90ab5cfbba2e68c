"""Timing of the reports of one RAN function of one node: their lag, and how many are missing.

FlexRIC does not number indications, and the clocks of node and bridge differ: both follow from time
stamps alone.
"""

from __future__ import annotations

from typing import Final

_DRIFT_SHIFT: Final = 12
"""The smallest delay is taken to grow by a 4096th of the time, 244 ppm. Free-running clocks drift
apart by less than half of that, and without it the drift would pass for a queue within hours."""
_SET_BACK_US: Final = 500_000
"""A report collected so long before the previous one: the node's clock was set back."""
_FOLLOW: Final = 1 / 16
"""How far the expected time follows a report's own time: timers and clocks drift apart, and a
single late report must not shift it."""
_LONGEST_US: Final = 10_000_000
_LONGEST_PERIODS: Final = 3
"""A gap beyond both is a node that was away or a clock that was set."""


class ReportLag:
    """Excess of the delay of reports over the smallest one.

    Reports of one subscription keep their order, so what queues on the way shows as a delay above
    the smallest one; the offset between the clocks is part of both and cancels.
    """

    __slots__ = ("_collected_at_us", "_least_at_us", "_least_us", "us")

    def __init__(self) -> None:
        self.us = 0
        """Lag of the newest report, µs; 0 before the first."""
        self._least_us: int | None = None
        self._least_at_us = self._collected_at_us = 0

    def observe(self, collected_at_us: int, received_at_us: int) -> None:
        """A report was received: time of collection by the node's clock, and time of reception by a
        monotonic clock."""
        delay_us, least_us = received_at_us - collected_at_us, self._least_us
        if least_us is not None and self._collected_at_us - collected_at_us <= _SET_BACK_US:
            self.us = delay_us - least_us - (received_at_us - self._least_at_us >> _DRIFT_SHIFT)
        else:
            self.us = 0
        if self.us <= 0:
            self.us, self._least_us, self._least_at_us = 0, delay_us, received_at_us
        self._collected_at_us = collected_at_us


class MissingReports:
    """Counts the periods of a subscription without a report."""

    __slots__ = ("_due_us", "_missing", "_period_us", "_published")

    def __init__(self) -> None:
        self._missing = 0
        self._published = 0
        self._period_us = 0
        self._due_us: float | None = None

    @property
    def count(self) -> int:
        """Periods without a report. Never decreases: a report that was only overtaken and arrives
        after it was counted compensates for the next one that is missing."""
        self._published = max(self._published, self._missing)
        return self._published

    def begin(self, period_ms: int) -> None:
        """Reports come with this period from now on; the time until the next is not counted."""
        self._period_us = period_ms * 1000
        self._due_us = None

    def observe(self, collected_at_us: int, lost: int) -> None:
        """A report was received; `lost` before it were dropped and counted in the SDK."""
        due_us, period_us = self._due_us, self._period_us
        if due_us is None:
            self._due_us = collected_at_us
            return
        late_us = collected_at_us - due_us
        longest_us = max(_LONGEST_US, _LONGEST_PERIODS * period_us)
        if not -_SET_BACK_US <= late_us <= longest_us or not period_us:
            self._due_us = collected_at_us
            return
        # A late report may be followed by one in time, and the RIC lets reports overtake each
        # other: those belong to no further period and correct what the previous one was ahead.
        periods = max(0, round(late_us / period_us))
        self._missing += periods - 1 - lost
        due_us += periods * period_us
        if periods:
            due_us += (collected_at_us - due_us) * _FOLLOW
        self._due_us = due_us
