"""What a gRPC call meets before its procedure: the client's limits, then its rights."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import grpc
import grpc.aio

from ric.access import Access, Right
from ric.access.grpc import Context, caller_of
from ric.limits import Exceeded, Limits, Pool
from ric.limits.limits import CALLS

_OPEN: Final = "/grpc.health.v1.Health/"
_REFLECTION: Final = "/grpc.reflection."
_PUSHBACK: Final = "grpc-retry-pushback-ms"
"""When a client may retry (gRPC proposal A6, "Pushback")."""
STREAMS: Final = "streams"
"""Name of the limit."""


async def refuse(context: Context, exceeded: Exceeded) -> None:
    """End a call whose client has reached a limit."""
    pushback = ((_PUSHBACK, str(round(exceeded.retry_s * 1000))),)
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, exceeded.detail, pushback)


class DoorInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls beyond a client's rate, streams beyond its share, calls without the right.

    Health needs no right, reflection `read`; a procedure that `rights` lacks needs `control`.
    Limits come first, so that refusals cost their client as well.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits,
        streams: Pool,
        door: str,
        rights: Mapping[str, Right],
    ) -> None:
        """`rights` by name of the procedure, without its service; `streams` that may be open."""
        self._access = access
        self._limits = limits
        self._streams = streams
        self._door = door
        self._rights = rights

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """See `grpc.aio.ServerInterceptor`."""
        handler = await continuation(handler_call_details)
        return None if handler is None else self._guarded(handler, handler_call_details.method)

    def _right(self, method: str) -> Right | None:
        if method.startswith(_OPEN):
            return None
        if method.startswith(_REFLECTION):
            return Right.READ
        return self._rights.get(method.rpartition("/")[2], Right.CONTROL)

    async def _admit(self, context: Context, method: str) -> str:
        """The client of a call that may go on."""
        caller = caller_of(self._access, context, self._door)
        if exceeded := self._limits.take(caller.account, CALLS):
            await refuse(context, exceeded)
        right = self._right(method)
        if right is not None and (denial := caller.denial(right, "", method)) is not None:
            await context.abort(*denial)
        return caller.account

    @contextmanager
    def _stream(self, client: str) -> Iterator[Exceeded | None]:
        """Hold a stream while the context lasts, or say why not."""
        exceeded = self._limits.hold(client, self._streams, STREAMS)
        try:
            yield exceeded
        finally:
            if exceeded is None:
                self._streams.give(client, 1)

    def _guarded(
        self, handler: grpc.RpcMethodHandler[Any, Any], method: str
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """`handler` after the checks."""
        kind = f"{'stream' if handler.request_streaming else 'unary'}_" + (
            "stream" if handler.response_streaming else "unary"
        )
        inner = getattr(handler, kind)

        async def answers(request: Any, context: Context) -> Any:
            client = await self._admit(context, method)
            if kind == "unary_unary":
                return await inner(request, context)
            with self._stream(client) as exceeded:
                if exceeded is not None:
                    await refuse(context, exceeded)
                return await inner(request, context)

        async def yields(request: Any, context: Context) -> AsyncIterator[Any]:
            client = await self._admit(context, method)
            with self._stream(client) as exceeded:
                if exceeded is not None:
                    await refuse(context, exceeded)
                async for response in inner(request, context):
                    yield response

        make = getattr(grpc, f"{kind}_rpc_method_handler")
        guarded: grpc.RpcMethodHandler[Any, Any] = make(
            yields if inspect.isasyncgenfunction(inner) else answers,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )
        return guarded
