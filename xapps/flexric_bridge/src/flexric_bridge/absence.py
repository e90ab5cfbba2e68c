"""When to look for nodes that are away: often at first, then ever more rarely.

A look costs the RIC a session, of which it numbers no more than 65,536, so a node that is away for
long is not looked for each second; but one that was restarted is to be found at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST_LOOK_S: Final = 1.0
"""The shortest time between two looks."""
SHARE: Final = 0.2
"""The next look comes after this share of the time that the node has been away."""
LONGEST_S: Final = 120.0
"""The longest time between two looks."""
RELAPSE_S: Final = 10.0
"""A node that is away again so soon after it was found and said nothing in between was never
back: the RIC still lists it."""


@dataclass(slots=True)
class _Away:
    since_ns: int
    found_ns: int | None = None


class Absences:
    """Since when nodes are away; times are of a clock that never goes back."""

    def __init__(self) -> None:
        self._away: dict[str, _Away] = {}

    def note(self, node_id: str, *, present: bool, now_ns: int, heard_ns: int = 0) -> None:
        """Take in whether a node is there now, and when its last report came."""
        away = self._away.get(node_id)
        found_ns = None if away is None else away.found_ns
        settled = found_ns is not None and (
            heard_ns > found_ns or now_ns - found_ns > RELAPSE_S * 1e9
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

    def next_look_s(self, now_ns: int) -> float | None:
        """In how many seconds to look; `None` while no node is away."""
        return min(
            (
                min(max(SHARE * (now_ns - away.since_ns) / 1e9, FIRST_LOOK_S), LONGEST_S)
                for away in self._away.values()
                if away.found_ns is None
            ),
            default=None,
        )
