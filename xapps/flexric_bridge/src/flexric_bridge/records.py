"""Reports on their way from the SDK to the xApps: cut apart, and written as `Indication` once.

An `Indication` is written in two parts: what all readers of a subscription share, once, and behind
it the reader's own `sequence` and `dropped`. Protobuf takes fields in any order, so the two put
together are the message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ric.errors import ServiceModelError
from ric.gateway.wire import tags, varint
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.sdk import RECORD_HEAD


def time_varint(value: int) -> bytes:
    """As `varint`, sooner for eight bytes: µs since the Unix epoch, from 1987 to 4253."""
    if not 1 << 49 <= value < 1 << 56:
        return varint(value)
    # Halves, quarters and eighths are moved apart, which leaves a bit free above each seven.
    value = value & 0xFFF_FFFF | (value & 0xFF_FFFF_F000_0000) << 4
    value = value & 0x3FFF_0000_3FFF | (value & 0x0FFF_C000_0FFF_C000) << 2
    value = value & 0x7F_007F_007F_007F | (value & 0x3F80_3F80_3F80_3F80) << 1
    return (value | 0x80_8080_8080_8080).to_bytes(8, "little")


_TAGS: Final = tags(pb.Indication)
_MESSAGE: Final = _TAGS["message"]
_KPM: Final = _TAGS["kpm"]
_HEADER: Final = _TAGS["header"]
_COLLECTED: Final = _TAGS["collected_at_us"]
_RECEIVED: Final = _TAGS["received_at_us"]
_SEQUENCE: Final = _TAGS["sequence"]
_DROPPED: Final = _TAGS["dropped"]


class Record(NamedTuple):
    """One report of a block."""

    handle: int
    message: bytes
    collected_at_us: int
    received_at_us: int
    lost: int
    """Reports of the handle dropped before this one because nobody polled."""


class BlockError(ValueError):
    """A block that is not what `Sdk.open` promises."""


def records(block: bytes) -> Iterator[Record]:
    """The records of a block; raises `BlockError` where it is cut short."""
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


def preface(node_id: str, function_id: int, oid: str) -> bytes:
    """The part of an `Indication` that all of a subscription have in common."""
    return pb.Indication(
        node_id=node_id, ran_function_id=function_id, ran_function_oid=oid
    ).SerializeToString()


def body(preface: bytes, message: bytes, collected_at_us: int, received_at_us: int) -> bytes:
    """An `Indication` but for `sequence` and `dropped`."""
    return b"".join(
        (
            preface,
            _MESSAGE,
            varint(len(message)),
            message,
            _COLLECTED,
            time_varint(collected_at_us),
            _RECEIVED,
            time_varint(received_at_us),
        )
    )


def with_header(header: bytes) -> bytes:
    """The field `header`, to be put into a preface."""
    return _HEADER + varint(len(header)) + header


def kpm_body(
    preface: bytes, report: pb.KpmReport, collected_at_us: int, received_at_us: int
) -> bytes:
    """As `body`, of a KPM report."""
    raw = report.SerializeToString()
    return b"".join(
        (
            preface,
            _KPM,
            varint(len(raw)),
            raw,
            _COLLECTED,
            time_varint(collected_at_us),
            _RECEIVED,
            time_varint(received_at_us),
        )
    )


def kpm_selection(
    report: pb.KpmReport, names: tuple[str, ...], units: Mapping[str, str]
) -> pb.KpmReport:
    """Of a report these measurements, with the units that are known."""
    own = pb.KpmReport(period_ms=report.period_ms, units=units)
    for ue in report.ues:
        values = {name: ue.values[name] for name in names if name in ue.values}
        own.ues.add(rnti=ue.rnti, values=values)
    return own


def kpm_unsupported(names: tuple[str, ...]) -> bytes:
    """What an `Indication` has besides for a reader whose measurements the node lacks.

    A message field that comes twice is merged, so this adds to the report in the body.
    """
    if not names:
        return b""
    raw = pb.KpmReport(unsupported=names).SerializeToString()
    return _KPM + varint(len(raw)) + raw


def tail(sequence: int, dropped: int) -> bytes:
    """What is a reader's own in an `Indication`."""
    own = _SEQUENCE + varint(sequence)
    # What is 0 is what a message without the field says.
    return own + _DROPPED + varint(dropped) if dropped else own


_KPM_HEAD: Final = struct.Struct("<II")
_KPM_UE: Final = struct.Struct("<II")
_F64: Final = struct.Struct("<d")


def kpm_report(message: bytes) -> pb.KpmReport:
    """The typed report in the SDK's KPM message.

    Raises `ServiceModelError` for bytes that are none.
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
