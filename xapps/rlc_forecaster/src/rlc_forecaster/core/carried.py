"""The state a model carries for each bearer from one sample to the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_forecaster.core.bearers import Rows, grown
from rlc_forecaster.core.step import StepModel, Stepper
from rlc_forecaster.core.tracker import in_order


class Told(NamedTuple):
    """What a model says of the bearers of a report, all of it finite.

    Attributes:
        plain: ``(B, quantity, M, Q)`` in the quantities' units.
        forecasts: The same, calibrated.
        modelled: ``(B,)`` whether it counts: the same array object as long as all does.
    """

    plain: NDArray[np.float32]
    forecasts: NDArray[np.float32]
    modelled: NDArray[np.bool_]


class CarriedState:
    """Runs a model's step, one batch per report.

    While the bearers of the reports stay the same, the state goes from one step straight into the
    next; only when they change is it laid down by slot and taken up anew.
    """

    def __init__(self, model: StepModel) -> None:
        self._model = model
        self._by_slot = np.zeros((0, model.state_size), np.float32)
        self._steps = np.zeros(0, np.int64)
        self._broken = np.zeros(0, np.bool_)
        self._stepper: Stepper | None = None
        self._taken_for: Rows | None = None
        self._all_warm: NDArray[np.bool_] | None = None
        self.not_finite = 0
        """Answers that were NaN or infinite, cumulative."""

    def restart(self, slots: NDArray[np.intp]) -> None:
        """These bearers begin from zero state."""
        self._lay_down()
        self._make_room(int(slots.max()) + 1 if len(slots) else 0)
        self._by_slot[slots] = 0
        self._steps[slots] = 0
        self._broken[slots] = False

    def step(self, rows: Rows, features: NDArray[np.float32], offset: NDArray[np.float32]) -> Told:
        """One step of the bearers of a report, ``(B, F)``.

        Args:
            rows: The bearers.
            features: Theirs, in the features' units.
            offset: ``(B, quantity, M, Q)`` of their calibration.
        """
        stepper = self._stepper
        if stepper is None or rows is not self._taken_for:
            self._stepper = stepper = self._take_up(rows)
        plain, forecasts, finite = rlc_native.forecasts(*stepper.step(features), offset)
        state = stepper.state
        if not (finite and rlc_native.all_finite(state)):
            warm = self._leave_behind(rows, plain, state)
            return Told(plain, in_order(plain, offset), warm)
        if self._all_warm is not None:
            return Told(plain, forecasts, self._all_warm)
        self._steps[rows.slots] += 1
        warm = self._steps[rows.slots] > self._model.warm_up_steps
        self._broken[rows.slots[warm]] = False
        if warm.all():
            self._all_warm = warm
        return Told(plain, forecasts, warm)

    def broken(self, rows: Rows) -> NDArray[np.bool_]:
        """``(B,)`` whether a bearer warms up again because its state was no number."""
        return self._broken[rows.slots]

    def _leave_behind(
        self, rows: Rows, plain: NDArray[np.float32], state: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """A state that is no number would stay so for ever: those bearers start from zero."""
        finite = np.isfinite(plain).all(axis=(1, 2, 3)) & np.isfinite(state).all(axis=1)
        bad = ~finite
        self.not_finite += int(bad.sum())
        plain[bad] = 0
        state[bad] = 0
        self._steps[rows.slots] += 1
        self._steps[rows.slots[bad]] = 0
        self._broken[rows.slots[bad]] = True
        self._all_warm = None
        return np.asarray(self._steps[rows.slots] > self._model.warm_up_steps)

    def _take_up(self, rows: Rows) -> Stepper:
        self._lay_down()
        self._make_room(rows.highest)
        self._taken_for = rows
        return self._model.stepper(self._by_slot[rows.slots])

    def _lay_down(self) -> None:
        if self._taken_for is not None and self._stepper is not None:
            self._by_slot[self._taken_for.slots] = self._stepper.state
        self._taken_for = self._stepper = None
        self._all_warm = None

    def _make_room(self, rows: int) -> None:
        self._by_slot = grown(self._by_slot, rows)
        self._steps = grown(self._steps, rows)
        self._broken = grown(self._broken, rows)
