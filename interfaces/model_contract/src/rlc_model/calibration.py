"""Quantile tracking: the calibration a model is judged with is the one it is served with.

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
import rlc_native
from numpy.typing import NDArray

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


Slots = slice | NDArray[np.intp]
"""Rows of arrays that have one for each slot, each at most once; a slice without a step."""


class Offsets:
    """Offsets of S slots, at each quantity, point and quantile level, from 0.

    Attributes:
        levels: ``(Q,)`` quantile levels.
        theta: ``(S, quantity, M, Q)`` in mean errors.
        size: ``(S, quantity, M)`` mean errors.
        offset: ``(S, quantity, M, Q)`` their products, in the quantities' units.
        begun: ``(S, quantity, M)`` whether there has been an outcome.
    """

    __slots__ = ("begun", "levels", "offset", "size", "theta")

    def __init__(
        self, levels: NDArray[np.float32], slots: int, quantities: int, points: int
    ) -> None:
        self.levels = levels
        self.theta = np.zeros((slots, quantities, points, len(levels)), np.float32)
        self.size = np.zeros((slots, quantities, points), np.float32)
        self.offset = np.zeros_like(self.theta)
        self.begun = np.zeros((slots, quantities, points), np.bool_)

    def learn(
        self,
        slots: Slots,
        points: int | NDArray[np.intp],
        actual: NDArray[np.float32],
        plain: NDArray[np.float32],
        *,
        counts: NDArray[np.bool_] | None = None,
    ) -> None:
        """Takes in outcomes.

        At a tie the pinball loss is least and nothing moves; what is not known moves nothing
        either.

        Args:
            slots: N of them.
            points: The horizon point, or ``(N,)``.
            actual: ``(N, quantity)``; NaN where it is not known.
            plain: ``(N, quantity, Q)``, or ``(N, quantity)`` where it is one value for all levels:
                what was said, without offset. What was served does not tell it: put in order and
                kept from falling below 0, that has lost what was added, and an offset taken for an
                error of the model would feed itself.
            counts: ``(N,)`` rows that count; None when all do.

        Raises:
            ValueError: Arrays do not belong together, or there is no such slot or point.
        """
        rlc_native.track(
            slots,
            points,
            actual,
            plain,
            counts,
            levels=self.levels,
            theta=self.theta,
            size=self.size,
            offset=self.offset,
            begun=self.begun,
        )
