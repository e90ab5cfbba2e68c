"""How far behind the way from a node is, whatever its clock says.

Reports of one subscription keep their order, so what waits on the way shows as a delay above the
least there was; how far apart the clocks are goes into both and drops out.
"""

from __future__ import annotations

from typing import Final

_DRIFT_SHIFT: Final = 12
"""The least delay grows by a 4096th of the time, 244 ppm: clocks that run free drift apart by less
than half of that, and would pass for a queue within hours."""
_SET_BACK_US: Final = 500_000
"""A report that was collected so long before the one before it: the node's clock was set back."""


class Lag:
    """Of one RAN function of one node."""

    __slots__ = ("_collected_at_us", "_least_at_us", "_least_us", "us")

    def __init__(self) -> None:
        self.us = 0
        """Of the newest report, µs; 0 before the first."""
        self._least_us: int | None = None
        self._least_at_us = self._collected_at_us = 0

    def note(self, collected_at_us: int, received_at_us: int) -> None:
        """A report came: when the node collected it, by its clock, and when it was received, by one
        that is never set."""
        delay_us, least_us = received_at_us - collected_at_us, self._least_us
        if least_us is not None and self._collected_at_us - collected_at_us <= _SET_BACK_US:
            self.us = delay_us - least_us - (received_at_us - self._least_at_us >> _DRIFT_SHIFT)
        else:
            self.us = 0
        if self.us <= 0:
            self.us, self._least_us, self._least_at_us = 0, delay_us, received_at_us
        self._collected_at_us = collected_at_us
