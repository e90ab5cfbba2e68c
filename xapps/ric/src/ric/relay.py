"""Relays connections of clients to a gRPC server that listens for this process alone.

gRPC for Python bounds neither the metadata of a call (it announces `grpc.max_metadata_size` to
clients and enforces no less than 16 MiB) nor the calls and connections of a peer, and gives the
names of a certificate as C strings. The relay bounds them and knows the client before gRPC reads a
byte.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final, cast

import grpc

from ric.access import Peer
from ric.certificates import client_names
from ric.clock import Clock
from ric.http2.frames import (
    ENHANCE_YOUR_CALM,
    NO_ERROR,
    FrameError,
    Piece,
    RequestFrames,
    ResponseFrames,
    goaway,
    refusal,
)
from ric.limits import Limits, Pool, Rate
from ric.limits.connections import Connection
from ric.security import Security

METADATA: Final = Rate("metadata", per_s=64 << 10, burst=256 << 10, what="bytes of header blocks")
"""Rate of header blocks, each with `_BLOCK_BYTES` more; only below it single calls are refused."""
FRAMES: Final = Rate("frames", per_s=20_000, burst=40_000, what="HTTP/2 frames")
OPEN_CALLS_BYTES: Final = 8 << 20
"""Most bytes of all clients: their header blocks, and `_CALL_BYTES` for each call."""
_BLOCK_BYTES: Final = 256
_CALL_BYTES: Final = 4096
_RETRY_S: Final = 0.05
"""Pause before a client that holds its share of open calls is asked again."""
_RESOURCE_EXHAUSTED: Final = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
_STOP_S: Final = 1.0
"""Time for what the server has sent to reach clients when it stops."""
_FLUSH_S: Final = 10.0
"""Time for a client to read the end of a connection."""


class Relay:
    """The connections of one server."""

    def __init__(self, label: str, security: Security, *, certified: bool) -> None:
        """`certified` says whether clients show a certificate.

        Raises `OSError` if there is no place for a socket.
        """
        self._label = label
        self._access = security.access
        self._limits = security.limits
        self._clock = security.clock
        self._certified = certified
        self._place = Path(tempfile.mkdtemp(prefix="sojourn-grpc-"))
        self._clear = weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        self._numbers = count(1)
        self._open: set[RelayedConnection] = set()
        self._calls = Pool(OPEN_CALLS_BYTES)
        self.address = f"unix:{self._place / 'server'}"
        """Where the gRPC server has to listen; no other user reaches it."""

    def connect(self, connection: Connection) -> RelayedConnection:
        """The protocol of a client's connection that is ready for requests."""
        relayed = RelayedConnection(self, connection, self._calls, self._limits, self._clock)
        self._open.add(relayed)
        return relayed

    def socket_for(self, transport: asyncio.Transport) -> tuple[socket.socket, Callable[[], None]]:
        """A connection to the server, and what forgets whose it is.

        The server shows calls the address it is bound to, by which the client of a call is found.
        """
        path = str(self._place / str(next(self._numbers)))
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.setblocking(False)
            made.bind(path)
            Path(path).unlink()
            made.connect(self.address.removeprefix("unix:"))
        except OSError:
            made.close()
            raise
        self._access.peers[f"unix:{path}"] = self._peer_of(transport)

        def forget() -> None:
            self._access.peers.pop(f"unix:{path}", None)

        return made, forget

    def account_of(self, transport: asyncio.Transport) -> str:
        """The client whose limits count."""
        return self._access.caller(self._peer_of(transport)).account.key

    def ended(self, relayed: RelayedConnection) -> None:
        """Forget a connection."""
        self._open.discard(relayed)

    async def stop(self) -> None:
        """End all connections, once what the server has sent is sent on."""
        if self._open:
            await asyncio.wait({relayed.gone for relayed in self._open}, timeout=_STOP_S)
        for relayed in tuple(self._open):
            relayed.abort()
        self._clear()

    def _peer_of(self, transport: asyncio.Transport) -> Peer:
        address = transport.get_extra_info("peername")
        return Peer(
            self._label,
            f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "unix",
            client_names(transport),
            must_be_certified=self._certified,
        )


