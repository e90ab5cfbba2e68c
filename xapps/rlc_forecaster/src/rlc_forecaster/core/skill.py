"""Skill against persistence, measured online: ``1 − loss(model) / loss(persistence)``."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import grown
from rlc_forecaster.core.forecast import Layout

WEIGHT: Final = 0.005
"""Weight of the newest observation: about 200 observations of memory."""
LEAST_OBSERVATIONS: Final = 200
"""Before so many, a bearer's skill says nothing and the model keeps its place."""
LOSE_BELOW: Final = -0.05
"""A bearer's model is set aside when its skill falls below this …"""
REGAIN_ABOVE: Final = 0.0
"""… and is back when it rises above this."""


def pinball_loss(
    actual: NDArray[np.float32], forecast: NDArray[np.float32], levels: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Mean over the quantiles of ``max(τ·d, (τ−1)·d)``, ``d = actual − forecast``.

    Args:
        actual: ``(…,)``.
        forecast: ``(…, Q)``.
        levels: ``(Q,)``.
    """
    difference = actual[..., None] - forecast
    loss: NDArray[np.float32] = np.maximum(levels * difference, (levels - 1) * difference).mean(-1)
    return loss


class Skill:
    """Running losses of model and persistence, per bearer and per horizon point."""

    def __init__(self, layout: Layout) -> None:
        self._levels = np.array(layout.quantiles, np.float32)
        self._bearer_loss = np.zeros((0, 2), np.float32)
        self._observations = np.zeros(0, np.int64)
        self._set_aside = np.zeros(0, np.bool_)
        self._point_loss = np.zeros((len(layout.quantities), layout.points, 2), np.float64)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Starts anew for the bearers of these slots."""
        known = slots[slots < len(self._observations)]
        self._bearer_loss[known] = 0
        self._observations[known] = 0
        self._set_aside[known] = False

    def learn(
        self,
        slots: NDArray[np.intp],
        point: int,
        actual: NDArray[np.float32],
        model: NDArray[np.float32],
        persistence: NDArray[np.float32],
    ) -> None:
        """Holds ``(N, quantity, Q)`` forecasts for a point against ``(N, quantity)`` values."""
        if not len(slots):
            return
        self._make_room(int(slots.max()) + 1)
        losses = np.stack(
            [
                pinball_loss(actual, model, self._levels),
                pinball_loss(actual, persistence, self._levels),
            ],
            axis=-1,
        )
        self._point_loss[:, point] += WEIGHT * (losses.mean(0) - self._point_loss[:, point])
        # Quantities differ in unit; the first is what consumers act on and decides.
        bearer = self._bearer_loss[slots]
        bearer += WEIGHT * (losses[:, 0] - bearer)
        self._bearer_loss[slots] = bearer
        self._observations[slots] += 1
        model_loss, persistence_loss = bearer[:, 0], bearer[:, 1]
        worse = model_loss > (1 - LOSE_BELOW) * persistence_loss
        better = model_loss < (1 - REGAIN_ABOVE) * persistence_loss
        known = self._observations[slots] >= LEAST_OBSERVATIONS
        was = self._set_aside[slots]
        self._set_aside[slots] = known & (worse | (was & ~better))

    def set_aside(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether persistence is to be served instead of the model, per row."""
        self._make_room(int(slots.max()) + 1 if len(slots) else 0)
        return self._set_aside[slots]

    def by_point(self) -> NDArray[np.float64]:
        """``(quantity, M)`` skill; NaN where persistence has made no error yet."""
        model, persistence = self._point_loss[..., 0], self._point_loss[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            skill: NDArray[np.float64] = 1 - model / persistence
        return np.where(persistence > 0, skill, np.nan)

    def _make_room(self, rows: int) -> None:
        self._bearer_loss = grown(self._bearer_loss, rows)
        self._observations = grown(self._observations, rows)
        self._set_aside = grown(self._set_aside, rows)
