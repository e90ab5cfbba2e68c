"""Online conformal calibration in a back-test, identical to the forecaster's.

The update is that of :mod:`rlc_model.calibration`, and outcomes are those that reach the
forecaster (:mod:`rlc_model.outcomes`): one point per sample is checked in its order, and
queue limits at all points when a TC status holds one.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity, limit_outcomes
from rlc_model.calibration import Checks, Offsets, round_length

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.series import Outcomes, Series
from rlc_train.splits import SETTLING_SAMPLES, Part

CONTEXT_SAMPLES: Final = SETTLING_SAMPLES
"""Samples before the first origin over which states and offsets settle: several times their memory.
A longer history makes no measurable difference."""

MAX_LANES: Final = 128
"""Series processed in parallel: a row of many costs little more than a row of one."""


def begin(origins: NDArray[np.intp]) -> int:
    """The row at which a back-test must start to have the state at its first origin."""
    return max(0, int(origins[0]) - CONTEXT_SAMPLES) if len(origins) else 0


@dataclass(frozen=True, slots=True)
class Lane:
    """One of several series processed in parallel.

    Attributes:
        series: The series.
        origins: ``(N,)`` increasing rows of the wanted forecasts; the last one ends the lane.
        learns_from: Outcomes of earlier rows are not learned from: they were before.
    """

    series: Series
    origins: NDArray[np.intp]
    learns_from: int = 0

    @property
    def stop(self) -> int:
        """Number of rows to process."""
        return int(self.origins[-1]) + 1


ForecastRows = Callable[[int, int, int], NDArray[np.float32]]
"""``(first, stop, n)`` to ``(n, rows, Q, M, K)`` forecasts of the first n lanes from these rows, or
with one value for all K; called in order of the rows."""
STRETCH: Final = 1_000
"""Rows of a call."""
_T = TypeVar("_T")


class OnlineForecaster(ABC):
    """A forecaster that learns while it forecasts: from a series, and nothing from the parts."""

    name = ""
    most_origins: int | None = None
    layout: Layout | None = None

    @abstractmethod
    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """``(N, Q, M, K)`` forecasts at the origins of each lane; the longest lane is the first."""

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Learns only online."""
        del parts, seed
        self.layout = layout

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """Runs over the series up to the last origin."""
        return self.predict_all([(part, origins)])[0]

    def predict_all(
        self, chosen: Sequence[tuple[Part, NDArray[np.intp]]]
    ) -> list[NDArray[np.float32]]:
        """Runs over all series in parallel."""
        return side_by_side(chosen, self.axes, self.run)

    @property
    def axes(self) -> Layout:
        """The axes of forecasts.

        Raises:
            TrainError: It is not fitted.
        """
        if self.layout is None:
            raise TrainError(self.name, "is not fitted")
        return self.layout


