"""Which reports a node made before a control took effect, although they arrive after it.

Node and bridge have clocks of their own. The difference is known from the report that was on its
way for the least time: none was made later than its time stamp and that difference say.
"""

from __future__ import annotations

from typing import Final

_MOST_ON_ITS_WAY_US: Final = 2_000_000
"""A report that arrives later than this after a control counts, should a clock have been set."""


class ReportAge:
    """Time stamps of a node against the clock of the bridge; all times in µs."""

    def __init__(self) -> None:
        self._difference_us: int | None = None
        self._changed_us: int | None = None

    def changed(self, now_us: int) -> None:
        """The node has acknowledged, or may have carried out, a control."""
        self._changed_us = now_us

    def take(self, made_us: int, now_us: int) -> None:
        """A report with the node's time stamp `made_us` arrives."""
        difference_us = now_us - made_us
        if self._difference_us is None or difference_us < self._difference_us:
            self._difference_us = difference_us

    def is_of_before(self, made_us: int, now_us: int) -> bool:
        """Whether this report shows the node before the last control."""
        if self._changed_us is None or self._difference_us is None:
            return False
        if not 0 <= now_us - self._changed_us < _MOST_ON_ITS_WAY_US:
            return False
        return made_us + self._difference_us < self._changed_us
