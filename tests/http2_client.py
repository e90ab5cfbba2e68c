"""An HTTP/2 client that sends what its caller asks, whatever the server allows."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
FRAME_BYTES = 16_384


def literal(name: str, value: str) -> bytes:
    """A field that enters no table (RFC 7541 §6.2.2)."""
    return b"\0" + _string(name) + _string(value)


def _string(text: str) -> bytes:
    length = len(text)
    if length < 127:
        return bytes((length,)) + text.encode()
    length -= 127
    octets = b"\x7f"
    while length > 127:
        octets += bytes((length & 127 | 128,))
        length >>= 7
    return octets + bytes((length,)) + text.encode()


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame (RFC 9113 §4.1)."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


class Http2Client:
    """A connection whose calls need no answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._next = 1
        writer.write(PREFACE + frame(SETTINGS, 0, 0, b""))

    @classmethod
    async def connect(
        cls,
        port: int,
        host: str = "127.0.0.1",
        source: str | None = None,
        context: ssl.SSLContext | None = None,
    ) -> Self:
        """Connect from the address `source`."""
        return cls(
            *await asyncio.open_connection(
                host,
                port,
                ssl=context,
                server_hostname="localhost" if context else None,
                local_addr=(source, 0) if source else None,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.transport.abort()

    def call(self, method: str, fields: bytes, *, ends: bool = True) -> int:
        """Begin a call with these fields beside those of gRPC, in as many frames as needed; with
        an empty request if it `ends`. Returns the size of its header block."""
        block = b"\x83\x86" + literal(":path", method) + literal(":authority", "localhost")
        block += literal("te", "trailers") + literal("content-type", "application/grpc") + fields
        for at in range(0, len(block), FRAME_BYTES):
            last = at + FRAME_BYTES >= len(block)
            kind, flags = CONTINUATION if at else HEADERS, END_HEADERS if last else 0
            part = block[at : at + FRAME_BYTES]
            self._writer.write(frame(kind, flags, self._next, part))
        if ends:
            self._writer.write(frame(DATA, END_STREAM, self._next, bytes(5)))
        self._next += 2
        return len(block)

    async def ended(self) -> tuple[int | None, int | None]:
        """Status of the first call that ends, and error code of a GOAWAY, once the server has
        ended the connection; `None` for what did not come."""
        status = code = None
        while (found := await self._frame()) is not None:
            kind, _, _, payload = found
            if kind == HEADERS and status is None and b"grpc-status" in payload:
                at = payload.index(b"grpc-status") + len(b"grpc-status")
                status = int(payload[at + 1 : at + 1 + payload[at]])
            elif kind == GOAWAY:
                code = int.from_bytes(payload[4:8])
        return status, code

    async def ping(self) -> int | None:
        """Ping; error code of a GOAWAY that came before the answer."""
        self._writer.write(frame(PING, 0, 0, b"whatever"))
        while (found := await self._frame()) is not None:
            kind, flags, _, payload = found
            if kind == PING and flags & ACK and payload == b"whatever":
                return None
            if kind == GOAWAY:
                return int.from_bytes(payload[4:8])
        return -1

    async def _frame(self) -> tuple[int, int, int, bytes] | None:
        """The next frame; `None` at the end of the connection."""
        try:
            async with asyncio.timeout(60):
                head = await self._reader.readexactly(9)
                payload = await self._reader.readexactly(int.from_bytes(head[:3]))
        except (asyncio.IncompleteReadError, OSError):
            return None
        if head[3] == SETTINGS and not head[4] & ACK:
            self._writer.write(frame(SETTINGS, ACK, 0, b""))
        return head[3], head[4], int.from_bytes(head[5:9]), payload
