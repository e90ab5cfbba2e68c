"""Models whose answers a test can work out in its head."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_forecaster.core import Layout
from rlc_forecaster.core.model import RawForecast
from rlc_model import FEATURES, Quantity

SHORT = Layout((Quantity.OCCUPANCY,), 2_000, 1_000, 3, (0.1, 0.5, 0.9))


class Carrying:
    """A stepper of a model that answers from features and states."""

    def __init__(self, model: Oracle, state: NDArray[np.float32]) -> None:
        self._model = model
        self.state = state

    def step(self, features: NDArray[np.float32]) -> RawForecast:
        forecasts, self.state = self._model.step(features, self.state)
        one = np.ones(forecasts.shape[:2], np.float32)
        return RawForecast(forecasts, one, one[0], np.zeros_like(one))


class Oracle:
    """A model that adds `slope` per millisecond to the occupancy; its state counts its steps."""

    layout = SHORT
    state_size = 1

    def __init__(self, slope: float, name: str = "oracle:1", warm_up_steps: int = 10) -> None:
        self._slope = slope
        self.name = name
        self.warm_up_steps = warm_up_steps

    @property
    def feature_range(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return np.zeros(len(FEATURES), np.float32), np.full(len(FEATURES), 1e9, np.float32)

    def stepper(self, state: NDArray[np.float32]) -> Carrying:
        return Carrying(self, state)

    def step(
        self, features: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        layout = self.layout
        ahead = np.array([layout.horizon_us(p) / 1000 for p in range(layout.points)], np.float32)
        level = features[:, :1] + self._slope * ahead
        shape = (len(features), len(layout.quantities), layout.points, len(layout.quantiles))
        values = np.broadcast_to(level[:, None, :, None], shape)
        return values.astype(np.float32, order="C"), state + 1
