"""Parts of series in order of time; held-out cells, mobility patterns and radios.

The MinMax scaler is fitted on the training part only (stolidis2024 §IV-C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import numpy as np
from rlc_model import FEATURES, MinMaxScaler
from sklearn import preprocessing

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.series import Series

SETTLING_SAMPLES: Final = 3_000
"""Samples of a held-out series before its first origin. The forecaster warms up a bearer's state
and starts its calibration from that of other bearers, which a back-test does not have."""


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
    """Rows ``[start, stop)`` of a series.

    All origins and labels lie in this range. A state may be carried in from earlier rows.
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
        train, validation, test: In order of time, of cells, patterns and radios not held out;
            validation has all of the radios that are for it alone as well.
        unseen: Series of held-out cells, patterns and radios, without their beginning.
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
    held_out_radios: Sequence[str] = (),
    validation_radios: Sequence[str] = (),
    shares: Shares | None = None,
) -> Split:
    """Splits a corpus.

    Between two parts, rows up to the farthest label are omitted, so that parts share no level.

    Raises:
        TrainError: The training part is empty, a held-out name is unknown, or a series name occurs
            twice.
    """
    shares = shares or Shares()
    names = [one.name for one in corpus]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TrainError("corpus", f"series {twice!r} occurs twice")
    _known("held_out_cells", held_out_cells, {one.cell for one in corpus})
    _known("held_out_mobility", held_out_mobility, {one.mobility for one in corpus})
    _known("held_out_radios", held_out_radios, {one.radio for one in corpus})
    _known("validation_radios", validation_radios, {one.radio for one in corpus})
    gap = int(layout.ahead[-1])
    parts = Split()
    for one in corpus:
        if (
            one.cell in held_out_cells
            or one.mobility in held_out_mobility
            or one.radio in held_out_radios
        ):
            parts.unseen.append(Part(one, min(SETTLING_SAMPLES, len(one) // 3), len(one)))
            continue
        if one.radio in validation_radios:
            if len(one) > gap:
                parts.validation.append(Part(one, 0, len(one)))
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


def drawn_radios(
    corpus: Sequence[Series], shares: tuple[float, float], seed: int
) -> tuple[list[str], list[str]]:
    """Recorded radios to hold out, and others for validation alone: of each source these shares,
    drawn by the seed.

    A source is the folder of a recording, the part of its name before the last ``/``. With a share
    above 0 one radio of a source at least is drawn, but one at least is left to train on, and
    holding out comes first. Whether a radio is drawn depends on the names alone, not on the runs of
    it, and a held-out one not on the share of the others.
    """
    sources: dict[str, set[str]] = {}
    for one in corpus:
        if one.radio != one.cell:
            sources.setdefault(one.radio.rpartition("/")[0], set()).add(one.radio)
    drawn: tuple[list[str], list[str]] = [], []
    for radios in sources.values():
        left = sorted(radios, key=lambda name: sha256(f"{seed}/{name}".encode()).digest())
        for into, share in zip(drawn, shares, strict=True):
            number = min(max(1, round(share * len(radios))) if share > 0 else 0, len(left) - 1)
            into.extend(left[:number])
            left = left[number:]
    return sorted(drawn[0]), sorted(drawn[1])


def _known(field_name: str, wanted: Sequence[str], available: set[str]) -> None:
    missing = sorted(set(wanted) - available)
    if missing:
        raise TrainError(
            f"split.{field_name}",
            f"{', '.join(missing)} is unknown; expected of {sorted(available)}",
        )


def fit_scaler(parts: Sequence[Part]) -> MinMaxScaler:
    """Bounds of each feature over the rows of the parts.

    A constant feature gets a span of 1 to avoid division by zero. All ranges include 0, so that an
    empty queue is within them.

    Raises:
        TrainError: The parts have no row.
    """
    fitted = preprocessing.MinMaxScaler()
    fitted.partial_fit(np.zeros((1, len(FEATURES))))
    for part in parts:
        rows = part.series.features[part.start : part.stop]
        if len(rows):
            fitted.partial_fit(rows)
    if fitted.n_samples_seen_ == 1:
        raise TrainError("split.train", "has no sample to fit a scaler on")
    low, high = fitted.data_min_, fitted.data_max_
    return MinMaxScaler.of(low.tolist(), np.where(high > low, high, low + 1).tolist())
