"""The procedures of a gRPC service: what a program's code knows of its gRPC server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from sojourn_serving import Message

from ric.access import Caller, Right


class CallError(Exception):
    """Ends a call with a status."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Call(Protocol):
    """One call. Its handler is a task, which is cancelled when the client leaves."""

    @property
    def caller(self) -> Caller:
        """The client."""
        ...

    async def write(self, message: bytes | Message) -> None:
        """Send one of many responses; waits while the client does not read. One task at a time."""
        ...

    def abort(self, code: grpc.StatusCode, detail: str) -> NoReturn:
        """End the call with a status; raises `CallError`."""
        ...


Handler = Callable[[Any, Any], Awaitable[bytes | Message | None]]
"""Takes the request, or an asynchronous iterator of them, and the `Call`; returns the response, or
`None` after it has written many."""


Handlers = Mapping[str, tuple[str, Handler]]
"""The `Right` that a client needs and the handler, by name of the procedure."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """One procedure, as a server needs it."""

    handler: Handler
    right: Right
    parse: Callable[[bytes], Any]
    """Decodes a request."""
    many_requests: bool
    many_responses: bool


def procedures_of(service: ServiceDescriptor, handlers: Handlers) -> dict[str, Procedure]:
    """The procedures of a service by name."""
    made = {}
    for name, (right, handler) in handlers.items():
        method = service.methods_by_name[name]
        made[name] = Procedure(
            handler,
            Right(right),
            GetMessageClass(method.input_type).FromString,
            method.client_streaming,
            method.server_streaming,
        )
    return made
