"""How far a reader is behind, from the times that indications tell."""

from __future__ import annotations

from typing import Final

WINDOW_US: Final = 5_000_000
"""Window of the quickest indications; a change of clocks or path is wrong for twice as long."""


class Lag:
    """Delays beyond the quickest of the last seconds: clocks differ, and the path has its delay."""

    def __init__(self) -> None:
        self._window_us = 0
        self._least_us = self._least_before_us = float("inf")

    def of(self, now_us: int, delay_us: int) -> float:
        """Lag, µs, of an indication that is here now and was sent `delay_us` before by the
        gateway's clock."""
        if not 0 <= now_us - self._window_us < WINDOW_US:
            self._window_us = now_us
            self._least_before_us, self._least_us = self._least_us, float("inf")
        self._least_us = min(self._least_us, delay_us)
        return delay_us - min(self._least_us, self._least_before_us)
