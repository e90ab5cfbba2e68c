"""Series: the samples of one bearer in one run."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rlc_dataset import BearerKind
from rlc_model import FEATURES, Quantity, span_mean

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout

LONGEST_GAP_US: Final = 100_000
"""A longer gap invalidates a carried state; same limit as in the forecaster."""


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one bearer.

    Attributes:
        name: Unique within a corpus.
        scenario: Key for the breakdown of results.
        cell: The cell; a split may hold out cells.
        mobility: Mobility pattern; a split may hold out patterns.
        at_us: ``(T,)`` int64, strictly increasing.
        features: ``(T, F)`` float32, columns as ``rlc_model.FEATURES``.
        fresh: ``(T,)`` bool; False if rates are unknown.
        targets: ``(T, len(Quantity))`` float32, columns in the order of ``rlc_model.Quantity``:
            outcomes of that instant, see :mod:`rlc_model.outcomes`; NaN if unknown.
        limit_reported: ``(T,)`` bool; True where the forecaster gets the queue limit of that
            instant.
        radio: The recorded radio, or the cell; a split may hold out radios.
        bearer_kind: Whether a pacer keeps the bearer's queue.
    """

    name: str
    scenario: str
    cell: str
    mobility: str
    at_us: NDArray[np.int64]
    features: NDArray[np.float32]
    fresh: NDArray[np.bool_]
    targets: NDArray[np.float32]
    limit_reported: NDArray[np.bool_]
    radio: str
    bearer_kind: BearerKind

    def __post_init__(self) -> None:
        length = len(self.at_us)
        if self.features.shape != (length, len(FEATURES)):
            raise TrainError(
                f"{self.name}.features",
                f"has shape {self.features.shape}; expected {(length, len(FEATURES))}",
            )
        for name in ("fresh", "limit_reported"):
            shape = getattr(self, name).shape
            if shape != (length,):
                raise TrainError(f"{self.name}.{name}", f"has shape {shape}; expected {(length,)}")
        if self.targets.shape != (length, len(Quantity)):
            raise TrainError(
                f"{self.name}.targets",
                f"has shape {self.targets.shape}; expected {(length, len(Quantity))}",
            )
        steps = np.diff(self.at_us)
        if length and steps.size and not (steps > 0).all():
            row = int(np.argmin(steps > 0)) + 1
            raise TrainError(
                f"{self.name}.at_us[{row}]",
                f"{self.at_us[row]} µs does not come after {self.at_us[row - 1]} µs",
            )
        if not np.isfinite(self.features).all():
            row, column = np.argwhere(~np.isfinite(self.features))[0]
            raise TrainError(
                f"{self.name}.{FEATURES[column]}[{row}]",
                f"is {self.features[row, column]}; expected a number",
            )

    def __len__(self) -> int:
        return len(self.at_us)

    def cut(self, start: int, stop: int) -> Series:
        """The samples ``[start, stop)``."""
        return self.kept(lambda array: array[start:stop])

    def kept(self, keep: Callable[[NDArray[Any]], NDArray[Any]]) -> Series:
        """The same with `keep` of each array."""
        arrays = ("at_us", "features", "fresh", "targets", "limit_reported")
        changed: dict[str, Any] = {name: keep(getattr(self, name)) for name in arrays}
        return replace(self, **changed)


