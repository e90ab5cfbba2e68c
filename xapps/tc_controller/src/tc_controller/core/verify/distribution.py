"""Distributions of sojourns over the last 15 minutes, as counts in fixed buckets.

Counts are added minute by minute: a window is the present minute and the complete ones before it,
so it is up to a minute shorter than its name.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

MINUTES: Final = 15
"""Longest window."""
_MINUTE_US: Final = 60_000_000

EDGES_US: Final = np.array(
    [
        round(1000 * decade * step)
        for decade in (1, 10, 100, 1000)
        for step in (1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8)
    ]
    + [10_000_000],
    np.float64,
)
"""Upper edges of the buckets, µs, 1 ms to 10 s; the last bucket has none. A step is a quarter at
most, and usual latency requirements are edges, where a percentile is exact."""
BUCKETS: Final = len(EDGES_US) + 1

Counts = NDArray[np.int64]
NO_SAMPLES: Final[Counts] = np.zeros(BUCKETS, np.int64)


class MinuteRing:
    """Sums by minute of the last 15 minutes.

    Args:
        shape: of the array of one minute.
        dtype: of its items.
    """

    def __init__(self, shape: tuple[int, ...], dtype: type[np.signedinteger] = np.int64) -> None:
        self.planes: NDArray[np.signedinteger] = np.zeros((MINUTES, *shape), dtype)
        self._minute = -1

    def now(self, now_us: int) -> NDArray[np.signedinteger]:
        """The array of the present minute, to be added to; minutes that are over 15 minutes old are
        dropped."""
        self._advance(now_us)
        plane: NDArray[np.signedinteger] = self.planes[self._minute % MINUTES]
        return plane

    def over(self, minutes: int, now_us: int) -> NDArray[np.int64]:
        """The sum over a window."""
        self._advance(now_us)
        chosen = [(self._minute - age) % MINUTES for age in range(minutes)]
        total: NDArray[np.int64] = self.planes[chosen].sum(axis=0, dtype=np.int64)
        return total

    def _advance(self, now_us: int) -> None:
        minute = now_us // _MINUTE_US
        if minute <= self._minute:
            return
        for passed in range(max(self._minute + 1, minute - MINUTES + 1), minute + 1):
            self.planes[passed % MINUTES] = 0
        self._minute = minute


def percentile_us(counts: Counts, percentile: float) -> float | None:
    """A percentile of a distribution, linear within its bucket, µs.

    Infinite in the bucket without an upper edge; ``None`` without samples.
    """
    total = int(counts.sum())
    if total == 0:
        return None
    cumulative = np.cumsum(counts)
    rank = percentile / 100.0 * total
    bucket = int(np.searchsorted(cumulative, rank, side="left"))
    if bucket >= len(EDGES_US):
        return float("inf")
    low = 0.0 if bucket == 0 else float(EDGES_US[bucket - 1])
    before = 0 if bucket == 0 else int(cumulative[bucket - 1])
    share = (rank - before) / int(counts[bucket]) if counts[bucket] else 0.0
    return low + share * (float(EDGES_US[bucket]) - low)
