"""A node with more bearers than 32 KiB hold names them in turn: none is gone or empty meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from ric.sm import MAC_OID, RLC_OID, mac, rlc
from tc_controller.core.inputs import BearerKey, MacReport, RlcReport
from tc_controller.core.observe.prb_window import PrbWindow
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.reports import read_report

UES, RLC_ROWS, MAC_ROWS = 240, 214, 185
HOL_US = 25_000
MS = 1_000


def rlc_report(at_us: int, first: int, ues: int = UES) -> RlcReport:
    """The bearers from `first` on that have room."""
    rows = rlc.zeros(min(ues, RLC_ROWS))
    rows["rnti"] = 100 + (first + np.arange(len(rows))) % ues
    rows["rbid"], rows["txsdu_wt_us"] = 1, HOL_US
    report = read_report("gnb", RLC_OID, at_us, rlc.encode(rows, at_us))
    assert isinstance(report, RlcReport)
    return report


def mac_report(at_us: int, first: int, ues: int = UES) -> MacReport:
    """The UEs from `first` on that have room, each with ten PRBs a report."""
    rows = mac.zeros(min(ues, MAC_ROWS))
    rows["rnti"] = 100 + (first + np.arange(len(rows))) % ues
    rows["dl_aggr_prb"] = 10 * at_us // MS
    report = read_report("gnb", MAC_OID, at_us, mac.encode(rows, at_us))
    assert isinstance(report, MacReport)
    return report


def test_a_report_with_room_left_is_not_full() -> None:
    assert rlc.is_full(rlc_report(MS, 0).message)
    assert mac.is_full(mac_report(MS, 0).message)
    assert not rlc.is_full(rlc_report(MS, 0, RLC_ROWS - 1).message)
    assert not mac.is_full(mac_report(MS, 0, MAC_ROWS - 1).message)


def test_bearers_that_are_left_out_keep_their_queue_and_stay() -> None:
    windows = RlcWindows("gnb", 64, gone_after=50)
    for number in range(1, 301):
        report = rlc_report(number * MS, number * RLC_ROWS)
        found = windows.take(report.collected_at_us, report.message)
        windows.judge()
        assert found is None or not found.gone
    assert windows.bearers == UES
    for rnti in range(100, 100 + UES):
        slot = windows.slot(BearerKey("gnb", rnti, 1))
        assert slot is not None
        assert windows.sojourn_percentile(slot, 250 * MS, 5.0) == HOL_US


def test_a_bearer_that_left_is_gone_though_reports_are_full() -> None:
    windows = RlcWindows("gnb", 64, gone_after=50)
    gone: set[BearerKey] = set()
    for number in range(1, 301):
        ues = UES if number <= 100 else UES - 1
        report = rlc_report(number * MS, number * RLC_ROWS, ues)
        found = windows.take(report.collected_at_us, report.message)
        windows.judge()
        gone |= {windows.key(code) for code in (found.gone if found else ())}
    assert gone == {BearerKey("gnb", 100 + UES - 1, 1)}


def test_prbs_of_ues_that_are_left_out_are_counted() -> None:
    window = PrbWindow(200 * MS)
    for number in range(1, 101):
        window.mac(mac_report(number * MS, number * MAC_ROWS))
    for rnti in range(100, 100 + UES):
        rate = window.rate(rnti, 20 * MS)
        assert rate is not None
        assert rate.ue == pytest.approx(10_000, rel=0.05)
        assert rate.cell == pytest.approx(UES * 10_000, rel=0.05)
    # Others take their names: who is not reported for the span of the window is forgotten.
    for number in range(101, 501):
        window.mac(mac_report(number * MS, number * MAC_ROWS, UES - 1))
    assert window.rate(100 + UES - 1, 450 * MS) is None
