"""When to query the RIC for nodes that are away: often at first, then less and less often.

A query costs the RIC one of its 65,536 session numbers, so the period grows with the time the node
is away; a node that restarts is found at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHORTEST_S: Final = 1.0
"""Shortest time between two queries."""
SHARE: Final = 0.2
"""The next query comes after this share of the time that the node has been away."""
LONGEST_S: Final = 120.0
"""Longest time between two queries."""
RELAPSE_S: Final = 10.0
"""A node that is away again within this time after it was found, without a report in between, was
never back: the RIC still lists it."""


@dataclass(slots=True)
class _Away:
    since_ns: int
    found_ns: int | None = None


class Absences:
    """Since when nodes are away, by a monotonic clock."""

    def __init__(self) -> None:
        self._away: dict[str, _Away] = {}

    def update(self, node_id: str, *, present: bool, now_ns: int, last_report_ns: int = 0) -> None:
        """Record whether a node is present now, and when its last report came."""
        away = self._away.get(node_id)
        found_ns = None if away is None else away.found_ns
        settled = found_ns is not None and (
            last_report_ns > found_ns or now_ns - found_ns > RELAPSE_S * 1e9
        )
        if present:
            if away is not None and found_ns is None:
                away.found_ns = now_ns
            elif settled:
                del self._away[node_id]
        elif away is None or settled:
            self._away[node_id] = _Away(now_ns)
        else:
            away.found_ns = None

    def next_query_s(self, now_ns: int) -> float | None:
        """Seconds until the next query; `None` while no node is away."""
        return min(
            (
                min(max(SHARE * (now_ns - away.since_ns) / 1e9, SHORTEST_S), LONGEST_S)
                for away in self._away.values()
                if away.found_ns is None
            ),
            default=None,
        )
