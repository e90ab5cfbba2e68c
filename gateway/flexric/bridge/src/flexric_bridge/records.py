"""Reports as the SDK hands them over: blocks of records, KPM messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ric.errors import ServiceModelError
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.sdk import RECORD_HEAD


class Record(NamedTuple):
    """One report of a block."""

    handle: int
    message: bytes
    collected_at_us: int
    received_at_us: int
    lost: int
    """Reports of the handle dropped before this one because they were not read in time."""


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


def kpm_selection(
    report: pb.KpmReport, names: tuple[str, ...], units: Mapping[str, str]
) -> pb.KpmReport:
    """The report with these measurements alone, and the units that are known."""
    own = pb.KpmReport(period_ms=report.period_ms, units=units)
    for ue in report.ues:
        values = {name: ue.values[name] for name in names if name in ue.values}
        own.ues.add(rnti=ue.rnti, values=values)
    return own


_KPM_HEAD: Final = struct.Struct("<II")
_KPM_UE: Final = struct.Struct("<II")
_F64: Final = struct.Struct("<d")


def kpm_report(message: bytes) -> pb.KpmReport:
    """The typed report in the SDK's KPM message.

    Raises `ServiceModelError` for other bytes.
    """
    try:
        period_ms, ues = _KPM_HEAD.unpack_from(message, 0)
        report = pb.KpmReport(period_ms=period_ms)
        at = _KPM_HEAD.size
        for _ in range(ues):
            rnti, values = _KPM_UE.unpack_from(message, at)
            at += _KPM_UE.size
            ue = report.ues.add(rnti=rnti)
            for _ in range(values):
                length = message[at]
                name = message[at + 1 : at + 1 + length].decode("ascii")
                at += 1 + length
                (ue.values[name],) = _F64.unpack_from(message, at)
                at += _F64.size
    except (struct.error, IndexError, UnicodeDecodeError):
        place = f"{len(message)} bytes that end too early"
        raise ServiceModelError("kpm", "message", place, "UEs, names and values") from None
    if at != len(message):
        found = f"{len(message) - at} bytes left over"
        raise ServiceModelError("kpm", "message", found, f"a message of {at} bytes")
    return report
