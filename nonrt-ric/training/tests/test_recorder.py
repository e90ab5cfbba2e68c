"""Indications are joined by instant into rows, in any order and with gaps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from ric.errors import ServiceModelError
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, mac, rlc, tc
from rlc_dataset import SCHEMA, check_table
from rlc_train.collect.recorder import Recorder

START_US = 1_700_000_000_000_000


def rlc_message(
    at_us: int, bearers: dict[tuple[int, int], tuple[int, int]], **fields: float
) -> bytes:
    """RLC report: (rnti, drb) → (occupancy, PDU byte counter)."""
    records = rlc.zeros(len(bearers))
    for row, ((rnti, drb), (occupancy, pdu_bytes)) in zip(records, bearers.items(), strict=True):
        row["rnti"], row["rbid"] = rnti, drb
        row["txbuf_occ_bytes"], row["txpdu_bytes"] = occupancy, pdu_bytes % 2**32
        for name, value in fields.items():
            row[name] = value
    return rlc.encode(records, at_us)


def mac_message(at_us: int, ues: dict[int, tuple[int, int]]) -> bytes:
    """MAC report: rnti → (MCS, TBS)."""
    records = mac.zeros(len(ues))
    for row, (rnti, (mcs, tbs)) in zip(records, ues.items(), strict=True):
        row["rnti"], row["dl_mcs1"], row["dl_curr_tbs"] = rnti, mcs, tbs
    return mac.encode(records, at_us)


def tc_message(bearers: dict[tuple[int, int], int | None]) -> bytes:
    """Pipeline status: (rnti, drb) → queue limit."""
    status: list[dict[str, Any]] = [
        {
            "bearer": {"ue": {"rnti": rnti}, "drb": drb},
            "revision": 1,
            "name": "drql",
            "safe": False,
            "lease_left_ms": None,
            "head_of_line_age_us": 0,
            "queues": [],
            "pacer": {
                "drain_kbps": 1,
                "rlc_occupancy_bytes": 2,
                "forwarded_bytes": 3,
                "limit_bytes": limit,
            },
            "ingress_packets": 0,
            "ingress_bytes": 0,
            "dropped_packets": 0,
        }
        for (rnti, drb), limit in bearers.items()
    ]
    return tc.encode("indication", {"pipeline_status": status})


def taken(recorder: Recorder) -> pa.Table:
    table = recorder.take()
    assert table is not None
    return table


def column(table: pa.Table, name: str) -> list[object]:
    values: list[object] = table.column(name).to_pylist()
    return values


def feed(recorder: Recorder, at_us: int, *messages: tuple[str, bytes]) -> None:
    for oid, message in messages:
        recorder.on_indication(oid, message, at_us)


def test_reports_of_an_instant_become_one_row_per_bearer() -> None:
    recorder = Recorder()
    for k in range(3):
        at_us = START_US + 1_000 * k
        bearers = {(18, 1): (10 * k, 0), (17, 2): (5, 100 * k), (17, 1): (7, 0)}
        feed(
            recorder,
            at_us,
            (MAC_OID, mac_message(at_us, {17: (9, 900 + k)})),
            (RLC_OID, rlc_message(at_us, bearers)),
            (TC_V1_OID, tc_message({(17, 2): 4_000 + k, (17, 1): None})),
        )
    table = taken(recorder)
    assert table.schema.equals(SCHEMA, check_metadata=True)
    check_table(table)
    assert column(table, "rnti") == [17] * 6 + [18] * 3
    assert column(table, "drb") == [1] * 3 + [2] * 3 + [1] * 3
    assert column(table, "pacer_limit_bytes") == [None] * 3 + [4_000, 4_001, 4_002] + [None] * 3
    assert column(table, "mcs") == [9] * 6 + [None] * 3
    assert column(table, "tbs_bytes") == [900, 901, 902] * 2 + [None] * 3
    assert column(table, "drained_delta_bytes") == [0] * 3 + [0, 100, 100] + [0] * 3
    assert column(table, "arrived_delta_bytes") == [0] * 3 + [0, 100, 100] + [0, 10, 10]


def test_slower_reports_join_their_own_instant() -> None:
    recorder = Recorder()
    for k in range(20):
        at_us = START_US + 1_000 * k
        feed(recorder, at_us, (RLC_OID, rlc_message(at_us, {(17, 1): (0, 0)})))
        if k % 10 == 5:
            feed(recorder, at_us, (MAC_OID, mac_message(at_us, {17: (k, k)})))
            feed(recorder, at_us, (TC_V1_OID, tc_message({(17, 1): k})))
    table = taken(recorder)
    for name in ("mcs", "tbs_bytes", "pacer_limit_bytes"):
        values = column(table, name)
        assert (values[5], values[15]) == (5, 15)
        assert sum(value is not None for value in values) == 2


def test_differences_are_valid_across_a_wrap_and_0_at_a_restart() -> None:
    recorder = Recorder()
    for k, counter in enumerate([2**32 - 500, 2**32 + 500, 100, 400]):
        at_us = START_US + 1_000 * k
        feed(recorder, at_us, (RLC_OID, rlc_message(at_us, {(17, 1): (50 * k, counter)})))
    table = taken(recorder)
    assert column(table, "drained_delta_bytes") == [0, 1_000, 0, 300]
    assert column(table, "arrived_delta_bytes") == [0, 1_050, 0, 350]


def test_times_are_rounded_to_the_grid_and_gaps_are_counted() -> None:
    recorder = Recorder()
    for at_us in (0, 1_050, 1_960, 2_980, 8_020, 8_030, 8_400, 5_000):
        feed(recorder, 0, (RLC_OID, rlc_message(START_US + at_us, {(17, 1): (at_us, 0)})))
    table = taken(recorder)
    assert [t - START_US for t in column(table, "time_us")] == [0, 1_000, 2_000, 3_000, 8_000]  # type: ignore[operator]
    assert column(table, "rlc_occupancy_bytes") == [0, 1_050, 1_960, 2_980, 8_400]
    counts = recorder.counts
    assert (counts.reports, counts.repeated, counts.missing, counts.late) == (8, 2, 4, 1)
    check_table(table, allow_gaps=True)


def test_bearers_may_appear_and_disappear() -> None:
    recorder = Recorder()
    for k in range(6):
        at_us = START_US + 1_000 * k
        bearers = {(17, 1): (1, 0)} if k < 3 else {(18, 1): (2, 0)}
        feed(recorder, at_us, (RLC_OID, rlc_message(at_us, bearers)))
    table = taken(recorder)
    check_table(table)
    assert column(table, "rnti") == [17] * 3 + [18] * 3


@pytest.mark.parametrize("sojourn", [float("nan"), float("inf"), -1.0, 1e300])
def test_invalid_values_are_counted(sojourn: float) -> None:
    recorder = Recorder()
    message = rlc_message(START_US, {(17, 1): (1, 0)}, txsdu_avg_time_to_tx=sojourn)
    feed(recorder, START_US, (RLC_OID, message))
    feed(recorder, START_US, (MAC_OID, mac_message(START_US, {17: (77, 5)})))
    table = taken(recorder)
    check_table(table)
    assert column(table, "rlc_mean_sojourn_us") == [0.0]
    assert column(table, "mcs") == [None]
    assert recorder.counts.invalid_values == 2


def test_a_segment_continues_the_grid_of_the_last() -> None:
    recorder = Recorder()
    assert recorder.take() is None
    for k in range(4):
        at_us = START_US + 1_000 * k
        feed(recorder, at_us, (RLC_OID, rlc_message(at_us, {(17, 1): (0, 100 * k)})))
        if k == 1:
            assert taken(recorder).num_rows == 2
    table = taken(recorder)
    assert column(table, "time_us") == [START_US + 2_000, START_US + 3_000]
    assert column(table, "drained_delta_bytes") == [0, 100]


def test_invalid_messages_are_refused_and_change_nothing() -> None:
    recorder = Recorder()
    for oid in (RLC_OID, MAC_OID, TC_V1_OID):
        with pytest.raises(ServiceModelError):
            recorder.on_indication(oid, b"\x05garbage", START_US)
    recorder.on_indication("1.2.3", b"garbage", START_US)
    assert recorder.take() is None
