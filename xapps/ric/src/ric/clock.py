"""Wall clock, monotonic clock and sleep, injected so that tests control time."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Clocks and sleep."""

    def now_us(self) -> int:
        """Wall clock, µs since the Unix epoch."""
        ...

    def monotonic_ns(self) -> int:
        """Monotonic clock, for durations, ns."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_us(self) -> int:
        """Wall clock, µs since the Unix epoch."""
        return time.time_ns() // 1000

    def monotonic_ns(self) -> int:
        """Monotonic clock, ns."""
        return time.perf_counter_ns()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(seconds)
