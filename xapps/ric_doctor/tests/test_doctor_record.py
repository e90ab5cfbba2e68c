"""The record of a subscription."""

from __future__ import annotations

from typing import Any

import pytest
from ric.e2 import Indication, KpmReport
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, mac, rlc, tc
from ric_doctor.facts import Age
from ric_doctor.probe.record import StreamRecord

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


def test_counts_and_ages() -> None:
    seen = recorded(
        RLC_OID,
        indication(5, T0 + 1_000, report()),
        indication(6, T0 + 2_000, report(), received_at_us=T0 + 2_900),
        indication(9, T0 + 5_000, b"\x00", received_at_us=T0 + 5_010),
    ).facts(T0 + 10_000)
    assert (seen.received, seen.window_us) == (3, 10_000)
    assert (seen.undecodable, seen.first_error) == (
        1,
        "rlc: message: 1 bytes; expected at least 12",
    )
    assert seen.node_age == Age(60, 150)
    assert seen.gateway_age == Age(50, 50)
    assert seen.tstamp_off_us == -2_000


def test_no_report_was_received() -> None:
    seen = recorded(RLC_OID).facts(T0 + 10, "gone", "left")
    assert (seen.received, seen.ended, seen.detail) == (0, "gone", "left")
    assert (seen.node_age, seen.gateway_age, seen.bearers) == (None, None, None)


def test_rows_tell_whether_delays_are_filled() -> None:
    seen = recorded(
        RLC_OID,
        indication(1, T0, report(txbuf_occ_bytes=9, txsdu_wt_us=1)),
        indication(2, T0, report(txbuf_occ_bytes=9)),
        indication(3, T0, report(txsdu_wt_us=1)),
    ).facts(T0 + 10)
    assert (seen.bearers, seen.backlogged, seen.delays) == (1, 2, 1)


def test_other_models_are_read_too() -> None:
    ues = recorded(MAC_OID, indication(1, T0, mac.encode(mac.zeros(3), T0))).facts(T0 + 10)
    assert (ues.received, ues.undecodable) == (1, 0)
    assert recorded(MAC_OID, indication(1, T0, b"")).facts(T0 + 10).undecodable == 1
    kpm = recorded(KPM_OID, indication(1, T0, kpm=KpmReport(100, ())))
    assert kpm.facts(T0 + 10).undecodable == 0
    assert recorded(KPM_OID, indication(1, T0)).facts(T0 + 10).undecodable == 1


@pytest.mark.skipif(not tc.available(), reason="the module e2sm_tc is not built")
def test_another_style_than_requested_is_an_error() -> None:
    events = tc.encode("indication", {"events": []})
    seen = recorded(TC_V1_OID, indication(1, T0, events), indication(2, T0, b"\xff" * 9))
    assert seen.facts(T0).undecodable == 2
    assert seen.status is None
    assert recorded(TC_V0_OID, indication(1, T0, b"")).facts(T0).undecodable == 1
