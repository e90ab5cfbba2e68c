"""When a bearer is served persistence instead of the model, in back-tests and in the forecaster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

LOSS_WEIGHT: Final = 0.005
"""Weight of the newest outcome: a memory of about 200 outcomes, one per report."""


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """When a bearer falls back to persistence and when it returns to the model.

    Attributes:
        lose_below: It falls back if its skill falls below this.
        regain_above: It returns if its skill rises above this.
        least_outcomes: Minimum number of outcomes between two changes.
    """

    lose_below: float = -0.05
    regain_above: float = 0.0
    least_outcomes: int = 200

    def rule(self) -> rlc_native.Rule:
        """For :func:`rlc_native.score`."""
        return rlc_native.Rule(
            weight=LOSS_WEIGHT,
            lose_below=self.lose_below,
            regain_above=self.regain_above,
            least_outcomes=self.least_outcomes,
        )


class SetAside:
    """Whether the model of one bearer is set aside, from outcome to outcome."""

    def __init__(self, hysteresis: Hysteresis, levels: NDArray[np.float32]) -> None:
        """Begins with the model; `levels` are the ``(K,)`` quantile levels."""
        self._rule, self._levels = hysteresis.rule(), levels
        self._loss, self._outcomes = np.zeros((1, 2), np.float32), np.zeros(1, np.int64)
        self._aside = np.zeros(1, np.bool_)

    @property
    def aside(self) -> bool:
        """Whether it is set aside now."""
        return bool(self._aside[0])

    def after(
        self,
        actual: NDArray[np.float32],
        model: NDArray[np.float32],
        persistence: NDArray[np.float32],
    ) -> NDArray[np.bool_]:
        """Whether it is set aside after each of N outcomes.

        Args:
            actual: ``(N, quantity)`` in order of time; NaN if unknown.
            model: ``(N, quantity, K)`` of the model.
            persistence: ``(N, quantity, K)`` of persistence.
        """
        by_point = np.zeros((actual.shape[1], 1, 2))
        found = np.zeros(len(actual), np.bool_)
        for at in range(len(actual)):
            rlc_native.score(
                self._rule,
                slice(0, 1),
                0,
                actual[at : at + 1],
                model[at : at + 1],
                persistence[at : at + 1],
                levels=self._levels,
                bearer=self._loss,
                outcomes=self._outcomes,
                set_aside=self._aside,
                by_point=by_point,
            )
            found[at] = self._aside[0]
        return found
