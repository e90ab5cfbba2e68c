"""Accepts the connections of a server: their limits, and TLS.

Connections are counted before the TLS handshake: one that never finishes it holds a descriptor as
well.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

from ric.access.access import address_account
from ric.clock import Clock
from ric.endpoint_settings import split_address
from ric.limits import Limits, Rate
from ric.limits.connections import HEAD_NS, Connection, Connections

CONNECTS: Final = Rate("connects", per_s=20, burst=100, what="new connections")
"""Rate of new connections of one client: each costs a TLS handshake."""
_SWEEP_S: Final = 1.0
_BACKLOG: Final = 128
_WITHOUT_FAMILY: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_NO_DESCRIPTOR_S: Final = 0.1
"""Pause before the next attempt to accept, when the process has no descriptor left."""


class Listener:
    """The listening sockets of a server."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        *,
        serve: Callable[[Connection], asyncio.Protocol],
        connections: Connections,
        limits: Limits,
        clock: Clock,
        context: ssl.SSLContext | None,
        received: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        """`sockets` are of `bind`. `serve` makes the protocol of a connection that is ready for
        requests; `received` is called when bytes came on one."""
        self._sockets = sockets
        self._serve = serve
        self._limits = limits
        self.received = received
        self._connections = connections
        self._clock = clock
        self._context = context
        self._of: dict[asyncio.Protocol, Connection] = {}
        self._silent: dict[Connection, Callable[[], None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._unix = count(1)
        self.stopped = False

    def start(self) -> str:
        """Accept connections; returns the address of the first socket, "" after a stop."""
        if self.stopped:
            return ""
        for listening in self._sockets:
            self._listen(listening)
        self._end_silent()
        return address_of(self._sockets[0])

    async def stop(self) -> None:
        """Accept no more connections; those that have said something stay."""
        if self.stopped:
            return
        self.stopped = True
        if self._sweep is not None:
            self._sweep.cancel()
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)
        for pause in self._pauses.values():
            pause.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection, close in list(self._silent.items()):
            self._connections.remove(connection)
            close()
        for listening in self._sockets:
            listening.close()

    def connection_of(self, handler: asyncio.Protocol) -> Connection | None:
        """The connection that a protocol serves; `None` if it is closed."""
        return self._of.get(handler)

    def begin(self, connection: Connection, transport: asyncio.Transport) -> asyncio.Protocol:
        """The protocol of a connection that is ready for requests."""
        connection.close = transport.abort
        handler = self._serve(connection)
        self._of[handler] = connection
        return handler

    def lost(self, connection: Connection, handler: asyncio.Protocol) -> None:
        """A connection is closed."""
        self._of.pop(handler, None)
        self._connections.remove(connection)

    def _listen(self, listening: socket.socket) -> None:
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        try:
            accepted, address = listening.accept()
        except BlockingIOError:
            # The client has gone again.
            return
        except OSError:
            loop = asyncio.get_running_loop()
            loop.remove_reader(listening)
            self._pauses[listening] = loop.call_later(_NO_DESCRIPTOR_S, self._listen, listening)
            return
        accepted.setblocking(False)
        # Peers at a Unix socket have no address: each connection is a client, as on loopback.
        by_address = isinstance(address, tuple)
        client = (
            address_account(f"{address[0]}:{address[1]}")
            if by_address
            else f"unix {next(self._unix)}"
        )
        connection = self._connections.open(client, accepted.close, self._clock.monotonic_ns())
        if connection is None:
            accepted.close()
        else:
            self._await_turn(accepted, connection)

    def _await_turn(self, accepted: socket.socket, connection: Connection) -> None:
        """A client that connects too often waits in its own connections."""
        exceeded = self._limits.take(connection.client, CONNECTS)
        if exceeded is None:
            self._await_first_byte(accepted, connection)
            return
        turn = asyncio.get_running_loop().call_later(
            exceeded.retry_s, self._await_turn, accepted, connection
        )

        def close() -> None:
            turn.cancel()
            self._silent.pop(connection, None)
            accepted.close()

        connection.close = self._silent[connection] = close

    def _await_first_byte(self, accepted: socket.socket, connection: Connection) -> None:
        """A connection that says nothing costs a descriptor, but no task, transport or handler."""
        loop = asyncio.get_running_loop()

        def close() -> None:
            loop.remove_reader(accepted)
            self._silent.pop(connection, None)
            accepted.close()

        def readable() -> None:
            loop.remove_reader(accepted)
            del self._silent[connection]
            connection.close = self._begin_handshake(accepted, connection).cancel

        loop.add_reader(accepted, readable)
        connection.close = self._silent[connection] = close

    def _begin_handshake(
        self, accepted: socket.socket, connection: Connection
    ) -> asyncio.Task[None]:
        protocol = _Accepted(self, connection)
        task = asyncio.get_running_loop().create_task(self._encrypt(accepted, protocol))
        self._tasks.add(task)

        # A task that is cancelled before its first step never reaches a `finally` of its own.
        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not protocol.begun:
                accepted.close()
                self._connections.remove(connection)

        task.add_done_callback(ended)
        return task

    async def _encrypt(self, accepted: socket.socket, protocol: _Accepted) -> None:
        """The TLS handshake, if the server has a certificate."""
        timeout_s = HEAD_NS / 1e9 if self._context is not None else None
        # `OSError` is also `ssl.SSLError`, and `ConnectionAbortedError` after the timeout.
        with suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._context, ssl_handshake_timeout=timeout_s
            )

    def _end_silent(self) -> None:
        self._connections.end_silent(self._clock.monotonic_ns())
        self._sweep = asyncio.get_running_loop().call_later(_SWEEP_S, self._end_silent)


