"""Time as the shell sees it, injected so that tests decide what it is."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall clock and waiting."""

    def now_us(self) -> int:
        """Wall clock, µs since the Unix epoch."""
        ...

    def monotonic_ns(self) -> int:
        """A clock that never goes back, for durations, ns."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
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
        """Wait on the running event loop."""
        await asyncio.sleep(seconds)
