"""Frames of one HTTP/2 connection (RFC 9113) on their way through a listener, in both directions.

Pure: bytes in, bytes and counts out. A header block leaves `RequestFrames` only as a whole and with
its size known; everything else passes as it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ric.http2.header_sizes import HeaderError, HeaderSizes

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_HEADER_BYTES: Final = 16 * 1024
"""Most bytes of a header block, both as sent and as SETTINGS_MAX_HEADER_LIST_SIZE counts it."""
MAX_FRAME_BYTES: Final = 16 * 1024
"""Most bytes of a frame but DATA: the initial SETTINGS_MAX_FRAME_SIZE (RFC 9113 §6.5.2)."""
MAX_CONTINUATIONS: Final = 16
"""Most CONTINUATION frames of a header block; one of `MAX_HEADER_BYTES` needs two frames."""

_HEAD: Final = 9
_MAX_TEXT: Final = 126
"""A string with a length of one octet (RFC 7541 §5.2)."""
_DATA, _HEADERS, _RST_STREAM, _PUSH_PROMISE, _GOAWAY, _CONTINUATION = 0, 1, 3, 5, 7, 9
_END_STREAM, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x4, 0x8, 0x20
NO_ERROR: Final = 0x0
ENHANCE_YOUR_CALM: Final = 0xB
"""Error codes (RFC 9113 §7)."""


class FrameError(ValueError):
    """What a client may not send; its connection cannot be read any further."""

    def __init__(self, why: str, stream: int = 0) -> None:
        """`stream` is that of a header block that is too large; 0 for other faults."""
        super().__init__(why)
        self.stream = stream


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes to pass on."""

    data: bytes
    frames: int
    """Frames that begin in them."""
    opens: int = 0
    """The stream whose header block this is; 0 for other frames."""
    block_bytes: int = 0
    """Size of the header block as sent."""
    header_bytes: int = 0
    """Size of the header block as SETTINGS_MAX_HEADER_LIST_SIZE counts it."""
    resets: tuple[int, ...] = ()
    """Streams that the client gives up."""


@dataclass(slots=True)
class _Block:
    """A header block that has not ended."""

    stream: int
    frames: bytearray
    fragments: bytearray
    continuations: int = 0


class RequestFrames:
    """What a client sends."""

    def __init__(self) -> None:
        self._held = b""
        """The start of a frame that is needed whole or whose head is not complete."""
        self._rest = 0
        """Bytes to come of a frame that passes."""
        self._block: _Block | None = None
        self._sizes = HeaderSizes()
        self.begun = False
        """Whether the preface has come."""

    def receive(self, data: bytes) -> Iterator[Piece]:
        """What may be passed on after `data` has come.

        Raises `FrameError` for what no client may send; earlier pieces are good.
        """
        if self._held:
            data = self._held + data
            self._held = b""
        start, at = 0, self._begin(data)
        if at < 0:
            self._held = data
            return
        frames = 0
        resets: list[int] = []
        while True:
            if self._rest:
                passed = min(self._rest, len(data) - at)
                at += passed
                self._rest -= passed
            if len(data) - at < _HEAD:
                break
            length = int.from_bytes(data[at : at + 3])
            kind, flags = data[at + 3], data[at + 4]
            stream = int.from_bytes(data[at + 5 : at + _HEAD]) & 0x7FFF_FFFF
            self._check(length, kind, stream)
            if kind not in (_HEADERS, _CONTINUATION):
                if kind == _RST_STREAM:
                    resets.append(stream)
                frames += 1
                at += _HEAD
                self._rest = length
                continue
            end = at + _HEAD + length
            if end > len(data):
                break
            if at > start:
                yield Piece(data[start:at], frames, resets=tuple(resets))
                frames, resets = 0, []
            block = self._add(data[at:end], stream, kind, flags)
            start = at = end
            if flags & _END_HEADERS:
                self._block = None
                yield _piece(block, self._sizes)
        if at > start:
            yield Piece(data[start:at], frames, resets=tuple(resets))
        self._held = data[at:]

    def _begin(self, data: bytes) -> int:
        """Where the frames begin; -1 while the preface (RFC 9113 §3.4) is not complete."""
        if self.begun:
            return 0
        if not PREFACE.startswith(data[: len(PREFACE)]):
            raise FrameError("no HTTP/2 preface")
        self.begun = len(data) >= len(PREFACE)
        return len(PREFACE) if self.begun else -1

    def _check(self, length: int, kind: int, stream: int) -> None:
        """Whether a client may send such a frame now."""
        if self._block is not None and (kind != _CONTINUATION or stream != self._block.stream):
            raise FrameError("a frame within a header block")
        if kind == _PUSH_PROMISE or (kind == _CONTINUATION and self._block is None):
            raise FrameError(f"a frame of type {kind}")
        if kind != _DATA and length > MAX_FRAME_BYTES:
            raise FrameError(
                f"a frame of {length} bytes; expected at most {MAX_FRAME_BYTES}",
                stream if kind in (_HEADERS, _CONTINUATION) else 0,
            )

    def _add(self, frame: bytes, stream: int, kind: int, flags: int) -> _Block:
        """The header block with one more frame."""
        if self._block is None:
            self._block = _Block(stream, bytearray(), bytearray())
        elif (continuations := self._block.continuations + 1) > MAX_CONTINUATIONS:
            raise FrameError(f"a header block of more than {MAX_CONTINUATIONS} continuations")
        else:
            self._block.continuations = continuations
        block = self._block
        block.frames += frame
        block.fragments += _fragment(frame[_HEAD:], flags if kind == _HEADERS else 0)
        if len(block.fragments) > MAX_HEADER_BYTES:
            raise FrameError(f"more than {MAX_HEADER_BYTES} bytes of metadata", block.stream)
        return block


