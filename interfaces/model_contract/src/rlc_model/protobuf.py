"""Reading protobuf's wire format: fields and their bytes, no schema, no copy.

Enough to look into an ONNX file before a runtime does, without the `onnx` package in the near-RT
image. https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

Field = tuple[int, int | memoryview]
"""Field number, and the value of a varint or the bytes of anything else."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES: Final = {_FIXED64: 8, _FIXED32: 4}


class WireError(ValueError):
    """Bytes that are no protobuf message."""


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message in their order.

    Raises:
        WireError: The bytes end within a field, or a field has no known type.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise WireError(f"field 0 at byte {at}")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in _FIXED_BYTES:
            length = _FIXED_BYTES[kind]
        else:
            raise WireError(f"wire type {kind} at byte {at}")
        if length > end - at:
            raise WireError(f"field {number} of {length} bytes at byte {at} of {end}")
        yield number, message[at : at + length]
        at += length


def varints(packed: int | memoryview) -> Iterator[int]:
    """The numbers of a repeated field, packed or not."""
    if isinstance(packed, int):
        yield packed
        return
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise WireError(f"no end of a number at byte {at}")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
