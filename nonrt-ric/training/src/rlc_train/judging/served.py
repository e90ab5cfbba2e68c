"""What the forecaster serves: the model's forecast, or persistence while the model is worse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_model.fallback import SetAside

from rlc_train.horizon import Layout
from rlc_train.online import Lane, due_points, report_outcomes, told_limits


def served(
    lane: Lane,
    layout: Layout,
    model: NDArray[np.float32],
    persistence: NDArray[np.float32],
    *,
    warm_up: int,
    state: SetAside,
) -> NDArray[np.float32]:
    """The forecasts that are served, by the rule of the forecaster.

    Both are scored by the outcomes that the forecaster is told, see :mod:`rlc_train.online`.

    Args:
        lane: The samples, with an origin in each.
        layout: Axes of the forecasts.
        model: ``(N, quantity, M, K)`` calibrated forecasts from the N samples.
        persistence: The same of adaptive persistence.
        warm_up: Samples before the model is served.
        state: Before the first outcome that is learned from; updated.
    """
    before = state.aside
    rows, origins, points, actual = _outcomes(lane, layout)
    warm = origins >= warm_up
    rows, origins, points, actual = rows[warm], origins[warm], points[warm], actual[warm]
    after = state.after(actual, model[origins, :, points], persistence[origins, :, points])
    # The state at a row is that after its last outcome.
    last = np.searchsorted(rows, np.arange(len(model)), side="right") - 1
    aside = np.concatenate([after, [before]])[last]
    aside[:warm_up] = True
    return np.where(aside[:, None, None, None], persistence, model)


def _outcomes(
    lane: Lane, layout: Layout
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """Rows of outcomes in order, origins and points of their forecasts, ``(N, quantity)``
    outcomes."""
    due = due_points([lane], layout)[:, 0]
    rows = np.flatnonzero(due[:, 0] >= 0)
    found = [(rows, due[rows, 0], due[rows, 1], report_outcomes([lane], layout)[rows, 0])]
    for row, told in told_limits([lane], layout).items():
        found.append((np.full(len(told.origins), row), told.origins, told.points, told.actual))
    joined = [np.concatenate(each) for each in zip(*found, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    at, origins, points, actual = (each[order] for each in joined)
    return at, origins, points, actual
