"""An event loop on virtual time, so that tests need not sleep."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

EPOCH_US: Final = 1_700_000_000_000_000
"""Wall clock of virtual time 0: 2023-11-14T22:13:20Z."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Once every task waits, time jumps to the earliest timer.

    Only for code without sockets and threads, for which the loop does not wait. If every task waits
    and there is no timer, `RuntimeError` is raised instead of hanging.
    """

    def __init__(self) -> None:
        self._virtual_s = 0.0
        super().__init__(_JumpingSelector(self))
        # A timer is due if it is nearer than this. The 1 ns of the base class is below the
        # resolution of a float after some months, where a timer would never be due.
        self._clock_resolution = 1e-7

    def time(self) -> float:
        """Virtual time, s."""
        return self._virtual_s

    def jump(self, seconds: float) -> None:
        """Move time forward."""
        self._virtual_s += seconds


class _JumpingSelector(selectors.BaseSelector):
    """Never blocks: instead of waiting for a timeout, it advances the loop's time."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self._inner = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._inner.select(0)
        if ready:
            return ready
        if timeout is None:
            raise RuntimeError("every task waits and no timer is set; the loop would hang")
        if timeout > 0:
            self._loop.jump(timeout)
        return []

    def close(self) -> None:
        self._inner.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()


class LoopClock:
    """The running event loop's time as a clock: virtual on a `VirtualTimeLoop`, real elsewhere."""

    def __init__(self, epoch_us: int = EPOCH_US) -> None:
        self._epoch_us = epoch_us

    def now_us(self) -> int:
        """Wall clock, µs since the Unix epoch."""
        return self._epoch_us + round(asyncio.get_running_loop().time() * 1e6)

    def monotonic_ns(self) -> int:
        """The loop's time, ns."""
        return round(asyncio.get_running_loop().time() * 1e9)

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop."""
        await asyncio.sleep(seconds)


def run_virtual(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def on_virtual_time(
    test: Callable[Parameters, Coroutine[Any, Any, None]],
) -> Callable[Parameters, None]:
    """Decorator of a test that runs on virtual time, for at most an hour of it."""

    @wraps(test)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        async def main() -> None:
            async with asyncio.timeout(3600):
                await test(*args, **kwargs)

        run_virtual(main())

    return run
