"""A gRPC server: the procedures of one service, with the standard health and reflection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from sojourn_serving import _native
from sojourn_serving._native import Caller, Message
from sojourn_serving.guard import Certificates, Guard, Right
from sojourn_serving.serving import Handlers, Stream

_CANCELLED: Final = 1
_UNKNOWN: Final = 2
"""Status codes of gRPC."""


class Abort(Exception):  # noqa: N818 - says what happens
    """Ends a call with a status."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Call(Stream):
    """One call. Its handler is a task, which is cancelled when the client leaves."""

    __slots__ = ("_native", "_request", "caller")

    def __init__(self, native: _native.Call) -> None:
        super().__init__(native)
        self._native = native
        self._request = native.request
        self.caller: Caller = native.caller
        """The client."""

    @property
    def procedure(self) -> str:
        """Its name."""
        return self._native.procedure

    @property
    def metadata(self) -> Sequence[tuple[str, str]]:
        """What the client sent as text."""
        return self._native.metadata

    async def receive(self) -> bytes | None:
        """The next request; `None` when the client has ended its side.

        Raises `Abort` for one that cannot be read, or is too long.
        """
        if self._request is not None:
            request, self._request = self._request, None
            return request
        message = await self.next()
        if message is not None:
            self._native.taken()
        elif self._why is not None:
            raise Abort(*self._why)
        return message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The requests."""
        while (message := await self.receive()) is not None:
            yield message

    def abort(self, code: int, detail: str) -> NoReturn:
        """End the call with a status."""
        raise Abort(code, detail)


Handler = Callable[[Call], Awaitable[bytes | Message | None]]


@dataclass(frozen=True, slots=True)
class Procedure:
    """`handler(call)` returns its response, or with `many_responses` writes them."""

    handler: Handler
    right: Right
    """What a client needs."""
    many_requests: bool = False
    many_responses: bool = False
    max_request_bytes: int = 256 << 10


class GrpcServer:
    """A gRPC server.

    Before a handler come the client's rate of calls, the right of the procedure, and, of those with
    many requests or responses, the client's share of streams: the newest of the client with most
    makes room for one with fewer. A handler that fails ends the call with UNKNOWN, and is logged.
    A call that ends with INVALID_ARGUMENT counts as twenty, as does one whose request is longer
    than it may be, which ends with RESOURCE_EXHAUSTED.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        section: str,
        listen: str,
        service: str,
        procedures: Mapping[str, Procedure],
        descriptors: bytes,
        certificates: Certificates | None = None,
        insecure: bool = False,
        max_connections: int = 400,
        max_streams: int = 256,
    ) -> None:
        """Bind `listen`: `host:port`, `[IPv6]:port` or `unix:path`. A name is looked up.

        Args:
            guard: of the program.
            section: name in errors.
            listen: the address; port 0 is a free one.
            service: full name of the service.
            procedures: by name.
            descriptors: a serialized FileDescriptorSet of the service's file with its dependencies.
            certificates: for TLS; plain text without.
            insecure: accept tokens in plain text from beyond this machine.
            max_connections: at once.
            max_streams: at once, of all clients.

        Raises `SetupError` for an address or a certificate that cannot be used.
        """
        self._procedures = dict(procedures)
        self._handlers = Handlers(guard)
        self._guard = guard
        self._native = _native.GrpcServer(
            guard.native,
            section,
            listen,
            service,
            {
                name: (each.right, each.many_requests, each.many_responses, each.max_request_bytes)
                for name, each in procedures.items()
            },
            descriptors,
            None if certificates is None else certificates.files,
            insecure,
            max_connections,
            max_streams,
        )
        guard.deliver()
        self.address: Final[str] = self._native.address
        """The address with the port in use."""
        self.port: Final[int] = self._native.port
        """The TCP port in use; 0 of a Unix socket."""

    async def start(self) -> None:
        """Accept connections, unless it was stopped; health is NOT_SERVING until `set_ready`."""
        self._guard.add(self._native.number, self)
        self._native.start(self._guard.native)

    def set_ready(self, ready: bool) -> None:
        """Set the status of the health service."""
        self._native.set_ready(self._guard.native, ready)

    async def stop(self, grace_s: float) -> None:
        """Accept no more; what is still open after `grace_s` is cut."""
        await self._handlers.stop(self._native, grace_s)

    # ---------------------------------------------------------------------- for the guard

    def begin(self, native: _native.Call) -> Call:
        """See `Server`."""
        call = Call(native)
        work = self._serve(call, native, self._procedures[native.procedure])
        self._handlers.run(native.number, call, asyncio.create_task(work))
        return call

    def ended(self) -> None:
        """See `Server`."""
        self._handlers.ended()

    async def _serve(self, call: Call, native: _native.Call, procedure: Procedure) -> None:
        try:
            response = await procedure.handler(call)
            if response is not None:
                native.try_send(response)
            native.finish()
        except Abort as abort:
            native.finish(abort.code, abort.detail)
        except asyncio.CancelledError:
            native.finish(_CANCELLED, "the server has ended the call")
            raise
        except Exception as error:
            native.finish(_UNKNOWN, f"the procedure has failed: {type(error).__name__}")
            self._guard.failed("call failed", error, procedure=native.procedure)
