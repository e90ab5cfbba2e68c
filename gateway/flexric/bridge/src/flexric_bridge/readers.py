"""Readers of a subscription of the bridge: clients of the gateway, and taps within the bridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from e2_gateway_server import Outbox, ProcedureError

_OVERTAKEN_US: Final = 1_000_000


class Thinning:
    """Passes the reports that are due for a reader with a longer period than the subscription.

    Decided by the time of collection, so that transport jitter does not cost a report; half a
    period of the reports is allowed for jitter of the node.
    """

    __slots__ = ("_last_us", "period_us")

    def __init__(self, period_ms: int) -> None:
        self.period_us = period_ms * 1000
        self._last_us = 0

    def due(self, collected_at_us: int, every_us: int) -> bool:
        """Whether a report is due, of those that come each `every_us`."""
        since_us = collected_at_us - self._last_us
        # Less than 1 s earlier: the RIC reordered reports. Earlier: the clock was set.
        if every_us < self.period_us and -_OVERTAKEN_US < since_us < self.period_us - every_us // 2:
            return False
        self._last_us = collected_at_us
        return True


class Reader:
    """One client's share of a subscription of the bridge, thinned to the client's period."""

    __slots__ = ("_outbox", "_suffix", "left", "measurements", "thinning")

    def __init__(
        self,
        outbox: Outbox[bytes],
        period_ms: int,
        suffix: bytes = b"",
        measurements: tuple[str, ...] = (),
    ) -> None:
        """`suffix`: encoded fields appended to each indication; `measurements`: those of KPM that
        it requested."""
        self.thinning = Thinning(period_ms)
        self.measurements = measurements
        self.left = False
        """Whether the client no longer reads."""
        self._outbox = outbox
        self._suffix = suffix

    def put(self, indication: bytes) -> None:
        """Queue an encoded indication without the numbers of a reader."""
        self._outbox.put(indication + self._suffix)

    def end(self, error: ProcedureError) -> None:
        """The subscription is lost."""
        self._outbox.end(error)


class Tap:
    """A reader within the bridge: `on_report(message, collected_at_us, received_at_us)`."""

    __slots__ = ("on_report", "thinning")

    def __init__(self, period_ms: int, on_report: Callable[[bytes, int, int], None]) -> None:
        self.thinning = Thinning(period_ms)
        self.on_report = on_report
