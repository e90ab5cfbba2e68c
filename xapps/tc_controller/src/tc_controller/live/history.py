"""The last minutes of every bearer, one sample a second, in a ring."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isnan, nan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.inputs import BearerKey

#: Quantities of a sample.
SOJOURN_MS, RATE_KBPS, QUEUE_BYTES, BULK_MS, INHERITED_MS = range(5)
_QUANTITIES: Final = 5
#: After the point, of each.
_DIGITS: Final = 1, None, None, 1, 1


class Sample(NamedTuple):
    """One bearer in one second; NaN: not known."""

    sojourn_ms: float
    rate_kbps: float
    queue_bytes: float
    #: Mean delay of the packets of greedy flows, and of those that waited when the pipeline in
    #: force took effect.
    bulk_ms: float = nan
    inherited_ms: float = nan


class History:
    """A column for each bearer; 20 bytes for a bearer and second.

    Args:
        seconds: samples kept.
    """

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.columns: dict[BearerKey, int] = {}
        self._free: list[int] = []
        self._row = -1
        self._samples = 0
        self._at_us: NDArray[np.int64] = np.zeros(seconds, np.int64)
        self._values: NDArray[np.float32] = np.empty((_QUANTITIES, seconds, 0), np.float32)

    @property
    def capacity(self) -> int:
        """Columns allocated."""
        return int(self._values.shape[2])

    def keep(self, keys: Collection[BearerKey]) -> list[int]:
        """Make these the bearers that have a column; returns the columns that are free now."""
        freed = [self.columns.pop(key) for key in self.columns.keys() - keys]
        self._free += freed
        self._values[:, :, freed] = np.nan
        for key in keys:
            if key not in self.columns:
                self.columns[key] = self._allocate()
        return freed

    def add(self, at_us: int, columns: Sequence[int], samples: Sequence[Sample]) -> None:
        """Add a second; bearers that are not among the columns have no sample of it."""
        self._row = (self._row + 1) % self.seconds
        self._samples += 1
        self._at_us[self._row] = at_us
        self._values[:, self._row, :] = np.nan
        if columns:
            self._values[:, self._row, columns] = np.array(samples, np.float32).T

    def at_us(self) -> list[int]:
        """Times of the samples, oldest first."""
        return [int(at_us) for at_us in self._at_us[self._rows()]]

    def series(self, key: BearerKey) -> list[list[float | None]]:
        """Samples of a bearer by quantity, oldest first; ``None``: not known."""
        column = self.columns.get(key)
        if column is None:
            return [[] for _ in range(_QUANTITIES)]
        values = self._values[:, self._rows(), column]
        return [_rounded(row, each) for row, each in zip(values.tolist(), _DIGITS, strict=True)]

    def newest(self) -> list[tuple[float | None, ...]]:
        """The newest sample by column, in the order of the quantities."""
        values = self._values[:, self._row, :].tolist()
        rounded = (_rounded(row, each) for row, each in zip(values, _DIGITS, strict=True))
        return list(zip(*rounded, strict=True))

    def _rows(self) -> NDArray[np.intp]:
        count = min(self._samples, self.seconds)
        return (self._row - np.arange(count - 1, -1, -1)) % self.seconds

    def _allocate(self) -> int:
        if not self._free:
            old = self.capacity
            extra = max(4, old)
            pad = np.full((_QUANTITIES, self.seconds, extra), np.nan, np.float32)
            self._values = np.concatenate((self._values, pad), axis=2)
            self._free += range(old + extra - 1, old - 1, -1)
        return self._free.pop()


def _rounded(values: list[float], digits: int | None) -> list[float | None]:
    return [None if isnan(value) else round(value, digits) for value in values]
