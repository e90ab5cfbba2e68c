"""Who reads a subscription: xApps with a bounded queue each, and taps within the bridge."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from ric.gateway.channel import BATCH_BYTES

from flexric_bridge.records import later, tail

_OVERTAKEN_US: Final = 1_000_000


class Ended(Exception):  # noqa: N818 - says what happened
    """A stream's end; the message is for the xApp."""


class Thinning:
    """Lets through what is due for a reader that asked for a longer period than reports come in.

    By the time of collection, so that jitter on the way does not cost a report; half a period of
    the reports is allowed for the jitter of the node itself.
    """

    __slots__ = ("_last_us", "period_us")

    def __init__(self, period_ms: int) -> None:
        self.period_us = period_ms * 1000
        self._last_us = 0

    def due(self, collected_at_us: int, every_us: int) -> bool:
        """Whether a report is due, of those that come each `every_us`."""
        since_us = collected_at_us - self._last_us
        # The RIC lets reports overtake each other; a clock that was set back is another matter.
        if every_us < self.period_us and -_OVERTAKEN_US < since_us < self.period_us - every_us // 2:
            return False
        self._last_us = collected_at_us
        return True


class Reader:
    """One xApp's reading of a subscription: what it has not taken yet, oldest dropped when it is
    full."""

    __slots__ = (
        *("_depth", "_ended", "_more", "_own", "_queue", "_sequence"),
        *("dropped", "measurements", "thinning"),
    )

    def __init__(
        self,
        period_ms: int,
        depth: int,
        more: Callable[[], None],
        own: bytes = b"",
        measurements: tuple[str, ...] = (),
    ) -> None:
        """`more` is called when there is something to take or the end is known; `own` are fields
        that each of its indications has besides; `measurements` are what it is told of KPM."""
        self.thinning = Thinning(period_ms)
        self.measurements = measurements
        self.dropped = 0
        self._own = own
        self._depth = depth
        self._more = more
        self._queue: deque[tuple[int, bytes]] = deque()
        self._sequence = 0
        self._ended: Exception | None = None

    def put(self, body: bytes) -> None:
        """One more indication, without `sequence` and `dropped`."""
        if len(self._queue) >= self._depth:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append((self._sequence, body))
        self._sequence += 1
        self._more()

    def end(self, why: Exception) -> None:
        """Nothing more will come."""
        self._ended = self._ended or why
        self._more()

    @property
    def ended(self) -> Exception | None:
        """Why nothing more will come, once that is so."""
        return self._ended

    def take(self) -> bytes | None:
        """The oldest indication, whole; `None` when there is none."""
        if not self._queue:
            return None
        sequence, body = self._queue.popleft()
        return body + self._own + tail(sequence, self.dropped)

    def take_batch(self, most: int) -> bytes | None:
        """As `take`, with those in it that wait behind it, up to `most` in all.

        A message costs more than what is in it: a reader for whom several wait is one for whom
        time is short, and gets them in one.
        """
        first = self.take()
        if first is None or not self._queue or most < 2:
            return first
        parts, size = [first], len(first)
        while self._queue and len(parts) < most:
            size += len(self._queue[0][1])
            if size > BATCH_BYTES:
                break
            parts.append(later(self.take() or b""))
        return b"".join(parts)


class Bell:
    """Wakes one task that waits for a reader."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """There is something."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self) -> None:
        """Until the next ring."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None


class Tap:
    """Hears reports within the bridge: `hear(message, collected_at_us, received_at_us)`."""

    __slots__ = ("hear", "thinning")

    def __init__(self, period_ms: int, hear: Callable[[bytes, int, int], None]) -> None:
        self.thinning = Thinning(period_ms)
        self.hear = hear
