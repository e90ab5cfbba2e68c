"""The record of a subscription, and the clock offsets that its times imply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.e2 import Indication, KpmReport, KpmUe
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, mac, rlc, tc
from ric_doctor.facts import Interval, Offsets, Spread
from ric_doctor.probe.record import StreamRecord, offsets

T0 = 1_700_000_000_000_000


def indication(sequence: int, at_us: int, message: bytes = b"", **more: Any) -> Indication:
    given = {"kpm": None, "dropped": 0, "received_at_us": at_us + 100, **more}
    return Indication("n", 1, RLC_OID, sequence, b"", message, collected_at_us=at_us, **given)


def recorded(oid: str, *indications: Indication) -> StreamRecord:
    record = StreamRecord("n", oid, 1, T0, "pipeline_status" if oid == TC_V1_OID else "")
    for one in indications:
        record.add(one, one.received_at_us + 50)
    return record


def report(**fields: Any) -> bytes:
    records = rlc.zeros(1)
    for name, value in fields.items():
        records[name][0] = value
    return rlc.encode(records, T0)


def test_counts_gaps_and_ages() -> None:
    seen = recorded(
        RLC_OID,
        indication(5, T0 + 1_000, report(), dropped=2),
        indication(6, T0 + 2_000, report(), dropped=2),
        indication(9, T0 + 5_000, b"\x00", dropped=3),
        indication(9, T0 + 5_000, report()),
    ).facts(T0 + 10_000)
    assert (seen.received, seen.missed, seen.dropped, seen.disordered) == (4, 2, 3, 1)
    assert (seen.undecodable, seen.first_error) == (
        1,
        "rlc: message: 1 bytes; expected at least 12",
    )
    assert (seen.window_us, seen.first_after_us, seen.listened_us) == (10_000, 1_150, 8_850)
    assert seen.longest_gap_us == 4_850
    assert (seen.collected_span_us, seen.handled_span_us, seen.distinct) == (4_000, 4_000, 3)
    assert seen.node_to_gateway_us == Spread(100, 100, 100, 100)
    assert seen.gateway_to_here_us == Spread(50, 50, 50, 50)
    assert seen.tstamp_off_us == -5_000


def test_reports_that_overtook_one_another() -> None:
    seen = recorded(
        RLC_OID, *(indication(n, T0 + at, report()) for n, at in enumerate((1, 3, 2, 2, 4)))
    ).facts(T0 + 10)
    assert (seen.late, seen.disordered, seen.distinct) == (2, 0, 4)


def test_no_report_was_received() -> None:
    seen = recorded(RLC_OID).facts(T0 + 10, "gone", "left")
    assert (seen.received, seen.ended, seen.detail, seen.offsets) == (0, "gone", "left", None)


def test_rows_tell_who_fills_them() -> None:
    seen = recorded(
        RLC_OID,
        indication(1, T0, report(txpdu_bytes=0xFFFF_FFF0, txbuf_occ_bytes=9, txsdu_wt_us=1)),
        indication(2, T0, report(txpdu_bytes=5, txbuf_occ_bytes=9)),
        indication(3, T0, report(txpdu_bytes=4)),
    ).facts(T0 + 10)
    rows = seen.rows
    assert rows is not None
    assert (rows.bearers, rows.repeated) == (1, 0)
    assert (rows.backlogged, rows.delays) == (2, 1)
    assert (rows.steps, rows.steps_back) == (2, 1), "a counter that wraps goes forward"


def test_a_bearer_twice_in_a_report() -> None:
    message = rlc.encode(rlc.zeros(2), T0)
    seen = recorded(RLC_OID, indication(1, T0, message)).facts(T0 + 10)
    assert seen.rows is not None
    assert (seen.rows.bearers, seen.rows.repeated) == (2, 1)


@pytest.mark.parametrize(
    ("newer_units", "unknown"), [([{}], True), ([{}, {"RRU.PrbTotDl": "%"}], False)]
)
def test_a_unit_may_become_known_later(newer_units: list[dict[str, str]], unknown: bool) -> None:
    ue = KpmUe(17, {"RRU.PrbTotDl": 40.0})
    reports = [
        indication(number, T0 + number, kpm=KpmReport(100, (ue,), units=units))
        for number, units in enumerate(newer_units, 1)
    ]
    assert recorded(KPM_OID, *reports).facts(T0 + 10).without_unit is unknown


def test_other_models_are_read_too() -> None:
    ues = recorded(MAC_OID, indication(1, T0, mac.encode(mac.zeros(3), T0))).facts(T0 + 10)
    assert ues.rows is not None
    assert ues.rows.bearers == 3
    kpm = recorded(KPM_OID, indication(1, T0, kpm=KpmReport(100, (), ("B", "A")))).facts(T0 + 10)
    assert kpm.unsupported == ("A", "B")
    assert not kpm.without_unit, "no UE, no value"
    no_report = recorded(KPM_OID, indication(1, T0)).facts(T0 + 10)
    assert no_report.undecodable == 1


@pytest.mark.skipif(not tc.available(), reason="the module e2sm_tc is not built")
def test_another_style_than_requested_is_an_error() -> None:
    events = tc.encode("indication", {"events": []})
    seen = recorded(TC_V1_OID, indication(1, T0, events), indication(2, T0, b"\xff" * 9))
    assert seen.facts(T0).undecodable == 2
    assert seen.status is None
    assert recorded(TC_V0_OID, indication(1, T0, b"")).facts(T0).undecodable == 1


@given(
    st.integers(-(10**10), 10**10),
    st.integers(-(10**10), 10**10),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 10**5)),
             min_size=2, max_size=20),
)  # fmt: skip
def test_the_true_offsets_are_always_within_the_bounds(
    node_ahead: int, gateway_ahead: int, legs: list[tuple[int, int, int]]
) -> None:
    """Whatever the delays: reports are collected after they were requested, then received, then
    handled; the clocks of node and gateway are ahead of ours by what is drawn."""
    times = []
    for wait, to_gateway, to_here in legs:
        collected = T0 + wait
        received = collected + to_gateway
        times.append((collected + node_ahead, received + gateway_ahead, received + to_here))
    bounds = offsets(times, T0)
    assert bounds is not None
    assert bounds.node_here.low <= node_ahead <= bounds.node_here.high
    assert bounds.gateway_here.low <= gateway_ahead <= bounds.gateway_here.high
    between = bounds.node_gateway
    assert between.low <= node_ahead - gateway_ahead <= between.high


def test_one_report_bounds_nothing() -> None:
    assert offsets([(T0, T0, T0)], T0) is None
    assert offsets([(T0 - 9, T0, T0), (T0 + 1, T0 + 2, T0 + 3)], T0) == Offsets(
        Interval(-2, 1), Interval(0, 2)
    )
