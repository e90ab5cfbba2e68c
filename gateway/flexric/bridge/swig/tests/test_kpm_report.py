"""Reports of E2SM-KPM of any version are read, and no byte beyond them."""

from __future__ import annotations

import ctypes
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from c_parts import Fence, RecordHead
from flexric_bridge.records import kpm_report
from flexric_bridge.ue_identities import IN_KPM
from hypothesis import given
from hypothesis import strategies as st
from ric.errors import ServiceModelError
from ric.sm import kpm_bytes

HERE = Path(__file__).parent
VECTORS = [json.loads(line) for line in (HERE / "kpm_vectors.jsonl").read_text().splitlines()]
NOW_US = 1_780_000_000_123_456
NTP_EPOCH_S = 2_208_988_800
PERIOD_MS = 50


@dataclass(frozen=True)
class Unpacker:
    """`fx_kpm_unpack`, with its input before a fence."""

    library: ctypes.CDLL
    fence: Fence

    def unpack(self, message: bytes) -> bytes:
        head = RecordHead(1, 0, 0, NOW_US, 0)
        at = self.fence.place(message)
        size = ctypes.c_size_t(len(message))
        found = self.library.fx_kpm_unpack(
            b"", ctypes.c_size_t(0), at, size, ctypes.c_uint32(PERIOD_MS), ctypes.byref(head)
        )
        unpacked = ctypes.string_at(found, head.bytes)
        self.library.free(ctypes.c_void_p(found))
        return unpacked

    def collected_at_us(self, header: bytes) -> int:
        at, size = self.fence.place(header), ctypes.c_size_t(len(header))
        return int(self.library.fx_kpm_collected_at_us(at, size, ctypes.c_uint64(NOW_US)))


@pytest.fixture(scope="module")
def unpacker(library: ctypes.CDLL, fence: Fence) -> Unpacker:
    library.fx_kpm_unpack.restype = ctypes.c_void_p
    library.fx_kpm_collected_at_us.restype = ctypes.c_uint64
    return Unpacker(library, fence)


def read(unpacked: bytes) -> tuple[int, list[dict[str, Any]]]:
    report = kpm_report(unpacked)
    ues = []
    for ids, values in report.ues:
        known = {name: getattr(ids, name) for name in IN_KPM if getattr(ids, name) is not None}
        ues.append({**known, "values": values})
    return report.period_ms, ues


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["from"])
def test_what_another_compiler_encoded_is_read(unpacker: Unpacker, vector: dict[str, Any]) -> None:
    unpacked = unpacker.unpack(bytes.fromhex(vector["message"]))
    assert read(unpacked) == (vector["period_ms"], vector["ues"])


def test_a_format_in_fragments_is_read(unpacker: Unpacker) -> None:
    """A message format of 16 KiB or more comes in fragments (X.691 §11.9.3.8)."""
    codec = kpm_bytes._codec(3)
    labels: list[dict[str, Any]] = [{"measLabel": {}}]
    item = {"measType": ("measName", "DRB.UEThpDl"), "labelInfoList": labels}
    reports = [
        {
            "ueID": ("gNB-DU-UEID", {"gNB-CU-UE-F1AP-ID": ue}),
            "measReport": {
                "measData": [{"measRecord": [("integer", 2 * ue)]}],
                "measInfoList": [item],
            },
        }
        for ue in range(1000)
    ]
    format_3 = ("indicationMessage-Format3", {"ueMeasReportList": reports})
    encoded = codec.encode("E2SM-KPM-IndicationMessage", {"indicationMessage-formats": format_3})
    # asn1tools leaves out the length of the last fragment.
    contents, fragment = encoded[3:], 16384
    rest = (0x8000 | len(contents) - fragment).to_bytes(2) + contents[fragment:]
    period_ms, ues = read(unpacker.unpack(encoded[:2] + b"\xc1" + contents[:fragment] + rest))
    assert period_ms == PERIOD_MS
    assert ues == [
        {"gnb_cu_ue_f1ap_id": ue, "values": {"DRB.UEThpDl": 2.0 * ue}} for ue in range(1000)
    ]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["from"])
