"""Online conformal calibration in a back-test, as the forecaster serves it.

The rule is that of :mod:`rlc_model.calibration`, the order of checking, one point per sample in
turn, the forecaster's. A model is judged with it because it is never served without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model.calibration import Offsets, round_length

from rlc_train.horizon import Layout
from rlc_train.metrics import in_order
from rlc_train.series import Series, label_rows
from rlc_train.splits import COMING_IN, Part

CONTEXT_SAMPLES: Final = COMING_IN
"""Samples before the first origin over which states and offsets come in: several memories of each.
A server has them from further back, which changes nothing that can be measured."""


AT_ONCE: Final = 128
"""Series gone through side by side: a row of them costs little more than a row of one."""


def begin(origins: NDArray[np.intp]) -> int:
    """The row from which a back-test has to run to have the state of its first origin."""
    return max(0, int(origins[0]) - CONTEXT_SAMPLES) if len(origins) else 0


@dataclass(frozen=True, slots=True)
class Lane:
    """One series of several that are gone through side by side.

    Attributes:
        series: What came.
        origins: ``(N,)`` growing rows that are asked for; the last one ends the lane.
    """

    series: Series
    origins: NDArray[np.intp]

    @property
    def stop(self) -> int:
        """Rows that are gone through."""
        return int(self.origins[-1]) + 1


Says = Callable[[int, int], NDArray[np.float32]]
"""What the first n lanes say at a row, ``(n, Q, M, K)``; called for each row in turn."""


def side_by_side(
    chosen: Sequence[tuple[Part, NDArray[np.intp]]],
    layout: Layout,
    run: Callable[[Sequence[Lane]], list[NDArray[np.float32]]],
) -> list[NDArray[np.float32]]:
    """Lets `run` go through the series of parts, from where their states come in, some at a time.

    Returns:
        ``(N, Q, M, K)`` for each part and its origins.
    """
    found = [np.empty((0, *layout.shape), np.float32)] * len(chosen)
    lanes = []
    for index, (part, origins) in enumerate(chosen):
        if len(origins):
            first = begin(origins)
            seen = part.series.cut(first, int(origins[-1]) + 1)
            lanes.append((index, Lane(seen, origins - first)))
    lanes.sort(key=lambda pair: -pair[1].stop)
    for at in range(0, len(lanes), AT_ONCE):
        group = lanes[at : at + AT_ONCE]
        for (index, _), forecast in zip(group, run([lane for _, lane in group]), strict=True):
            found[index] = forecast
    return found


def said_all(lanes: Sequence[Lane], layout: Layout, says: Says) -> list[NDArray[np.float32]]:
    """What is said at the origins, as it is."""
    result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
    wanted = [
        dict(zip(lane.origins.tolist(), range(len(lane.origins)), strict=True)) for lane in lanes
    ]
    count = len(lanes)
    for row in range(lanes[0].stop):
        while lanes[count - 1].stop <= row:
            count -= 1
        forecast = says(row, count)
        for index in range(count):
            position = wanted[index].get(row)
            if position is not None:
                result[index][position] = forecast[index]
    return result


def track(
    series: Series, layout: Layout, forecast: NDArray[np.float32], origins: NDArray[np.intp]
) -> NDArray[np.float32]:
    """:func:`track_all` for one series and its ``(T, Q, M, K)`` forecasts from every row."""

    def says(row: int, count: int) -> NDArray[np.float32]:
        return forecast[row : row + count]

    return track_all([Lane(series, origins)], layout, says)[0]


def track_all(lanes: Sequence[Lane], layout: Layout, says: Says) -> list[NDArray[np.float32]]:
    """Corrects forecasts in order of time, each by what came before it.

    Args:
        lanes: Longest first; none hears of another.
        layout: Axes of the forecasts.
        says: The forecasts.

    Returns:
        Of each lane ``(N, Q, M, K)``: with the offsets known at the origin, as they are served.
    """
    count, longest = len(lanes), lanes[0].stop
    came, due = _came(lanes, layout), _due(lanes, layout)
    wanted = np.zeros((longest, count), np.bool_)
    for index, lane in enumerate(lanes):
        wanted[lane.origins, index] = True
    alive = np.searchsorted([-lane.stop for lane in lanes], -np.arange(longest))
    offsets = Offsets(layout.levels, count, *layout.shape[:2])
    # What was said at each row, for the point that is checked when its time comes.
    depth = int(layout.ahead[-1]) + 1
    said = np.zeros((depth, count, *layout.shape), np.float32)
    result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
    position = [0] * count
    for row in range(longest):
        n = int(alive[row])
        told = np.flatnonzero(due[row, :n, 0] >= 0)
        if len(told):
            then, point = due[row, told, 0] % depth, due[row, told, 1]
            offsets.learn(told, point, came[row, told], said[then, told, :, point])
        now = said[row % depth, :n]
        now[:] = says(row, n)
        for index in np.flatnonzero(wanted[row, :n]).tolist():
            result[index][position[index]] = in_order(now[index] + offsets.offset[index])
            position[index] += 1
    return result


def _came(lanes: Sequence[Lane], layout: Layout) -> NDArray[np.float32]:
    """``(T, B, Q)`` what came."""
    values = np.full((lanes[0].stop, len(lanes), len(layout.quantities)), np.nan, np.float32)
    for index, lane in enumerate(lanes):
        rows = lane.series.targets[: lane.stop, layout.target_columns]
        values[: len(rows), index] = rows
    return values


def _due(lanes: Sequence[Lane], layout: Layout) -> NDArray[np.intp]:
    """``(T, B, 2)`` the origin and point whose time has come and whose turn it is; −1 for none."""
    due = np.full((lanes[0].stop, len(lanes), 2), -1, np.intp)
    length = round_length(layout.points)
    for index, lane in enumerate(lanes):
        rows, known = label_rows(lane.series, layout, np.arange(lane.stop, dtype=np.intp))
        for point in range(layout.points):
            mine = known[:, point] & (rows[:, point] < lane.stop)
            mine &= rows[:, point] % length % layout.points == point
            told = np.flatnonzero(mine)
            due[rows[told, point], index, 0] = told
            due[rows[told, point], index, 1] = point
    return due
