"""Pinball loss, absolute error, coverage, and confidence intervals of the skill.

Adjacent samples are correlated, so losses are summed over blocks of consecutive samples, and the
bootstrap draws whole blocks (Künsch 1989; non-overlapping: Carlstein 1986).
"""

from __future__ import annotations

from dataclasses import dataclass

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


def skill_interval(
    loss: NDArray[np.float64],
    reference: NDArray[np.float64],
    *,
    seed: int,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Interval:
    """Interval of the skill ``1 − Σ loss / Σ reference``.

    Args:
        loss: ``(blocks,)`` sums of the model's loss per block.
        reference: ``(blocks,)`` sums of the reference's loss per block.
        seed: Seed of the draws.
        draws: Number of draws.
        confidence: Share of the draws inside the interval (percentile method).

    Returns:
        All NaN if the reference has no loss.

    Raises:
        TrainError: Fewer than two blocks.
    """
    if loss.shape != reference.shape or loss.ndim != 1:
        raise TrainError("bootstrap", f"shapes {loss.shape} and {reference.shape} differ")
    if len(loss) < 2:
        raise TrainError("bootstrap", f"{len(loss)} blocks; expected 2 or more")
    total = float(reference.sum())
    if total <= 0:
        return Interval(np.nan, np.nan, np.nan)
    drawn = np.random.default_rng(seed).integers(0, len(loss), (draws, len(loss)))
    references = reference[drawn].sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        skills = np.where(references > 0, 1 - loss[drawn].sum(1) / references, -np.inf)
    tail = (1 - confidence) / 2
    low, high = np.quantile(skills, [tail, 1 - tail], method="inverted_cdf")
    return Interval(1 - float(loss.sum()) / total, float(low), float(high))