class _Accepted(asyncio.Protocol):
    """A connection, which passes on what happens to the protocol that serves it."""

    def __init__(self, listener: Listener, connection: Connection) -> None:
        self._listener = listener
        self._connection = connection
        self._handler: asyncio.Protocol
        self.begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self.begun = True
        # The transports of uvloop do not derive from the class of asyncio.
        self._handler = self._listener.begin(self._connection, cast(asyncio.Transport, transport))
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._listener.received(self._connection)
        self._handler.data_received(data)

    def eof_received(self) -> None:
        """See `asyncio.Protocol`."""
        self._handler.eof_received()

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._handler.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._listener.lost(self._connection, self._handler)
        self._handler.connection_lost(error)


def bind(listen: str) -> list[socket.socket]:
    """Listening sockets at `host:port`, one for each address of the host, or at `unix:path`.

    `::` is both families, and `0.0.0.0` on a machine without IPv6.

    Raises `OSError` if one cannot be bound. A name is looked up, which takes time.
    """
    host, port = split_address(listen)
    if host.startswith("unix:"):
        return [_listening(_unix_socket(host.removeprefix("unix:")))]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    failure: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(found):
        # With port 0 all addresses get the port that the first was given.
        at = (address[0], port or (bound[0].getsockname()[1] if bound else 0), *address[2:])
        try:
            bound.append(_bound(family, at))
        except OSError as error:
            failure = error
            # A name may have an address of a family that this machine is without.
            if error.errno not in _WITHOUT_FAMILY:
                break
    else:
        if bound:
            return [_listening(each) for each in bound]
    for each in bound:
        each.close()
    number = 0 if failure is None else failure.errno or 0
    if host == "::" and number in _WITHOUT_FAMILY:
        return bind(f"0.0.0.0:{port}")
    raise OSError(number, f"{host}:{port}: cannot be bound ({os.strerror(number)})")


def _listening(bound: socket.socket) -> socket.socket:
    bound.setblocking(False)
    bound.listen(_BACKLOG)
    return bound


def _bound(family: int, address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The unspecified address is both families', where there are both.
            both = address[0] == "::"
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if both else 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def is_named(listen: str) -> bool:
    """Whether `bind` has a name to look up."""
    host, _ = split_address(listen)
    if host.startswith("unix:"):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def address_of(bound: socket.socket) -> str:
    """`host:port`, `[IPv6]:port` or `unix:path` of a socket."""
    if bound.family == socket.AF_UNIX:
        return f"unix:{bound.getsockname()}"
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _unix_socket(path: str) -> socket.socket:
    """One at a path, in place of a socket that an earlier process has left there."""
    if Path(path).is_socket():
        Path(path).unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(path)
    except OSError as error:
        bound.close()
        raise OSError(
            error.errno, f"{path}: cannot be bound ({os.strerror(error.errno or 0)})"
        ) from None
    return bound
