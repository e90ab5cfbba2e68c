"""The forecaster of one node: RLC reports in, forecasts out, one model step per report."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from ric.late_reports import LateReports
from rlc_model import FEATURES, ContractError, FeatureExtractor, Quantity
from rlc_model.cumulated import CumulatedDrain

from rlc_forecaster.core.bearers import BearerSlots, Rows
from rlc_forecaster.core.forecast import Batch, Layout
from rlc_forecaster.core.model import StepModel
from rlc_forecaster.core.model_run import ModelRun, ReportedLimits, Sample
from rlc_forecaster.core.model_swap import RECENT_SAMPLES, ModelSwap

GONE_AFTER_US: Final = 1_000_000
"""A bearer absent from the reports for this long is removed."""
LONGEST_GAP_US: Final = 100_000
"""After a longer silence the carried state is outdated and starts from zero."""
LAST_TIME_US: Final = 2**62
"""Later times (year 148 000) would overflow differences."""
_OCCUPANCY: Final = FEATURES.index(Quantity.OCCUPANCY.value)
_NO_SLOTS: Final = np.empty(0, np.intp)


@dataclass(slots=True)
class Counters:
    """Cumulative counters.

    Attributes:
        reports: All reports.
        duplicates: Reports with the time of an earlier one.
        late: Reports older than the newest that are no duplicates.
        gaps: Gaps in the series of reports.
        missing: Reports missing in them.
        duplicate_rows: Rows of a report that repeat a bearer.
        counter_resets: Resets of a bearer's RLC counters.
        clock_resets: Changes of the node's clock.
        bearers_added, bearers_gone: Bearers.
        swaps: Models that became active.
    """

    reports: int = 0
    duplicates: int = 0
    late: int = 0
    gaps: int = 0
    missing: int = 0
    duplicate_rows: int = 0
    counter_resets: int = 0
    clock_resets: int = 0
    bearers_added: int = 0
    bearers_gone: int = 0
    swaps: int = 0


@dataclass(frozen=True, slots=True)
class SwapResult:
    """How the warm-up of a model ended.

    Attributes:
        model: ``name:version``.
        refused: Why it was refused; empty if it is active.
    """

    model: str
    refused: str = ""


class Forecaster:
    """Forecasts every bearer of one node."""

    def __init__(
        self,
        node_id: str,
        model: StepModel | None = None,
        *,
        layout: Layout | None = None,
        period_us: int = 1_000,
    ) -> None:
        """Serves naive forecasts with `layout` where there is no model."""
        self.node_id = node_id
        self.counters = Counters()
        self.model_stale = False
        """Set by the caller if the model exceeds its maximum age."""
        self._period_us = period_us
        self._slots = BearerSlots(LONGEST_GAP_US)
        self._rows: Rows | None = None
        self._features = FeatureExtractor()
        self._last_us = -1
        self._late = LateReports()
        self._times: deque[int] = deque(maxlen=RECENT_SAMPLES)
        self._recent: deque[Sample] = deque(maxlen=RECENT_SAMPLES)
        self._to_learn: Sample | None = None
        self._limits: ReportedLimits | None = None
        self._latest: Batch | None = None
        self._run = ModelRun(model, layout or Layout(period_us=period_us), period_us)
        self._swap: ModelSwap | None = None
        self._swap_results: list[SwapResult] = []
        self._cumulated: CumulatedDrain | None = None

    @property
    def latest(self) -> Batch | None:
        """The newest forecasts."""
        return self._latest

    @property
    def layout(self) -> Layout:
        """The axes of the forecasts."""
        return self._run.layout

    @property
    def run(self) -> ModelRun:
        """The active model and its evaluation."""
        return self._run

    @property
    def warming_up(self) -> str:
        """Name of the model that is being warmed up; empty if there is none."""
        swap = self._swap
        return swap.run.model.name if swap is not None and swap.run.model else ""

    @property
    def bearers(self) -> int:
        """Bearers known now."""
        return len(self._slots)

    def skill(self) -> NDArray[np.float64]:
        """``(quantity, M)`` skill of what is served against the best simple forecaster; NaN where
        it is unknown."""
        return self._run.skill.by_point()

    def swap_model(self, model: StepModel) -> None:
        """Replaces the model as soon as the new one is warm; the present one serves until then.

        The outcome is in :meth:`swap_results`. A model that is still warming up is dropped.
        """
        self.learn()
        same = model.layout == self._run.layout
        known = self._run.mix.with_new_model() if same else None
        run = ModelRun(model, model.layout, self._period_us, known)
        self._swap = ModelSwap(run, self._recent)
        if not self._recent:
            self._activate(self._swap)

    def forecast_cumulated_drain(self) -> None:
        """Forecasts the cumulated drain as well, from the next report on."""
        if self._cumulated is None:
            self._cumulated = CumulatedDrain(self.layout.points_us, self._period_us)

    def swap_results(self) -> list[SwapResult]:
        """Results of model swaps since the last call."""
        results, self._swap_results = self._swap_results, []
        return results

    def update_limits(
        self,
        rnti: NDArray[np.integer],
        drb: NDArray[np.integer],
        limit_bytes: ArrayLike,
        at_us: int,
    ) -> None:
        """Notes the pacers' queue limits of some bearers; unknown bearers are ignored.

        Raises:
            ContractError: As :meth:`rlc_model.FeatureExtractor.update_limit`.
        """
        there, slots = self._slots.find(rnti, drb)
        values = np.asarray(limit_bytes, np.float64)[there]
        self._features.update_limit(slots, values, at_us)
        known = ~np.isnan(values)
        if known.any():
            self._note_limits(ReportedLimits(at_us, slots[known], values[known]))

    def update_mac(
        self,
        rnti: NDArray[np.integer],
        mcs: ArrayLike,
        tbs_bytes: ArrayLike,
        at_us: int,
    ) -> None:
        """Notes MCS and newest transport block size of some UEs, for all of their bearers.

        Raises:
            ContractError: As :meth:`rlc_model.FeatureExtractor.update_mac`.
        """
        if self._rows is None:
            return
        there, slots = self._slots.of_ues(rnti)
        self._features.update_mac(
            slots, np.asarray(mcs)[there], np.asarray(tbs_bytes)[there], at_us
        )

    def on_report(self, report: NDArray[np.void], at_us: int) -> Batch | None:
        """Forecasts from one RLC report.

        Args:
            report: ``(B,)`` structured array with FlexRIC's RLC field names.
            at_us: Time of the report, node's clock.

        Returns:
            Forecasts of its bearers, or None for a report that is late, a duplicate or empty.

        Raises:
            ContractError: The report lacks a field, or its time is out of range.
        """
        self.learn()
        self.counters.reports += 1
        if not 0 <= at_us <= LAST_TIME_US:
            raise ContractError("report.tstamp", f"{at_us} µs; expected 0 to {LAST_TIME_US}")
        if at_us <= self._last_us:
            if not self._is_clock_reset(at_us):
                return None
        else:
            self._late.clear()
        silence_us = at_us - self._last_us if self._last_us >= 0 else 0
        self._last_us = at_us
        self._times.append(at_us)
        if silence_us > 2 * self._period_us:
            self.counters.gaps += 1
            self.counters.missing += silence_us // self._period_us - 1
        if len(report) == 0:
            return None
        sample = self._sample(report, at_us, silence_us)
        self._run.prepare(sample)
        values, serving = self._run.forecast(sample, stale=self.model_stale)
        cumulated = self._forecast_cumulated(sample)
        self._to_learn = sample
        model, rows = self._run.model, sample.rows
        self._latest = Batch(
            self.node_id,
            at_us,
            rows.rnti,
            rows.drb,
            self._run.layout,
            values,
            serving.source,
            serving.fallback,
            sample.samples.known[:, 0],
            sample.samples.features[:, _OCCUPANCY],
            model.name if model is not None else "",
            cumulated,
        )
        return self._latest

    def learn(self) -> None:
        """Learns from the last report, which its forecasts need not wait for.

        Call it after they were sent; else it happens at the next report.
        """
        sample, self._to_learn = self._to_learn, None
        if sample is None:
            return
        resets = len(sample.rows) - int(np.count_nonzero(sample.samples.fresh))
        self.counters.counter_resets += resets - len(sample.new)
        self._run.learn(sample)
        if self._swap is not None:
            self._warm_up(self._swap, sample)
        self._recent.append(sample)
        gone = self._slots.expire(sample.at_us - GONE_AFTER_US)
        if len(gone):
            self.counters.bearers_gone += len(gone)
            self._features.forget(gone)

    def _forecast_cumulated(self, sample: Sample) -> NDArray[np.float32] | None:
        of, rows = self._cumulated, sample.rows
        if of is None:
            return None
        of.grow(rows.highest)
        of.reset(sample.new)
        of.add(rows.index, sample.at_us // self._period_us, *sample.samples[:2])
        return of.forecasts(rows.index)

    def _note_limits(self, limits: ReportedLimits) -> None:
        """Keeps limits for the next sample: those of one instant, so that they stay few."""
        before = self._limits
        if before is not None and before.at_us == limits.at_us:
            others = ~np.isin(before.slots, limits.slots)
            limits = ReportedLimits(
                limits.at_us,
                np.concatenate([before.slots[others], limits.slots]),
                np.concatenate([before.limit_bytes[others], limits.limit_bytes]),
            )
        if before is None or before.at_us <= limits.at_us:
            self._limits = limits

    def _sample(self, report: NDArray[np.void], at_us: int, silence_us: int) -> Sample:
        rows = self._slots.rows(report, at_us)
        new = outdated = _NO_SLOTS
        if rows is not self._rows:
            self._rows = rows
            new, outdated = rows.new, rows.returned
            self.counters.bearers_added += len(new)
            self._features.forget(new)
        if rows.kept is not None:
            self.counters.duplicate_rows += len(report) - len(rows)
            report = report[rows.kept]
        if silence_us > LONGEST_GAP_US:
            outdated = rows.slots
        samples = self._features.extract(rows.slots, report, at_us)
        limits, self._limits = self._limits, None
        return Sample(at_us, rows, samples, new, outdated, limits)

    def _is_clock_reset(self, at_us: int) -> bool:
        """Counts a report that is not newer than the newest; whether the clock was set back."""
        if at_us in self._times or at_us in self._late:
            self.counters.duplicates += 1
            return False
        self.counters.late += 1
        if not self._late.shows_clock_set_back(at_us):
            return False
        self.counters.clock_resets += 1
        self._times.clear()
        self._recent.clear()
        self._limits = None
        self._last_us = -1
        # Every bearer counts as new: differences with the old time are meaningless.
        self._slots = BearerSlots(LONGEST_GAP_US)
        self._rows = None
        self._features = FeatureExtractor()
        self._run.on_clock_reset()
        self._begin_cumulated()
        if self._swap is not None and self._swap.run.model is not None:
            self.swap_model(self._swap.run.model)
        return True

    def _warm_up(self, swap: ModelSwap, sample: Sample) -> None:
        swap.feed(sample, self._run.with_model())
        model = swap.run.model
        if swap.rejected and model is not None:
            self._swap = None
            self._swap_results.append(SwapResult(model.name, swap.rejected))
        elif swap.ready:
            self._activate(swap)

    def _begin_cumulated(self) -> None:
        """Forgets the drain, because bearers or points are others now."""
        if self._cumulated is not None:
            self._cumulated = CumulatedDrain(self.layout.points_us, self._period_us)

    def _activate(self, swap: ModelSwap) -> None:
        has_other_points = swap.run.layout.points_us != self._run.layout.points_us
        self._run = swap.run
        if has_other_points:
            self._begin_cumulated()
        self._swap = None
        self.model_stale = False
        self.counters.swaps += 1
        if swap.run.model is not None:
            self._swap_results.append(SwapResult(swap.run.model.name))