def label_rows(
    series: Series, layout: Layout, origins: NDArray[np.intp], stop: int | None = None
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Rows of the labels of some origins, found by time.

    Args:
        series: The samples.
        layout: The points.
        origins: ``(N,)`` rows of the newest sample.
        stop: Labels at this row or later are excluded (end of a part).

    Returns:
        ``(N, M)`` rows, and whether there is a sample; missing reports have no label.
    """
    limit = len(series) if stop is None else min(stop, len(series))
    at_us = series.at_us
    wanted = at_us[origins][:, None] + layout.ahead * layout.period_us
    # Mostly no report is missing, and a label is as many rows as periods after its origin.
    rows = np.minimum(origins[:, None] + layout.ahead, max(len(series) - 1, 0))
    known = (at_us[rows] == wanted) & (rows < limit)
    other = np.nonzero(~known)
    rows[other], known[other] = _near(at_us, wanted[other], limit, layout.period_us)
    return rows, known


def _near(
    at_us: NDArray[np.int64], wanted: NDArray[np.int64], limit: int, period_us: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Rows before `limit` at times, and whether there are such."""
    rows = np.searchsorted(at_us, wanted)
    inside = rows < limit
    rows = np.where(inside, rows, 0)
    # Clocks of simulated and real nodes jitter by less than half a sample period.
    near = np.abs(at_us[rows] - wanted) * 2 < period_us
    before = np.maximum(rows - 1, 0)
    near_before = np.abs(at_us[before] - wanted) * 2 < period_us
    rows = np.where(~near & near_before, before, rows)
    return rows, inside & (near | near_before)


def span_means(
    at_us: NDArray[np.int64], values: NDArray[np.float32], span: int, period_us: int
) -> NDArray[np.float32]:
    """:func:`rlc_model.span_mean` of T samples, some of which may be missing; ``(T,)``."""
    if span == 1 or not len(at_us):
        return values
    # Clocks jitter by less than half a period.
    ticks = (at_us - at_us[0] + period_us // 2) // period_us
    every = np.full(int(ticks[-1]) + 1, np.nan, np.float32)
    every[ticks] = values
    means: NDArray[np.float32] = span_mean(every, span)[ticks]
    return means


def outcomes(series: Series, layout: Layout) -> NDArray[np.float32]:
    """``(T, C)`` outcomes that end at each sample, a column for each of ``layout.outcome_kinds``;
    NaN if unknown."""
    values = np.empty((len(series), len(layout.outcome_kinds)), np.float32)
    for column, (quantity, span) in enumerate(layout.outcome_kinds):
        instants = series.targets[:, list(Quantity).index(quantity)]
        values[:, column] = span_means(series.at_us, instants, span, layout.period_us)
    return values


def held(series: Series, layout: Layout) -> NDArray[np.float32]:
    """``(T, C)`` what persistence forecasts from each sample, columns as of :func:`outcomes`: the
    mean of the last span, or the last value where that is unknown."""
    values = np.empty((len(series), len(layout.outcome_kinds)), np.float32)
    for column, (quantity, span) in enumerate(layout.outcome_kinds):
        last = series.features[:, FEATURES.index(quantity.value)]
        means = span_means(series.at_us, last, span, layout.period_us)
        values[:, column] = np.where(np.isnan(means), last, means)
    return values


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of N origins of a series.

    Attributes:
        rows: ``(N, M)`` rows of the labels.
        known: ``(N, M)`` whether there is a sample.
        ended: ``(T, C)`` of :func:`outcomes`.
    """

    rows: NDArray[np.intp]
    known: NDArray[np.bool_]
    ended: NDArray[np.float32]

    @classmethod
    def of(
        cls, series: Series, layout: Layout, origins: NDArray[np.intp], stop: int | None = None
    ) -> Outcomes:
        """Arguments are as of :func:`label_rows`."""
        return cls(*label_rows(series, layout, origins, stop), outcomes(series, layout))

    def labels(
        self, layout: Layout, first: int = 0, stop: int | None = None
    ) -> NDArray[np.float32]:
        """``(stop − first, quantity, M)`` values of the origins from `first` up to `stop` or the
        last; NaN if unknown."""
        begins = self.rows[first:stop, None, :] * self.ended.shape[1]
        values = self.ended.take(begins + layout.outcome_columns)
        return np.where(self.known[first:stop, None, :], values, np.float32(np.nan))


def labels(
    series: Series, layout: Layout, origins: NDArray[np.intp], stop: int | None = None
) -> NDArray[np.float32]:
    """``(N, quantity, M)`` future values; NaN if unknown."""
    return Outcomes.of(series, layout, origins, stop).labels(layout)


def split_at_gaps(series: Series) -> list[Series]:
    """Splits a series at gaps longer than :data:`LONGEST_GAP_US`."""
    cuts = np.flatnonzero(np.diff(series.at_us) > LONGEST_GAP_US) + 1
    bounds = [0, *cuts.tolist(), len(series)]
    return [series.cut(a, b) for a, b in itertools.pairwise(bounds)]


def require(series: Sequence[Series], place: str) -> Sequence[Series]:
    """The series.

    Raises:
        TrainError: There is no sample.
    """
    if not any(len(one) for one in series):
        raise TrainError(place, "has no sample")
    return series


def digest(series: Iterable[Series]) -> str:
    """SHA-256 over names and all arrays."""
    sha = hashlib.sha256()
    for one in sorted(series, key=lambda s: s.name):
        sha.update(one.name.encode())
        for array in (one.at_us, one.features, one.fresh, one.targets, one.limit_reported):
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()
