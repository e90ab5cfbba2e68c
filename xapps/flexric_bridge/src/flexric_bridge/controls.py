"""The one lane that all controls take: one at a time, the newest of its kind, not too fast.

FlexRIC loses answers and aborts with two callers, and every control uses up its RIC. So controls
wait in line; one that waits for the same element as a later one is superseded by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from ric.clock import Clock

Result = TypeVar("Result")

LONGEST_WAIT_S: Final = 2.0
"""A control that would have to wait longer for its turn by the rate is refused."""


class TooFast(Exception):  # noqa: N818 - says what happened
    """Controls come faster than they may go; the message says how fast that is."""


class Rate:
    """A token bucket."""

    def __init__(self, per_s: float, burst: int, clock: Clock) -> None:
        self._per_s = per_s
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._at_ns = clock.monotonic_ns()

    async def take(self, count: int) -> None:
        """Return as soon as `count` may go; raises `TooFast` when that is not soon."""
        self._refill()
        if count > self._burst:
            raise TooFast(
                f"{count} controls at once; expected at most {self._burst} (controls.burst)"
            )
        wait_s = max(0.0, (count - self._tokens) / self._per_s)
        if wait_s > LONGEST_WAIT_S:
            raise TooFast(
                f"{count} controls would have to wait {wait_s:.0f} s;"
                f" expected {self._per_s:g} a second in the long run (controls.per_s)"
            )
        # Taken before the wait: who comes next waits for what is left after this one.
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


class Lane(Generic[Result]):
    """Runs jobs one at a time, in order; `work` must be running."""

    def __init__(self) -> None:
        self._waiting: list[_Job[Result]] = []
        self._wake = asyncio.Event()
        self.superseded = 0
        """Jobs that a later one took the place of."""

    @property
    def length(self) -> int:
        """Jobs that wait."""
        return len(self._waiting)

    async def run(
        self,
        key: Hashable | None,
        run: Callable[[], Awaitable[Result]],
        supersede: Callable[[], Result],
    ) -> Result:
        """The result of `run` in its turn.

        A job with the same `key` that still waits gets what its own `supersede` says; `None` is
        like no other. A caller that gives up while waiting takes its job out of the line.
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
        """Run what comes, for ever."""
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
            except Exception as error:  # it is the caller's
                if not job.done.done():
                    job.done.set_exception(error)
            else:
                if not job.done.done():
                    job.done.set_result(result)
