"""Frames on the pipe: u32 length of what follows, u8 kind, body; integers little-endian.

| kind | from | body |
|---|---|---|
| 0x01 RLC | simulator | u64 collected-at, µs since the Unix epoch; the RLC indication message |
| 0x02 MAC | simulator | the same with a MAC indication message |
| 0x03 TC_STATUS | simulator | the same with an E2SM-TC v1 pipeline status |
| 0x81 HELLO | forecaster | JSON, once, before anything else |
| 0x82 FORECASTS | forecaster | a ``ForecastBatch``, after each RLC frame |
| 0x8f ERROR | forecaster | JSON ``{"error": sentence}``, the last frame |

The batch for a report that is late, a duplicate or empty is empty.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

MAX_FRAME_BYTES: Final = 16 * 2**20
"""Largest frame, that of the xApps' largest message: RLC of 100 000 bearers."""

_HEAD: Final = struct.Struct("<IB")
_COLLECTED_AT: Final = struct.Struct("<Q")


class Kind(IntEnum):
    """Content of a frame."""

    RLC = 0x01
    MAC = 0x02
    TC_STATUS = 0x03
    HELLO = 0x81
    FORECASTS = 0x82
    ERROR = 0x8F


INDICATIONS: Final = frozenset({Kind.RLC, Kind.MAC, Kind.TC_STATUS})
"""Kinds that a simulator sends."""


class FrameError(ValueError):
    """Not a valid frame; the message names value and expectation."""


class Reader(Protocol):
    """A buffered binary input stream."""

    def read(self, size: int, /) -> bytes:
        """`size` bytes; fewer only at the end of the stream."""


class Writer(Protocol):
    """A binary output stream."""

    def write(self, data: bytes, /) -> object:
        """Writes all of `data`."""

    def flush(self) -> object:
        """Sends the buffered data."""


@dataclass(frozen=True, slots=True)
class Frame:
    """An indication.

    Attributes:
        kind: One of :data:`INDICATIONS`.
        collected_at_us: When the node took the report, µs since the Unix epoch.
        message: The indication message.
    """

    kind: Kind
    collected_at_us: int
    message: bytes

    def to_body(self) -> bytes:
        """The body of the frame."""
        return _COLLECTED_AT.pack(self.collected_at_us) + self.message


def read_frame(stream: Reader) -> Frame | None:
    """The next indication; None at the end of the stream.

    Raises:
        FrameError: The stream ends within a frame, or the frame is not one that a simulator sends.
    """
    head = stream.read(_HEAD.size)
    if not head:
        return None
    if len(head) < _HEAD.size:
        raise FrameError(f"the stream ends after {len(head)} of {_HEAD.size} bytes of a head")
    length, number = _HEAD.unpack(head)
    kind = next((kind for kind in INDICATIONS if kind == number), None)
    if kind is None:
        known = ", ".join(f"{kind:#04x} {kind.name}" for kind in sorted(INDICATIONS))
        raise FrameError(f"kind {number:#04x}; expected {known}")
    least = 1 + _COLLECTED_AT.size
    if not least <= length <= MAX_FRAME_BYTES:
        raise FrameError(
            f"{kind.name} frame of {length} bytes; expected {least} to {MAX_FRAME_BYTES}"
        )
    body = stream.read(length - 1)
    if len(body) < length - 1:
        raise FrameError(f"the stream ends after {len(body)} of {length - 1} bytes of a body")
    return Frame(kind, _COLLECTED_AT.unpack_from(body)[0], body[_COLLECTED_AT.size :])


def write_frame(stream: Writer, kind: Kind, body: bytes) -> None:
    """Sends a frame."""
    stream.write(_HEAD.pack(1 + len(body), kind) + body)
    stream.flush()
