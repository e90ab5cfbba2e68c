"""RLC and MAC messages as arrays: layout, no copies, refusal of malformed bytes."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ric.errors import ServiceModelError
from ric.sm import mac, rlc
from ric.sm.plain import event_trigger_period_ms

RLC_STRUCT = struct.Struct("<25I4xQdIIQIIIBB2x")

MODELS = pytest.mark.parametrize("model", [rlc, mac], ids=["rlc", "mac"])


class MacStruct(ctypes.LittleEndianStructure):
    """The C struct of the gNB, laid out by the compiler's rules rather than by our offsets."""

    _fields_: ClassVar[Any] = [
        *((name, ctypes.c_uint64) for name in (
            "dl_aggr_tbs", "ul_aggr_tbs", "dl_aggr_bytes_sdus", "ul_aggr_bytes_sdus",
            "dl_curr_tbs", "ul_curr_tbs", "dl_sched_rb", "ul_sched_rb",
        )),
        *((name, ctypes.c_float) for name in ("pusch_snr", "pucch_snr", "dl_bler", "ul_bler")),
        ("dl_harq", ctypes.c_uint32 * 5),
        ("ul_harq", ctypes.c_uint32 * 5),
        *((name, ctypes.c_uint32) for name in (
            "dl_num_harq", "ul_num_harq", "rnti", "dl_aggr_prb", "ul_aggr_prb", "dl_aggr_sdus",
            "ul_aggr_sdus", "dl_aggr_retx_prb", "ul_aggr_retx_prb", "bsr",
        )),
        ("frame", ctypes.c_uint16),
        ("slot", ctypes.c_uint16),
        *((name, ctypes.c_uint8) for name in (
            "wb_cqi", "dl_mcs1", "ul_mcs1", "dl_mcs2", "ul_mcs2",
        )),
        ("phr", ctypes.c_int8),
    ]  # fmt: skip


def message(count: int, body: bytes, tstamp_us: int = 0) -> bytes:
    return struct.pack("<I", count) + body + struct.pack("<q", tstamp_us)


def rlc_record_values(base: int) -> tuple[Any, ...]:
    """Distinct values in wire order, large where the field is wide."""
    counters = tuple(base + i for i in range(25))
    return (*counters, base << 34, base + 0.5, base, 7, base << 33, 8, 9, 0x4601, 1, 3)


def test_flexric_vectors_decode_and_encode(rlc_vectors: list[dict[str, Any]]) -> None:
    for vector in rlc_vectors:
        data = bytes.fromhex(vector["hex"])
        table = rlc.decode(data)
        assert rlc.to_json(table) == vector["value"], vector["name"]
        again = rlc.from_json(vector["value"])
        assert rlc.encode(again.records, again.tstamp_us) == data, vector["name"]


def test_rlc_record_is_the_struct_of_the_wire() -> None:
    first, second = rlc_record_values(1000), rlc_record_values(2_000_000)
    data = message(2, RLC_STRUCT.pack(*first) + RLC_STRUCT.pack(*second), 1_700_000_000_000_123)

    table = rlc.decode(data)

    assert rlc.RECORD.itemsize == RLC_STRUCT.size == 152
    assert table.tstamp_us == 1_700_000_000_000_123
    assert table.records[0].item() == first
    assert table.records[1].item() == second
    assert table.records["rnti"].tolist() == [0x4601, 0x4601]
    assert table.records["txsdu_wt_us"].tolist() == [1000, 2_000_000]


def test_mac_record_is_the_c_struct_in_native_alignment() -> None:
    native = MacStruct()
    for number, (name, kind) in enumerate(MacStruct._fields_, start=1):
        if name.endswith("l_harq"):
            for i in range(5):
                getattr(native, name)[i] = 100 * number + i
        else:
            setattr(native, name, kind(number).value)

    table = mac.decode(message(1, bytes(native), 42))

    assert mac.RECORD.itemsize == ctypes.sizeof(MacStruct) == 176
    assert mac.RECORD.names == tuple(name for name, _ in MacStruct._fields_)
    for name, _ in MacStruct._fields_:
        expected = getattr(native, name)
        found = table.records[name][0]
        assert np.array_equal(found, list(expected) if hasattr(expected, "__len__") else expected)


@MODELS
def test_decoding_copies_nothing(model: Any) -> None:
    data = bytearray(model.encode(model.zeros(3), 5))
    records = model.decode(data).records

    assert np.shares_memory(records, np.frombuffer(data, np.uint8))
    data[4] = 77
    assert records[model.RECORD.names[0]][0] == 77


@MODELS
def test_a_view_of_received_bytes_cannot_be_written(model: Any) -> None:
    records = model.decode(model.encode(model.zeros(1), 5)).records
    with pytest.raises(ValueError, match="read-only"):
        records["rnti"] = 1


@MODELS
def test_records_of_a_thousand_bearers(model: Any) -> None:
    records = model.zeros(1000)
    records["rnti"] = np.arange(1000)
    table = model.decode(memoryview(model.encode(records, 9)))
    assert np.array_equal(table.records, records)


