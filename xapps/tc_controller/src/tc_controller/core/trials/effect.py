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

**Of bearers** (`two_sample`): a hash assigned each bearer, once, as a coin would. Were the effect
the same τ for each of them, what the bearers had without it does not depend on the assignment: of
all assignments of as many bearers, the one that happened is as likely as any other (Fisher, "The
Design of Experiments", 1935, §21; Pitman, J. R. Stat. Soc. Suppl. 4, 1937). The interval has each τ
for which the difference of means is not among the extreme ones over random assignments, drawn from
a group of permutations (Hemerik, Goeman, "Exact testing with random permutations", TEST 27, 2018).
No distribution is assumed: sojourns of bearers are skewed, and Student's t, or Welch's, then finds
differences that are none. The error is divided among the looks (`look_error`, `LAST_LOOK`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Stakes of the bet on a sign, in mean absolute differences; the capital is divided equally among
#: them. Small ones win slowly on differences that vary much, large ones double on each of a few
#: differences that agree.
_STAKES: Final = np.array([0.1, 0.3, 1.0, 4.0])
#: Bounds are found to this part of the spread of the differences.
_PRECISION: Final = 1e-4
_FARTHEST: Final = 16
#: Part of the error of a trial of bearers that its last look spends; earlier ones share the rest.
LAST_LOOK: Final = 0.5
#: So many random assignments are expected beyond a bound: fewer make it vary by chance.
_BEYOND: Final = 4
_LEAST_DRAWS: Final = 2_000
#: 0.1 s for three measures. Where the error is too small for so few, no bound is known.
_MOST_DRAWS: Final = 1 << 15
_DRAWN_AT_ONCE: Final = 1 << 12
#: Above so many bearers, blocks of them exchange their assignments: a look takes bounded time.
_MOST_BLOCKS: Final = 64


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference with its interval; a bound that is not known yet is infinite."""

    #: Pairs of periods, or bearers.
    units: int
    estimate: float
    low: float
    high: float

    def as_dict(self, scale: float = 1.0, digits: int = 6) -> dict[str, Any]:
        """The effect in the decision log: values times ``scale``; unknown bounds are null."""
        return {
            "units": self.units,
            "estimate": round(self.estimate * scale, digits),
            "low": round(self.low * scale, digits) if math.isfinite(self.low) else None,
            "high": round(self.high * scale, digits) if math.isfinite(self.high) else None,
        }

    def relative(self) -> Effect:
        """The relative change that a difference of logarithms is."""
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
    """Part of the error that the ``look``-th look before the end may spend, from 1: with that of
    the last look no more than all of it (a union bound, so however the looks depend on each
    other)."""
    return (1.0 - LAST_LOOK) * error * 6.0 / (math.pi * look) ** 2


def two_sample(
    one: Sequence[float], other: Sequence[float], confidence: float, seed: str
) -> Effect | None:
    """Mean of ``one`` less mean of ``other``; ``None`` while one of them is empty.

    Args:
        one, other: one value per bearer of an arm; finite.
        confidence: probability that the interval contains the effect at this look.
        seed: decides the random assignments: the same values give the same interval.
    """
    if not one or not other:
        return None
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    units, estimate = a.size + b.size, float(a.mean() - b.mean())
    side = (1.0 - confidence) / 2.0
    draws = min(max(_LEAST_DRAWS, math.ceil(_BEYOND / side)), _MOST_DRAWS)
    # The assignment that happened is one of them.
    rank = math.floor(side * (1 + draws))
    shifts = _shifts(a, b, draws, seed) if rank > 0 else np.empty(0)
    # One that equals it is as extreme for any effect.
    beyond = rank - (draws - shifts.size)
    if beyond <= 0:
        return Effect(units, estimate, -math.inf, math.inf)
    shifts.sort()
    low, high = float(shifts[beyond - 1]), float(shifts[-beyond])
    return Effect(units, estimate, estimate + low, estimate + high)


def _shifts(
    a: NDArray[np.float64], b: NDArray[np.float64], draws: int, seed: str
) -> NDArray[np.float64]:
    """How far from the estimate an effect makes each random assignment as extreme as the one that
    happened; without the assignments that equal it.

    Less an effect of x above the estimate, the observed difference of means is -x. An assignment
    that exchanges k units and whose deviations from the observed means add up to s in the first
    sample has s·c - x·(1 - k·c), where c = 1/|a| + 1/|b|: at least -x if x is at least -s/k.
    """
    rng = np.random.default_rng(list(hashlib.sha256(seed.encode()).digest()))
    deviations = np.concatenate([a - a.mean(), b - b.mean()])
    first = np.repeat([1.0, 0.0], [a.size, b.size])
    width = -(-first.size // _MOST_BLOCKS)
    blocks = first.size // width
    # Fewer than `width` units keep their assignment.
    moved, kept = np.split(rng.permutation(first.size), [blocks * width])
    values, assigned = (each[moved].reshape(blocks, width) for each in (deviations, first))
    # [i, j]: of block i with the assignment of block j.
    sums, exchanged = values @ assigned.T, (1.0 - assigned) @ assigned.T
    sum_of_kept, rows, found = float(deviations[kept] @ first[kept]), np.arange(blocks), []
    for begin in range(0, draws, _DRAWN_AT_ONCE):
        keys = rng.random((min(_DRAWN_AT_ONCE, draws - begin), blocks))
        taken = np.argsort(keys, axis=1)
        k = exchanged[rows, taken].sum(axis=1)
        s = sums[rows, taken].sum(axis=1) + sum_of_kept
        found.append(-s[k > 0.0] / k[k > 0.0])
    return np.concatenate(found)
