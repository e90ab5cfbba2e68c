"""A model at work on one node: its states, its calibration, what it said and how well it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model import FEATURES, Quantity, Samples

from rlc_forecaster.core.bearers import Index, Rows
from rlc_forecaster.core.carried import CarriedState
from rlc_forecaster.core.coverage import Coverage
from rlc_forecaster.core.drift import Drift
from rlc_forecaster.core.forecast import Fallback, Layout, Source
from rlc_forecaster.core.history import Checked, History, Said
from rlc_forecaster.core.persistence import Persistence
from rlc_forecaster.core.skill import Hysteresis, Skill
from rlc_forecaster.core.step import StepModel
from rlc_forecaster.core.tracker import QuantileTracker


class Sample(NamedTuple):
    """What one report said, ready for any model.

    Attributes:
        at_us: Time of the report.
        rows: Its bearers.
        samples: Of the extractor.
        forgotten: Slots that belong to other bearers than before.
        restarted: Slots whose state speaks of another time.
    """

    at_us: int
    rows: Rows
    samples: Samples
    forgotten: NDArray[np.intp]
    restarted: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Who is served what.

    Attributes:
        rows, modelled, changes, stale: What it was decided on.
        served: ``(B,)`` whether the model is.
        others: Rows for which it is not; None when there is none.
        source: ``(B,)`` of :class:`Source`.
        fallback: ``(B,)`` of :class:`Fallback`.
    """

    rows: Rows
    modelled: NDArray[np.bool_]
    changes: int
    stale: bool
    served: NDArray[np.bool_]
    others: NDArray[np.intp] | None
    source: NDArray[np.uint8]
    fallback: NDArray[np.uint8]