class RelayedConnection(asyncio.Protocol):
    """The client's side of a connection."""

    def __init__(
        self, relay: Relay, connection: Connection, calls: Pool, limits: Limits, clock: Clock
    ) -> None:
        self._relay = relay
        self._connection = connection
        self._calls = calls
        self._limits = limits
        self._clock = clock
        self._requests = RequestFrames()
        self._responses = ResponseFrames()
        self._chunks: deque[bytes] = deque()
        self._pieces: Iterator[Piece] = iter(())
        self._waiting: Piece | None = None
        """What the client may not send yet."""
        self._timer: asyncio.Handle | None = None
        self._calls_bytes: dict[int, int] = {}
        """Bytes of the open calls, by stream."""
        self._last_stream = 0
        self._account = ""
        self._client: asyncio.Transport
        self._server: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._forget: Callable[[], None] = lambda: None
        self._full = False
        """Whether the server takes no more now."""
        self._paused = False
        self._limited = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the client's connection has ended."""

    # -------------------------------------------------------------------- the client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        # The transports of uvloop do not derive from the class of asyncio.
        self._client = cast(asyncio.Transport, transport)
        self._account = self._relay.account_of(self._client)
        self._connection.close = self._close_idle

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._chunks.append(data)
        if self._timer is None:
            self._advance()

    def pause_writing(self) -> None:
        """The client does not read."""
        if self._server is not None and not self._server.is_closing():
            self._server.pause_reading()

    def resume_writing(self) -> None:
        """The client reads again."""
        if self._server is not None and not self._server.is_closing():
            self._server.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        if self._timer is not None:
            self._timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
        if self._server is not None:
            self._server.abort()
        self._forget()
        self._chunks.clear()
        for stream in tuple(self._calls_bytes):
            self._end(stream)
        self._relay.ended(self)
        self.gone.set_result(None)

    def abort(self) -> None:
        """End the connection at once."""
        self._client.abort()

    def _close(self) -> None:
        """End the connection once the client has what was sent, or a while later."""
        self._client.close()
        asyncio.get_running_loop().call_later(_FLUSH_S, self._client.abort)

    def _close_idle(self) -> None:
        """End a connection that has made room for another, or was silent for too long."""
        if self._responses.between:
            self._client.write(goaway(self._last_stream, NO_ERROR, "idle"))
        self._close()

    def _refuse(self, error: FrameError) -> None:
        """End a connection that cannot be read any further."""
        why = str(error)
        self._limits.refused(self._account, METADATA.limit, why)
        if self._responses.between:
            if error.stream:
                self._client.write(refusal(error.stream, _RESOURCE_EXHAUSTED, why))
            last = max(self._last_stream, error.stream)
            self._client.write(goaway(last, ENHANCE_YOUR_CALM, why))
        # What is still to come would have to be decrypted.
        self._client.abort()

    # -------------------------------------------------------------------- the server

    def server_made(self, transport: asyncio.Transport) -> None:
        """The server is connected."""
        self._server = transport
        self._connection.ready(self._clock.monotonic_ns())
        self._advance()

    def server_sent(self, data: bytes) -> None:
        """The server answers."""
        for stream in self._responses.receive(data):
            self._end(stream)
        self._client.write(data)

    def server_full(self, full: bool) -> None:
        """The server takes no more now, or does again."""
        self._full = full
        if not full and self._timer is None:
            self._advance()

    def server_lost(self) -> None:
        """The server has ended the connection."""
        self._forget()
        self._close()

    # ------------------------------------------------------------------ between them

    def _advance(self) -> None:
        """Pass on what the client may send now."""
        self._timer = None
        if self._client.is_closing():
            return
        try:
            wait_s = self._pass_on()
        except FrameError as error:
            self._refuse(error)
            return
        if wait_s is not None:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._advance)
        pending = self._full or self._waiting is not None or bool(self._chunks)
        if pending != self._paused:
            self._paused = pending
            (self._client.pause_reading if pending else self._client.resume_reading)()

    def _pass_on(self) -> float | None:
        """Seconds after which there is more to do; `None` if somebody else has to act first."""
        while not self._full:
            piece = self._waiting = self._waiting or next(self._pieces, None)
            if piece is None:
                if not self._chunks:
                    return None
                self._pieces = self._requests.receive(self._chunks.popleft())
                continue
            if self._server is None:
                self._connect()
                return None
            if (wait_s := self._wait_s(piece)) is not None:
                return wait_s
            self._waiting = None
            for stream in piece.resets:
                self._end(stream)
            self._server.write(piece.data)
            if piece.opens and self._chunks:
                # Sizing a block takes milliseconds at worst: others come in between.
                return 0.0
        return None

    def _wait_s(self, piece: Piece) -> float | None:
        """How long the client has to wait with a piece; `None` if it may be sent."""
        if not piece.opens:
            frames = min(piece.frames, FRAMES.burst)
            exceeded = self._limits.take(self._account, FRAMES, frames)
            return None if exceeded is None else exceeded.retry_s
        amount = piece.header_bytes + _CALL_BYTES
        new = piece.opens not in self._calls_bytes
        if new and self._calls.held(self._account) + amount > self._calls.most(self._account):
            if not self._limited:
                why = f"{self._calls.held(self._account):.0f} bytes of open calls"
                self._limits.refused(self._account, "open_calls", why)
            self._limited = True
            return _RETRY_S
        self._limited = False
        if exceeded := self._limits.take(self._account, METADATA, piece.block_bytes + _BLOCK_BYTES):
            return exceeded.retry_s
        if new:
            self._calls.change(self._account, amount)
            self._calls_bytes[piece.opens] = amount
            self._last_stream = piece.opens
            self._connection.begin(self._clock.monotonic_ns())
            self._connection.streams = True
        return None

    def _end(self, stream: int) -> None:
        """A call has ended, or the client has given it up."""
        if (amount := self._calls_bytes.pop(stream, None)) is not None:
            self._calls.give(self._account, amount)
            self._connection.end(self._clock.monotonic_ns())
            self._connection.streams = bool(self._calls_bytes)

    def _connect(self) -> None:
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect_to_server())

    async def _connect_to_server(self) -> None:
        try:
            made, self._forget = self._relay.socket_for(self._client)
        except OSError:
            self.abort()
            return
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: _ServerSide(self), sock=made)


class _ServerSide(asyncio.Protocol):
    """The server's side of a connection."""

    def __init__(self, relayed: RelayedConnection) -> None:
        self._relayed = relayed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self._relayed.server_made(cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._relayed.server_sent(data)

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._relayed.server_full(True)

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._relayed.server_full(False)

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._relayed.server_lost()
