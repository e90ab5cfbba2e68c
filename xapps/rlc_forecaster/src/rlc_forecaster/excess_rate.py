"""The rate of what is sent beyond the assured load: as much as the event loop bears.

Additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the Increase and
Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989). The sign of congestion
is the event loop's lateness: it grows with the work of the program, whatever the machine, and with
what others take of the machine.
"""

from __future__ import annotations

from typing import Final

LATE_S: Final = 0.002
"""A turn that comes later than this is late: reports come every millisecond."""
DECREASE: Final = 0.5
DECREASE_EVERY_S: Final = 0.02
"""A decrease shows its effect before the next."""
INCREASE_S: Final = 30.0
"""Time of an increase from nothing to the whole rate."""
LEAST: Final = 1 / 256
"""Share of the whole rate that is always left."""


class ExcessRate:
    """A rate between its most and a small part of it; time is passed in."""

    def __init__(self, most_bytes_per_s: float) -> None:
        self._most = most_bytes_per_s
        self.bytes_per_s = most_bytes_per_s
        self._updated_s: float | None = None
        self._decreased_s = float("-inf")

    def update(self, now_s: float, late_s: float) -> None:
        """The event loop did at `now_s` what it should have done `late_s` before."""
        before_s = now_s if self._updated_s is None else self._updated_s
        self._updated_s = max(now_s, before_s)
        if late_s > LATE_S:
            if now_s - self._decreased_s >= DECREASE_EVERY_S:
                self._decreased_s = now_s
                self.bytes_per_s = max(self.bytes_per_s * DECREASE, self._most * LEAST)
        else:
            # After an idle time the rate is no better known than before it.
            passed_s = min(max(0.0, now_s - before_s), DECREASE_EVERY_S)
            increased = self.bytes_per_s + self._most * passed_s / INCREASE_S
            self.bytes_per_s = min(increased, self._most)
