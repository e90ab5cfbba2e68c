"""One node's forecaster: RLC reports in, forecasts out, one model step per report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, FeatureExtractor

from rlc_forecaster.core.bearers import BearerSlots, grown
from rlc_forecaster.core.forecast import Batch, Layout, Source
from rlc_forecaster.core.history import Checked, History
from rlc_forecaster.core.persistence import Persistence
from rlc_forecaster.core.skill import Skill
from rlc_forecaster.core.step import StepModel

GONE_AFTER_US: Final = 1_000_000
"""A bearer that reports have not named for this long is forgotten."""
LONGEST_GAP_US: Final = 100_000
"""After a longer silence the carried state speaks of another time and starts from zero."""


@dataclass(slots=True)
class Counters:
    """What happened to reports, cumulative."""

    reports: int = 0
    late_or_duplicate: int = 0
    gaps: int = 0
    counter_resets: int = 0
    bearers_added: int = 0
    bearers_gone: int = 0


class Forecaster:
    """Carries the state of every bearer of one node."""

    def __init__(
        self,
        node_id: str,
        model: StepModel | None = None,
        *,
        layout: Layout | None = None,
        period_us: int = 1_000,
    ) -> None:
        """Without a model, persistence is served with `layout`."""
        self.node_id = node_id
        self.counters = Counters()
        self._period_us = period_us
        self._slots = BearerSlots()
        self._features = FeatureExtractor()
        self._last_us = -1
        self._latest: Batch | None = None
        self._use(model, layout or Layout())

    @property
    def latest(self) -> Batch | None:
        """The newest forecasts."""
        return self._latest

    @property
    def layout(self) -> Layout:
        """The axes of the forecasts."""
        return self._layout

    @property
    def bearers(self) -> int:
        """Bearers known now."""
        return len(self._slots)

    def skill(self) -> NDArray[np.float64] | None:
        """``(quantity, M)`` skill of the model against persistence; None without a model."""
        return None if self._model is None else self._skill.by_point()

    def swap_model(self, model: StepModel | None, layout: Layout | None = None) -> None:
        """Goes over to another model; persistence is served while it warms up."""
        self._use(model, layout or self._layout)

    def on_report(self, report: NDArray[np.void], at_us: int) -> Batch | None:
        """Takes in one RLC report.

        Args:
            report: ``(B,)`` structured array with FlexRIC's RLC field names.
            at_us: Time of the report, the node's clock.

        Returns:
            Forecasts of its bearers, or None for a report that is late, a duplicate or empty.

        Raises:
            ContractError: The report lacks a field.
        """
        self.counters.reports += 1
        if at_us <= self._last_us:
            self.counters.late_or_duplicate += 1
            return None
        silence_us = at_us - self._last_us if self._last_us >= 0 else 0
        self._last_us = at_us
        if len(report) == 0:
            return None
        slots, new = self._slots.slots(report["rnti"], report["rbid"], at_us)
        if len(new):
            self.counters.bearers_added += len(new)
            self._forget(new)
        if silence_us > 2 * self._period_us:
            self.counters.gaps += 1
        if silence_us > LONGEST_GAP_US:
            self._steps[slots[slots < len(self._steps)]] = 0

        samples = self._features.extract(slots, report, at_us)
        self.counters.counter_resets += int((~samples.fresh).sum()) - len(new)
        levels = samples.features[:, self._columns]
        self._learn(self._history.check(slots, at_us), slots, levels)
        batch = self._forecast(slots, samples.features, levels, report, at_us)
        gone = self._slots.expire(at_us - GONE_AFTER_US)
        if len(gone):
            self.counters.bearers_gone += len(gone)
            self._forget(gone)
        self._latest = batch
        return batch

    def _use(self, model: StepModel | None, layout: Layout) -> None:
        self._model = model
        self._layout = model.layout if model is not None else layout
        self._columns = [FEATURES.index(q.value) for q in self._layout.quantities]
        self._history = History(self._layout, self._period_us)
        self._persistence = Persistence(self._layout)
        self._skill = Skill(self._layout)
        self._state = np.zeros((0, model.state_size if model is not None else 0), np.float32)
        self._steps = np.zeros(0, np.int64)

    def _forget(self, slots: NDArray[np.intp]) -> None:
        self._features.forget(slots)
        self._history.forget(slots)
        self._persistence.forget(slots)
        self._skill.forget(slots)
        self._steps[slots[slots < len(self._steps)]] = 0

    def _learn(
        self, checked: Checked, slots: NDArray[np.intp], levels: NDArray[np.float32]
    ) -> None:
        there = slots[checked.rows]
        actual = levels[checked.rows]
        if self._model is not None and checked.modelled.any():
            told = checked.modelled
            persistence = self._persistence.forecast(there[told], checked.levels[told])
            self._skill.learn(
                there[told],
                checked.point,
                actual[told],
                checked.forecasts[told],
                persistence[:, :, checked.point],
            )
        self._persistence.learn(there, checked.point, actual - checked.levels)

    def _forecast(
        self,
        slots: NDArray[np.intp],
        features: NDArray[np.float32],
        levels: NDArray[np.float32],
        report: NDArray[np.void],
        at_us: int,
    ) -> Batch:
        values = self._persistence.forecast(slots, levels)
        source = np.full(len(slots), Source.PERSISTENCE, np.uint8)
        modelled = np.zeros(len(slots), np.bool_)
        forecasts: NDArray[np.float32] | None = None
        if self._model is not None:
            forecasts, modelled = self._step(self._model, slots, features)
            served = modelled & ~self._skill.set_aside(slots)
            values[served] = forecasts[served]
            source[served] = Source.MODEL
        self._history.record(slots, at_us, levels, forecasts, modelled)
        return Batch(
            self.node_id,
            at_us,
            report["rnti"].astype(np.uint32),
            report["rbid"].astype(np.uint32),
            self._layout,
            values,
            source,
            self._model.name if self._model is not None else "",
        )

    def _step(
        self, model: StepModel, slots: NDArray[np.intp], features: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        rows = int(slots.max()) + 1
        self._steps = grown(self._steps, rows)
        self._state = grown(self._state, rows)
        fresh = slots[self._steps[slots] == 0]
        self._state[fresh] = 0
        forecasts, state = model.step(features, self._state[slots])
        answers = np.concatenate([state, forecasts.reshape(len(slots), -1)], axis=1)
        bad = np.asarray(~np.isfinite(answers).all(axis=1))
        self._state[slots] = state
        self._steps[slots] += 1
        # A state that is no number would stay so for ever: start that bearer from zero.
        self._steps[slots[bad]] = 0
        forecasts = np.where(bad[:, None, None, None], np.float32(0), forecasts)
        forecasts.sort(axis=-1)
        np.maximum(forecasts, 0.0, out=forecasts)
        return forecasts, ~bad & (self._steps[slots] > model.warm_up_steps)
