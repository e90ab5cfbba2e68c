"""The exported step held against the model it came from, over many steps from a used state."""

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
"""Largest difference of scaled answers: a hundredth of a thousandth of a quantity's range."""
CHUNK: Final = 250

Reference = Callable[
    [NDArray[np.float32], NDArray[np.float32]], tuple[NDArray[np.float32], NDArray[np.float32]]
]
"""``(L, F)`` samples and ``(S,)`` state to ``(L, Q, M, K)`` answers and the state after them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far the two were apart.

    Attributes:
        steps: Steps compared.
        forecast: Largest difference of scaled answers.
        state: Largest difference of states at the ends of chunks.
    """

    steps: int
    forecast: float
    state: float

    @property
    def holds(self) -> bool:
        """Whether the answers are within the limit; False for NaN."""
        return self.forecast <= LIMIT


def compare(
    runner: StepRunner,
    reference: Reference,
    samples: NDArray[np.float32],
    *,
    steps: int = STEPS,
    warm_up: int = 500,
) -> Comparison:
    """Runs both over the same scaled samples; each carries its own state.

    The first `warm_up` samples only fill the state, which the reference then hands to both.

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
    farthest, apart = 0.0, 0.0
    for at in range(warm_up, needed, CHUNK):
        chunk = samples[at : at + CHUNK]
        expected, state = reference(chunk, state)
        for row in range(len(chunk)):
            answer, served = runner.step(chunk[row : row + 1], served)
            difference = float(np.abs(answer[0] - expected[row]).max())
            # NaN on either side must not vanish in a maximum.
            farthest = difference if np.isnan(difference) else max(farthest, difference)
            if np.isnan(farthest):
                return Comparison(steps, farthest, float("nan"))
        apart = max(apart, float(np.abs(served[0] - state).max()))
    return Comparison(steps, farthest, apart)
