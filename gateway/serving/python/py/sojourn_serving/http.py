"""An HTTP/1.1 server, whose requests a handler answers."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sojourn_serving import _native
from sojourn_serving._native import Caller, Rate
from sojourn_serving.guard import Certificates, Guard
from sojourn_serving.serving import Handlers, Stream

_STOP_S: Final = 1.0
"""Time for requests in progress when a server stops."""
_FAILED: Final = 500


class BodyError(Exception):
    """A body that is not read: too long, or not complete in time."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a request."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | AsyncIterator[bytes] = b""
    """Chunks are sent as they come, and may last for ever; other answers have a minute."""


class Request(Stream):
    """One request. Its handler is a task, which is cancelled when the client leaves."""

    __slots__ = ("_body", "_native", "caller", "headers", "method", "path", "query")

    def __init__(self, native: _native.Request) -> None:
        super().__init__(native)
        self._native = native
        self._body: asyncio.Future[bytes] | None = None
        self.method: str = native.method
        self.path: str = native.path
        """Percent-decoded."""
        self.query: str = native.query
        """The query as it came, without the question mark."""
        self.headers: Mapping[str, str] = dict(native.headers)
        """Values by names in lower case; those of one name are joined by commas."""
        self.caller: Caller = native.caller
        """The client."""

    async def read(self) -> bytes:
        """The body, once; raises `BodyError`."""
        if not self._native.has_body:
            return b""
        self._body = asyncio.get_running_loop().create_future()
        self._native.read()
        return await self._body

    def cut(self) -> None:
        """End the connection now."""
        self._native.cut()

    def message(self, message: bytes | tuple[int, str]) -> None:
        """See `Open`."""
        if self._body is None or self._body.done():
            return
        if isinstance(message, bytes):
            self._body.set_result(message)
        else:
            self._body.set_exception(BodyError(*message))


class HttpServer:
    """An HTTP server.

    Before the handler come the client's rate of requests, of the path if that has one of its own
    (429 with Retry-After, after a pause), and the names of the server (421 for another Host, 403
    for another Origin). The routes, their rights and the body are the handler's. One that fails is
    answered with 500, and logged. The iterator of a body is closed when the client leaves.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        section: str,
        label: str,
        listen: str,
        handler: Callable[[Request], Awaitable[Response]],
        allowed_hosts: Iterable[str] = (),
        certificates: Certificates | None = None,
        insecure: bool = False,
        max_connections: int = 400,
        max_body_bytes: int = 64 << 10,
        problems: bool = False,
    ) -> None:
        """Listen at `listen` once it is started; see `GrpcServer`.

        Args:
            guard: of the program.
            section: name in errors.
            label: value of the label `server` of metrics: `http` or `a1`.
            listen: the address; port 0 is a free one.
            handler: answers requests.
            allowed_hosts: names of the server beside IP addresses, localhost and that of `listen`.
            certificates: for TLS; plain text without.
            insecure: accept tokens in plain text from beyond this machine.
            max_connections: at once.
            max_body_bytes: of a request.
            problems: answers of the server itself are ProblemDetails objects (RFC 9457).
        """
        self._guard = guard
        self._handler = handler
        self._handlers = Handlers(guard)
        self._rates: dict[str, Rate] = {}
        self._make = partial(
            _native.HttpServer,
            guard.native,
            section,
            label,
            listen,
            list(allowed_hosts),
            None if certificates is None else certificates.files,
            insecure,
            max_connections,
            max_body_bytes,
            problems,
        )
        self._is_named = _is_named(listen)
        self._native: _native.HttpServer | None = None
        self._stopped = False

    @property
    def address(self) -> str:
        """The address with the port in use; empty before it is started."""
        return "" if self._native is None else self._native.address

    def set_rate(self, path: str, rate: Rate) -> None:
        """Give a path a rate of its own."""
        self._rates[path] = rate
        if self._native is not None:
            self._native.set_rate(path, rate)

    async def start(self) -> str:
        """Listen, unless it was stopped; returns the address with the port in use.

        Raises `SetupError` for an address or a certificate that cannot be used.
        """
        # Only a name takes time, which the event loop must not wait for.
        native = await asyncio.to_thread(self._make) if self._is_named else self._make()
        if self._stopped:
            return ""
        self._native = native
        self._guard.deliver()
        for path, rate in self._rates.items():
            native.set_rate(path, rate)
        self._guard.add(native.number, self)
        native.start(self._guard.native)
        return native.address

    async def stop(self) -> None:
        """Accept no more; requests in progress have a second to end."""
        self._stopped = True
        if self._native is not None:
            await self._handlers.stop(self._native, _STOP_S)

    # ---------------------------------------------------------------------- for the guard

    def begin(self, native: _native.Request) -> Request:
        """See `Server`."""
        request = Request(native)
        work = self._serve(request, native)
        self._handlers.run(native.number, request, asyncio.create_task(work))
        return request

    def ended(self) -> None:
        """See `Server`."""
        self._handlers.ended()

    async def _serve(self, request: Request, native: _native.Request) -> None:
        try:
            response = await self._handler(request)
            headers = list(response.headers.items())
            if isinstance(response.body, bytes):
                native.respond(response.status, headers, response.body)
            else:
                native.begin(response.status, headers)
                await _send(request, response.body)
                native.finish()
        except asyncio.CancelledError:
            native.finish(failed=True)
            raise
        except Exception as error:
            # Without effect on an answer that has begun, which is cut off.
            native.respond(_FAILED, [], b"")
            native.finish(failed=True)
            self._guard.failed("request failed", error, path=request.path)


async def _send(request: Request, chunks: AsyncIterator[bytes]) -> None:
    try:
        async for chunk in chunks:
            await request.write(chunk)
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _is_named(listen: str) -> bool:
    """Whether an address has a name to look up."""
    host = listen.rpartition(":")[0].strip("[]")
    if listen.startswith("unix:"):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False
