"""Replacing the model without a gap in the stream.

The new model is warmed up beside the active one: it is fed the recent samples, a few per report to
bound the delay of a report, until it has caught up and every bearer that is served the old model's
forecast has one of the new model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.forecast import Fallback
from rlc_forecaster.core.model_run import ModelRun, Sample

RECENT_SAMPLES: Final = 256
"""Reports kept to warm up a new model: more than the warm-up of one that looks back 0.1 s; 9 MB for
1000 bearers."""
SAMPLES_PER_REPORT: Final = 4
"""Kept samples that a new model is fed per report."""


class ModelSwap:
    """A model that is being warmed up."""

    def __init__(self, run: ModelRun, recent: Iterable[Sample]) -> None:
        """`run` is unused so far; `recent` are the samples to start with, oldest first."""
        self.run = run
        self._waiting = deque(recent)
        self._fed = 0
        self._ready = False

    @property
    def rejected(self) -> str:
        """Why the model must not become active; empty if there is no reason."""
        carried = self.run.carried
        if carried is None or not carried.not_finite:
            return ""
        return f"output NaN or infinity for {carried.not_finite} samples while warming up"

    @property
    def ready(self) -> bool:
        """Whether the model can become active with the next report."""
        return self._ready

    def feed(self, sample: Sample, served: NDArray[np.bool_]) -> None:
        """Adds the newest sample and feeds the model some of the waiting ones.

        Args:
            sample: The newest.
            served: ``(B,)`` which of its bearers are served a forecast of the active model.
        """
        self._waiting.append(sample)
        warm = np.zeros(0, np.bool_)
        for _ in range(min(SAMPLES_PER_REPORT, len(self._waiting))):
            earlier = self._waiting.popleft()
            self.run.prepare(earlier)
            _, plan = self.run.forecast(earlier)
            self.run.learn(earlier)
            warm = plan.fallback != Fallback.WARMING_UP
            self._fed += 1
        if self._waiting or self.run.model is None:
            return
        steps = self.run.model.warm_up_steps
        # If bearers keep arriving, one of them is always warming up: then twice the time that a
        # bearer needs is enough.
        self._ready = self._fed > steps and (
            bool(warm[served].all()) or self._fed > 2 * steps + RECENT_SAMPLES
        )
