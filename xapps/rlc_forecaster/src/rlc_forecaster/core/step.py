"""What the engine asks of a model."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rlc_forecaster.core.forecast import Layout


class Answer(NamedTuple):
    """What a model answers: its forecasts are ``values · scale · span + base``.

    They are brought to units where they are calibrated, in one pass. All are C-contiguous, and the
    stepper's: they hold until its next step.

    Attributes:
        values: ``(B, quantity, M, Q)``.
        scale: ``(B, quantity)``.
        span: ``(quantity,)``.
        base: ``(B, quantity)`` in the quantities' units.
    """

    values: NDArray[np.float32]
    scale: NDArray[np.float32]
    span: NDArray[np.float32]
    base: NDArray[np.float32]


class Stepper(Protocol):
    """A model at work on the same bearers, their states with it."""

    @property
    def state(self) -> NDArray[np.float32]:
        """``(B, S)`` the states after the last step; may be written to, until the next."""

    def step(self, features: NDArray[np.float32]) -> Answer:
        """Advances all bearers by one sample, ``(B, F)`` in the features' units."""


class StepModel(Protocol):
    """One step for a batch of bearers."""

    @property
    def name(self) -> str:
        """``name:version``."""

    @property
    def layout(self) -> Layout:
        """The axes of its forecasts."""

    @property
    def state_size(self) -> int:
        """Floats of state per bearer."""

    @property
    def warm_up_steps(self) -> int:
        """Steps from zero state before its forecasts count."""

    @property
    def feature_range(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """``(F,)`` least and greatest value of each feature in the training part."""

    def stepper(self, state: NDArray[np.float32]) -> Stepper:
        """Begins at ``(B, S)`` states, of which it takes a copy."""
