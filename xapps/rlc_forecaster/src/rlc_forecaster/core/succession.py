"""Going over to another model without a gap in the stream.

The new model is warmed up beside the one in force: it takes in the samples kept of late, a few at
each report so that no report waits for long, then those of now, until it has caught up and every
bearer that has a forecast of the old model has one of the new.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.forecast import Fallback
from rlc_forecaster.core.track import Sample, Track

RECENT_SAMPLES: Final = 256
"""Reports kept for a model to come: more than the warm-up of one that looks back a tenth of a
second, and 9 MB for 1000 bearers."""
CATCH_UP: Final = 4
"""Kept samples a new model takes in at each report."""


class Succession:
    """A model on its way in."""

    def __init__(self, track: Track, recent: Iterable[Sample]) -> None:
        """`track` has seen nothing yet; `recent` are the samples to begin with, oldest first."""
        self.track = track
        self._waiting = deque(recent)
        self._taken = 0
        self._ready = False

    @property
    def rejected(self) -> str:
        """Why the model must not come in; empty while there is no reason."""
        carried = self.track.carried
        if carried is None or not carried.not_finite:
            return ""
        return f"answered {carried.not_finite} samples with NaN or infinity while warming up"

    @property
    def ready(self) -> bool:
        """Whether the model can take over with the next report."""
        return self._ready

    def take(self, sample: Sample, served: NDArray[np.bool_]) -> None:
        """Takes in the newest sample, and some of those that wait.

        Args:
            sample: The newest.
            served: ``(B,)`` which of its bearers have a forecast of the model in force.
        """
        self._waiting.append(sample)
        warm = np.zeros(0, np.bool_)
        for _ in range(min(CATCH_UP, len(self._waiting))):
            earlier = self._waiting.popleft()
            self.track.prepare(earlier)
            _, plan = self.track.forecast(earlier)
            self.track.learn(earlier)
            warm = plan.fallback != Fallback.WARMING_UP
            self._taken += 1
        if self._waiting or self.track.model is None:
            return
        steps = self.track.model.warm_up_steps
        # With bearers coming all the time there is always one that is not warm yet: then it is
        # enough to have waited twice as long as a bearer needs.
        self._ready = self._taken > steps and (
            bool(warm[served].all()) or self._taken > 2 * steps + RECENT_SAMPLES
        )
