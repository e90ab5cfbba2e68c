"""Quantiles of Student's t distribution, for any positive degrees of freedom."""

from __future__ import annotations

import math
from typing import Final

_TINY: Final = 1e-300
_EPSILON: Final = 1e-14


def cdf(t: float, freedom: float) -> float:
    """Probability of at most ``t`` (Abramowitz and Stegun, 26.7.1)."""
    tail = 0.5 * _beta_ratio(freedom / (freedom + t * t), freedom / 2.0, 0.5)
    return 1.0 - tail if t > 0.0 else tail


def quantile(probability: float, freedom: float) -> float:
    """The value that is not exceeded with this probability.

    Raises:
        ValueError: the probability is not between 0 and 1, or ``freedom`` is not positive.
    """
    if not 0.0 < probability < 1.0 or not freedom > 0.0:
        raise ValueError(
            f"probability {probability}, freedom {freedom}; expected (0, 1) and above 0"
        )
    if probability < 0.5:
        return -quantile(1.0 - probability, freedom)
    low, high = 0.0, 1.0
    while cdf(high, freedom) < probability:
        low, high = high, high * 2.0
        if math.isinf(high):
            return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        if cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _beta_ratio(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function (Numerical Recipes §6.4)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_ratio(1.0 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Its continued fraction, by Lentz's method."""
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value *= d * c
        if abs(d * c - 1.0) < _EPSILON:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
