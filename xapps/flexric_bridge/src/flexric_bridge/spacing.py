"""So that what comes often is handed on together: a hand-over costs more than what is in it."""

from __future__ import annotations

from typing import Final

AT_ONCE: Final = 4
"""Hand-overs that may follow one another at once after a rest."""


class Spacing:
    """A token bucket that says how long to rest after each hand-over."""

    __slots__ = ("_between_s", "_next_s")

    def __init__(self, per_s: float) -> None:
        """`per_s` in the long run."""
        self._between_s = 1 / per_s
        self._next_s = float("-inf")

    def rest_s(self, now_s: float) -> float:
        """How long to wait before the next, after one at `now_s`."""
        earliest_s = now_s - (AT_ONCE - 1) * self._between_s
        self._next_s = max(self._next_s, earliest_s) + self._between_s
        return max(0.0, self._next_s - now_s)
