"""Online evaluation of a model: skill against persistence, interval coverage, drift."""

from __future__ import annotations

from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model.fallback import Hysteresis

from rlc_forecaster.core.bearers import Index, Points, end_of, grown
from rlc_forecaster.core.forecast import Layout

RANGE_WEIGHT: Final = 0.001
"""Weight of the newest report: a memory of 1 s at 1 ms, of several with many bearers."""
RANGE_MARGIN: Final = 0.05
"""Fraction of the training range by which a sample may exceed it, because the training part is
finite."""
TOLERANCE: Final = 0.1
"""Rise of the loss ratio over its mean that does not count as drift."""
THRESHOLD: Final = 100.0
"""Sum of the rises beyond tolerance that raises an alarm: a ratio up by 0.3 does so after 0.5 s at
1 ms."""
LARGEST_RATIO: Final = 10.0
"""Limit of one outcome's loss ratio: persistence may be right by chance."""


class Skill:
    """``1 − loss(model) / loss(persistence)``, pinball loss, exponentially weighted.

    The skill per bearer decides, with hysteresis, whether the model is served. The skill per
    horizon point, over all bearers of the node, is for the metrics.
    """

    def __init__(self, layout: Layout, hysteresis: Hysteresis | None = None) -> None:
        self._levels = np.array(layout.quantiles, np.float32)
        self._rule = (hysteresis or Hysteresis()).rule()
        self._bearer_loss = np.zeros((0, 2), np.float32)
        self._outcomes = np.zeros(0, np.int64)
        self._fallen_back = np.zeros(0, np.bool_)
        self._point_loss = np.zeros((len(layout.quantities), layout.points, 2), np.float64)
        self.fallbacks = 0
        """Times a bearer fell back to persistence, cumulative."""
        self.returns = 0
        """Times a bearer returned to the model, cumulative."""

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots."""
        known = slots[slots < len(self._outcomes)]
        self._bearer_loss[known] = 0
        self._outcomes[known] = 0
        self._fallen_back[known] = False

    def learn(
        self,
        slots: Index,
        points: Points,
        actual: NDArray[np.float32],
        model: NDArray[np.float32],
        persistence: NDArray[np.float32],
        *,
        counts: NDArray[np.bool_] | None = None,
    ) -> tuple[float, float] | None:
        """Scores forecasts.

        Args:
            slots: N of them.
            points: The horizon point, or ``(N,)``.
            actual: ``(N, quantity)``; NaN if unknown.
            model: ``(N, quantity, Q)``.
            persistence: ``(N, quantity, Q)``.
            counts: ``(N,)`` rows that count; None for all.

        Returns:
            Mean loss of the model and of persistence on the first quantity, 0 if no outcome is
            known; None if no row counts.
        """
        self._make_room(end_of(slots))
        rows, model_loss, persistence_loss, lost, regained = rlc_native.score(
            self._rule,
            slots,
            points,
            actual,
            model,
            persistence,
            counts,
            levels=self._levels,
            bearer=self._bearer_loss,
            outcomes=self._outcomes,
            set_aside=self._fallen_back,
            by_point=self._point_loss,
        )
        self.fallbacks += lost
        self.returns += regained
        return (model_loss, persistence_loss) if rows else None

    def fallen_back(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Per row, whether persistence is served instead of the model."""
        self._make_room(end_of(slots))
        return self._fallen_back[slots]

    def by_point(self) -> NDArray[np.float64]:
        """``(quantity, M)`` skill; NaN if persistence made no error yet."""
        model, persistence = self._point_loss[..., 0], self._point_loss[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            skill: NDArray[np.float64] = 1 - model / persistence
        return np.where(persistence > 0, skill, np.nan)

    def _make_room(self, rows: int) -> None:
        self._bearer_loss = grown(self._bearer_loss, rows)
        self._outcomes = grown(self._outcomes, rows)
        self._fallen_back = grown(self._fallen_back, rows)


class Coverage:
    """How many outcomes were within the outermost served quantiles.

    Counts per quantity and horizon point, cumulative.
    """

    def __init__(self, layout: Layout) -> None:
        shape = (len(layout.quantities), layout.points)
        self.checked = np.zeros(shape, np.int64)
        self.covered = np.zeros(shape, np.int64)

    def learn(
        self,
        points: Points,
        actual: NDArray[np.float32],
        persistence: NDArray[np.float32],
        model: NDArray[np.float32] | None = None,
        served: NDArray[np.bool_] | None = None,
    ) -> None:
        """Counts outcomes.

        Args:
            points: The horizon point, or ``(N,)``.
            actual: ``(N, quantity)``; NaN if unknown.
            persistence: ``(N, quantity, Q)`` forecasts of persistence.
            model: ``(N, quantity, Q)`` forecasts of the model; None without a model.
            served: ``(N,)`` whether the model's was served; None if never.
        """
        rlc_native.cover(
            points,
            actual,
            persistence,
            model,
            served,
            checked=self.checked,
            covered=self.covered,
        )


class Drift:
    """Whether inputs and accuracy of one model at one node are still what they were.

    Two signals, for operators and for retraining; neither changes what is served.

    * The share of samples outside the range of the training part, per feature.
    * Page's test (Page 1954, as Page–Hinkley) on the ratio of the model's loss to persistence's: an
      alarm if the ratio stays above its own mean.
    """

    def __init__(self, minimum: NDArray[np.float32], maximum: NDArray[np.float32]) -> None:
        """`minimum` and `maximum` are ``(F,)``, of the training part."""
        margin = RANGE_MARGIN * (maximum - minimum)
        self._low, self._high = minimum - margin, maximum + margin
        self._outside = np.zeros(len(minimum), np.float64)
        self._count = 0
        self._mean = self._sum = self._least = 0.0
        self.alarms = 0
        """Alarms of Page's test, cumulative."""

    @property
    def outside(self) -> NDArray[np.float64]:
        """``(F,)`` share of recent samples outside the range of the training part."""
        return self._outside

    def update_range(self, features: NDArray[np.float32]) -> None:
        """Compares ``(B, F)`` samples with the range."""
        rlc_native.update_outside_ratio(
            features, self._low, self._high, RANGE_WEIGHT, self._outside
        )

    def update_losses(self, model_loss: float, persistence_loss: float) -> None:
        """Adds the mean losses of one report to Page's test."""
        if not persistence_loss > 0:
            return
        ratio = min(model_loss / persistence_loss, LARGEST_RATIO)
        self._count += 1
        self._mean += (ratio - self._mean) / self._count
        self._sum += ratio - self._mean - TOLERANCE
        self._least = min(self._least, self._sum)
        if self._sum - self._least > THRESHOLD:
            self.alarms += 1
            self._count = 0
            self._mean = self._sum = self._least = 0.0
