"""Reports as the SDK hands them over: blocks of records, KPM messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ric.errors import ServiceModelError
from ric.sm import MAC_OID, RLC_OID, mac, rlc
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.sdk import KPM_UNREADABLE, RECORD_HEAD
from flexric_bridge.ue_identities import IN_KPM, UeIds


class Record(NamedTuple):
    """One report of a block."""

    handle: int
    message: bytes
    collected_at_us: int
    received_at_us: int
    lost: int
    """Reports of the handle dropped before this one because they were not read in time."""


def is_full(oid: str, message: bytes) -> bool:
    """Whether a report of RLC or MAC has no room for another bearer or UE."""
    return (oid == RLC_OID and rlc.is_full(message)) or (oid == MAC_OID and mac.is_full(message))


class BlockError(ValueError):
    """A block that does not have the format of `Sdk.open`."""


def records(block: bytes) -> Iterator[Record]:
    """The records of a block; raises `BlockError` where it is truncated."""
    at, end, head_bytes = 0, len(block), RECORD_HEAD.size
    unpack = RECORD_HEAD.unpack_from
    while at < end:
        if end - at < head_bytes:
            raise BlockError(f"{end - at} bytes at byte {at}; expected a head of {head_bytes}")
        handle, length, collected_at_us, received_at_us, lost = unpack(block, at)
        at += head_bytes
        if length > end - at:
            raise BlockError(f"{end - at} bytes at byte {at}; expected a message of {length}")
        yield Record(handle, block[at : at + length], collected_at_us, received_at_us, lost)
        at += length


class KpmRecord(NamedTuple):
    """A KPM report of the SDK."""

    period_ms: int
    ues: tuple[tuple[UeIds, dict[str, float]], ...]
    """Identities of each UE, and its values by name."""


def kpm_selection(
    report: KpmRecord, ues: Sequence[UeIds], names: tuple[str, ...], units: Mapping[str, str]
) -> pb.KpmReport:
    """The report with these measurements alone, the units and what is known of each UE."""
    own = pb.KpmReport(period_ms=report.period_ms, units=units)
    for ids, (_, values) in zip(ues, report.ues, strict=True):
        own.ues.add(
            rnti=ids.rnti or 0,
            values={name: values[name] for name in names if name in values},
            amf_ue_ngap_id=ids.amf_ue_ngap_id,
            gnb_cu_ue_f1ap_id=ids.gnb_cu_ue_f1ap_id,
            gnb_cu_cp_ue_e1ap_id=ids.gnb_cu_cp_ue_e1ap_id,
            ran_ue_id=ids.ran_ue_id,
        )
    return own


_KPM_HEAD: Final = struct.Struct("<II")
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")
_F64: Final = struct.Struct("<d")


def kpm_report(message: bytes) -> KpmRecord:
    """The SDK's KPM message.

    Raises `ServiceModelError` for other bytes, and for a report that the SDK could not read.
    """
    if message[:4] == _U32.pack(KPM_UNREADABLE):
        found, _, expected = message[4:].decode("ascii", "replace").partition("; expected ")
        raise ServiceModelError("kpm", "indication", found, expected)
    ues: list[tuple[UeIds, dict[str, float]]] = []
    try:
        period_ms, count = _KPM_HEAD.unpack_from(message, 0)
        at = _KPM_HEAD.size
        for _ in range(count):
            present, ids = message[at], {}
            at += 1
            for bit, name in enumerate(IN_KPM):
                if present >> bit & 1:
                    (ids[name],) = _U64.unpack_from(message, at)
                    at += _U64.size
            (number,) = _U32.unpack_from(message, at)
            at += _U32.size
            values: dict[str, float] = {}
            for _ in range(number):
                length = message[at]
                name = message[at + 1 : at + 1 + length].decode("ascii")
                at += 1 + length
                (values[name],) = _F64.unpack_from(message, at)
                at += _F64.size
            ues.append((UeIds(**ids), values))
    except (struct.error, IndexError, UnicodeDecodeError):
        place = f"{len(message)} bytes that end too early"
        raise ServiceModelError("kpm", "message", place, "UEs, names and values") from None
    if at != len(message):
        found = f"{len(message) - at} bytes left over"
        raise ServiceModelError("kpm", "message", found, f"a message of {at} bytes")
    return KpmRecord(period_ms, tuple(ues))
