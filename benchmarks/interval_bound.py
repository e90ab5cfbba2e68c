"""What an 80 % interval can reach on values that are often equal.

An interval [L, U] is judged by two shares: C of all values within or on it, and S of the values on
no end those within. With a share t of values on an end both are of the same values, so that
``S = (C − t) / (1 − t)``: the more values are on an end, the less S is at the same C.

Of a drain the value 0 has a probability p, given what is known, and no value is below it. An
interval has it on its lower end (t ≥ p), or excludes it (C ≤ 1 − p). With C at most 0.82, S of at
least 0.7 needs ``t ≤ (0.82 − 0.7) / 0.3 = 0.4``: with p above 0.4 no interval has both, and C of at
least 0.78 without the 0 needs p of at most 0.22. An end that is drawn anew each time, on the 0 or
just above it, has at most ``S = (1 − p) / (1.18 − p)`` (it excludes a share 0.18 of all, all of
them zeros): p of at most 0.58. With the quantile 0.9 as the upper end C is 0.9, and S at most
``(0.9 − p) / (1 − p)``: p of at most 2/3. Of any other value at an end the same holds for what is
tied there.

Both functions are of one interval for all values, chosen when all are known: hindsight. A forecast
that tells when a 0 comes can have more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SAME_BYTES = 0.5
"""Values closer than this are ties."""
LEAST, MOST = 0.78, 0.82
"""Closed coverage of an 80 % interval."""


class Shares(NamedTuple):
    """Coverage by an interval.

    Attributes:
        closed: Share of values within or on it.
        untied: Share within of those that are on no end of it; NaN without such.
    """

    closed: float
    untied: float


UNKNOWN = Shares(float("nan"), float("nan"))


def of_quantiles(values: NDArray[np.float64], low: float = 0.1, high: float = 0.9) -> Shares:
    """Shares of the interval between two quantiles of the values themselves."""
    if not len(values):
        return UNKNOWN
    ends = np.quantile(values, [low, high], method="inverted_cdf")
    off = values[:, None] - ends
    inside = (off[:, 0] >= -SAME_BYTES) & (off[:, 1] <= SAME_BYTES)
    tied = (np.abs(off) <= SAME_BYTES).any(axis=1)
    return _shares(float(inside.mean()), float(tied.mean()))


def best(values: NDArray[np.float64]) -> Shares:
    """Shares of the interval with the largest untied one, of all with a closed coverage of 78 to
    82 %; NaN if there is none.

    Values closer than a byte are one here; an end is one of them or between two, none is below 0.
    """
    if not len(values):
        return UNKNOWN
    kinds, counts = np.unique(np.rint(values), return_counts=True)
    mass = counts / counts.sum()
    up_to = np.cumsum(mass)
    found = UNKNOWN
    for lowest in range(len(mass)):
        before = up_to[lowest] - mass[lowest]
        # The most values with which the closed coverage is not above: the end may be between two.
        highest = int(np.searchsorted(up_to, before + MOST + 1e-12, side="right")) - 1
        if highest < lowest:
            continue
        closed = float(up_to[highest] - before)
        if closed < LEAST - 1e-12:
            continue
        # The lower end is below a value, but for 0, on which it is; the upper is above one.
        tied = float(mass[lowest]) if kinds[lowest] <= 0 else 0.0
        one = _shares(closed, tied)
        if not one.untied <= found.untied:
            found = one
    return found


def _shares(closed: float, tied: float) -> Shares:
    return Shares(closed, (closed - tied) / (1 - tied) if tied < 1 else float("nan"))
