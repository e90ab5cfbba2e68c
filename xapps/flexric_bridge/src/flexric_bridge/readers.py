"""Who reads a subscription: xApps with a bounded queue each, and taps within the bridge."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from flexric_bridge.records import tail

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


class Tap:
    """Hears reports within the bridge: `hear(message, collected_at_us, received_at_us)`."""

    __slots__ = ("hear", "thinning")

    def __init__(self, period_ms: int, hear: Callable[[bytes, int, int], None]) -> None:
        self.thinning = Thinning(period_ms)
        self.hear = hear