def threads() -> ThreadPoolExecutor:
    """A thread for each processor of this process, for work that releases the GIL."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def side_by_side(
    chosen: Sequence[tuple[Part, NDArray[np.intp]]],
    layout: Layout,
    run: Callable[[Sequence[Lane]], list[NDArray[np.float32]]],
) -> list[NDArray[np.float32]]:
    """Applies `run` to groups of up to :data:`MAX_LANES` series, including their settling samples.

    Returns:
        ``(N, Q, M, K)`` for each part and its origins.
    """
    found = [np.empty((0, *layout.shape), np.float32)] * len(chosen)
    lanes = []
    for index, (part, origins) in enumerate(chosen):
        if len(origins):
            first = begin(origins)
            series = part.series.cut(first, int(origins[-1]) + 1)
            lanes.append((index, Lane(series, origins - first)))
    lanes.sort(key=lambda pair: -pair[1].stop)
    for at in range(0, len(lanes), MAX_LANES):
        group = lanes[at : at + MAX_LANES]
        for (index, _), forecast in zip(group, run([lane for _, lane in group]), strict=True):
            found[index] = forecast
    return found


def stretches(lanes: Sequence[Lane], most: int = STRETCH) -> Iterator[tuple[int, int, int]]:
    """First row, end and number of lanes that have these rows, up to `most`; `lanes` are the
    longest first."""
    stops = [lane.stop for lane in lanes]
    edges = sorted({*stops, *range(0, stops[0], most)})
    for first, stop in itertools.pairwise(edges):
        yield first, stop, sum(end > first for end in stops)


def forecasts_at_origins(
    lanes: Sequence[Lane], layout: Layout, forecast_rows: ForecastRows
) -> list[NDArray[np.float32]]:
    """The forecasts at the origins, without calibration."""
    result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
    for first, stop, count in stretches(lanes):
        forecast = forecast_rows(first, stop, count)
        for index, lane in enumerate(lanes[:count]):
            a, b = np.searchsorted(lane.origins, [first, stop])
            result[index][a:b] = forecast[index, lane.origins[a:b] - first]
    return result


def track(
    series: Series, layout: Layout, forecast: NDArray[np.float32], origins: NDArray[np.intp]
) -> NDArray[np.float32]:
    """:func:`track_all` for one series and its ``(T, Q, M, K)`` forecasts from every row."""

    def forecast_rows(first: int, stop: int, count: int) -> NDArray[np.float32]:
        return forecast[first:stop][None, :, :]

    return track_all([Lane(series, origins)], layout, forecast_rows)[0]


def track_all(
    lanes: Sequence[Lane], layout: Layout, forecast_rows: ForecastRows
) -> list[NDArray[np.float32]]:
    """Calibrates forecasts in order of time, each by earlier outcomes of its lane.

    Args:
        lanes: Longest first; independent of each other.
        layout: Axes of the forecasts.
        forecast_rows: The forecasts.

    Returns:
        ``(N, Q, M, K)`` for each lane, with the offsets at the origin.
    """
    checks = [checks_of(lane, layout) for lane in lanes]
    offsets = Offsets(layout.levels, len(lanes), *layout.shape[:2])
    result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
    # Forecasts of the last rows, until their points are checked.
    depth = int(layout.ahead[-1]) + 1
    plain = np.empty((len(lanes), 0, *layout.shape[:2], 1), np.float32)
    for first, stop, count in stretches(lanes):
        before = plain[:count, -depth:]
        now = forecast_rows(first, stop, count)
        plain = np.concatenate([before, now], axis=1) if before.shape[1] else now
        kept = plain.shape[1] - (stop - first)
        for index, lane in enumerate(lanes[:count]):
            a, b = np.searchsorted(lane.origins, [first, stop])
            result[index][a:b] = offsets.calibrate(
                index,
                np.ascontiguousarray(plain[index]),
                begin=kept,
                wanted=lane.origins[a:b] - (first - kept),
                checks=checks[index].between(first, stop, first - kept),
            )
    return result


def checks_of(lane: Lane, layout: Layout, found: Outcomes | None = None) -> Checks:
    """What the forecaster learns from in a lane: one point at each row in turn, and queue limits at
    all points when they are reported.

    Args:
        lane: The lane.
        layout: The axes.
        found: Outcomes of its rows, if they are known already.
    """
    if found is None:
        found = Outcomes.of(
            lane.series.cut(0, lane.stop), layout, np.arange(lane.stop, dtype=np.intp)
        )
    known = found.known & (found.rows < lane.stop) & (found.rows >= lane.learns_from)
    due, limits = _due(lane, layout, found, known), _limits(lane, layout, found, known)
    rows, origins, points = (np.concatenate([due[at], limits[at]]) for at in range(3))
    actual = np.concatenate([due[3], limits[3]])
    # Of one row first the due point, then the limits.
    group = 2 * rows
    group[len(due[0]) :] += 1
    order = np.argsort(group, kind="stable")
    last = np.diff(group[order], append=-1) != 0
    return Checks(rows[order], last, origins[order], points[order], actual[order])


_Found = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]
"""Rows, origins, points and ``(E, quantity)`` values of outcomes."""


def _due(lane: Lane, layout: Layout, found: Outcomes, known: NDArray[np.bool_]) -> _Found:
    """The point that is checked at each row by the RLC report, which has no queue limit."""
    turn = np.arange(lane.stop) % round_length(layout.points) % layout.points
    origin = np.full(lane.stop, -1, np.intp)
    for point in range(layout.points):
        label = found.rows[:, point]
        checked = np.flatnonzero(
            known[:, point] & (turn[np.where(known[:, point], label, 0)] == point)
        )
        origin[label[checked]] = checked
    rows = np.flatnonzero(origin >= 0)
    points = turn[rows]
    actual = found.ended[rows[:, None], layout.outcome_columns.T[points]]
    actual[:, [q is Quantity.QUEUE_LIMIT for q in layout.quantities]] = np.nan
    return rows, origin[rows], points, actual


def _limits(lane: Lane, layout: Layout, found: Outcomes, known: NDArray[np.bool_]) -> _Found:
    """Queue limits at all points."""
    is_reported = lane.series.limit_reported & (Quantity.QUEUE_LIMIT in layout.quantities)
    origins, points = np.nonzero(known & is_reported[np.where(known, found.rows, 0)])
    rows = found.rows[origins, points]
    limits = lane.series.targets[rows, list(Quantity).index(Quantity.QUEUE_LIMIT)]
    return rows, origins, points, limit_outcomes(layout.quantities, limits)
