"""Online conformal calibration in a back-test, as the forecaster serves it.

The rule is that of :mod:`rlc_model.calibration`, the order of checking, one point per sample in
turn, the forecaster's. A model is judged with it because it is never served without.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model.calibration import round_length, tracked

from rlc_train.horizon import Layout
from rlc_train.series import Series, label_rows
from rlc_train.splits import COMING_IN

CONTEXT_SAMPLES: Final = COMING_IN
"""Samples before the first origin over which states and offsets come in: several memories of each.
A server has them from further back, which changes nothing that can be measured."""


def begin(origins: NDArray[np.intp]) -> int:
    """The row from which a back-test has to run to have the state of its first origin."""
    return max(0, int(origins[0]) - CONTEXT_SAMPLES) if len(origins) else 0


def track(
    series: Series, layout: Layout, forecast: NDArray[np.float32], origins: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Corrects forecasts in order of time, each by what came before it.

    Args:
        series: What came.
        layout: Axes of the forecasts.
        forecast: ``(T, Q, M, K)`` from every row of the series up to the last origin.
        origins: ``(N,)`` growing rows that are asked for.

    Returns:
        ``(N, Q, M, K)``: quantiles in order, with the offsets known at the origin.
    """
    stop = len(forecast)
    came = series.targets[:, layout.target_columns]
    due = _due(series, layout, stop)
    wanted = np.zeros(stop, np.bool_)
    wanted[origins] = True
    levels, middle = layout.levels, len(layout.quantiles) // 2
    theta = np.zeros(layout.shape, np.float32)
    size = np.zeros(layout.shape[:2], np.float32)
    begun = np.zeros(layout.shape[:2], np.bool_)
    # What was said at each row for the point that is checked when its time comes.
    said = np.sort(forecast, axis=-1)
    offsets = np.zeros((stop, *layout.shape), np.float32)
    result = np.empty((len(origins), *layout.shape), np.float32)
    position = 0
    for row in range(stop):
        origin, point = due[row]
        if origin >= 0:
            plain = came[row][:, None] - said[origin, :, point]
            error = plain - offsets[origin, :, point]
            theta[:, point], size[:, point], begun[:, point] = tracked(
                levels,
                error,
                plain[:, middle],
                theta=theta[:, point],
                size=size[:, point],
                begun=begun[:, point],
            )
        offsets[row] = theta * size[..., None]
        if wanted[row]:
            result[position] = said[row] + offsets[row]
            position += 1
    return result


def _due(series: Series, layout: Layout, stop: int) -> list[tuple[int, int]]:
    """At each row the ``(origin, point)`` whose time has come and whose turn it is; −1 for none."""
    rows, known = label_rows(series, layout, np.arange(stop, dtype=np.intp))
    due = [(-1, -1)] * stop
    length = round_length(layout.points)
    for point in range(layout.points):
        mine = known[:, point] & (rows[:, point] < stop)
        mine &= rows[:, point] % length % layout.points == point
        told = np.flatnonzero(mine)
        for origin, at in zip(told.tolist(), rows[told, point].tolist(), strict=True):
            due[at] = (origin, point)
    return due
