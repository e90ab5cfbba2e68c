"""A token bucket; time is passed in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of what a client may do in a time."""

    limit: str
    """Value of the label `limit` in metrics."""
    per_s: float
    burst: int
    what: str
    """What is counted, in the plural, for messages."""

    def __str__(self) -> str:
        return f"{self.per_s:g} {self.what}/s (burst {self.burst})"


class TokenBucket:
    """Holds up to `burst` tokens, filled at a rate; full at first."""

    __slots__ = ("_at_ns", "_burst", "_per_ns", "_tokens")

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_ns = per_s / 1e9
        self._burst = burst
        self._tokens = burst
        self._at_ns: int | None = None

    def take(self, now_ns: int, count: float = 1.0) -> float:
        """Take `count` tokens: 0.0, or the seconds until there are as many, and none is taken.

        Time that goes backwards adds nothing.
        """
        if self._at_ns is not None and now_ns > self._at_ns:
            filled = self._tokens + (now_ns - self._at_ns) * self._per_ns
            self._tokens = min(self._burst, filled)
        self._at_ns = now_ns if self._at_ns is None else max(now_ns, self._at_ns)
        # Sums of parts of a token fall short by rounding.
        if self._tokens + 1e-6 >= count:
            self._tokens = max(0.0, self._tokens - count)
            return 0.0
        return (count - self._tokens) / self._per_ns / 1e9

    def charge(self, now_ns: int, count: float) -> None:
        """Take `count` tokens, or all that are left."""
        if self.take(now_ns, count):
            self._tokens = 0.0
