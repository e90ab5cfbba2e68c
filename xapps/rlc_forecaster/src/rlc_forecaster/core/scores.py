"""Online evaluation: skill against the best simple forecaster, interval coverage, drift."""

from __future__ import annotations

from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

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
"""Limit of one outcome's loss ratio: a simple forecaster may be right by chance."""


class Skill:
    """Skill of what is served, and for each bearer whether the model is better than persistence.

    Skill is ``1 − loss(served) / loss(best simple forecaster)``, pinball loss, exponentially
    weighted; :mod:`rlc_model.mix` has the simple forecasters and how the best is chosen.

    The mix follows the losses by itself. What it is called changes by a sequential test between two
    bounds (Wald 1945): the excess of the model's loss on the first quantity over that of
    persistence, in mean losses of persistence, summed over time. A model that is 50 % worse is
    named so after 4 to 8 s; one that is as good changes its name in minutes.
    """

    def __init__(self, layout: Layout) -> None:
        self.scores = rlc_native.Skill(len(layout.quantities), layout.points)
        """State that :func:`rlc_native.compare` updates."""
        self.fallbacks = 0
        """Times a bearer's model was found worse than persistence, cumulative."""
        self.returns = 0
        """Times a bearer's model was found better again, cumulative."""

    def grow(self, slots: int) -> None:
        """Makes room for this many slots."""
        self.scores.grow(slots)

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots."""
        self.scores.reset(slots)

    def note(self, update: rlc_native.SkillUpdate) -> tuple[float, float] | None:
        """Counts what outcomes changed.

        Returns:
            Mean loss of the model and of the best simple forecaster on the first quantity, 0 if
            none is judged; None if the model made no forecast.
        """
        outcomes, model, simple, worse, better = update
        self.fallbacks += worse
        self.returns += better
        return (model, simple) if outcomes else None

    def fallen_back(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Per row, whether the model is worse than persistence."""
        return self.scores.worse(slots)

    def by_point(self) -> NDArray[np.float64]:
        """``(quantity, M)`` skill; NaN if the simple forecasters made no error yet."""
        served, simple = np.moveaxis(self.scores.by_point(), -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            skill: NDArray[np.float64] = 1 - served / simple
        return np.where(simple > 0, skill, np.nan)


class Coverage:
    """How many outcomes were within the outermost served quantiles.

    Counts per quantity and horizon point, cumulative.
    """

    def __init__(self, layout: Layout) -> None:
        shape = (len(layout.quantities), layout.points)
        self.checked = np.zeros(shape, np.int64)
        self.covered = np.zeros(shape, np.int64)


class Drift:
    """Whether inputs and accuracy of one model at one node are still what they were.

    Two signals, for operators and for retraining; neither changes what is served.

    * The share of samples outside the range of the training part, per feature.
    * Page's test (Page 1954, as Page–Hinkley) on the ratio of the model's loss to that of the best
      simple forecaster: an alarm if the ratio stays above its own mean.
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

    def update_losses(self, model_loss: float, simple_loss: float) -> None:
        """Adds the mean losses of one report to Page's test."""
        if not simple_loss > 0:
            return
        ratio = min(model_loss / simple_loss, LARGEST_RATIO)
        self._count += 1
        self._mean += (ratio - self._mean) / self._count
        self._sum += ratio - self._mean - TOLERANCE
        self._least = min(self._least, self._sum)
        if self._sum - self._least > THRESHOLD:
            self.alarms += 1
            self._count = 0
            self._mean = self._sum = self._least = 0.0
