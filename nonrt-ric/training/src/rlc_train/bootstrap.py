"""Confidence intervals that respect that samples a millisecond apart say the same thing.

Losses are summed over blocks of consecutive samples and whole blocks are drawn (Künsch 1989,
non-overlapping as Carlstein 1986). Where there are many series, whole series can be the blocks:
then what is common to a run, such as its channel, is drawn as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError


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
        reference: ``(blocks,)`` those of what it is compared with.
        seed: Of the draws.
        draws: Number of them.
        confidence: Share of the draws inside the interval (percentile method).

    Returns:
        NaN throughout when the reference never errs: there is no skill to speak of.

    Raises:
        TrainError: Fewer than two blocks, from which nothing can be drawn.
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
