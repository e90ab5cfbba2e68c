"""Context values (queue limit, MCS, TBS) of bearers, held between reports."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

HOLD_US: Final = 250_000
"""Older values are unknown: twice the slowest report period of 100 ms, plus a margin. A shorter
time would blank the feature between two reports."""

_NEVER: Final = np.iinfo(np.int64).min // 2
_EVER: Final = int(np.iinfo(np.int64).max)


class ContextCache:
    """The two newest values of each slot.

    A value reported at the time of an RLC report may arrive before or after it. The older value is
    used then, so that a sample does not depend on the order of arrival.
    """

    def __init__(self, capacity: int, width: int) -> None:
        """Room for `capacity` slots of `width` values."""
        self._values = np.zeros((2, capacity, width), np.float32)
        self._at_us = np.full((2, capacity), _NEVER, np.int64)
        self._newest_us = int(_NEVER)

    def update(self, slots: NDArray[np.intp], values: NDArray[np.float32], at_us: int) -> None:
        """Stores ``(B, width)`` values reported at `at_us`; ignores NaN, late and repeated rows."""
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
        """The newest values reported before `at_us`.

        Returns:
            ``(B, width)`` values, 0 if unknown; ``(B,)`` whether known, that is within
            :data:`HOLD_US`; and the time until which both are valid without an update.
        """
        if self._newest_us < at_us - HOLD_US:
            width = self._values.shape[2]
            return np.zeros((len(slots), width), np.float32), np.zeros(len(slots), np.bool_), _EVER
        newest_us = self._at_us[0, slots]
        ahead = newest_us >= at_us
        older = ahead.astype(np.intp)
        reported_us = self._at_us[older, slots]
        # If RLC reports lag by several periods, the older value is too new as well. It is used
        # anyway: a blank would look like a bearer without MCS.
        known = reported_us >= at_us - HOLD_US
        values = np.where(known[:, None], self._values[older, slots], np.float32(0))
        caught_up_us = int(newest_us.min(where=ahead, initial=_EVER))
        lapsed_us = int(reported_us.min(where=known, initial=_EVER - HOLD_US)) + HOLD_US
        return values, known, min(caught_up_us, lapsed_us)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Frees slots."""
        self._at_us[:, slots] = _NEVER

    def grow(self, capacity: int) -> None:
        """Extends the capacity."""
        missing = capacity - self._at_us.shape[1]
        self._values = np.pad(self._values, ((0, 0), (0, missing), (0, 0)))
        self._at_us = np.pad(self._at_us, ((0, 0), (0, missing)), constant_values=_NEVER)
