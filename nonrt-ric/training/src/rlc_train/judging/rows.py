"""Rows of results out of losses, and rows as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.backtest import ratio
from rlc_train.errors import write_text
from rlc_train.horizon import Layout
from rlc_train.judging.row import Row
from rlc_train.judging.tally import Tally
from rlc_train.metrics import skill_intervals

SEED: Final = 1
"""Seed of the bootstrap of ``rlc-train evaluate``; the gate has that of the settings."""
OUTER: Final = (0.1, 0.9)
"""Quantiles of an 80 % interval."""


def rows_of(model: str, layout: Layout, tallies: Sequence[Tally], seed: int = SEED) -> list[Row]:
    """All rows; quantities without a value are omitted.

    Args:
        model: ``name:version``.
        layout: Axes of its forecasts.
        tallies: Losses; what is served may be missing.
        seed: Seed of the bootstrap.
    """
    return [row for tally in tallies for row in _rows(model, layout, tally, seed)]


def _rows(model: str, layout: Layout, tally: Tally, seed: int) -> Iterator[Row]:
    ours, theirs = tally.blocks("model"), tally.blocks("simple")
    shape = ours.shape[1:]
    skill, low, high = _skills(ours, theirs, seed)
    served = adaptive = np.full(shape, np.nan)
    if tally.pinball["served"]:
        served = ratio(tally.blocks("served").sum(0), theirs.sum(0))
    if tally.pinball["adaptive"]:
        adaptive = ratio(ours.sum(0), tally.blocks("adaptive").sum(0))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, mean_simple = (each.sum(0) / tally.count for each in (ours, theirs))
        closed, strict = tally.closed / tally.count, tally.strict / tally.count
    is_80 = np.allclose((layout.quantiles[0], layout.quantiles[-1]), OUTER)
    for q, point in np.ndindex(*shape):
        if not tally.count[q, point]:
            continue
        at = q, point
        yield Row(
            model=model,
            recording=tally.recording,
            radio=tally.radio,
            bearer_kind=tally.bearer_kind,
            quantity=layout.quantities[q].value,
            horizon_us=layout.points_us[point],
            samples=int(tally.count[at]),
            pinball=float(mean[at]),
            pinball_simple=float(mean_simple[at]),
            ratio=_known(1 - skill[at]),
            ratio_low=_known(1 - high[at]),
            ratio_high=_known(1 - low[at]),
            coverage_80=float(closed[at]) if is_80 else None,
            coverage_80_strict=float(strict[at]) if is_80 else None,
            served_ratio=_known(served[at]),
            adaptive_ratio=_known(adaptive[at]),
        )


def _skills(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """``(3, Q, M)`` skills and ends of their intervals; these are NaN with a single block."""
    if len(ours) < 2:
        skill = 1 - ratio(ours.sum(0), theirs.sum(0))
        return np.stack([skill, np.full_like(skill, np.nan), np.full_like(skill, np.nan)])
    blocks = len(ours)
    found = skill_intervals(ours.reshape(blocks, -1), theirs.reshape(blocks, -1), seed=seed)
    return found.reshape(3, *ours.shape[1:])


def _known(value: float | np.float64 | NDArray[np.float64]) -> float | None:
    return float(value) if np.isfinite(value) else None


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes a JSON array of the rows; raises as :func:`rlc_train.errors.write_text`."""
    lines = ",\n".join(json.dumps(asdict(row)) for row in rows)
    write_text(path, f"[\n{lines}\n]\n")
