"""One node's forecaster: RLC reports in, forecasts out, one model step per report."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rlc_model import ContractError, FeatureExtractor

from rlc_forecaster.core.bearers import BearerSlots, Rows
from rlc_forecaster.core.forecast import Batch, Layout
from rlc_forecaster.core.skill import Hysteresis
from rlc_forecaster.core.step import StepModel
from rlc_forecaster.core.succession import RECENT_SAMPLES, Succession
from rlc_forecaster.core.track import Sample, Track

GONE_AFTER_US: Final = 1_000_000
"""A bearer that reports have not named for this long is forgotten."""
LONGEST_GAP_US: Final = 100_000
"""After a longer silence the carried state speaks of another time and starts from zero."""
CLOCK_SET_AFTER: Final = 50
"""So many reports in a row that are late and yet in order among themselves: the node's clock was
set back, or one report bore a time far ahead."""
LAST_TIME_US: Final = 2**62
"""Times beyond are no wall clock (year 148 000), and would overflow differences."""
_NOBODY: Final = np.empty(0, np.intp)


@dataclass(slots=True)
class Counters:
    """What happened to reports, cumulative.

    Attributes:
        reports: All.
        duplicates: Of a time that was there already.
        late: Older than the newest, and not there already.
        gaps: Times at which reports were missing between two.
        missing: Reports that were.
        duplicate_rows: Rows that named a bearer a second time in a report.
        counter_resets: Bearers whose counters began anew.
        clock_resets: Times the node's clock was set.
        bearers_added, bearers_gone: Bearers.
        swaps: Models gone over to.
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
class SwapNews:
    """How a model's coming in ended.

    Attributes:
        model: ``name:version``.
        refused: Why it was left out; empty when it is in force.
    """

    model: str
    refused: str = ""


