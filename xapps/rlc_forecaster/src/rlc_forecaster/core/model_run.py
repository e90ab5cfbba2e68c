"""One model on one node: its states, calibration, past forecasts and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, Samples, limit_outcomes, outcomes
from rlc_model.fallback import Hysteresis

from rlc_forecaster.core.bearers import Index, Rows
from rlc_forecaster.core.calibration import Persistence, QuantileTracker
from rlc_forecaster.core.forecast import Fallback, Layout, Source
from rlc_forecaster.core.history import DueForecasts, History, PastForecasts
from rlc_forecaster.core.model import CarriedState, StepModel
from rlc_forecaster.core.scores import Coverage, Drift, Skill


class ToldLimits(NamedTuple):
    """Queue limits of some bearers from one TC status.

    Attributes:
        at_us: When they were collected.
        slots: ``(N,)``.
        limit_bytes: ``(N,)``, none NaN.
    """

    at_us: int
    slots: NDArray[np.intp]
    limit_bytes: NDArray[np.float64]


class Sample(NamedTuple):
    """The features of one report.

    Attributes:
        at_us: Time of the report.
        rows: Its bearers.
        samples: From the feature extractor.
        new: Slots of new bearers.
        outdated: Slots whose carried state is too old.
        told: The newest queue limits since the report before; None if there are none.
    """

    at_us: int
    rows: Rows
    samples: Samples
    new: NDArray[np.intp]
    outdated: NDArray[np.intp]
    told: ToldLimits | None


@dataclass(frozen=True, slots=True, eq=False)
class Serving:
    """Which forecast each bearer is served.

    Attributes:
        rows, warm, changes, stale: The inputs of the decision.
        served: ``(B,)`` whether the model's.
        persistence_rows: Rows served persistence; None if there are none.
        source: ``(B,)`` of :class:`Source`.
        fallback: ``(B,)`` of :class:`Fallback`.
    """

    rows: Rows
    warm: NDArray[np.bool_]
    changes: int
    stale: bool
    served: NDArray[np.bool_]
    persistence_rows: NDArray[np.intp] | None
    source: NDArray[np.uint8]
    fallback: NDArray[np.uint8]


class ModelRun:
    """Forecasts of one model, or of persistence only, and their online evaluation."""

    def __init__(
        self,
        model: StepModel | None,
        layout: Layout,
        period_us: int,
        hysteresis: Hysteresis,
        persistence: Persistence | None = None,
    ) -> None:
        """A `persistence` that is passed in is used but not updated."""
        self.model = model
        self.layout = model.layout if model is not None else layout
        self.persistence = persistence or Persistence(self.layout)
        self.updates_persistence = persistence is None
        self.skill = Skill(self.layout, hysteresis)
        self.coverage = Coverage(self.layout)
        self.carried = CarriedState(model) if model is not None else None
        self.drift = Drift(*model.feature_range) if model is not None else None
        self._columns = np.array([FEATURES.index(q.value) for q in self.layout.quantities])
        self._period_us = period_us
        self.calibration = QuantileTracker(self.layout)
        self._history = History(self.layout, period_us)
        self._newest: PastForecasts | None = None
        self._serving: Serving | None = None

    def prepare(self, sample: Sample) -> None:
        """Resets new bearers and outdated states."""
        if len(sample.new):
            self.reset(sample.new, sample.at_us)
        if len(sample.outdated) and self.carried is not None:
            self.carried.reset(sample.outdated)

    def reset(self, slots: NDArray[np.intp], at_us: int) -> None:
        """New bearers in these slots."""
        self._history.reset(slots, at_us)
        self.skill.reset(slots)
        self.calibration.reset(slots)
        if self.updates_persistence:
            self.persistence.reset(slots)
        if self.carried is not None:
            self.carried.reset(slots)

    def on_clock_reset(self) -> None:
        """The node's clock was set: past forecasts were for other times."""
        self._history.clear()

    def forecast(
        self, sample: Sample, *, stale: bool = False
    ) -> tuple[NDArray[np.float32], Serving]:
        """The served forecasts ``(B, quantity, M, Q)`` of a report, and which they are.

        Args:
            sample: The report.
            stale: Whether the model is too old to be served.
        """
        rows, features = sample.rows, sample.samples.features
        levels = features.take(self._columns, axis=1)
        forecasts: NDArray[np.float32] | None = None
        uncalibrated: NDArray[np.float32] | None = None
        if self.carried is None:
            warm = np.zeros(len(rows), np.bool_)
        else:
            offset = self.calibration.offset(rows.index, rows.highest)
            uncalibrated, forecasts, warm = self.carried.step(rows, features, offset)
        serving = self._serve(rows, warm, stale)
        tick = self._history.tick(sample.at_us)
        self._newest = PastForecasts(
            tick,
            rows,
            levels,
            sample.samples.known[:, 0],
            forecasts,
            uncalibrated,
            warm,
            serving.served,
        )
        if forecasts is None:
            return self.persistence.forecast(rows.index, rows.highest, levels), serving
        others = serving.persistence_rows
        if others is None:
            return forecasts, serving
        if len(others) == len(rows):
            return self.persistence.forecast(rows.index, rows.highest, levels), serving
        values = forecasts.copy()
        values[others] = self.persistence.forecast(rows.slots[others], rows.highest, levels[others])
        return values, serving

    def served(self) -> NDArray[np.bool_]:
        """``(B,)`` which bearers of the last report were served the model's forecast."""
        return self._newest.served if self._newest is not None else np.zeros(0, np.bool_)

    def learn(self, sample: Sample) -> None:
        """Compares past forecasts for this report with it; call after :meth:`forecast`."""
        newest = self._newest
        if newest is None:
            return
        self._history.record(newest)
        if sample.told is not None:
            self._learn_limits(sample.told, sample.at_us)
        due = self._history.due(sample.rows, sample.at_us)
        if due is None or not len(due.levels):
            return
        features, fresh = sample.samples.features, sample.samples.fresh
        if self.drift is not None:
            self.drift.update_range(features)
        actual = outcomes(self.layout.quantities, features[due.rows], fresh[due.rows])
        self._learn(sample.rows.slots_of(due.rows), due, actual)

    def _learn_limits(self, told: ToldLimits, at_us: int) -> None:
        # The status is of the nearest report's instant.
        periods = round((told.at_us - at_us) / self._period_us)
        found = self._history.due_of(told.slots, at_us + periods * self._period_us)
        if found is not None:
            due, slots = found
            actual = limit_outcomes(self.layout.quantities, told.limit_bytes[due.rows])
            self._learn(slots, due, actual)

    def _learn(self, slots: Index, due: DueForecasts, actual: NDArray[np.float32]) -> None:
        points = due.points
        if self.updates_persistence:
            persistence = self.persistence.learn(slots, points, actual, due.levels)
        else:
            persistence = self.persistence.at_points(slots, points, due.levels)
        model, uncalibrated = due.forecasts, due.uncalibrated
        if model is None or uncalibrated is None:
            self.coverage.learn(points, actual, persistence)
            return
        self.coverage.learn(points, actual, persistence, model, due.served)
        losses = self.skill.learn(slots, points, actual, model, persistence, counts=due.warm)
        if losses is None:
            return
        if self.drift is not None:
            self.drift.update_losses(*losses)
        self.calibration.learn(slots, points, actual, uncalibrated, counts=due.warm)

    def _serve(self, rows: Rows, warm: NDArray[np.bool_], stale: bool) -> Serving:
        # Its inputs rarely change from one report to the next.
        serving, changes = self._serving, self.skill.fallbacks + self.skill.returns
        if (
            serving is None
            or serving.rows is not rows
            or serving.warm is not warm
            or serving.changes != changes
            or serving.stale != stale
        ):
            self._serving = serving = self._decide(rows, warm, stale, changes)
        return serving

    def _decide(self, rows: Rows, warm: NDArray[np.bool_], stale: bool, changes: int) -> Serving:
        fallback = np.zeros(len(rows), np.uint8)
        if self.carried is None:
            fallback[:] = Fallback.NO_MODEL
        else:
            fallback[self.skill.fallen_back(rows.slots)] = Fallback.WORSE_THAN_PERSISTENCE
            fallback[~warm] = Fallback.WARMING_UP
            fallback[~warm & self.carried.was_not_finite(rows)] = Fallback.NOT_FINITE
            if stale:
                fallback[:] = Fallback.MODEL_STALE
        served = fallback == Fallback.NONE
        source = np.where(served, Source.MODEL, Source.PERSISTENCE).astype(np.uint8)
        others = None if served.all() else np.flatnonzero(~served)
        return Serving(rows, warm, changes, stale, served, others, source, fallback)
