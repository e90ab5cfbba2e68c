"""The time of the radio, from the gNB's status.

The RF simulator keeps to wall-clock time where the machine is fast enough, and falls behind it
otherwise. Delays of radio and queues are therefore given in the radio's own time, which is that of
a real radio: the number of its slots by their length.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from sojourn_demo.load.radio_clock import RadioClock

PERIOD_S: Final = 0.02
"""The gNB's status is replaced each 100 ms."""
SAME_US: Final = 1000
"""A status that was read before differs by the resolution of the two clocks at most."""


class StatusClock(RadioClock):
    """The clock that the gNB's status file tells."""

    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        """`status` reads the file."""
        super().__init__()
        self._status = status
        self._last_us: int | None = None

    async def run(self) -> None:
        """Reads the status until it is cancelled."""
        while True:
            self.take(self._status(), (time.time_ns() - time.monotonic_ns()) // 1000)
            await asyncio.sleep(PERIOD_S)

    def take(self, status: dict[str, Any], monotonic_began_us: int) -> None:
        """A status; `monotonic_began_us` is Unix time when the clock of the gNB was 0."""
        if "radio_us" not in status:
            return
        wall_us = monotonic_began_us + int(status["at_us"])
        if self._last_us is None or wall_us > self._last_us + SAME_US:
            self.add(wall_us, int(status["radio_us"]))
            self._last_us = wall_us