class ResponseFrames:
    """What a server sends."""

    def __init__(self) -> None:
        self._held = b""
        self._rest = 0

    @property
    def between(self) -> bool:
        """Whether the last frame is complete, so that another may follow."""
        return not self._held and not self._rest

    def receive(self, data: bytes) -> list[int]:
        """The streams that end with `data`."""
        if self._held:
            data = self._held + data
            self._held = b""
        at, size = self._rest, len(data)
        ended = []
        while at + _HEAD <= size:
            kind = data[at + 3]
            if kind == _RST_STREAM or (kind <= _HEADERS and data[at + 4] & _END_STREAM):
                ended.append(int.from_bytes(data[at + 5 : at + _HEAD]))
            at += _HEAD + int.from_bytes(data[at : at + 3])
        if at < size:
            self._held = data[at:]
        self._rest = max(0, at - size)
        return ended


def refusal(stream: int, status: int, why: str) -> bytes:
    """The answer that ends a call with a gRPC status; `why` is ASCII.

    No field enters a table, so that it fits between the answers of a server.
    """
    fields = b"\x88" + b"".join(
        b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value
        for name, value in (
            (b"content-type", b"application/grpc"),
            (b"grpc-status", str(status).encode()),
            (b"grpc-message", why.encode()[:_MAX_TEXT]),
        )
    )
    head = len(fields).to_bytes(3) + bytes((_HEADERS, _END_STREAM | _END_HEADERS))
    return head + stream.to_bytes(4) + fields


def goaway(stream: int, code: int, why: str) -> bytes:
    """A GOAWAY (RFC 9113 §6.8): `stream` is the last one that was passed on."""
    text = why.encode()
    length = 8 + len(text)
    head = length.to_bytes(3) + bytes((_GOAWAY, 0)) + bytes(4)
    return head + stream.to_bytes(4) + code.to_bytes(4) + text


def _piece(block: _Block, sizes: HeaderSizes) -> Piece:
    try:
        size = sizes.size(block.fragments, MAX_HEADER_BYTES)
    except HeaderError as error:
        raise FrameError(str(error), block.stream) from None
    frames = 1 + block.continuations
    return Piece(bytes(block.frames), frames, block.stream, len(block.fragments), size)


def _fragment(payload: bytes, flags: int) -> bytes:
    """The part of a header block in a HEADERS frame (RFC 9113 §6.2) with `flags`."""
    start, end = 0, len(payload)
    if flags & _PADDED:
        if not payload:
            raise FrameError("a padded frame without padding")
        start, end = 1, end - payload[0]
    if flags & _PRIORITY:
        start += 5
    if start > end:
        raise FrameError("more padding than frame")
    return payload[start:end]
