"""Skill against persistence, measured online: ``1 − loss(model) / loss(persistence)``.

Per bearer it decides who is served, with hysteresis: the model has to be worse by a margin to be
set aside, and better again to come back, and neither happens right after the other. Per horizon
point, over all bearers of the node, it is what the metrics say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import Index, end_of, grown, slots_in
from rlc_forecaster.core.forecast import Layout

WEIGHT: Final = 0.005
"""Weight of the newest outcome: about 200 outcomes of memory, of which there is one a report."""


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """When a bearer's model is set aside, and when it is back.

    Attributes:
        lose_below: Set aside when its skill falls below this …
        regain_above: … and back when it rises above this.
        least_outcomes: Before so many outcomes since the last change nothing changes.
    """

    lose_below: float = -0.05
    regain_above: float = 0.0
    least_outcomes: int = 200


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
    loss = np.maximum(levels * difference, (levels - 1) * difference)
    total: NDArray[np.float32] = np.add.reduce(loss, axis=-1)
    return total / np.float32(len(levels))


class Skill:
    """Running losses of model and persistence, per bearer and per horizon point."""

    def __init__(self, layout: Layout, hysteresis: Hysteresis | None = None) -> None:
        self._levels = np.array(layout.quantiles, np.float32)
        self._hysteresis = hysteresis or Hysteresis()
        self._bearer_loss = np.zeros((0, 2), np.float32)
        self._outcomes = np.zeros(0, np.int64)
        self._set_aside = np.zeros(0, np.bool_)
        self._point_loss = np.zeros((len(layout.quantities), layout.points, 2), np.float64)
        self.fallbacks = 0
        """Times a bearer's model was set aside, cumulative."""
        self.returns = 0
        """Times it came back, cumulative."""

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Starts anew for the bearers of these slots."""
        known = slots[slots < len(self._outcomes)]
        self._bearer_loss[known] = 0
        self._outcomes[known] = 0
        self._set_aside[known] = False

    def learn(
        self,
        slots: Index,
        point: int,
        actual: NDArray[np.float32],
        model: NDArray[np.float32],
        persistence: NDArray[np.float32],
    ) -> tuple[float, float]:
        """Holds ``(N, quantity, Q)`` forecasts for a point against ``(N, quantity)`` values.

        The first quantity has to be known of every row; others may be NaN.

        Returns:
            Mean loss of the model and of persistence on the first quantity.
        """
        self._make_room(end_of(slots))
        both = np.stack([model, persistence], axis=2)
        losses = pinball_loss(actual[:, :, None], both, self._levels)
        known = ~np.isnan(actual)
        count = known.sum(axis=0)
        mean = np.where(known[..., None], losses, 0).sum(axis=0) / np.maximum(count, 1)[:, None]
        weight = np.where(count > 0, WEIGHT, 0.0)[:, None]
        self._point_loss[:, point] += weight * (mean - self._point_loss[:, point])
        # Quantities differ in unit; the first is what consumers act on and decides.
        bearer = self._bearer_loss[slots]
        bearer += WEIGHT * (losses[:, 0] - bearer)
        self._bearer_loss[slots] = bearer
        self._outcomes[slots] += 1
        self._decide(slots, bearer[:, 0], bearer[:, 1])
        return float(mean[0, 0]), float(mean[0, 1])

    def set_aside(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether persistence is to be served instead of the model, per row."""
        self._make_room(end_of(slots))
        return self._set_aside[slots]

    def by_point(self) -> NDArray[np.float64]:
        """``(quantity, M)`` skill; NaN where persistence has made no error yet."""
        model, persistence = self._point_loss[..., 0], self._point_loss[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            skill: NDArray[np.float64] = 1 - model / persistence
        return np.where(persistence > 0, skill, np.nan)

    def _decide(
        self,
        slots: Index,
        model: NDArray[np.float32],
        persistence: NDArray[np.float32],
    ) -> None:
        rule = self._hysteresis
        worse = model > (1 - rule.lose_below) * persistence
        better = model < (1 - rule.regain_above) * persistence
        was = self._set_aside[slots]
        settled = self._outcomes[slots] >= rule.least_outcomes
        lost, back = settled & ~was & worse, settled & was & better
        changed = lost | back
        if changed.any():
            self.fallbacks += int(lost.sum())
            self.returns += int(back.sum())
            changed_slots = slots_in(slots)[changed]
            self._set_aside[changed_slots] ^= True
            self._outcomes[changed_slots] = 0

    def _make_room(self, rows: int) -> None:
        self._bearer_loss = grown(self._bearer_loss, rows)
        self._outcomes = grown(self._outcomes, rows)
        self._set_aside = grown(self._set_aside, rows)
