"""The interface of a model, and the state that it carries for each bearer between samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import Rows, grown
from rlc_forecaster.core.forecast import Layout


class RawForecast(NamedTuple):
    """Output of a model: its forecasts are ``values · scale · span + base``.

    The scaling is applied together with calibration, in one pass. All arrays are C-contiguous and
    owned by the stepper: they are valid until its next step.

    Attributes:
        values: ``(B, quantity, M, Q)``.
        scale: ``(B, quantity, point)``.
        span: ``(quantity,)``.
        base: ``(B, quantity)`` in the quantities' units.
    """

    values: NDArray[np.float32]
    scale: NDArray[np.float32]
    span: NDArray[np.float32]
    base: NDArray[np.float32]


class Stepper(Protocol):
    """A model with the states of a fixed set of bearers."""

    @property
    def state(self) -> NDArray[np.float32]:
        """``(B, S)`` states after the last step; may be written to until the next."""

    def step(self, features: NDArray[np.float32]) -> RawForecast:
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
        """Steps from zero state before its forecasts are served."""

    @property
    def feature_range(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """``(F,)`` minimum and maximum of each feature in the training part."""

    def stepper(self, state: NDArray[np.float32]) -> Stepper:
        """A stepper that starts from a copy of ``(B, S)`` states."""


class ModelForecast(NamedTuple):
    """A model's forecasts for the bearers of a report; all values are finite.

    Attributes:
        uncalibrated: ``(B, quantity, M, Q)`` in the quantities' units.
        mixed: The mix of it and naive forecasts; void for bearers that are not warmed up.
        warm: ``(B,)`` whether the bearer is warmed up: the same array object as long as all are.
    """

    uncalibrated: NDArray[np.float32]
    mixed: NDArray[np.float32]
    warm: NDArray[np.bool_]


Mixer = Callable[[RawForecast], tuple[NDArray[np.float32], NDArray[np.float32], bool]]
"""Turns a model's output into forecasts in units, the mix, and whether the first are finite."""


class CarriedState:
    """Runs a model's step, one batch per report.

    As long as the reports have the same bearers, the stepper keeps the state. It is stored by slot
    and loaded again only when the bearers change.
    """

    def __init__(self, model: StepModel) -> None:
        self._model = model
        self._by_slot = np.zeros((0, model.state_size), np.float32)
        self._steps = np.zeros(0, np.int64)
        self._was_not_finite = np.zeros(0, np.bool_)
        self._stepper: Stepper | None = None
        self._stepper_rows: Rows | None = None
        self._all_warm: NDArray[np.bool_] | None = None
        self.not_finite = 0
        """Outputs of bearers with NaN or infinity, cumulative."""

    def reset(self, slots: NDArray[np.intp]) -> None:
        """Sets these bearers to zero state."""
        self._store()
        self._make_room(int(slots.max()) + 1 if len(slots) else 0)
        self._by_slot[slots] = 0
        self._steps[slots] = 0
        self._was_not_finite[slots] = False

    def step(self, rows: Rows, features: NDArray[np.float32], mixer: Mixer) -> ModelForecast:
        """One step of the bearers of a report.

        Args:
            rows: The bearers.
            features: ``(B, F)`` in the features' units.
            mixer: Mixes its output with naive forecasts.
        """
        stepper = self._stepper
        if stepper is None or rows is not self._stepper_rows:
            self._stepper = stepper = self._load(rows)
        uncalibrated, mixed, finite = mixer(stepper.step(features))
        state = stepper.state
        if not (finite and rlc_native.all_finite(state)):
            warm = self._reset_not_finite(rows, uncalibrated, state)
            return ModelForecast(uncalibrated, mixed, warm)
        if self._all_warm is not None:
            return ModelForecast(uncalibrated, mixed, self._all_warm)
        self._steps[rows.slots] += 1
        warm = self._steps[rows.slots] > self._model.warm_up_steps
        self._was_not_finite[rows.slots[warm]] = False
        if warm.all():
            self._all_warm = warm
        return ModelForecast(uncalibrated, mixed, warm)

    def was_not_finite(self, rows: Rows) -> NDArray[np.bool_]:
        """``(B,)`` whether a bearer warms up again because its state was not finite."""
        return self._was_not_finite[rows.slots]

    def _reset_not_finite(
        self, rows: Rows, uncalibrated: NDArray[np.float32], state: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        # NaN would propagate through the state forever.
        finite = np.isfinite(uncalibrated).all(axis=(1, 2, 3)) & np.isfinite(state).all(axis=1)
        bad = ~finite
        self.not_finite += int(bad.sum())
        uncalibrated[bad] = 0
        state[bad] = 0
        self._steps[rows.slots] += 1
        self._steps[rows.slots[bad]] = 0
        self._was_not_finite[rows.slots[bad]] = True
        self._all_warm = None
        return np.asarray(self._steps[rows.slots] > self._model.warm_up_steps)

    def _load(self, rows: Rows) -> Stepper:
        self._store()
        self._make_room(rows.highest)
        self._stepper_rows = rows
        return self._model.stepper(self._by_slot[rows.slots])

    def _store(self) -> None:
        if self._stepper_rows is not None and self._stepper is not None:
            self._by_slot[self._stepper_rows.slots] = self._stepper.state
        self._stepper_rows = self._stepper = None
        self._all_warm = None

    def _make_room(self, rows: int) -> None:
        self._by_slot = grown(self._by_slot, rows)
        self._steps = grown(self._steps, rows)
        self._was_not_finite = grown(self._was_not_finite, rows)
