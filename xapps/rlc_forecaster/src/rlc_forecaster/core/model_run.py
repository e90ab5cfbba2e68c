"""One model on one node: its states, its mix with naive forecasts, past forecasts and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model import Samples, limit_outcomes, outcomes, recent_drain
from rlc_model.mix import new_mix

from rlc_forecaster.core.bearers import Index, Rows
from rlc_forecaster.core.forecast import Fallback, Layout, Source
from rlc_forecaster.core.history import LATEST_STATUS_REPORTS, DueForecasts, History, PastForecasts
from rlc_forecaster.core.model import CarriedState, RawForecast, StepModel
from rlc_forecaster.core.scores import Coverage, Drift, Skill


class ReportedLimits(NamedTuple):
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
        limits: The newest queue limits since the report before; None if there are none.
    """

    at_us: int
    rows: Rows
    samples: Samples
    new: NDArray[np.intp]
    outdated: NDArray[np.intp]
    limits: ReportedLimits | None


@dataclass(frozen=True, slots=True, eq=False)
class Serving:
    """Which forecast each bearer is served.

    Attributes:
        rows, warm, changes, stale: The inputs of the decision.
        with_model: ``(B,)`` whether the model is part of the mix.
        naive_rows: Rows served naive forecasts alone; None if there are none.
        source: ``(B,)`` of :class:`Source`.
        fallback: ``(B,)`` of :class:`Fallback`.
    """

    rows: Rows
    warm: NDArray[np.bool_]
    changes: int
    stale: bool
    with_model: NDArray[np.bool_]
    naive_rows: NDArray[np.intp] | None
    source: NDArray[np.uint8]
    fallback: NDArray[np.uint8]


class ModelRun:
    """Forecasts of one model mixed with naive ones, or of these alone, and their evaluation."""

    def __init__(
        self,
        model: StepModel | None,
        layout: Layout,
        period_us: int,
        mix: rlc_native.Mix | None = None,
    ) -> None:
        """A `mix` of another run has what was learned about naive forecasts."""
        self.model = model
        self.layout = layout = model.layout if model is not None else layout
        self._spans = [span_us // period_us for span_us in layout.spans_us]
        self.mix = mix or new_mix(
            layout.quantities,
            np.array(layout.quantiles, np.float32),
            np.array(layout.points_us, np.int64) // period_us,
            np.array(self._spans, np.int64),
            late=LATEST_STATUS_REPORTS,
        )
        self.skill = Skill(layout)
        self.coverage = Coverage(layout)
        self.carried = CarriedState(model) if model is not None else None
        self.drift = Drift(*model.feature_range) if model is not None else None
        self._period_us = period_us
        self._history = History(layout, period_us)
        longest = max(self._spans)
        self._drain = recent_drain(longest) if longest > 1 else None
        self._newest: PastForecasts | None = None
        self._serving: Serving | None = None

    def prepare(self, sample: Sample) -> None:
        """Resets new bearers and outdated states."""
        self.mix.grow(sample.rows.highest)
        self.skill.grow(sample.rows.highest)
        if self._drain is not None:
            self._drain.grow(sample.rows.highest)
        if len(sample.new):
            self.reset(sample.new, sample.at_us)
        if len(sample.outdated) and self.carried is not None:
            self.carried.reset(sample.outdated)

    def reset(self, slots: NDArray[np.intp], at_us: int) -> None:
        """New bearers in these slots."""
        self._history.reset(slots, at_us)
        self.skill.reset(slots)
        self.mix.reset(slots)
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
        rows = sample.rows
        mix, tick, slots = self.mix, self._history.tick(sample.at_us), rows.index
        features, fresh, known = sample.samples
        limited = known[:, 0]
        uncalibrated: NDArray[np.float32] | None = None
        if self.carried is None:
            serving = self._serve(rows, np.zeros(len(rows), np.bool_), stale)
            mix.add(slots, tick, features, fresh, limited)
            values = mix.naive_forecasts(slots, tick)
        else:

            def mixer(
                output: RawForecast,
            ) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
                return mix.forecasts(slots, tick, features, fresh, limited, *output)

            uncalibrated, values, warm = self.carried.step(rows, features, mixer)
            serving = self._serve(rows, warm, stale)
            others = serving.naive_rows
            if others is not None:
                values[others] = mix.naive_forecasts(rows.slots[others], tick)
        self._newest = PastForecasts(tick, rows, limited, values, uncalibrated, serving.warm)
        return values, serving

    def with_model(self) -> NDArray[np.bool_]:
        """``(B,)`` whose forecasts of the last report the model was part of."""
        return np.zeros(0, np.bool_) if self._serving is None else self._serving.with_model

    def learn(self, sample: Sample) -> None:
        """Compares past forecasts for this report with it; call after :meth:`forecast`."""
        newest = self._newest
        if newest is None:
            return
        self._history.record(newest)
        features, fresh = sample.samples.features, sample.samples.fresh
        if self._drain is not None:
            self._drain.add(sample.rows.index, newest.tick, features, fresh)
        if sample.limits is not None:
            self._learn_limits(sample.limits, sample.at_us)
        due = self._history.due(sample.rows, sample.at_us)
        if due is None or not due.outcomes:
            return
        if self.drift is not None:
            self.drift.update_range(features)
        slots, span = sample.rows.slots_of(due.rows), self._spans[due.point]
        drain = None if self._drain is None or span == 1 else self._drain.mean(slots, span)
        quantities = self.layout.quantities
        actual = outcomes(quantities, features[due.rows], fresh[due.rows], drain=drain)
        self._learn(slots, [due], actual, sample.at_us)

    def _learn_limits(self, limits: ReportedLimits, at_us: int) -> None:
        # The status is of the nearest report's instant.
        then_us = at_us + round((limits.at_us - at_us) / self._period_us) * self._period_us
        found = self._history.due_of(limits.slots, then_us)
        if found is not None:
            due, rows = found
            actual = limit_outcomes(self.layout.quantities, limits.limit_bytes[rows])
            self._learn(limits.slots[rows], due, actual, then_us)

    def _learn(
        self, slots: Index, due: list[DueForecasts], actual: NDArray[np.float32], at_us: int
    ) -> None:
        update = rlc_native.compare(
            self.mix,
            self.skill.scores,
            slots,
            actual,
            [one.arrays for one in due],
            self._history.tick(at_us),
            at_us,
            checked=self.coverage.checked,
            covered=self.coverage.covered,
        )
        mean = self.skill.note(update)
        if self.drift is not None and mean is not None:
            self.drift.update_losses(*mean)

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
        with_model = warm
        if self.carried is None:
            fallback[:] = Fallback.NO_MODEL
        else:
            fallback[self.skill.fallen_back(rows.slots)] = Fallback.WORSE_THAN_PERSISTENCE
            fallback[~warm] = Fallback.WARMING_UP
            fallback[~warm & self.carried.was_not_finite(rows)] = Fallback.NOT_FINITE
            if stale:
                fallback[:] = Fallback.MODEL_STALE
                with_model = np.zeros(len(rows), np.bool_)
        of_model = fallback == Fallback.NONE
        source = np.where(of_model, Source.MODEL, Source.PERSISTENCE).astype(np.uint8)
        others = None if with_model.all() else np.flatnonzero(~with_model)
        return Serving(rows, warm, changes, stale, with_model, others, source, fallback)