def test_a_report_that_ends_early_says_where(unpacker: Unpacker, vector: dict[str, Any]) -> None:
    message = bytes.fromhex(vector["message"])
    for length in range(len(message) - 1):
        with pytest.raises(ServiceModelError, match=rf"bit \d+ of {length} bytes; expected more"):
            kpm_report(unpacker.unpack(message[:length]))


@given(st.data())
def test_any_bytes_are_read_or_refused(unpacker: Unpacker, data: st.DataObject) -> None:
    message = bytearray(bytes.fromhex(data.draw(st.sampled_from(VECTORS))["message"]))
    for _ in range(data.draw(st.integers(0, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    try:
        kpm_report(unpacker.unpack(bytes(message)))
    except ServiceModelError as error:
        assert "expected" in str(error)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("00" * 20, "indication message format 3"),
        ("4080" + "00" * 20, "indication message format 3"),
        ("20000018" + "00" * 20, "a UE id of a gNB, gNB-DU or gNB-CU-UP"),
    ],
)
def test_what_was_not_subscribed_to_is_refused(
    unpacker: Unpacker, message: str, expected: str
) -> None:
    with pytest.raises(ServiceModelError, match=expected):
        kpm_report(unpacker.unpack(bytes.fromhex(message)))


def header(stamp: bytes) -> bytes:
    return b"\0" + stamp


_S, _US = divmod(NOW_US - 250_000, 1_000_000)
_NTP = (_S + NTP_EPOCH_S) << 32 | (_US << 32) // 1_000_000


@pytest.mark.parametrize(
    ("stamp", "expected_us"),
    [
        pytest.param(_NTP.to_bytes(8), NOW_US - 250_000, id="NTP, as OCUDU has it"),
        pytest.param((NOW_US - 250_000).to_bytes(8), NOW_US - 250_000, id="µs"),
        pytest.param((NOW_US - 250_000).to_bytes(8, "little"), NOW_US - 250_000, id="µs, turned"),
        pytest.param((NOW_US // 1000 - 250).to_bytes(8), NOW_US // 1000 * 1000 - 250_000, id="ms"),
        pytest.param(_S.to_bytes(8), _S * 1_000_000, id="seconds"),
        pytest.param(
            ((NOW_US - 250_000) & 0xFFFF_FFFF).to_bytes(4, "little"),
            NOW_US - 250_000,
            id="low bits of µs, as FlexRIC has them in v2",
        ),
        pytest.param((_S + NTP_EPOCH_S & 0xFFFF_FFFF).to_bytes(4), _S * 1_000_000, id="NTP, v2"),
        pytest.param(bytes(8), NOW_US, id="a clock that was never set"),
    ],
)
def test_the_time_of_a_report_is_read_as_its_node_writes_it(
    unpacker: Unpacker, stamp: bytes, expected_us: int
) -> None:
    assert abs(unpacker.collected_at_us(header(stamp)) - expected_us) <= 1


@pytest.mark.parametrize("octets", [4, 8])
def test_the_strings_of_a_header_are_passed_over(unpacker: Unpacker, octets: int) -> None:
    stamp = "ecd94f80" + "00" * (octets - 4)
    vendor = "78" * 32
    header = f"1e{stamp}107631000005676e62203110445540{vendor}"  # by pycrate
    made = bytearray.fromhex(header)
    made[1:5] = (_S + NTP_EPOCH_S).to_bytes(5)[1:]
    found = unpacker.collected_at_us(bytes(made))
    assert abs(found - _S * 1_000_000) <= (500_000 if octets == 8 else 0)


def test_a_header_that_cannot_be_read_has_the_time_of_reception(unpacker: Unpacker) -> None:
    for broken in (b"", b"\0", b"\0" * 7, b"\xff" * 9, struct.pack(">BQB", 0, _NTP, 0)):
        assert unpacker.collected_at_us(broken) == NOW_US
