"""Accepts the connections of an HTTP server: their limits, and TLS.

Connections are counted before the TLS handshake: one that never finishes it holds a descriptor as
well.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, cast

from aiohttp import web

from ric.access.access import address_account
from ric.clock import Clock
from ric.limits.connections import HEAD_NS, Connection, Connections

_SWEEP_S: Final = 1.0
_BACKLOG: Final = 128
_NO_DESCRIPTOR_S: Final = 0.1
"""Until the next attempt to accept, when the process has no descriptor left."""


class _Server(Protocol):
    """An `aiohttp.web.Server`: makes the protocol of a connection."""

    def __call__(self) -> web.RequestHandler: ...


class Listener:
    """The listening sockets of a server."""

    def __init__(
        self,
        server: _Server,
        connections: Connections,
        clock: Clock,
        context: ssl.SSLContext | None,
    ) -> None:
        self._server = server
        self._connections = connections
        self._clock = clock
        self._context = context
        self._of: dict[web.RequestHandler, Connection] = {}
        self._silent: dict[Connection, Callable[[], None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sockets: list[socket.socket] = []
        self._sweep: asyncio.TimerHandle | None = None
        self._unix = count(1)

    async def start(self, host: str, port: int) -> str:
        """Listen on `host` and `port`, or on `unix:path`; returns the address in use.

        Raises `OSError` if it cannot be bound.
        """
        if host.startswith("unix:"):
            self._sockets = [_unix_socket(host.removeprefix("unix:"))]
        else:
            self._sockets = await _sockets(host, port)
        for listening in self._sockets:
            listening.setblocking(False)
            listening.listen(_BACKLOG)
            self._run(self._accept(listening))
        self._end_silent()
        if host.startswith("unix:"):
            return host
        found, port = self._sockets[0].getsockname()[:2]
        return f"[{found}]:{port}" if ":" in found else f"{found}:{port}"

    async def stop(self) -> None:
        """Accept no more connections; those that have said something stay."""
        if self._sweep is not None:
            self._sweep.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection, close in list(self._silent.items()):
            self._connections.remove(connection)
            close()
        for listening in self._sockets:
            listening.close()

    def connection_of(self, request: web.Request) -> Connection | None:
        """The connection of a request; `None` if it is closed."""
        return self._of.get(request.protocol)

    def begin(self, connection: Connection, transport: asyncio.Transport) -> web.RequestHandler:
        """The protocol of a connection that is ready for requests."""
        handler = self._server()
        connection.close = transport.abort
        self._of[handler] = connection
        return handler

    def received(self, connection: Connection) -> None:
        """Bytes came."""
        connection.received(self._clock.monotonic_ns())

    def lost(self, connection: Connection, handler: web.RequestHandler) -> None:
        """A connection is closed."""
        self._of.pop(handler, None)
        self._connections.remove(connection)

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(_NO_DESCRIPTOR_S)
                continue
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
                self._await_first_byte(accepted, connection)

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
            connection.close = self._run(self._encrypt(accepted, connection)).cancel

        loop.add_reader(accepted, readable)
        connection.close = self._silent[connection] = close

    async def _encrypt(self, accepted: socket.socket, connection: Connection) -> None:
        """The TLS handshake, if the server has a certificate."""
        protocol = _Accepted(self, connection)
        timeout_s = HEAD_NS / 1e9 if self._context is not None else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._context, ssl_handshake_timeout=timeout_s
            )
        except OSError:
            # Also `ssl.SSLError`, and `ConnectionAbortedError` for a handshake that took too long.
            pass
        finally:
            if not protocol.begun:
                accepted.close()
                self._connections.remove(connection)

    def _end_silent(self) -> None:
        self._connections.end_silent(self._clock.monotonic_ns())
        self._sweep = asyncio.get_running_loop().call_later(_SWEEP_S, self._end_silent)


class _Accepted(asyncio.Protocol):
    """A connection, which passes on to aiohttp what happens."""

    def __init__(self, listener: Listener, connection: Connection) -> None:
        self._listener = listener
        self._connection = connection
        self._handler: web.RequestHandler
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


async def _sockets(host: str, port: int) -> list[socket.socket]:
    """One for each address of the host."""
    resolve = partial(
        socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    # Only a name takes time, which the event loop must not wait for.
    found = resolve() if _is_ip(host) else await asyncio.to_thread(resolve)
    bound: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            bound.append(socket.socket(family, socket.SOCK_STREAM))
            bound[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bound[-1].bind(address)
    except OSError as error:
        for each in bound:
            each.close()
        raise OSError(
            error.errno, f"{host}:{port}: cannot be bound ({os.strerror(error.errno or 0)})"
        ) from None
    return bound


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


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
