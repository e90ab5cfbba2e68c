"""One WebM file of encoded pictures: an initialization segment and a media segment of the WebM byte
stream format of Media Source Extensions (W3C, 2016), in elements of Matroska (RFC 9559)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

EBML, SEGMENT, CLUSTER = 0x1A45DFA3, 0x18538067, 0x1F43B675
INFO, TRACKS, TRACK_ENTRY, VIDEO = 0x1549A966, 0x1654AE6B, 0xAE, 0xE0
TIMESTAMP, SIMPLE_BLOCK = 0xE7, 0xA3
MS_IN_NS: Final = 1_000_000
TRACK: Final = 1
KEY: Final = 0x80
PROGRAM: Final = b"sojourn-demo"


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded picture."""

    data: bytes
    is_key: bool


def file(pictures: Sequence[Picture], *, width: int, height: int, picture_ms: int) -> bytes:
    """A file of VP8 `pictures`, the first of them a key picture, each shown for `picture_ms`; 32 s
    at most, as times of blocks have 16 bits."""
    header = _element(
        EBML,
        *(_number(0x4286, 1), _number(0x42F7, 1), _number(0x42F2, 4), _number(0x42F3, 8)),
        *(_element(0x4282, b"webm"), _number(0x4287, 2), _number(0x4285, 2)),
    )
    info = _element(
        INFO, _number(0x2AD7B1, MS_IN_NS), _element(0x4D80, PROGRAM), _element(0x5741, PROGRAM)
    )
    track = _element(
        TRACK_ENTRY,
        *(_number(0xD7, TRACK), _number(0x73C5, TRACK), _number(0x83, 1)),
        *(_element(0x86, b"V_VP8"), _number(0x23E383, picture_ms * MS_IN_NS)),
        _element(VIDEO, _number(0xB0, width), _number(0xBA, height)),
    )
    blocks = (
        _element(SIMPLE_BLOCK, _block_head(number * picture_ms, picture), picture.data)
        for number, picture in enumerate(pictures)
    )
    cluster = _element(CLUSTER, _number(TIMESTAMP, 0), *blocks)
    return header + _element(SEGMENT, info, _element(TRACKS, track), cluster)


def _block_head(at_ms: int, picture: Picture) -> bytes:
    flags = KEY if picture.is_key else 0
    return bytes([0x80 | TRACK]) + at_ms.to_bytes(2, "big", signed=True) + bytes([flags])


def _element(identifier: int, *content: bytes) -> bytes:
    body = b"".join(content)
    name = identifier.to_bytes((identifier.bit_length() + 7) // 8, "big")
    # A length of eight bytes, whatever it is.
    return name + b"\x01" + len(body).to_bytes(7, "big") + body


def _number(identifier: int, value: int) -> bytes:
    return _element(identifier, value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))
