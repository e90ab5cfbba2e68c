"""A bearer that a handover gives another C-RNTI, in reports of the emulated gNB."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from doubles import Oracle
from ric.sm import RLC_OID, rlc
from rlc_forecaster.core import Fallback, Forecaster, Source

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
FIRST = 0x4601


def test_the_state_of_the_old_name_ends_and_that_of_the_new_begins() -> None:
    radio = {"snr_series": {"period_ms": 1_000, "values_db": [15]}}
    other = {"snr_series": {"period_ms": 1_000, "values_db": [5, 25], "at_end": "hold"}}
    ue = {
        "rnti": FIRST,
        "channel": radio,
        "neighbour_channels": [other],
        "drbs": [{"id": 1}],
    }
    flows = [{"name": "load", "kind": "udp_cbr", "rate_kbps": 3_000}]
    overrides = {"cells": [{}, {}], "ues": [ue], "flows": flows}
    world = gnb_lab.World(SCENARIO, overrides=overrides)
    world.subscribe(RLC_OID, event_trigger=struct.pack("<I", 1))
    forecaster = Forecaster(world.node_id, Oracle(100.0))
    rntis: list[int] = []
    warm: list[tuple[int, int]] = []
    for indication in world.step_until(10_000_000):
        at_us = indication.collected_at_us
        batch = forecaster.on_report(rlc.decode(indication.message).records, at_us + 1)
        assert batch is not None
        (rnti,) = batch.rnti.tolist()
        (source,), (fallback,) = batch.source.tolist(), batch.fallback.tolist()
        if not rntis or rntis[-1] != rnti:
            rntis.append(rnti)
            assert fallback == Fallback.WARMING_UP, "nothing of the former bearer is used"
        if source == Source.MODEL and (not warm or warm[-1][0] != rnti):
            warm.append((rnti, at_us - world.epoch_us))
    assert rntis == [FIRST, FIRST + 1]
    assert [rnti for rnti, _ in warm] == rntis, "the model serves both once they are warm"
    assert forecaster.bearers == 1
