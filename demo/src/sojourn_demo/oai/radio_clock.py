"""The time of the radio.

The RF simulator keeps to the clock of the wall where the machine is fast enough, and falls behind
it otherwise. What radio and queues take is therefore told in the radio's own time, which is that of
a real radio: the number of its slots by their length.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PERIOD_S: Final = 0.02
"""The gNB's status is replaced each 100 ms."""
Micros = NDArray[np.float64]


class RadioClock:
    """Times of the wall as times of the radio, linear between reports of the gNB."""

    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        """`status` reads the gNB's status file."""
        self._status = status
        self._wall_us: list[int] = []
        self._radio_us: list[int] = []

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
        # A status that was read before differs by the resolution of the two clocks at most.
        if not self._wall_us or wall_us > self._wall_us[-1] + 1000:
            self._wall_us.append(wall_us)
            self._radio_us.append(int(status["radio_us"]))

    def at(self, wall_us: Any) -> Micros:
        """Times of the radio, µs, at Unix times in µs. Beyond the first and last report time is
        taken to pass as on the wall."""
        asked = np.asarray(wall_us, dtype=np.float64)
        if not self._wall_us:
            return asked
        before = np.minimum(asked - self._wall_us[0], 0.0)
        after = np.maximum(asked - self._wall_us[-1], 0.0)
        return np.asarray(np.interp(asked, self._wall_us, self._radio_us) + before + after)