class Track:
    """Forecasts of one model, or of persistence alone, and what is learned about them."""

    def __init__(
        self,
        model: StepModel | None,
        layout: Layout,
        period_us: int,
        hysteresis: Hysteresis,
        persistence: Persistence | None = None,
    ) -> None:
        """With a `persistence` given, that one is asked and not taught."""
        self.model = model
        self.layout = model.layout if model is not None else layout
        self.persistence = persistence or Persistence(self.layout)
        self.teaches_persistence = persistence is None
        self.skill = Skill(self.layout, hysteresis)
        self.coverage = Coverage(self.layout)
        self.carried = CarriedState(model) if model is not None else None
        self.drift = Drift(*model.feature_range) if model is not None else None
        self._columns = np.array([FEATURES.index(q.value) for q in self.layout.quantities])
        self._rates = np.array([q is Quantity.DRAIN for q in self.layout.quantities])
        self._limits = np.array([q is Quantity.QUEUE_LIMIT for q in self.layout.quantities])
        self.calibration = QuantileTracker(self.layout)
        self._history = History(self.layout, period_us)
        self._said: Said | None = None
        self._plan: Plan | None = None

    def prepare(self, sample: Sample) -> None:
        """Lets go of bearers that are others now, and of states of another time."""
        if len(sample.forgotten):
            self.forget(sample.forgotten, sample.at_us)
        if len(sample.restarted) and self.carried is not None:
            self.carried.restart(sample.restarted)

    def forget(self, slots: NDArray[np.intp], at_us: int) -> None:
        """Starts anew for the bearers of these slots."""
        self._history.forget(slots, at_us)
        self.skill.forget(slots)
        self.calibration.forget(slots)
        if self.teaches_persistence:
            self.persistence.forget(slots)
        if self.carried is not None:
            self.carried.restart(slots)

    def forget_time(self) -> None:
        """The node's clock was set: what was said was said for other times."""
        self._history.clear()

    def forecast(self, sample: Sample, *, stale: bool = False) -> tuple[NDArray[np.float32], Plan]:
        """The served forecasts ``(B, quantity, M, Q)`` of a report, and whose they are.

        Args:
            sample: The report.
            stale: Whether the model is too old to be served.
        """
        rows, features = sample.rows, sample.samples.features
        levels = features.take(self._columns, axis=1)
        forecasts: NDArray[np.float32] | None = None
        plain: NDArray[np.float32] | None = None
        if self.carried is None:
            modelled = np.zeros(len(rows), np.bool_)
        else:
            offset = self.calibration.offset(rows.index, rows.highest)
            plain, forecasts, modelled = self.carried.step(rows, features, offset)
        plan = self._planned(rows, modelled, stale)
        tick = self._history.tick(sample.at_us)
        self._said = Said(tick, rows, levels, forecasts, plain, modelled, plan.served)
        if forecasts is None:
            return self.persistence.forecast(rows.index, rows.highest, levels), plan
        if plan.others is None:
            return forecasts, plan
        if len(plan.others) == len(rows):
            return self.persistence.forecast(rows.index, rows.highest, levels), plan
        others = plan.others
        values = forecasts.copy()
        values[others] = self.persistence.forecast(rows.slots[others], rows.highest, levels[others])
        return values, plan

    def served(self) -> NDArray[np.bool_]:
        """``(B,)`` which bearers of the last report were served the model's forecast."""
        return self._said.served if self._said is not None else np.zeros(0, np.bool_)

    def learn(self, sample: Sample) -> None:
        """Holds what was said for this report against it, after :meth:`forecast`."""
        said = self._said
        if said is None:
            return
        self._history.record(said)
        checked = self._history.check(sample.rows, sample.at_us)
        if checked is None or not len(checked.levels):
            return
        if self.drift is not None:
            self.drift.see(sample.samples.features)
        self._learn(sample.rows.slots_of(checked.rows), checked, self._actual(sample, said))

    def _learn(self, slots: Index, checked: Checked, levels: NDArray[np.float32]) -> None:
        actual, point = levels[checked.rows], checked.point
        if self.teaches_persistence:
            persistence = self.persistence.learn(slots, point, actual, checked.levels)
        else:
            persistence = self.persistence.said_at(slots, point, checked.levels)
        model, plain = checked.forecasts, checked.plain
        if model is None or plain is None:
            self.coverage.learn(point, actual, persistence)
            return
        self.coverage.learn(point, actual, persistence, model, checked.served)
        told = checked.modelled
        losses = self.skill.learn(slots, point, actual, model, persistence, counts=told)
        if losses is None:
            return
        if self.drift is not None:
            self.drift.learn(*losses)
        self.calibration.learn(slots, point, actual, plain, counts=told)

    def _actual(self, sample: Sample, said: Said) -> NDArray[np.float32]:
        """Levels of now, NaN where they are not known."""
        samples = sample.samples
        return rlc_native.outcomes(
            said.levels, samples.fresh, samples.told[:, 0], self._rates, self._limits
        )

    def _planned(self, rows: Rows, modelled: NDArray[np.bool_], stale: bool) -> Plan:
        # Nothing changed since the last report, which is how it nearly always is.
        plan, changes = self._plan, self.skill.fallbacks + self.skill.returns
        if (
            plan is None
            or plan.rows is not rows
            or plan.modelled is not modelled
            or plan.changes != changes
            or plan.stale != stale
        ):
            self._plan = plan = self._decide(rows, modelled, stale, changes)
        return plan

    def _decide(self, rows: Rows, modelled: NDArray[np.bool_], stale: bool, changes: int) -> Plan:
        fallback = np.zeros(len(rows), np.uint8)
        if self.carried is None:
            fallback[:] = Fallback.NO_MODEL
        else:
            fallback[self.skill.set_aside(rows.slots)] = Fallback.WORSE_THAN_PERSISTENCE
            fallback[~modelled] = Fallback.WARMING_UP
            fallback[~modelled & self.carried.broken(rows)] = Fallback.NOT_FINITE
            if stale:
                fallback[:] = Fallback.MODEL_STALE
        served = fallback == Fallback.NONE
        source = np.where(served, Source.MODEL, Source.PERSISTENCE).astype(np.uint8)
        others = None if served.all() else np.flatnonzero(~served)
        return Plan(rows, modelled, changes, stale, served, others, source, fallback)
