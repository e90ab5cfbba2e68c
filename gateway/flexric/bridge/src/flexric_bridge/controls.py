"""The queue of controls: one at a time, the newest per element, limited in rate.

FlexRIC loses answers and aborts with two callers, and every control costs one of its requests. So
controls are queued; one that waits for the same element as a later one is superseded by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from ric.clock import Clock

Result = TypeVar("Result")

LONGEST_WAIT_S: Final = 2.0
"""A control that would have to wait longer for the rate limit is refused."""


class RateExceeded(Exception):  # noqa: N818 - says what happened
    """Controls exceed the rate limit; the message has the limit."""


class Rate:
    """A token bucket."""

    def __init__(self, per_s: float, burst: int, clock: Clock) -> None:
        self._per_s = per_s
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._at_ns = clock.monotonic_ns()

    async def take(self, count: int) -> None:
        """Wait until `count` controls may be sent; raises `RateExceeded` if that takes too long."""
        self._refill()
        if count > self._burst:
            raise RateExceeded(
                f"{count} controls at once; expected at most {self._burst} (controls.burst)"
            )
        wait_s = max(0.0, (count - self._tokens) / self._per_s)
        if wait_s > LONGEST_WAIT_S:
            raise RateExceeded(
                f"{count} controls would have to wait {wait_s:.0f} s;"
                f" expected {self._per_s:g} a second in the long run (controls.per_s)"
            )
        # Taken before the wait, so that the next caller waits for what is left after this one.
        self._tokens -= count
        if wait_s:
            await self._clock.sleep(wait_s)

    def _refill(self) -> None:
        now_ns = self._clock.monotonic_ns()
        gained = (now_ns - self._at_ns) / 1e9 * self._per_s
        self._tokens = min(float(self._burst), self._tokens + gained)
        self._at_ns = now_ns


@dataclass(slots=True, eq=False)
class _Job(Generic[Result]):
    key: Hashable | None
    run: Callable[[], Awaitable[Result]]
    supersede: Callable[[], Result]
    done: asyncio.Future[Result] = field(default_factory=asyncio.Future)


class ControlQueue(Generic[Result]):
    """Runs jobs one at a time, in order; `work` must be running."""

    def __init__(self) -> None:
        self._waiting: list[_Job[Result]] = []
        self._wake = asyncio.Event()
        self.superseded = 0
        """Jobs that a later one replaced."""

    @property
    def length(self) -> int:
        """Number of waiting jobs."""
        return len(self._waiting)

    async def run(
        self,
        key: Hashable | None,
        run: Callable[[], Awaitable[Result]],
        supersede: Callable[[], Result],
    ) -> Result:
        """Queue `run` and return its result.

        A waiting job with the same `key` gets the result of its own `supersede`; `None` equals no
        other key. A caller that is cancelled while waiting removes its job.
        """
        if key is not None:
            for job in [job for job in self._waiting if job.key == key]:
                self._waiting.remove(job)
                self.superseded += 1
                if not job.done.done():
                    job.done.set_result(job.supersede())
        job = _Job(key, run, supersede)
        self._waiting.append(job)
        self._wake.set()
        return await job.done

    async def work(self) -> None:
        """Run queued jobs, for ever."""
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            job = self._waiting.pop(0)
            if job.done.done():
                continue
            try:
                result = await job.run()
            except asyncio.CancelledError:
                job.done.cancel()
                raise
            except Exception as error:  # passed on to the caller
                if not job.done.done():
                    job.done.set_exception(error)
            else:
                if not job.done.done():
                    job.done.set_result(result)
