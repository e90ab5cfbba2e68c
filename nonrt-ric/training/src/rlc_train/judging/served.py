"""What the forecaster serves, the mix of the model's forecast and naive ones, and the best simple
forecast beside it, with which both are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity
from rlc_model.mix import new_mix

from rlc_train.horizon import Layout
from rlc_train.online import Lane, due_points, report_outcomes, reported_limits

_SLOT = np.zeros(1, np.intp)


class Served:
    """The mix of one bearer, from window to window."""

    def __init__(self, layout: Layout, warm_up: int) -> None:
        """`warm_up` are the samples before the model is part of the mix."""
        self._layout, self._warm_up = layout, warm_up
        spans = np.array(layout.spans, np.int64)
        self._mix = new_mix(layout.quantities, layout.levels, layout.ahead, spans)
        self._mix.grow(1)
        count = len(layout.quantities)
        # The model's forecasts come in units: scale and span 1, base 0.
        self._scale = np.ones((1, *layout.shape[:2]), np.float32)
        self._span, self._base = np.ones(count, np.float32), np.zeros((1, count), np.float32)

    def forecasts(
        self, lane: Lane, model: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The forecasts that are served, from those of the model, and the best simple ones.

        Outcomes are those that are reported to the forecaster, see :mod:`rlc_train.online`.

        Args:
            lane: The samples; those before `learns_from` were given before.
            model: ``(N, quantity, M, K)`` from the N samples, without calibration; None without a
                model.

        Returns:
            The same axes, of each origin of the lane; NaN before `learns_from`.
        """
        layout, series = self._layout, lane.series
        checked = due_points([lane], layout)
        due, actual = checked[:, 0], report_outcomes([lane], layout, checked)
        limits = reported_limits([lane], layout)
        ticks = (series.at_us // layout.period_us).tolist()
        limit = list(Quantity).index(Quantity.QUEUE_LIMIT)
        limited = ~np.isnan(series.targets[:, limit])
        served = np.full((len(lane.origins), *layout.shape), np.nan, np.float32)
        simple = served.copy()
        wanted = {row: at for at, row in enumerate(lane.origins.tolist())}
        for row in range(lane.learns_from, lane.stop):
            tick, one = ticks[row], slice(row, row + 1)
            newest = series.features[one], series.fresh[one], limited[one]
            forecast = self._forecast(row, tick, newest, None if model is None else model[one])
            if (at := wanted.get(row)) is not None:
                served[at], simple[at] = forecast, self._best_simple(tick)
            origin, point = due[row].tolist()
            if origin >= 0:
                self._learn(np.array([origin]), np.array([point]), actual[row], tick, model)
            if row in limits:
                of = limits[row]
                self._learn(of.origins, of.points, of.actual, tick, model)
        return served, simple

    def _best_simple(self, tick: int) -> NDArray[np.float32]:
        found, best = self._mix.simple_forecasts(0, tick)
        chosen: NDArray[np.float32] = np.take_along_axis(
            found, best.astype(np.intp)[None, :, :, None], axis=0
        )[0]
        return chosen

    def _forecast(
        self,
        row: int,
        tick: int,
        newest: tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]],
        model: NDArray[np.float32] | None,
    ) -> NDArray[np.float32]:
        mix = self._mix
        found: NDArray[np.float32]
        if model is None or row < self._warm_up:
            mix.add(_SLOT, tick, *newest)
            found = mix.naive_forecasts(_SLOT, tick)[0]
        else:
            output = model, self._scale, self._span, self._base
            found = mix.forecasts(_SLOT, tick, *newest, *output)[1][0]
        return found

    def _learn(
        self,
        origins: NDArray[np.intp],
        points: NDArray[np.intp],
        actual: NDArray[np.float32],
        tick: int,
        model: NDArray[np.float32] | None,
    ) -> None:
        slots = np.zeros(len(origins), np.intp)
        if model is None:
            self._mix.learn(slots, points, actual, tick)
            return
        warm = origins >= self._warm_up
        self._mix.learn(slots, points, actual, tick, model[origins, :, points], warm)
