"""The points of a forecast: times after the newest sample, mostly farther apart further out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

MAX_POINTS: Final = 64
"""The points of E2SM-TC's forecast feed (§8), which pacers get."""
LAST_POINT_US: Final = 1_000_000
"""Far beyond the delay from a DU through a RIC to a CU and back."""

DEFAULT_POINTS_US: Final = tuple(
    1_000 * ms for ms in (*range(11, 17), 18, 20, 22, 25, *range(30, 51, 5), *range(60, 101, 10))
)
"""Points that serve a CU 10 ms or 40 ms from its DU: what it sends on a forecast arrives
2·T_c + T_m after the newest sample."""


def spans_us(points_us: Sequence[int], period_us: int) -> tuple[int, ...]:
    """The time that each point stands for, µs: from the point before to it.

    The drain of a point is the mean over this time: at single instants a TDD pattern whose period
    divides the distance of the points would show the same slot at all of them. The first span is as
    long as the second.

    Args:
        points_us: Increasing.
        period_us: Sample period: the span of a single point.
    """
    later = tuple(after - before for before, after in pairwise(points_us))
    return (later[0], *later) if later else (period_us,) * len(points_us)
