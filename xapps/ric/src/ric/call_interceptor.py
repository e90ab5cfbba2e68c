"""What a gRPC call meets before its procedure: the client's limits, then its rights."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import grpc
import grpc.aio

from ric.access import Access, Right
from ric.access.grpc import Context, caller_of
from ric.limits import Exceeded, Limits, Pool
from ric.limits.limits import CALLS
from ric.open_streams import OpenStream, OpenStreams
from ric.paced_refusals import PacedRefusals

_OPEN: Final = "/grpc.health.v1.Health/"
_REFLECTION: Final = "/grpc.reflection."
_PUSHBACK: Final = "grpc-retry-pushback-ms"
"""When a client may retry (gRPC proposal A6, "Pushback")."""
STREAMS: Final = "streams"
"""Name of the limit."""
_FAILED_CALLS: Final = 20
"""Calls that one with an invalid request counts for: five of them a second are answered at once."""
_INVALID: Final = grpc.StatusCode.INVALID_ARGUMENT


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls beyond a client's rate, streams beyond its share, calls without the right.

    Health needs no right, reflection `read`; a procedure that `rights` lacks needs `control`.
    Limits come first, so that refusals cost their client as well.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits,
        streams: Pool,
        label: str,
        rights: Mapping[str, Right],
    ) -> None:
        """`rights` by name of the procedure, without its service; `streams` that may be open."""
        self._access = access
        self._limits = limits
        self._streams = streams
        self._label = label
        self._rights = rights
        self._refusals = PacedRefusals()
        self._open = OpenStreams()

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

    async def _refuse(self, context: Context, client: str, exceeded: Exceeded) -> None:
        """End a call whose client has reached a limit."""
        await self._refusals.pause(client)
        pushback = ((_PUSHBACK, str(round(exceeded.retry_s * 1000))),)
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, exceeded.detail, pushback)

    async def _admit(self, context: Context, method: str) -> str:
        """The client of a call that may go on."""
        caller = caller_of(self._access, context, self._label)
        client = caller.account
        if exceeded := self._limits.take(client, CALLS):
            await self._refuse(context, client, exceeded)
        right = self._right(method)
        if right is not None and (denial := caller.denial(right, "", method)) is not None:
            await context.abort(*denial)
        return client

    @asynccontextmanager
    async def _stream(self, client: str, context: Context) -> AsyncIterator[OpenStream]:
        """Hold a stream while the context lasts, or end the call."""
        exceeded = None
        if not self._streams.take(client, 1):
            if (other := self._open.newest_of_most(self._streams, client)) is None:
                exceeded = self._limits.hold(client, self._streams, STREAMS)
            else:
                why = "its newest made room for a client with fewer"
                self._limits.refused(other.client, STREAMS, why)
                other.end()
                self._streams.change(client, 1)
        if exceeded is not None:
            await self._refuse(context, client, exceeded)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a call is served outside a task")
        with self._open.held(client, task) as stream:
            try:
                yield stream
            except asyncio.CancelledError:
                if not stream.has_ended:
                    raise
                task.uncancel()
                message = f"client {client}: it had the most streams; another client needed one"
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, message)
            finally:
                self._streams.give(client, 1)

    def _guarded(
        self, handler: grpc.RpcMethodHandler[Any, Any], method: str
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """`handler` after the checks, which come before a request is read.

        A procedure with one request is served as one with a stream of them, the same on the wire:
        only those are called before gRPC has read and parsed a request.
        """
        many = "stream" if handler.response_streaming else "unary"
        inner = getattr(handler, f"{'stream' if handler.request_streaming else 'unary'}_{many}")

        async def argument(requests: AsyncIterator[Any], context: Context) -> Any:
            if handler.request_streaming:
                return requests
            async for request in requests:
                return request
            # The peer left, or gRPC has refused the request for its length.
            return await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no request came")

        @contextmanager
        def charging(client: str, context: Context) -> Iterator[None]:
            """Charges for faults of the client, not for what is absent or not permitted."""
            try:
                yield
            except grpc.aio.AbortError:
                if context.code() in (_INVALID, _INVALID.value[0]):
                    self._limits.charge(client, CALLS, _FAILED_CALLS - 1)
                raise
            except Exception:
                # gRPC has refused a request for its length.
                self._limits.charge(client, CALLS, _FAILED_CALLS - 1)
                raise

        async def answers(requests: AsyncIterator[Any], context: Context) -> Any:
            client = await self._admit(context, method)
            if not handler.request_streaming:
                with charging(client, context):
                    return await inner(await argument(requests, context), context)
            async with self._stream(client, context):
                with charging(client, context):
                    return await inner(requests, context)

        async def yields(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
            client = await self._admit(context, method)
            async with self._stream(client, context) as stream:
                with charging(client, context):
                    responses = inner(await argument(requests, context), context)
                    async for response in stream.pass_on(responses):
                        yield response

        make = getattr(grpc, f"stream_{many}_rpc_method_handler")
        guarded: grpc.RpcMethodHandler[Any, Any] = make(
            yields if inspect.isasyncgenfunction(inner) else answers,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )
        return guarded