class Forecaster:
    """Carries the state of every bearer of one node."""

    def __init__(
        self,
        node_id: str,
        model: StepModel | None = None,
        *,
        layout: Layout | None = None,
        period_us: int = 1_000,
        hysteresis: Hysteresis | None = None,
    ) -> None:
        """Without a model, persistence is served with `layout`."""
        self.node_id = node_id
        self.counters = Counters()
        self.model_stale = False
        """Set by the shell when the model is older than it may be."""
        self._period_us = period_us
        self._hysteresis = hysteresis or Hysteresis()
        self._slots = BearerSlots(LONGEST_GAP_US)
        self._rows: Rows | None = None
        self._features = FeatureExtractor()
        self._last_us = -1
        self._late: deque[int] = deque(maxlen=CLOCK_SET_AFTER)
        self._times: deque[int] = deque(maxlen=RECENT_SAMPLES)
        self._recent: deque[Sample] = deque(maxlen=RECENT_SAMPLES)
        self._unlearned: Sample | None = None
        self._latest: Batch | None = None
        self._track = Track(model, layout or Layout(), period_us, self._hysteresis)
        self._succession: Succession | None = None
        self._news: list[SwapNews] = []

    @property
    def latest(self) -> Batch | None:
        """The newest forecasts."""
        return self._latest

    @property
    def layout(self) -> Layout:
        """The axes of the forecasts."""
        return self._track.layout

    @property
    def track(self) -> Track:
        """The model in force and what is known of it."""
        return self._track

    @property
    def warming_up(self) -> str:
        """The model on its way in; empty when there is none."""
        coming = self._succession
        return coming.track.model.name if coming is not None and coming.track.model else ""

    @property
    def bearers(self) -> int:
        """Bearers known now."""
        return len(self._slots)

    def skill(self) -> NDArray[np.float64] | None:
        """``(quantity, M)`` skill of the model against persistence; None without a model."""
        return None if self._track.model is None else self._track.skill.by_point()

    def swap_model(self, model: StepModel) -> None:
        """Goes over to another model as soon as it is warm; the present one serves until then.

        :meth:`news` tells how it ended. A model that is still on its way in gives way.
        """
        self.learn()
        same = model.layout == self._track.layout
        shared = self._track.persistence if same else None
        track = Track(model, model.layout, self._period_us, self._hysteresis, shared)
        self._succession = Succession(track, self._recent)
        if not self._recent:
            self._go_over(self._succession)

    def news(self) -> list[SwapNews]:
        """How models came in since the last call."""
        news, self._news = self._news, []
        return news

    def note_limits(
        self,
        rnti: NDArray[np.integer],
        drb: NDArray[np.integer],
        limit_bytes: ArrayLike,
        at_us: int,
    ) -> None:
        """Takes in the pacers' queue limits of some bearers; those not known are left out.

        Raises:
            ContractError: As :meth:`rlc_model.FeatureExtractor.note_limit`.
        """
        there, slots = self._slots.find(rnti, drb)
        self._features.note_limit(slots, np.asarray(limit_bytes, np.float64)[there], at_us)

    def note_mac(
        self,
        rnti: NDArray[np.integer],
        mcs: ArrayLike,
        tbs_bytes: ArrayLike,
        at_us: int,
    ) -> None:
        """Takes in MCS and newest transport block of some UEs, for all their bearers.

        Raises:
            ContractError: As :meth:`rlc_model.FeatureExtractor.note_mac`.
        """
        if self._rows is None:
            return
        there, slots = self._slots.of_ues(rnti)
        self._features.note_mac(slots, np.asarray(mcs)[there], np.asarray(tbs_bytes)[there], at_us)

    def on_report(self, report: NDArray[np.void], at_us: int) -> Batch | None:
        """Takes in one RLC report.

        Args:
            report: ``(B,)`` structured array with FlexRIC's RLC field names.
            at_us: Time of the report, the node's clock.

        Returns:
            Forecasts of its bearers, or None for a report that is late, a duplicate or empty.

        Raises:
            ContractError: The report lacks a field, or its time is none.
        """
        self.learn()
        self.counters.reports += 1
        if not 0 <= at_us <= LAST_TIME_US:
            raise ContractError("report.tstamp", f"{at_us} µs; expected 0 to {LAST_TIME_US}")
        if at_us <= self._last_us and not self._clock_was_set(at_us):
            return None
        silence_us = at_us - self._last_us if self._last_us >= 0 else 0
        self._last_us = at_us
        self._times.append(at_us)
        if silence_us > 2 * self._period_us:
            self.counters.gaps += 1
            self.counters.missing += silence_us // self._period_us - 1
        if len(report) == 0:
            return None
        sample = self._sample(report, at_us, silence_us)
        self._track.prepare(sample)
        values, plan = self._track.forecast(sample, stale=self.model_stale)
        self._unlearned = sample
        model, rows = self._track.model, sample.rows
        self._latest = Batch(
            self.node_id,
            at_us,
            rows.rnti,
            rows.drb,
            self._track.layout,
            values,
            plan.source,
            plan.fallback,
            sample.samples.told[:, 0],
            model.name if model is not None else "",
        )
        return self._latest

    def learn(self) -> None:
        """Does what need not be done before the forecasts of the last report leave.

        Called when they have left, or else at the next report.
        """
        sample, self._unlearned = self._unlearned, None
        if sample is None:
            return
        begun_anew = len(sample.rows) - int(np.count_nonzero(sample.samples.fresh))
        self.counters.counter_resets += begun_anew - len(sample.forgotten)
        self._track.learn(sample)
        if self._succession is not None:
            self._warm_up(self._succession, sample)
        self._recent.append(sample)
        gone = self._slots.expire(sample.at_us - GONE_AFTER_US)
        if len(gone):
            # Whoever gets the slot next begins anew there.
            self.counters.bearers_gone += len(gone)
            self._features.forget(gone)

    def _sample(self, report: NDArray[np.void], at_us: int, silence_us: int) -> Sample:
        rows = self._slots.rows(report, at_us)
        forgotten = restarted = _NOBODY
        if rows is not self._rows:
            self._rows = rows
            forgotten, restarted = rows.new, rows.returned
            self.counters.bearers_added += len(forgotten)
            self._features.forget(forgotten)
        if rows.kept is not None:
            self.counters.duplicate_rows += len(report) - len(rows)
            report = report[rows.kept]
        if silence_us > LONGEST_GAP_US:
            restarted = rows.slots
        samples = self._features.extract(rows.slots, report, at_us)
        return Sample(at_us, rows, samples, forgotten, restarted)

    def _clock_was_set(self, at_us: int) -> bool:
        if at_us in self._times:
            self.counters.duplicates += 1
        else:
            self.counters.late += 1
        if self._late and at_us <= self._late[-1]:
            self._late.clear()
        self._late.append(at_us)
        if len(self._late) < CLOCK_SET_AFTER:
            return False
        self.counters.clock_resets += 1
        self._late.clear()
        self._times.clear()
        self._recent.clear()
        self._last_us = -1
        # Every bearer is as if new: differences with the old time mean nothing.
        self._slots = BearerSlots(LONGEST_GAP_US)
        self._rows = None
        self._features = FeatureExtractor()
        self._track.forget_time()
        if self._succession is not None and self._succession.track.model is not None:
            self.swap_model(self._succession.track.model)
        return True

    def _warm_up(self, coming: Succession, sample: Sample) -> None:
        coming.take(sample, self._track.served())
        model = coming.track.model
        if coming.rejected and model is not None:
            self._succession = None
            self._news.append(SwapNews(model.name, coming.rejected))
        elif coming.ready:
            self._go_over(coming)

    def _go_over(self, coming: Succession) -> None:
        self._track = coming.track
        self._track.teaches_persistence = True
        self._succession = None
        self.model_stale = False
        self.counters.swaps += 1
        if coming.track.model is not None:
            self._news.append(SwapNews(coming.track.model.name))
