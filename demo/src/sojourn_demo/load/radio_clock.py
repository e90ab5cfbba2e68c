"""The time of a radio that falls behind the wall where the machine is too slow for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Micros = NDArray[np.float64]


class RadioClock:
    """Times of the wall as times of the radio, linear between what was read of both."""

    def __init__(self) -> None:
        self._wall_us: list[int] = []
        self._radio_us: list[int] = []

    def add(self, wall_us: int, radio_us: int) -> None:
        """The radio's time, µs, at a Unix time in µs after those before."""
        self._wall_us.append(wall_us)
        self._radio_us.append(radio_us)

    def at(self, wall_us: Any) -> Micros:
        """Times of the radio, µs, at Unix times in µs. Beyond the first and last reading time is
        taken to pass as on the wall."""
        asked = np.asarray(wall_us, dtype=np.float64)
        if not self._wall_us:
            return asked
        before = np.minimum(asked - self._wall_us[0], 0.0)
        after = np.maximum(asked - self._wall_us[-1], 0.0)
        return np.asarray(np.interp(asked, self._wall_us, self._radio_us) + before + after)
