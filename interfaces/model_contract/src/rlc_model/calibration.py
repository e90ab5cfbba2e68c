"""Quantile tracking, one step: the calibration a model is judged with is the one it is served with.

Angelopoulos, Candès and Tibshirani 2023 ("Conformal PID Control for Time Series Prediction"),
quantile tracking: after each outcome ``q ← q + η·(err − α)``, which is gradient descent on the
pinball loss and covers in the long run whatever the series does, as adaptive conformal inference
does (Gibbs and Candès 2021). Here each quantile level τ has an offset of its own, ``θ`` running
mean errors, that is added to what is forecast at that level. The step is proportional to the size
of the errors, as in that paper; θ as a multiple of it needs no unit and follows a change of load at
once.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE: Final = 0.05
"""η, in mean errors: the interval crosses its own width within some tens of outcomes."""
SIZE_WEIGHT: Final = 0.02
"""Weight of the newest error in the mean: about 50 outcomes of memory."""
FARTHEST: Final = 20.0
"""Bound of θ in mean errors: what an error of any distribution seen here stays within. Without it
a bearer that stood still for hours would take as long to come back."""
_SLOT_PERIODS: Final = 30
"""Periods of TDD patterns, in samples of 1 ms, divide this or its double: 0.5 to 10 ms (38.331
dl-UL-TransmissionPeriodicity)."""


def round_length(points: int) -> int:
    """After how many outcomes the points of a forecast are held against outcomes in the same order.

    One point is checked at an outcome, the next one at the next: turn t of a round is that of point
    ``t mod points``. With a round of 20 each of 20 points would meet the same slot of a TDD pattern
    of 5 ms for ever, one an empty uplink slot and the other a full downlink slot. So a round has no
    divisor in common with such patterns.
    """
    length = points
    while math.gcd(length, _SLOT_PERIODS) > 1:
        length += 1
    return length


def tracked(
    levels: NDArray[np.float32],
    error: NDArray[np.float32],
    plain: NDArray[np.float32],
    *,
    theta: NDArray[np.float32],
    size: NDArray[np.float32],
    begun: NDArray[np.bool_],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """θ, mean errors and whether there are any, after outcomes.

    Args:
        levels: ``(Q,)`` quantile levels.
        error: ``(…, Q)`` outcome minus what was said, offset included; NaN where it is not known.
        plain: ``(…)`` outcome minus the middle quantile without its offset. With the offset, one
            that came to be wrong would make the errors, and they the offset, larger without bound.
        theta: ``(…, Q)`` in mean errors.
        size: ``(…)`` mean errors.
        begun: ``(…)`` whether there has been an outcome.
    """
    known = ~np.isnan(plain)
    weight = np.where(begun, np.float32(SIZE_WEIGHT), np.float32(1))
    size = np.where(known, size + weight * (np.abs(plain) - size), size)
    # At a tie the pinball loss is least and nothing moves. An empty queue that was forecast empty
    # is one: counting it as "not above" would drive the lower quantiles down for ever.
    moved = theta + RATE * (levels * (error > 0) - (1 - levels) * (error < 0))
    return np.clip(moved, -FARTHEST, FARTHEST), size, begun | known
