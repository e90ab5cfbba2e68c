"""Predicts violations of the objective from forecasts of the RLC occupancy."""

from __future__ import annotations

import numpy as np

from tc_controller.core.inputs import BearerForecast, BearerKey
from tc_controller.core.policy.schema import Objective, Rule


class Predictor:
    """Counts, per bearer, consecutive forecasts that cross the bound."""

    def __init__(self) -> None:
        self._runs: dict[BearerKey, int] = {}
        #: Why forecasts say nothing about the quantile of a rule, by rule.
        self._unknown: dict[str, str] = {}

    def unknown(self, rule: Rule, quantiles: tuple[float, ...]) -> tuple[str | None, bool]:
        """Why forecasts with these quantiles predict nothing for a rule that wants to know, and
        whether that is new."""
        wanted = rule.objective.predict
        why = beyond(quantiles, wanted.quantile) if wanted.enabled else None
        if why is None:
            self._unknown.pop(rule.name, None)
            return None, False
        former = self._unknown.get(rule.name)
        self._unknown[rule.name] = why
        return why, former != why

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
        the rule's quantile (interpolated linearly between those given) over the drain rate
        measured now is the forecast sojourn. It must not be `unknown`.
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


def beyond(quantiles: tuple[float, ...], wanted: float) -> str | None:
    """Why forecasts with these increasing quantiles say nothing about the wanted one."""
    # In the precision of the message.
    if quantiles and np.float32(quantiles[0]) <= np.float32(wanted) <= np.float32(quantiles[-1]):
        return None
    expected = f"{quantiles[0]:g} to {quantiles[-1]:g}" if quantiles else "forecasts with quantiles"
    return f"predict.quantile: {wanted:g} is beyond those of the forecasts; expected {expected}"


def _at_quantile(
    forecast: BearerForecast, quantiles: tuple[float, ...], wanted: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Occupancy of each point at the wanted quantile, which is not `beyond` those given."""
    values = forecast.occupancy_bytes.astype(np.float64)
    return np.array([np.interp(wanted, quantiles, row) for row in values])
