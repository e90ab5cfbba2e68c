"""What a gateway writes of Protobuf by hand, so that a report is not made again for each reader."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_WIRE_TYPE: Final = {
    FieldDescriptor.TYPE_UINT32: 0,
    FieldDescriptor.TYPE_UINT64: 0,
    FieldDescriptor.TYPE_STRING: 2,
    FieldDescriptor.TYPE_BYTES: 2,
    FieldDescriptor.TYPE_MESSAGE: 2,
}


def varint(value: int) -> bytes:
    """Protobuf's base-128 number."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tags(message: type[Message]) -> dict[str, bytes]:
    """What stands before the value of each field of a message: its number, and how the value is
    written."""
    return {
        field.name: varint(field.number << 3 | _WIRE_TYPE[field.type])
        for field in message.DESCRIPTOR.fields
        if field.type in _WIRE_TYPE
    }
