"""Periods of a subscription for which no report came, by the time stamps of those that did.

FlexRIC numbers no indications, so what was never made, or was lost on the way, shows by the clock
of the node alone.
"""

from __future__ import annotations

from typing import Final

_FOLLOW: Final = 1 / 16
"""How far the expected time follows a report's own: timers and clocks drift apart, and a single
late report must not move it."""
_LONGEST_US: Final = 10_000_000
_LONGEST_PERIODS: Final = 3
"""A gap beyond both, or a step back beyond the next, is a node that was away or a clock that was
set."""
_SET_BACK_US: Final = 500_000


class Pace:
    """Of one RAN function of one node."""

    __slots__ = ("_due_us", "_missing", "_period_us", "_told")

    def __init__(self) -> None:
        self._missing = 0
        self._told = 0
        self._period_us = 0
        self._due_us: float | None = None

    @property
    def missing(self) -> int:
        """Periods without a report. It never goes back: one that was only overtaken, and came after
        it was told missing, makes up for the next."""
        self._told = max(self._told, self._missing)
        return self._told

    def begin(self, period_ms: int) -> None:
        """Reports come with this period from now on; the time before the next is nobody's."""
        self._period_us = period_ms * 1000
        self._due_us = None

    def note(self, collected_at_us: int, lost: int) -> None:
        """A report came; `lost` before it did as well, and were counted elsewhere."""
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
        # other: those are of no further period, and take back what the one before was ahead.
        periods = max(0, round(late_us / period_us))
        self._missing += periods - 1 - lost
        due_us += periods * period_us
        if periods:
            due_us += (collected_at_us - due_us) * _FOLLOW
        self._due_us = due_us
