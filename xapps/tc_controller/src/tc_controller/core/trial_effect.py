"""The effect of a pipeline in a trial, with a confidence interval that holds at every look.

**Of time** (`paired`): each pair of periods has both pipelines, in an order that a fair coin
decided. Were the effect the same τ in every pair, the difference of a pair is τ plus a remainder
(trend, other traffic, the radio) whose sign the coin made: given the absolute values, the signs of
``difference - τ`` are independent and fair, whatever the traffic does and however it correlates.
So the capital of a player who bets on these signs is a martingale if τ is true, and by Ville's
inequality (1939) it ever exceeds 1/α with probability α at most. The interval has each τ whose
capital stays below. It may be looked at after each pair, and a trial may end because of it, without
more errors than α: a confidence sequence (Howard, Ramdas, McAuliffe, Sekhon, "Time-uniform,
nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49, 2021), here of the
randomisation test of a switch-back experiment (Bojinov, Simchi-Levi, Zhao, "Design and Analysis of
Switchback Experiments", Management Science 69, 2023). Assumed: an additive effect that is the same
in all pairs, and no carry-over beyond the wash-out.

**Of bearers** (`two_sample`): bearers are assigned independently, once. Welch's interval
(Biometrika 34, 1947) of the difference of means; assumed: these means are near normal. The error is
divided among the looks (`look_error`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.student_t import quantile

#: Stakes of the bet on a sign, in mean absolute differences; the capital is divided equally among
#: them. Small ones win slowly on differences that vary much, large ones double on each of a few
#: differences that agree.
_STAKES: Final = np.array([0.1, 0.3, 1.0, 4.0])
#: Bounds are found to this part of the spread of the differences.
_PRECISION: Final = 1e-4
_FARTHEST: Final = 16


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference with its interval; a bound that is not known yet is infinite."""

    #: Pairs of periods, or bearers.
    units: int
    estimate: float
    low: float
    high: float

    def as_dict(self, scale: float = 1.0, digits: int = 6) -> dict[str, Any]:
        """For the decision log: the values times ``scale``; unknown bounds are null."""
        return {
            "units": self.units,
            "estimate": round(self.estimate * scale, digits),
            "low": round(self.low * scale, digits) if math.isfinite(self.low) else None,
            "high": round(self.high * scale, digits) if math.isfinite(self.high) else None,
        }

    def relative(self) -> Effect:
        """Of a difference of logarithms: the relative change."""
        return Effect(self.units, *map(_relative, (self.estimate, self.low, self.high)))


def _relative(log_ratio: float) -> float:
    # -1, that of -inf, would look like a bound.
    return math.expm1(log_ratio) if math.isfinite(log_ratio) else log_ratio


def least_pairs(confidence: float) -> int:
    """Pairs without which no difference is significant, however large."""
    pairs = 1
    while _capital(np.ones(pairs)) < _limit(confidence):
        pairs += 1
    return pairs


def paired(differences: Sequence[float], confidence: float) -> Effect | None:
    """Mean of the differences of pairs and its interval; ``None`` without a pair.

    Args:
        differences: one per pair, in the order of time; finite.
        confidence: probability that the interval contains the effect at all looks at once.
    """
    if not differences:
        return None
    values = np.asarray(differences, np.float64)
    mean = float(values.mean())
    if _capital(np.ones(values.size)) < _limit(confidence):
        return Effect(values.size, mean, -math.inf, math.inf)
    low = mean - _reach(values - mean, confidence)
    high = mean + _reach(mean - values, confidence)
    return Effect(values.size, mean, low, high)


def _reach(deviations: NDArray[np.float64], confidence: float) -> float:
    """How far below the mean a τ is not refuted yet."""
    spread = float(np.abs(deviations).max())
    if spread == 0.0:
        return 0.0
    limit = _limit(confidence)
    inside, outside = 0.0, spread * 2.0**_FARTHEST
    # The capital need not grow steadily with the distance: the outermost not refuted counts.
    while outside > spread * _PRECISION:
        if _capital(deviations + outside / 2) < limit:
            inside = outside / 2
            break
        outside /= 2
    while outside - inside > max(spread, inside) * _PRECISION:
        middle = (inside + outside) / 2
        if _capital(deviations + middle) < limit:
            inside = middle
        else:
            outside = middle
    return outside


def _limit(confidence: float) -> float:
    # Half of the error on each side.
    return math.log(2.0 / (1.0 - confidence))


def _capital(above: NDArray[np.float64]) -> float:
    """Logarithm of the capital of a player who bets that these are positive.

    Stake λ multiplies it by exp(λx) / cosh(λx), whose mean over the two signs of x is 1. x is in
    mean absolute values of those so far, which depend on no sign.
    """
    sizes = np.abs(above)
    scale = np.cumsum(sizes) / np.arange(1, sizes.size + 1)
    scaled = np.divide(above, scale, out=np.zeros_like(above), where=scale > 0.0)
    doubled = 2.0 * _STAKES[:, None] * scaled[None, :]
    # exp(λx) / cosh(λx) = 2 / (1 + exp(-2λx))
    gains = (math.log(2.0) - np.logaddexp(0.0, -doubled)).sum(axis=1)
    return float(np.logaddexp.reduce(gains)) - math.log(_STAKES.size)


def look_error(error: float, look: int) -> float:
    """Part of the error that the ``look``-th look may spend, from 1: together they spend no more
    than all of it (a union bound, so however the looks depend on each other)."""
    return error * 6.0 / (math.pi * look) ** 2


def two_sample(one: Sequence[float], other: Sequence[float], confidence: float) -> Effect | None:
    """Mean of ``one`` less mean of ``other``; ``None`` while one of them is empty."""
    if not one or not other:
        return None
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    units, estimate = a.size + b.size, float(a.mean() - b.mean())
    if min(a.size, b.size) < 2:
        return Effect(units, estimate, -math.inf, math.inf)
    of_a, of_b = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    variance = of_a + of_b
    if variance == 0.0:
        return Effect(units, estimate, estimate, estimate)
    freedom = variance**2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
    reach = quantile((1.0 + confidence) / 2.0, freedom) * math.sqrt(variance)
    return Effect(units, estimate, estimate - reach, estimate + reach)
