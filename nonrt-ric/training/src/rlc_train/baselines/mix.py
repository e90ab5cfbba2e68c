"""What the forecaster serves, and the best simple forecaster of :mod:`rlc_model.mix`: what a model
may not make worse, and the reference of judging, gate and drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.horizon import Layout
from rlc_train.judging.served import Served
from rlc_train.online import ForecastRows, Lane, OnlineForecaster, checks_of, stretches, threads

FALLBACK: Final = "best-simple"
"""The best simple forecaster: what is served may be worse by :data:`MARGIN` at most."""
MARGIN: Final = 0.02
"""What a mix needs to find out which of its experts is the best."""
MIX: Final = "mix"
"""What is served without a model."""
_OF_MODEL: Final = f"+{MIX}"


def served_with(model: str) -> str:
    """Name of what is served with a model."""
    return model + _OF_MODEL


def model_of(name: str) -> str:
    """The forecaster that `name` begins with, if it is what is served with one."""
    return name.removesuffix(_OF_MODEL)


class BestSimple(OnlineForecaster):
    """Persistence, window quantiles, exponential mean or ridge, whichever was best before."""

    name = FALLBACK

    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """The forecasts of lanes."""
        return _simple(lanes, self.axes, 1)


class SimpleMix(OnlineForecaster):
    """The mix without a model."""

    name = MIX

    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """The forecasts of lanes."""
        return _simple(lanes, self.axes, 0)


def _simple(lanes: Sequence[Lane], layout: Layout, which: int) -> list[NDArray[np.float32]]:
    """What :meth:`Served.forecasts` returns of each lane, at `which`."""

    def one(lane: Lane) -> NDArray[np.float32]:
        return Served(layout, 0).forecasts(lane, None)[which]

    with threads() as pool:
        return list(pool.map(one, lanes))


class ModelMix(OnlineForecaster):
    """The mix with a model."""

    def __init__(
        self,
        model: str,
        steps: Callable[[Sequence[Lane]], ForecastRows],
        layout: Layout,
        warm_up: int,
    ) -> None:
        """`steps` makes the model's forecasts of lanes, longest first and without calibration; for
        `warm_up` samples the model is no part of the mix."""
        self.name = served_with(model)
        self.layout = layout
        self._steps, self._warm_up = steps, warm_up

    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """The forecasts of lanes, longest first."""
        layout = self.axes
        steps = self._steps(lanes)
        served = [Served(layout, self._warm_up) for _ in lanes]
        checks = [checks_of(lane, layout) for lane in lanes]
        result = [np.empty((len(lane.origins), *layout.shape), np.float32) for lane in lanes]
        # Forecasts of the last rows, until their points are checked.
        depth = int(layout.ahead[-1]) + 1
        plain = np.empty((len(lanes), 0, *layout.shape), np.float32)
        with threads() as pool:
            for first, stop, count in stretches(lanes):
                plain = np.concatenate([plain[:count, -depth:], steps(first, stop, count)], axis=1)
                since = stop - plain.shape[1]
                places, jobs = [], []
                for index, lane in enumerate(lanes[:count]):
                    a, b = np.searchsorted(lane.origins, [first, stop])
                    rows = lane.series.cut(since, stop)
                    window = Lane(rows, lane.origins[a:b] - since, first - since)
                    due = checks[index].between(first, stop, since)
                    given = window, plain[index], due, since
                    jobs.append(pool.submit(served[index].forecasts, *given))
                    places.append(result[index][a:b])
                for place, job in zip(places, jobs, strict=True):
                    place[:] = job.result()[0]
        return result
