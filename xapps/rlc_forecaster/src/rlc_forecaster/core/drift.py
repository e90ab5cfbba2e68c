"""Drift: is what the model sees, and how well it does, still what it was?

Two signals, for people and for retraining. Neither changes what is served; skill does that.

* The share of samples outside the range of the training part, per feature.
* Page's test (Page 1954, as Page–Hinkley) on the model's loss over persistence's: an alarm when
  their ratio has risen above its own mean for long.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

RANGE_WEIGHT: Final = 0.001
"""Weight of the newest report looked at: a second of memory at 1 ms, some with many bearers."""
RANGE_MARGIN: Final = 0.05
"""Part of the range that a sample may be outside of it: the training part had no more luck."""
TOLERANCE: Final = 0.1
"""Rise of the loss ratio over its mean that is no drift."""
THRESHOLD: Final = 100.0
"""Sum of the rises beyond tolerance that is an alarm: a ratio up by 0.3 raises one after half a
second at 1 ms."""
LARGEST_RATIO: Final = 10.0
"""A single outcome counts no more: persistence may be right by chance."""


class Drift:
    """Both signals of one model at one node."""

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
        """``(F,)`` share of the last samples outside the training part's range."""
        return self._outside

    def see(self, features: NDArray[np.float32]) -> None:
        """Takes in ``(B, F)`` samples."""
        rlc_native.note_outside(features, self._low, self._high, RANGE_WEIGHT, self._outside)

    def learn(self, model_loss: float, persistence_loss: float) -> None:
        """Takes in the mean losses of one report."""
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
