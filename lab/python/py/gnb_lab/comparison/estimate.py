"""Means over seeds with their 95 % confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import fmean, variance

from scipy.special import stdtrit


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its confidence interval.

    Attributes:
        n: Number of values.
        mean: Mean of the values.
        half_width: Half the width of the 95 % confidence interval (Student's t); None for one
            value.
    """

    n: int
    mean: float
    half_width: float | None

    @classmethod
    def of(cls, values: Collection[float]) -> Estimate:
        """The mean of values that are independent and roughly normal; at least one.

        >>> Estimate.of([1.0, 2.0, 3.0])
        Estimate(n=3, mean=2.0, half_width=2.4841...)
        """
        n = len(values)
        half = _t95(n - 1) * math.sqrt(variance(values) / n) if n > 1 else None
        return cls(n, fmean(values), half)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Ends of the interval."""
        half = self.half_width
        return (None, None) if half is None else (self.mean - half, self.mean + half)


def difference(other: Mapping[int, float], reference: Mapping[int, float]) -> Estimate:
    """Mean of `other` minus `reference`, each by seed.

    Runs of equal seeds are pairs, for they share the randomness of channel and traffic: if the
    seeds are the same, the interval is that of the mean of the pairs' differences, otherwise
    Welch's, its degrees of freedom rounded down.
    """
    if other.keys() == reference.keys():
        return Estimate.of([value - reference[seed] for seed, value in other.items()])
    n, m = len(other), len(reference)
    mean = fmean(other.values()) - fmean(reference.values())
    half = None
    if min(n, m) > 1:
        u, v = variance(other.values()) / n, variance(reference.values()) / m
        half = 0.0
        if u + v > 0:
            freedom = (u + v) ** 2 / (u**2 / (n - 1) + v**2 / (m - 1))
            half = _t95(max(1, int(freedom))) * math.sqrt(u + v)
    return Estimate(min(n, m), mean, half)


def _t95(freedom: int) -> float:
    """The t that a variable of Student's distribution exceeds in magnitude with probability 5 %."""
    return float(stdtrit(freedom, 0.975))
