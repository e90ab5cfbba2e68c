"""Violations that a forecast sees coming."""

from __future__ import annotations

import numpy as np

from tc_controller.core.inputs import BearerForecast, BearerKey
from tc_controller.core.policy import Objective


class Predictor:
    """Counts, per bearer, forecasts in a row that say the bound will be crossed."""

    def __init__(self) -> None:
        self._runs: dict[BearerKey, int] = {}

    def step(
        self,
        key: BearerKey,
        forecast: BearerForecast,
        quantiles: tuple[float, ...],
        objective: Objective,
        drain_kbps: float | None,
    ) -> bool:
        """Whether the violation counts as predicted.

        A packet that finds ``b`` bytes in the RLC waits ``b / drain``: the forecast occupancy at
        the rule's quantile (interpolated linearly between those given), over the drain rate
        measured now, is the sojourn to come.
        """
        rule = objective.predict
        usable = rule.enabled and (forecast.from_model or rule.accept_persistence)
        if not usable or not drain_kbps or forecast.occupancy_bytes.size == 0:
            self._runs.pop(key, None)
            return False
        occupancy = _at_quantile(forecast, quantiles, rule.quantile)
        sojourn_us = occupancy * 8_000.0 / drain_kbps
        if float(sojourn_us.max()) <= objective.bound_ms * 1000.0:
            self._runs.pop(key, None)
            return False
        run = self._runs.get(key, 0) + 1
        self._runs[key] = run
        return run >= rule.confirm_forecasts

    def forget(self, key: BearerKey) -> None:
        """The bearer is gone, or its prediction was acted on."""
        self._runs.pop(key, None)


def _at_quantile(
    forecast: BearerForecast, quantiles: tuple[float, ...], wanted: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Occupancy of each point at the wanted quantile."""
    values = forecast.occupancy_bytes.astype(np.float64)
    return np.array([np.interp(wanted, quantiles, row) for row in values])
