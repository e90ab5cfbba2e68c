"""What was refused, to whom: counts for few clients, and a log line a minute for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import structlog

MAX_CLIENTS: Final = 32
OTHER: Final = "other"
"""The clients beyond `MAX_CLIENTS` together."""
LOG_PERIOD_NS: Final = 60 * 10**9
_FORGET_NS: Final = 600 * 10**9
_log = structlog.get_logger()


@dataclass(slots=True)
class _Line:
    """What has not been logged of a client and a limit."""

    since_ns: int
    refused: int
    why: str


class Refusals:
    """Counts by client and limit.

    A client keeps its series until it has not been refused anything for ten minutes and another
    needs the place; then its counts go to `other`. So neither the number of series nor that of log
    lines grows with the number of clients.
    """

    def __init__(self) -> None:
        # With a series from the start, so that a rate of the first refusal is seen.
        self.counts: Counter[tuple[str, str]] = Counter({(OTHER, "calls"): 0})
        """Number of refusals by client and limit."""
        self._last_ns: dict[str, int] = {}
        self._lines: dict[tuple[str, str], _Line] = {}

    def add(self, client: str, limit: str, why: str, now_ns: int, count: int = 1) -> None:
        """Count a refusal; the first of a minute is logged at once."""
        shown = self._shown(client, now_ns)
        self.counts[shown, limit] += count
        line = self._lines.get((shown, limit))
        if line is None:
            _log.warning("client limited", client=shown, limit=limit, refused=count, why=why)
            self._lines[shown, limit] = _Line(now_ns, 0, why)
        else:
            line.refused += count
            line.why = why

    def log(self, now_ns: int) -> None:
        """Log what was refused since a line a minute ago or longer."""
        for (client, limit), line in list(self._lines.items()):
            for_ns = now_ns - line.since_ns
            if for_ns < LOG_PERIOD_NS:
                continue
            if not line.refused:
                del self._lines[client, limit]
                continue
            _log.warning(
                "client limited",
                client=client,
                limit=limit,
                refused=line.refused,
                in_s=round(for_ns / 1e9),
                why=line.why,
            )
            line.since_ns, line.refused = now_ns, 0

    def _shown(self, client: str, now_ns: int) -> str:
        if client not in self._last_ns and len(self._last_ns) >= MAX_CLIENTS:
            oldest = min(self._last_ns, key=self._last_ns.__getitem__)
            if now_ns - self._last_ns[oldest] < _FORGET_NS:
                return OTHER
            self._forget(oldest)
        self._last_ns[client] = now_ns
        return client

    def _forget(self, client: str) -> None:
        del self._last_ns[client]
        for key in [key for key in self.counts if key[0] == client]:
            self.counts[OTHER, key[1]] += self.counts.pop(key)
            self._lines.pop(key, None)
