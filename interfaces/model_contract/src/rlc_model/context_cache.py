"""What other reports told of a bearer, kept until the RLC report asks for it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

HOLD_US: Final = 250_000
"""A value told longer ago than this says nothing of now: twice the 100 ms at which a slow
subscription reports, and a margin. Shorter would blank the feature between two such reports."""

_NEVER: Final = np.iinfo(np.int64).min // 2
_EVER: Final = int(np.iinfo(np.int64).max)


class ContextCache:
    """The newest and the next older values of each slot.

    Two are kept because the newest may be of the very instant of the RLC report, in which case the
    report may or may not have been overtaken: the older one is what both orders have in common.
    """

    def __init__(self, capacity: int, width: int) -> None:
        """Room for `capacity` slots of `width` values."""
        self._values = np.zeros((2, capacity, width), np.float32)
        self._at_us = np.full((2, capacity), _NEVER, np.int64)
        self._newest_us = int(_NEVER)

    def note(self, slots: NDArray[np.intp], values: NDArray[np.float32], at_us: int) -> None:
        """Takes in ``(B, width)`` values told at `at_us`.

        Rows that are NaN tell nothing; what is late or told twice is left out.
        """
        newer = (self._at_us[0, slots] < at_us) & ~np.isnan(values).any(axis=1)
        if not newer.all():
            slots, values = slots[newer], values[newer]
        self._values[1, slots] = self._values[0, slots]
        self._at_us[1, slots] = self._at_us[0, slots]
        self._values[0, slots] = values
        self._at_us[0, slots] = at_us
        self._newest_us = max(self._newest_us, at_us)

    def before(
        self, slots: NDArray[np.intp], at_us: int
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_], int]:
        """The newest ``(B, width)`` values told before `at_us`, which rows have some, and until
        when that stays so if nothing is told meanwhile.

        Rows told nothing within :data:`HOLD_US` are 0.
        """
        if self._newest_us < at_us - HOLD_US:
            width = self._values.shape[2]
            return np.zeros((len(slots), width), np.float32), np.zeros(len(slots), np.bool_), _EVER
        newest_us = self._at_us[0, slots]
        ahead = newest_us >= at_us
        older = ahead.astype(np.intp)
        told_us = self._at_us[older, slots]
        # When RLC reports lag by several periods the older value is not old enough either. It is
        # taken all the same: a blank would look like a bearer without MCS.
        there = told_us >= at_us - HOLD_US
        values = np.where(there[:, None], self._values[older, slots], np.float32(0))
        # The first that is no longer ahead, or too long ago.
        caught_up_us = int(newest_us.min(where=ahead, initial=_EVER))
        lapsed_us = int(told_us.min(where=there, initial=_EVER - HOLD_US)) + HOLD_US
        return values, there, min(caught_up_us, lapsed_us)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Frees slots."""
        self._at_us[:, slots] = _NEVER

    def grow(self, capacity: int) -> None:
        """Makes room for more slots."""
        missing = capacity - self._at_us.shape[1]
        self._values = np.pad(self._values, ((0, 0), (0, missing), (0, 0)))
        self._at_us = np.pad(self._at_us, ((0, 0), (0, missing)), constant_values=_NEVER)
