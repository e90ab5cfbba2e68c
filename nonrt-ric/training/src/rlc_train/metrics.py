"""Pinball loss, absolute error, coverage, and confidence intervals of the skill.

Adjacent samples are correlated, so losses are summed over blocks of consecutive samples, and the
bootstrap draws whole blocks (Künsch 1989; non-overlapping: Carlstein 1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError


def pinball(
    actual: NDArray[np.float32], forecast: NDArray[np.float32], levels: NDArray[np.float32]
) -> NDArray[np.float32]:
    """``max(τ·d, (τ−1)·d)``, ``d = actual − forecast`` (Koenker and Bassett 1978), per quantile.

    Args:
        actual: ``(…,)``.
        forecast: ``(…, K)``.
        levels: ``(K,)`` τ.
    """
    difference = actual[..., None] - forecast
    loss: NDArray[np.float32] = np.maximum(levels * difference, (levels - 1) * difference)
    return loss


def in_order(forecast: NDArray[np.float32]) -> NDArray[np.float32]:
    """The forecast as served: quantiles sorted and clipped at 0.

    Sorting never raises the pinball loss (Chernozhukov, Fernández-Val and Galichon 2010).
    """
    served: NDArray[np.float32] = np.maximum(np.sort(forecast, axis=-1), 0)
    return served


@dataclass(frozen=True, slots=True)
class Calibration:
    """Shares of actual values under each quantile.

    Queues are often empty, so that value and quantile are equal. A quantile τ is calibrated if it
    lies between the share of values below it and the share at or below it.

    Attributes:
        levels: ``(K,)``.
        below: ``(…, K)`` share of values strictly below the quantile.
        up_to: ``(…, K)`` share of values at or below the quantile.
    """

    levels: NDArray[np.float32]
    below: NDArray[np.float64]
    up_to: NDArray[np.float64]

    def deviation(self) -> NDArray[np.float64]:
        """``(…, K)`` distance of the nominal level from the observed shares; 0 is calibrated."""
        low = np.maximum(self.below - self.levels, 0)
        high = np.maximum(self.levels - self.up_to, 0)
        return low + high

    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Share of values strictly within, and within or on, the outer two quantiles."""
        strict = np.maximum(self.below[..., -1] - self.up_to[..., 0], 0)
        closed = self.up_to[..., -1] - self.below[..., 0]
        return strict, closed

    def interval_deviation(self) -> NDArray[np.float64]:
        """Distance of the nominal share of the outer interval from the observed shares."""
        nominal = float(self.levels[-1] - self.levels[0])
        strict, closed = self.interval()
        return np.maximum(strict - nominal, 0) + np.maximum(nominal - closed, 0)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float


DRAWS: Final = 2000
"""Draws of the bootstrap."""
CONFIDENCE: Final = 0.95
"""Share of the draws inside an interval (percentile method)."""
_DRAWN_AT_ONCE: Final = 1 << 22
"""Blocks drawn at once, which bounds the memory."""


def skill_interval(
    loss: NDArray[np.float64], reference: NDArray[np.float64], *, seed: int, draws: int = DRAWS
) -> Interval:
    """:func:`skill_intervals` of one pair of ``(blocks,)`` sums."""
    pair = np.reshape(loss, (-1, 1)), np.reshape(reference, (-1, 1))
    value, low, high = skill_intervals(*pair, seed=seed, draws=draws)[:, 0]
    return Interval(float(value), float(low), float(high))


def skill_intervals(
    loss: NDArray[np.float64], reference: NDArray[np.float64], *, seed: int, draws: int = DRAWS
) -> NDArray[np.float64]:
    """Skills ``1 − Σ loss / Σ reference`` and their intervals, by the same draws.

    Args:
        loss: ``(blocks, N)`` sums of the model's loss per block.
        reference: ``(blocks, N)`` sums of the reference's loss per block.
        seed: Seed of the draws.
        draws: Number of draws.

    Returns:
        ``(3, N)`` skill, lower and upper end of its interval; NaN where the reference has no loss.

    Raises:
        TrainError: Fewer than two blocks.
    """
    if loss.shape != reference.shape or loss.ndim != 2:
        raise TrainError("bootstrap", f"shapes {loss.shape} and {reference.shape} differ")
    blocks = len(loss)
    if blocks < 2:
        raise TrainError("bootstrap", f"{blocks} blocks; expected 2 or more")
    rng = np.random.default_rng(seed)
    skills = np.empty((draws, loss.shape[1]))
    at_once = max(1, _DRAWN_AT_ONCE // blocks)
    for first in range(0, draws, at_once):
        rows = min(at_once, draws - first)
        drawn = rng.integers(0, blocks, (rows, blocks)) + blocks * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * blocks).reshape(rows, blocks)
        skills[first : first + rows] = _skill(times @ loss, times @ reference)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(skills, [tail, 1 - tail], axis=0, method="inverted_cdf")
    total = reference.sum(0)
    found = np.stack([_skill(loss.sum(0), total), low, high])
    return np.where(total > 0, found, np.nan)


def _skill(loss: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        skill: NDArray[np.float64] = np.where(reference > 0, 1 - loss / reference, -np.inf)
    return skill
