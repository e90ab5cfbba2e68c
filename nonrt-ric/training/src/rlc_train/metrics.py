"""Coverage, and confidence intervals of the skill.

Adjacent samples are correlated, so losses are summed over blocks of consecutive samples, and the
bootstrap draws whole blocks (Künsch 1989; non-overlapping: Carlstein 1986).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError


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

    def worst(self) -> NDArray[np.float64]:
        """``(…)`` the largest distance of all quantiles and of the outer interval."""
        off: NDArray[np.float64] = np.maximum(self.deviation().max(-1), self.interval_deviation())
        return off


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
    for rows, times in _draws(rng, blocks, draws):
        skills[rows] = _skill(times @ loss, times @ reference)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(skills, [tail, 1 - tail], axis=0, method="inverted_cdf")
    total = reference.sum(0)
    found = np.stack([_skill(loss.sum(0), total), low, high])
    return np.where(total > 0, found, np.nan)


def least_excesses(
    groups: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    *,
    seed: int,
    draws: int = DRAWS,
) -> list[NDArray[np.float64]]:
    """What each loss of several groups exceeds its reference by at the least, judged together.

    The more groups and columns, the likelier is one whose own interval excludes 0 by chance. Here
    the same share of noise as of one interval (:data:`CONFIDENCE`) is left to all of them: the
    bootstrap of the largest of all studentised differences has the distance of the ends (Romano and
    Wolf 2005). Blocks are drawn in pairs, and of each group by itself.

    Args:
        groups: ``(blocks, N)`` sums per block of the model's loss and of the reference's, of each.
        seed: Seed of the draws.
        draws: Number of draws.

    Returns:
        ``(N,)`` for each group: lower ends of ``Σ loss − Σ reference``.
    """
    rng = np.random.default_rng(seed)
    largest = np.full(draws, -np.inf)
    sums, errors = [], []
    for loss, reference in groups:
        difference = loss - reference
        blocks, total = len(difference), difference.sum(0)
        error = np.sqrt(blocks) * difference.std(0)
        for rows, times in _draws(rng, blocks, draws):
            off = times @ difference - total
            # A difference that is the same in all blocks has no error, and no draw is off.
            studentised = np.divide(off, error, out=np.zeros_like(off), where=error > 0)
            largest[rows] = np.maximum(largest[rows], studentised.max(1, initial=-np.inf))
        sums.append(total)
        errors.append(error)
    far = float(np.quantile(largest, (1 + CONFIDENCE) / 2, method="inverted_cdf"))
    return [total - far * error for total, error in zip(sums, errors, strict=True)]


def worst_intervals(
    shares: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    levels: NDArray[np.float32],
    *,
    seed: int,
    draws: int = DRAWS,
) -> NDArray[np.float64]:
    """:meth:`Calibration.worst` and its interval: what the length of the data says of it.

    Args:
        shares: ``(blocks, N, K)`` values below each quantile and at or below it, ``(blocks, N)``
            values, as sums per block.
        levels: ``(K,)``.
        seed: Seed of the draws.
        draws: Number of draws.

    Returns:
        ``(3, N)`` distance, lower and upper end of its interval; NaN without values.
    """
    below, up_to, count = shares
    rng = np.random.default_rng(seed)
    worst = np.empty((draws, count.shape[1]))

    def drawn(times: NDArray[Any]) -> NDArray[np.float64]:
        sums = (np.einsum("db,bnk->dnk", times, each) for each in (below, up_to))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (each / (times @ count)[..., None] for each in sums)
            return Calibration(levels, *found).worst()

    for rows, times in _draws(rng, len(count), draws):
        worst[rows] = drawn(times)
    ends = np.full((2, count.shape[1]), np.nan)
    known = count.sum(0) > 0
    tail = (1 - CONFIDENCE) / 2
    ends[:, known] = np.nanquantile(
        worst[:, known], [tail, 1 - tail], axis=0, method="inverted_cdf"
    )
    return np.concatenate([drawn(np.ones((1, len(count)))), ends])


def _draws(
    rng: np.random.Generator, blocks: int, draws: int
) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Some of the draws at once: which, and how often each block is in each."""
    at_once = max(1, _DRAWN_AT_ONCE // blocks)
    for first in range(0, draws, at_once):
        rows = min(at_once, draws - first)
        drawn = rng.integers(0, blocks, (rows, blocks)) + blocks * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * blocks).reshape(rows, blocks)
        yield slice(first, first + rows), times


def _skill(loss: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        skill: NDArray[np.float64] = np.where(reference > 0, 1 - loss / reference, -np.inf)
    return skill
