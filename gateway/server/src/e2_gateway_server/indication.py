"""Protobuf encoding of indications by hand: a report is encoded once for all of its readers.

An `Indication` is the concatenation of a part that the readers of a report share and of the
reader's own `sequence`, `dropped` and `coalesced`: fields may come in any order (Protobuf encoding,
"Field order"). The same holds for its envelope, the `SubscriptionEvent`.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from sojourn_interfaces import e2_gateway_pb2 as pb

_WIRE_TYPE: Final = {
    FieldDescriptor.TYPE_UINT32: 0,
    FieldDescriptor.TYPE_UINT64: 0,
    FieldDescriptor.TYPE_STRING: 2,
    FieldDescriptor.TYPE_BYTES: 2,
    FieldDescriptor.TYPE_MESSAGE: 2,
}


def varint(value: int) -> bytes:
    """A base-128 varint."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def time_varint(value: int) -> bytes:
    """Encode a `varint`, fast for values of eight bytes: µs since the Unix epoch, 1987 to 4253."""
    if not 1 << 49 <= value < 1 << 56:
        return varint(value)
    # Spread the 56 bits into eight groups of seven: halves, quarters, eighths.
    value = value & 0xFFF_FFFF | (value & 0xFF_FFFF_F000_0000) << 4
    value = value & 0x3FFF_0000_3FFF | (value & 0x0FFF_C000_0FFF_C000) << 2
    value = value & 0x7F_007F_007F_007F | (value & 0x3F80_3F80_3F80_3F80) << 1
    return (value | 0x80_8080_8080_8080).to_bytes(8, "little")


def _tags(message: type[Message]) -> dict[str, bytes]:
    """Key of each field of a message: field number and wire type."""
    return {
        field.name: varint(field.number << 3 | _WIRE_TYPE[field.type])
        for field in message.DESCRIPTOR.fields
        if field.type in _WIRE_TYPE
    }


_TAGS: Final = _tags(pb.Indication)
_MESSAGE: Final = _TAGS["message"]
_KPM: Final = _TAGS["kpm"]
_COLLECTED: Final = _TAGS["collected_at_us"]
_RECEIVED: Final = _TAGS["received_at_us"]
_SEQUENCE: Final = _TAGS["sequence"]
_DROPPED: Final = _TAGS["dropped"]
_COALESCED: Final = _TAGS["coalesced"]
_EVENT_TAGS: Final = _tags(pb.SubscriptionEvent)
_EVENTS: Final = _tags(pb.SubscribeResponse)["events"]


def encode_source(node_id: str, function_id: int, oid: str) -> bytes:
    """The fields that all indications of a subscription share."""
    return pb.Indication(
        node_id=node_id, ran_function_id=function_id, ran_function_oid=oid
    ).SerializeToString()


def encode_header(header: bytes) -> bytes:
    """The field `header`."""
    return _TAGS["header"] + varint(len(header)) + header


def encode_report(
    source: bytes, message: bytes, collected_at_us: int, received_at_us: int
) -> bytes:
    """An indication of a service model, without the numbers of a reader."""
    times = (_COLLECTED, time_varint(collected_at_us), _RECEIVED, time_varint(received_at_us))
    return b"".join((source, _MESSAGE, varint(len(message)), message, *times))


def encode_kpm_report(
    source: bytes, report: pb.KpmReport, collected_at_us: int, received_at_us: int
) -> bytes:
    """Encode an indication with a KPM report."""
    times = (_COLLECTED, time_varint(collected_at_us), _RECEIVED, time_varint(received_at_us))
    return b"".join((source, encode_kpm(report), *times))


def encode_kpm(report: pb.KpmReport) -> bytes:
    """The field `kpm`. If an indication has it twice, the two are merged."""
    raw = report.SerializeToString()
    return _KPM + varint(len(raw)) + raw


def encode_numbers(sequence: int, dropped: int, coalesced: int) -> bytes:
    """The fields `sequence`, `dropped` and `coalesced`."""
    numbers = _SEQUENCE + varint(sequence)
    if dropped:
        numbers += _DROPPED + varint(dropped)
    return numbers + _COALESCED + varint(coalesced) if coalesced else numbers


def encode_subscription_id(subscription_id: int) -> bytes:
    """The field of a `SubscriptionEvent`."""
    return _EVENT_TAGS["subscription_id"] + varint(subscription_id)


def encode_event(subscription_id: bytes, field: str, *value: bytes) -> tuple[bytes, ...]:
    """A `SubscriptionEvent` within a `SubscribeResponse`, in pieces; `field` is its event."""
    tag, length = _EVENT_TAGS[field], sum(map(len, value))
    size = varint(length)
    total = varint(len(subscription_id) + len(tag) + len(size) + length)
    return _EVENTS, total, subscription_id, tag, size, *value
