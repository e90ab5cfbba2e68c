"""T_m, measured on this machine: from the bytes of an RLC report to those of its forecasts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from ric.sm import mac, rlc

from rlc_forecaster.core import StepModel
from rlc_forecaster.lockstep.frames import Frame, Kind
from rlc_forecaster.lockstep.session import Session

REPORT_US: Final = 1_000
CONTEXT_REPORTS: Final = 20
"""MAC each 20 ms, as the service asks for it."""
_START_US: Final = 1_700_000_000_000_000


@dataclass(frozen=True, slots=True)
class StepTime:
    """T_m of one batch size.

    Attributes:
        bearers: In each report.
        reports: Measured.
        median_us: Half of them took no longer.
    """

    bearers: int
    reports: int
    median_us: float


def step_time(model: StepModel, bearers: int, reports: int) -> StepTime:
    """Measures T_m over so many reports, after as many as the model needs to be warm.

    Learning is left out, for it follows when forecasts have left; what it costs the caches is in.
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