@MODELS
@given(data=st.data())
@settings(max_examples=60)
def test_round_trip_of_any_bytes(model: Any, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 4))
    size = count * model.RECORD.itemsize
    body = data.draw(st.binary(min_size=size, max_size=size))
    tstamp_us = data.draw(st.integers(-(2**63), 2**63 - 1))

    encoded = message(count, body, tstamp_us)
    table = model.decode(encoded)

    assert model.encode(table.records, table.tstamp_us) == encoded
    via_json = model.from_json(model.to_json(table))
    assert via_json.tstamp_us == tstamp_us
    for name in model.RECORD.names:
        before, after = table.records[name], via_json.records[name]
        if before.dtype.kind == "f":
            # JSON has no infinity and no NaN: both decode as NaN.
            before = np.where(np.isfinite(before), before, np.nan)
        assert np.array_equal(before, after, equal_nan=before.dtype.kind == "f"), name


@MODELS
@given(garbage=st.binary(max_size=700))
def test_arbitrary_bytes_are_a_message_or_a_typed_error(model: Any, garbage: bytes) -> None:
    try:
        table = model.decode(garbage)
    except ServiceModelError:
        return
    assert len(garbage) == 12 + len(table.records) * model.RECORD.itemsize


@MODELS
def test_every_truncation_and_extension_is_refused(model: Any) -> None:
    data = model.encode(model.zeros(2), 1)
    for length in range(len(data)):
        with pytest.raises(ServiceModelError):
            model.decode(data[:length])
    with pytest.raises(ServiceModelError, match="expected"):
        model.decode(data + b"\0")


@MODELS
@given(bit=st.integers(0, 31))
def test_a_flipped_bit_in_the_count_is_refused_without_allocating(model: Any, bit: int) -> None:
    data = bytearray(model.encode(model.zeros(2), 1))
    data[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(ServiceModelError, match=r"expected \d+ \(12 \+ \d+ × \d+\)"):
        model.decode(data)


def test_encoding_refuses_what_is_not_the_models_records() -> None:
    with pytest.raises(ServiceModelError, match="rlc: records"):
        rlc.encode(mac.zeros(1), 0)
    with pytest.raises(ServiceModelError, match="rlc: tstamp: 9223372036854775808"):
        rlc.encode(rlc.zeros(1), 2**63)


def test_json_of_numbers_that_are_not_finite_is_null() -> None:
    records = rlc.zeros(2)
    records["txsdu_avg_time_to_tx"] = [math.nan, math.inf]
    rows = rlc.to_json(rlc.Table(records, 0))["rb"]
    assert [row["txsdu_avg_time_to_tx"] for row in rows] == [None, None]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rnti": -1}, r"rb\[0\]\.rnti: -1; expected an integer from 0 to 4294967295"),
        ({"mode": 256}, r"rb\[0\]\.mode: 256; expected an integer from 0 to 255"),
        ({"rnti": True}, r"rb\[0\]\.rnti: True"),
        ({"rnti": "x"}, r"rb\[0\]\.rnti: 'x'"),
        ({"txsdu_avg_time_to_tx": "x"}, r"rb\[0\]\.txsdu_avg_time_to_tx: 'x'; expected a number"),
        ({"txsdu_avg_time_to_tx": 10**400}, r"rb\[0\]\.txsdu_avg_time_to_tx"),
        ({"drb": 1}, r"rb\[0\]\.drb: unknown field; expected one of txpdu_pkts"),
    ],
)
def test_json_errors_name_the_field(change: dict[str, Any], expected: str) -> None:
    value = rlc.to_json(rlc.Table(rlc.zeros(1), 0))
    value["rb"][0].update(change)
    with pytest.raises(ServiceModelError, match=expected):
        rlc.from_json(value)


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"tstamp": 1}, {"tstamp": 1, "rb": 3}, {"tstamp": "1", "rb": []},
     {"tstamp": 1, "rb": [3]}, {"tstamp": 1, "rb": [{}]}],
)  # fmt: skip
def test_json_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(ServiceModelError):
        rlc.from_json(value)


def test_mac_json_refuses_harq_counts_of_another_length() -> None:
    value = mac.to_json(mac.Table(mac.zeros(1), 0))
    value["ue"][0]["dl_harq"] = [1, 2]
    with pytest.raises(
        ServiceModelError, match=r"ue\[0\]\.dl_harq: \[1, 2\]; expected a list of 5"
    ):
        mac.from_json(value)


@given(period_ms=st.integers(1, 2**32 - 1))
def test_event_trigger_round_trip(period_ms: int) -> None:
    assert event_trigger_period_ms(rlc.event_trigger(period_ms)) == period_ms


@pytest.mark.parametrize("period_ms", [0, -1, 2**32])
def test_event_trigger_out_of_range(period_ms: int) -> None:
    with pytest.raises(ServiceModelError, match="period_ms"):
        rlc.event_trigger(period_ms)


@pytest.mark.parametrize("trigger", [b"", b"\0\0\0", b"\0\0\0\0", b"\1\0\0\0\0"])
def test_invalid_event_triggers(trigger: bytes) -> None:
    with pytest.raises(ServiceModelError):
        event_trigger_period_ms(trigger)
