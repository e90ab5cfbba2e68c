"""Training, validation and test parts: in order of time, with cells and mobility patterns held out.

The MinMax scaler is fitted on the training part alone (stolidis2024 §IV-C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.series import Series

COMING_IN: Final = 3_000
"""Samples of a held-out series before it is judged. A server warms a bearer's state up before it
serves the model, and a new bearer's calibration begins with that of the others, of which there are
none in a back-test."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of each series, in order of time (stolidis2024 §IV-C: 70/20/10)."""

    train: float = 0.7
    validation: float = 0.2

    def __post_init__(self) -> None:
        if not (0 < self.train < 1 and self.validation > 0 and self.train + self.validation < 1):
            raise TrainError(
                "split",
                f"train {self.train}, validation {self.validation}; expected shares that leave"
                " something for the test part",
            )


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a series that a part owns.

    Origins and all their labels lie in ``[start, stop)``. A state may be carried in from rows
    before `start`: they are the past, and are never labels of this part.
    """

    series: Series
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a corpus.

    Attributes:
        train, validation, test: In order of time, of the cells and patterns that are not held out.
        unseen: Series of the cells and patterns that are, whole but for their beginning.
    """

    train: list[Part] = field(default_factory=list)
    validation: list[Part] = field(default_factory=list)
    test: list[Part] = field(default_factory=list)
    unseen: list[Part] = field(default_factory=list)


def split(
    corpus: Sequence[Series],
    layout: Layout,
    *,
    held_out_cells: Sequence[str] = (),
    held_out_mobility: Sequence[str] = (),
    shares: Shares | None = None,
) -> Split:
    """Splits a corpus.

    Between two parts as many rows are left out as the farthest label is ahead, so that no part
    sees a level that another one is judged by.

    Raises:
        TrainError: Nothing would be left to train on, a held-out name is unknown, or a series is
            named twice.
    """
    shares = shares or Shares()
    names = [one.name for one in corpus]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TrainError("corpus", f"series {twice!r} is there twice")
    _known("held_out_cells", held_out_cells, {one.cell for one in corpus})
    _known("held_out_mobility", held_out_mobility, {one.mobility for one in corpus})
    gap = int(layout.ahead[-1])
    parts = Split()
    for one in corpus:
        if one.cell in held_out_cells or one.mobility in held_out_mobility:
            parts.unseen.append(Part(one, min(COMING_IN, len(one) // 3), len(one)))
            continue
        first = int(len(one) * shares.train)
        second = int(len(one) * (shares.train + shares.validation))
        if first > gap:
            parts.train.append(Part(one, 0, first))
        if second - (first + gap) > gap:
            parts.validation.append(Part(one, first + gap, second))
        if len(one) - (second + gap) > gap:
            parts.test.append(Part(one, second + gap, len(one)))
    if not parts.train:
        raise TrainError("split.train", f"has no series longer than {gap} samples to train on")
    return parts


def _known(field_name: str, wanted: Sequence[str], there: set[str]) -> None:
    missing = sorted(set(wanted) - there)
    if missing:
        raise TrainError(
            f"split.{field_name}", f"{', '.join(missing)} is not there; expected of {sorted(there)}"
        )


def fit_scaler(parts: Sequence[Part]) -> MinMaxScaler:
    """Bounds of each feature over the rows that the parts own.

    A feature that never changes gets a span of one unit: it says nothing, and must not divide by
    zero. Levels of queues start at zero whatever the smallest seen, so that an empty queue never
    leaves the range.

    Raises:
        TrainError: The parts hold no row.
    """
    low = np.full(len(FEATURES), np.inf)
    high = np.full(len(FEATURES), -np.inf)
    for part in parts:
        rows = part.series.features[part.start : part.stop]
        if len(rows):
            low = np.minimum(low, rows.min(axis=0))
            high = np.maximum(high, rows.max(axis=0))
    if not np.isfinite(low).all():
        raise TrainError("split.train", "holds no sample to fit a scaler on")
    low = np.minimum(low, 0)
    high = np.where(high > low, high, low + 1)
    return MinMaxScaler.of(low.tolist(), high.tolist())
