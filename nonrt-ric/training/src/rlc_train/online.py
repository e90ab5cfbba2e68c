"""Online conformal calibration in a back-test, identical to the forecaster's.

The update is that of :mod:`rlc_model.calibration`, and outcomes are those that reach the
forecaster (:mod:`rlc_model.outcomes`): one point per sample is checked in its order, and
queue limits at all points when a TC status holds one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity, limit_outcomes
from rlc_model.calibration import Offsets, round_length

from rlc_train.horizon import Layout
from rlc_train.metrics import in_order
from rlc_train.series import Series, label_rows, outcomes
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


ForecastAt = Callable[[int, int], NDArray[np.float32]]
"""``(row, n)`` to ``(n, Q, M, K)`` forecasts of the first n lanes; called for each row in order."""


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


def forecasts_at_origins(
    lanes: Sequence[Lane], layout: Layout, forecast_at: ForecastAt
) -> list[NDArray[np.float32]]:
    """The forecasts at the origins, without calibration."""
    result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
    wanted = [
        dict(zip(lane.origins.tolist(), range(len(lane.origins)), strict=True)) for lane in lanes
    ]
    count = len(lanes)
    for row in range(lanes[0].stop):
        while lanes[count - 1].stop <= row:
            count -= 1
        forecast = forecast_at(row, count)
        for index in range(count):
            position = wanted[index].get(row)
            if position is not None:
                result[index][position] = forecast[index]
    return result


def track(
    series: Series, layout: Layout, forecast: NDArray[np.float32], origins: NDArray[np.intp]
) -> NDArray[np.float32]:
    """:func:`track_all` for one series and its ``(T, Q, M, K)`` forecasts from every row."""

    def forecast_at(row: int, count: int) -> NDArray[np.float32]:
        return forecast[row : row + count]

    return track_all([Lane(series, origins)], layout, forecast_at)[0]


def track_all(
    lanes: Sequence[Lane],
    layout: Layout,
    forecast_at: ForecastAt,
    offsets: Offsets | None = None,
) -> list[NDArray[np.float32]]:
    """Calibrates forecasts in order of time, each by earlier outcomes of its lane.

    Args:
        lanes: Longest first; independent of each other.
        layout: Axes of the forecasts.
        forecast_at: The forecasts.
        offsets: Of the lanes, to begin with; updated. None begins without.

    Returns:
        ``(N, Q, M, K)`` for each lane, with the offsets at the origin.
    """
    count, longest = len(lanes), lanes[0].stop
    due = due_points(lanes, layout)
    actual = report_outcomes(lanes, layout, due)
    limits = reported_limits(lanes, layout)
    wanted = np.zeros((longest, count), np.bool_)
    for index, lane in enumerate(lanes):
        wanted[lane.origins, index] = True
    alive = np.searchsorted([-lane.stop for lane in lanes], -np.arange(longest))
    if offsets is None:
        offsets = Offsets(layout.levels, count, *layout.shape[:2])
    # Forecasts of the last rows, until their points are checked.
    depth = int(layout.ahead[-1]) + 1
    recent = np.zeros((depth, count, *layout.shape), np.float32)
    result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
    position = [0] * count
    for row in range(longest):
        n = int(alive[row])
        checked = np.flatnonzero(due[row, :n, 0] >= 0)
        if len(checked):
            then, point = due[row, checked, 0] % depth, due[row, checked, 1]
            offsets.learn(checked, point, actual[row, checked], recent[then, checked, :, point])
        if row in limits:
            of, then, point, reported = limits[row]
            offsets.learn(of, point, reported, recent[then % depth, of, :, point])
        now = recent[row % depth, :n]
        now[:] = forecast_at(row, n)
        for index in np.flatnonzero(wanted[row, :n]).tolist():
            result[index][position[index]] = in_order(now[index] + offsets.offset[index])
            position[index] += 1
    return result


def report_outcomes(
    lanes: Sequence[Lane], layout: Layout, due: NDArray[np.intp]
) -> NDArray[np.float32]:
    """``(T, B, Q)`` outcomes in RLC reports at the points of :func:`due_points`; NaN if unknown, as
    all queue limits."""
    values = np.full((lanes[0].stop, len(lanes), len(layout.quantities)), np.nan, np.float32)
    for index, lane in enumerate(lanes):
        ended = outcomes(lane.series.cut(0, lane.stop), layout)
        columns = layout.outcome_columns.T[due[: lane.stop, index, 1]]
        values[: lane.stop, index] = np.take_along_axis(ended, columns, axis=1)
    values[..., [q is Quantity.QUEUE_LIMIT for q in layout.quantities]] = np.nan
    return values


class ReportedLimits(NamedTuple):
    """Queue limits reported at a row: ``(N,)`` lanes, origins and points, ``(N, Q)`` outcomes."""

    lanes: NDArray[np.intp]
    origins: NDArray[np.intp]
    points: NDArray[np.intp]
    actual: NDArray[np.float32]


def reported_limits(lanes: Sequence[Lane], layout: Layout) -> dict[int, ReportedLimits]:
    """The queue limits to check, by row."""
    if Quantity.QUEUE_LIMIT not in layout.quantities:
        return {}
    column = list(Quantity).index(Quantity.QUEUE_LIMIT)
    found = []
    for index, lane in enumerate(lanes):
        rows, known = label_rows(lane.series, layout, np.arange(lane.stop, dtype=np.intp))
        known &= (rows < lane.stop) & (rows >= lane.learns_from) & lane.series.limit_reported[rows]
        origins, points = np.nonzero(known)
        found.append(np.stack([rows[known], np.full(len(origins), index), origins, points]))
    rows, of, origins, points = np.concatenate(found, axis=1)
    limits = np.array([lanes[i].series.targets[r, column] for i, r in zip(of, rows, strict=True)])
    actual = limit_outcomes(layout.quantities, limits)
    order = np.argsort(rows, kind="stable")
    first = np.flatnonzero(np.diff(rows[order], prepend=-1))
    return {
        int(rows[part[0]]): ReportedLimits(of[part], origins[part], points[part], actual[part])
        for part in np.split(order, first[1:])
        if len(part)
    }


def due_points(lanes: Sequence[Lane], layout: Layout) -> NDArray[np.intp]:
    """``(T, B, 2)`` origin and point to check at each row; −1 for none."""
    due = np.full((lanes[0].stop, len(lanes), 2), -1, np.intp)
    length = round_length(layout.points)
    for index, lane in enumerate(lanes):
        rows, known = label_rows(lane.series, layout, np.arange(lane.stop, dtype=np.intp))
        for point in range(layout.points):
            mine = known[:, point] & (rows[:, point] < lane.stop)
            mine &= rows[:, point] >= lane.learns_from
            mine &= rows[:, point] % length % layout.points == point
            checked = np.flatnonzero(mine)
            due[rows[checked, point], index, 0] = checked
            due[rows[checked, point], index, 1] = point
    return due
