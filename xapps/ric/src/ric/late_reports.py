"""Late reports of a node: those that were overtaken, and those after its clock was set back."""

from __future__ import annotations

from collections import deque
from typing import Final

SET_BACK_AFTER: Final = 50
"""Late reports without one in time between them: the node's clock was set back, or one report had a
time far ahead."""


class LateReports:
    """The late reports of a node that follow each other.

    Single late and doubled reports are normal, so only late ones without one in time between them
    say something about the clock, and none of them counts twice.
    """

    def __init__(self) -> None:
        self._at_us: deque[int] = deque(maxlen=SET_BACK_AFTER)

    def __contains__(self, at_us: int) -> bool:
        return at_us in self._at_us

    def clear(self) -> None:
        """Notes a report in time."""
        if self._at_us:
            self._at_us.clear()

    def shows_clock_set_back(self, at_us: int) -> bool:
        """Notes a late report that is no duplicate; whether the node's clock was set back.

        Args:
            at_us: Time of the report, node's clock.
        """
        if self._at_us and at_us < self._at_us[0]:
            # Set back once more, or a backlog that arrives in reverse.
            self._at_us.clear()
        self._at_us.append(at_us)
        if len(self._at_us) < SET_BACK_AFTER:
            return False
        self._at_us.clear()
        return True
