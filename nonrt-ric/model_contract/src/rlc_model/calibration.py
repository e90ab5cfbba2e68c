"""Online calibration by quantile tracking, shared by back-tests and the forecaster.

Angelopoulos, Candès and Tibshirani 2023 ("Conformal PID Control for Time Series Prediction"):
after each outcome ``q ← q + η·(err − α)``. This is gradient descent on the pinball loss and has
long-run coverage for any series, as adaptive conformal inference does (Gibbs and Candès 2021). Each
quantile level τ has its own offset of ``θ`` running mean errors, added to the forecast at that
level. θ as a multiple of the mean error has no unit and follows a change of load immediately.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import rlc_native
from numpy.typing import NDArray

_SLOT_PERIODS: Final = 30
"""Periods of TDD patterns (0.5 to 10 ms, 38.331 dl-UL-TransmissionPeriodicity) in samples of 1 ms
divide this or its double."""


def round_length(points: int) -> int:
    """Number of outcomes in a round, in which each horizon point is checked once.

    Outcome t of a round checks point ``t mod points``. A round of 20 would compare each of 20
    points with the same slot of a 5 ms TDD pattern every time. The length of a round therefore has
    no divisor in common with TDD patterns.
    """
    length = points
    while math.gcd(length, _SLOT_PERIODS) > 1:
        length += 1
    return length


class Checks(NamedTuple):
    """Outcomes of a back-test of one bearer, in the order in which they are learned from.

    Attributes:
        rows: ``(E,)`` sample at which each becomes known; not decreasing.
        last: ``(E,)`` whether it is the last of a group, which is of one sample and learned from
            together.
        origins: ``(E,)`` sample of the forecast.
        points: ``(E,)`` its point.
        actual: ``(E, quantity)``; NaN if unknown.
    """

    rows: NDArray[np.intp]
    last: NDArray[np.bool_]
    origins: NDArray[np.intp]
    points: NDArray[np.intp]
    actual: NDArray[np.float32]

    def between(self, start: int, stop: int, base: int) -> Checks:
        """Those of the samples ``[start, stop)``, counted from the sample `base`."""
        first, end = np.searchsorted(self.rows, [start, stop])
        here = slice(first, end)
        return Checks(
            self.rows[here] - base,
            self.last[here],
            self.origins[here] - base,
            self.points[here],
            self.actual[here],
        )


Slots = slice | NDArray[np.intp]
"""Rows of per-slot arrays, without repetition; a slice must have step 1."""


class Offsets:
    """Offsets of S slots per quantity, point and quantile level; initially 0.

    Attributes:
        levels: ``(Q,)`` quantile levels.
        theta: ``(S, quantity, M, Q)`` in mean errors.
        size: ``(S, quantity, M)`` mean errors.
        offset: ``(S, quantity, M, Q)`` ``theta · size``, in the quantities' units.
        begun: ``(S, quantity, M)`` whether an outcome was observed.
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
        """Updates the offsets by outcomes. Ties and unknown outcomes change nothing.

        Args:
            slots: N of them.
            points: The horizon point, or ``(N,)``.
            actual: ``(N, quantity)``; NaN if unknown.
            plain: ``(N, quantity, Q)`` forecasts without offset, or ``(N, quantity)`` for one value
                at all levels. Served forecasts cannot be used: after sorting and clipping at 0 the
                offset cannot be separated from the model's error and would reinforce itself.
            counts: ``(N,)`` rows to include; None for all.

        Raises:
            ValueError: Shapes do not match, or a slot or point is out of range.
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

    def calibrate(
        self,
        slot: int,
        plain: NDArray[np.float32],
        *,
        wanted: NDArray[np.intp],
        checks: Checks,
        begin: int = 0,
    ) -> NDArray[np.float32]:
        """Calibrates forecasts of T samples of a slot in order of time, each by what was learned
        until its sample; updates the offsets as :meth:`learn` does.

        Args:
            slot: The slot.
            plain: ``(T, quantity, M, Q)`` forecasts without offset, or ``(T, quantity, M, 1)``
                for one value at all levels.
            wanted: ``(N,)`` samples from `begin` on whose forecasts are wanted, none twice;
                increasing.
            checks: Outcomes that become known from `begin` on.
            begin: The first sample that is not yet calibrated; checks may be of forecasts before
                it.

        Returns:
            ``(N, quantity, M, Q)``, sorted and clipped at 0.

        Raises:
            ValueError: Shapes do not match, or an index is out of range.
        """
        return rlc_native.calibrate(
            slot,
            plain,
            begin=begin,
            wanted=wanted,
            checks=checks,
            levels=self.levels,
            theta=self.theta,
            size=self.size,
            offset=self.offset,
            begun=self.begun,
        )
