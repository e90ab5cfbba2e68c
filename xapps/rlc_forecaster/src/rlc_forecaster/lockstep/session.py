"""The engine of one node, driven by frames, and the measurement of its step time T_m."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from ric.sm import mac, rlc

from rlc_forecaster.core import Forecaster, StepModel
from rlc_forecaster.indications import on_mac_report, on_rlc_report, on_tc_status
from rlc_forecaster.lockstep.frames import Frame, Kind
from rlc_forecaster.selection import Encoder, Selection

NODE_ID: Final = "lockstep"
"""The only node."""
REPORT_US: Final = 1_000
CONTEXT_REPORTS: Final = 20
"""A MAC report every 20 ms, as the service subscribes to them."""
_START_US: Final = 1_700_000_000_000_000


class Session:
    """Indications in, forecasts out, without a clock."""

    def __init__(self, model: StepModel, period_us: int = 1_000) -> None:
        """An engine as in the service, with default settings."""
        self.engine = Forecaster(NODE_ID, model, period_us=period_us)
        self.engine.forecast_cumulated_drain()
        everything = Selection("", frozenset(), model.layout.quantities, (), cumulated=True)
        self._encoder = Encoder(everything)

    def answer(self, frame: Frame) -> bytes | None:
        """The ``ForecastBatch`` for an RLC report; None for other indications.

        It has all quantities and quantiles of the model and the cumulated drain, and is empty if
        the engine makes no forecast.

        ``sent_at_us`` is the origin; the caller adds the step time.

        Raises:
            ServiceModelError: The message is not of the frame's kind.
            ContractError: A value of the report is out of range.
        """
        if frame.kind is Kind.MAC:
            on_mac_report(self.engine, frame.message)
            return None
        if frame.kind is Kind.TC_STATUS:
            on_tc_status(self.engine, frame.message, frame.collected_at_us)
            return None
        batch = on_rlc_report(self.engine, frame.message)
        return b"" if batch is None else self._encoder.encode(batch, batch.origin_us)

    def learn(self) -> None:
        """Learns from the last report; call it after the answer was sent."""
        self.engine.learn()


@dataclass(frozen=True, slots=True)
class StepTime:
    """T_m for one number of bearers: from the bytes of an RLC report to those of its forecasts.

    Attributes:
        bearers: Bearers per report.
        reports: Measured reports.
        median_us: Median.
    """

    bearers: int
    reports: int
    median_us: float


def step_time(model: StepModel, bearers: int, reports: int) -> StepTime:
    """Measures T_m over `reports` reports, after the warm-up of the model.

    Learning is not included, because it follows the forecasts; its effect on caches is.
    """
    session = Session(model)
    rng = np.random.default_rng(bearers)
    records = rlc.zeros(bearers)
    records["rnti"], records["rbid"] = np.arange(bearers) + 1, 1
    radio = mac.zeros(bearers)
    radio["rnti"], radio["dl_mcs1"], radio["dl_curr_tbs"] = records["rnti"], 15, 4_000
    level = rng.integers(0, 90_000, bearers)
    warm = model.warm_up_steps + CONTEXT_REPORTS
    took_us = []
    for k in range(warm + reports):
        at_us = _START_US + REPORT_US * k
        if k % CONTEXT_REPORTS == 0:
            session.answer(Frame(Kind.MAC, at_us, mac.encode(radio, at_us)))
        level = np.clip(level + rng.integers(-3_000, 3_001, bearers), 0, 200_000)
        records["txbuf_occ_bytes"], records["txbuf_occ_pkts"] = level, level // 1_500
        records["txpdu_bytes"] += np.uint32(2_000)
        frame = Frame(Kind.RLC, at_us, rlc.encode(records, at_us))
        began_ns = time.perf_counter_ns()
        session.answer(frame)
        ended_ns = time.perf_counter_ns()
        session.learn()
        if k >= warm:
            took_us.append((ended_ns - began_ns) / 1_000)
    return StepTime(bearers, reports, float(np.median(took_us)))
