"""Compares an exported step with its model over many steps from a non-zero state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError
from rlc_train.export.runner import StepRunner

STEPS: Final = 10_000
LIMIT: Final = 1e-5
"""Largest allowed difference of scaled forecasts, in ranges of the quantity."""
CHUNK: Final = 250

Reference = Callable[
    [NDArray[np.float32], NDArray[np.float32]], tuple[NDArray[np.float32], NDArray[np.float32]]
]
"""``(L, F)`` samples and ``(S,)`` state to ``(L, Q, M, K)`` forecasts and the next state."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences between export and model.

    Attributes:
        steps: Steps compared.
        forecast: Largest difference of scaled forecasts.
        state: Largest difference of states at ends of chunks.
    """

    steps: int
    forecast: float
    state: float

    @property
    def holds(self) -> bool:
        """Whether the forecasts are within the limit; False for NaN."""
        return self.forecast <= LIMIT


def compare(
    runner: StepRunner,
    reference: Reference,
    samples: NDArray[np.float32],
    *,
    steps: int = STEPS,
    warm_up: int = 500,
) -> Comparison:
    """Runs both over the same scaled samples, each with its own state.

    Both start from the reference's state after the first `warm_up` samples.

    Raises:
        TrainError: There is no sample.
    """
    if not len(samples):
        raise TrainError("exporter check", "there is no sample to compare on")
    needed = steps + warm_up
    samples = np.tile(samples, (-(-needed // len(samples)), 1))[:needed]
    state = np.zeros(runner.state_size, np.float32)
    for at in range(0, warm_up, CHUNK):
        _, state = reference(samples[at : min(at + CHUNK, warm_up)], state)
    served = state[None]
    largest, state_difference = 0.0, 0.0
    for at in range(warm_up, needed, CHUNK):
        chunk = samples[at : at + CHUNK]
        expected, state = reference(chunk, state)
        for row in range(len(chunk)):
            forecast, served = runner.step(chunk[row : row + 1], served)
            difference = float(np.abs(forecast[0] - expected[row]).max())
            # max() would ignore NaN.
            largest = difference if np.isnan(difference) else max(largest, difference)
            if np.isnan(largest):
                return Comparison(steps, largest, float("nan"))
        state_difference = max(state_difference, float(np.abs(served[0] - state).max()))
    return Comparison(steps, largest, state_difference)
