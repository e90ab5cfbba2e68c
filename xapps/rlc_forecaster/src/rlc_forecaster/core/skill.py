"""Skill against persistence, measured online: ``1 − loss(model) / loss(persistence)``.

Per bearer it decides who is served, with hysteresis: the model has to be worse by a margin to be
set aside, and better again to come back, and neither happens right after the other. Per horizon
point, over all bearers of the node, it is what the metrics say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import Index, end_of, grown
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


class Skill:
    """Running losses of model and persistence, per bearer and per horizon point."""

    def __init__(self, layout: Layout, hysteresis: Hysteresis | None = None) -> None:
        self._levels = np.array(layout.quantiles, np.float32)
        rule = hysteresis or Hysteresis()
        self._rule = rlc_native.Rule(
            weight=WEIGHT,
            lose_below=rule.lose_below,
            regain_above=rule.regain_above,
            least_outcomes=rule.least_outcomes,
        )
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
        *,
        counts: NDArray[np.bool_] | None = None,
    ) -> tuple[float, float] | None:
        """Holds forecasts for a point against what came.

        Args:
            slots: N of them.
            point: The horizon point.
            actual: ``(N, quantity)``; NaN where it is not known.
            model: ``(N, quantity, Q)``.
            persistence: ``(N, quantity, Q)``.
            counts: ``(N,)`` rows that count; None when all do.

        Returns:
            Mean loss of the model and of persistence on the first quantity, 0 where it is not known
            of any; None when no row counts.
        """
        self._make_room(end_of(slots))
        rows, model_loss, persistence_loss, lost, back = rlc_native.score(
            self._rule,
            slots,
            point,
            actual,
            model,
            persistence,
            counts,
            levels=self._levels,
            bearer=self._bearer_loss,
            outcomes=self._outcomes,
            set_aside=self._set_aside,
            by_point=self._point_loss,
        )
        self.fallbacks += lost
        self.returns += back
        return (model_loss, persistence_loss) if rows else None

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

    def _make_room(self, rows: int) -> None:
        self._bearer_loss = grown(self._bearer_loss, rows)
        self._outcomes = grown(self._outcomes, rows)
        self._set_aside = grown(self._set_aside, rows)
