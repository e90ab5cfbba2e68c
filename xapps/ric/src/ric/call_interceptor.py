"""What a gRPC call meets before its procedure: the client's limits, then its rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Final, NoReturn, TypeAlias
from urllib.parse import unquote

import grpc
import grpc.aio

from ric.access import Access, Caller, Peer, Right, bearer_token
from ric.limits import Exceeded, Limits, Pool
from ric.limits.limits import CALLS
from ric.open_streams import OpenStream, OpenStreams
from ric.paced_refusals import PacedRefusals
from ric.procedures import CallError, Procedure

Context = grpc.aio.ServicerContext[Any, Any]
RpcHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

_OPEN: Final = "/grpc.health.v1.Health/"
_PUSHBACK: Final = "grpc-retry-pushback-ms"
"""When a client may retry (gRPC proposal A6, "Pushback")."""
STREAMS: Final = "streams"
"""Name of the limit."""
_FAILED_CALLS: Final = 20
"""Calls that one with an invalid request counts for: five of them a second are answered at once."""


class _Call:
    """A `ric.procedures.Call`."""

    def __init__(self, caller: Caller, context: Context, stream: OpenStream | None) -> None:
        self.caller = caller
        self.context = context
        self._stream = stream

    async def write(self, message: bytes) -> None:
        """See `Call.write`."""
        if self._stream is None:
            raise TypeError("a procedure of one response writes; expected it to return that")
        with self._stream.sending():
            await self.context.write(message)

    def abort(self, code: grpc.StatusCode, detail: str) -> NoReturn:
        """See `Call.abort`."""
        raise CallError(code, detail)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Serves procedures; refuses calls beyond a client's rate or share of streams, or without the
    right.

    Health needs no right, reflection `read`. Limits come first, so that refusals cost their client
    as well.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits,
        streams: Pool,
        label: str,
        procedures: Mapping[str, Procedure],
    ) -> None:
        """`procedures` by path, `/service/name`; `streams` that may be open."""
        self._access = access
        self._limits = limits
        self._streams = streams
        self._label = label
        self._handlers = {
            path: self._served(procedure, path) for path, procedure in procedures.items()
        }
        self._refusals = PacedRefusals()
        self._open = OpenStreams()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[RpcHandler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> RpcHandler | None:
        """See `grpc.aio.ServerInterceptor`."""
        method = handler_call_details.method
        if (own := self._handlers.get(method)) is not None:
            return own
        handler = await continuation(handler_call_details)
        return None if handler is None else self._guarded(handler, method)

    def _caller(self, context: Context) -> Caller:
        """The client of a call, who is behind the relay.

        Nobody else has a right: a call may outlast its client's connection.
        """
        token = None
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and isinstance(value, str):
                token = bearer_token(value)
        behind = self._access.peers.get(unquote(context.peer()))
        if behind is None:
            return self._access.caller(Peer(self._label, "", must_be_certified=True))
        return self._access.caller(replace(behind, token=token))

    async def _refuse(self, context: Context, client: str, exceeded: Exceeded) -> None:
        """End a call whose client has reached a limit."""
        await self._refusals.pause(client)
        pushback = ((_PUSHBACK, str(round(exceeded.retry_s * 1000))),)
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, exceeded.detail, pushback)

    async def _admit(self, context: Context, right: Right | None, method: str) -> Caller:
        """The client of a call that may go on."""
        caller = self._caller(context)
        client = caller.account.key
        if exceeded := self._limits.take(client, CALLS):
            await self._refuse(context, client, exceeded)
        if right is not None and (refusal := caller.refusal(right, what=method)) is not None:
            await context.abort(refusal.code, refusal.detail)
        return caller

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

    @contextmanager
    def _charging(self, client: str) -> Iterator[None]:
        """Charge for faults of the client, not for what is absent or not permitted."""
        try:
            yield
        except CallError as error:
            if error.code is grpc.StatusCode.INVALID_ARGUMENT:
                self._limits.charge(client, CALLS, _FAILED_CALLS - 1)
            raise
        except Exception:
            # gRPC has refused a request for its length or its bytes, or the handler failed.
            self._limits.charge(client, CALLS, _FAILED_CALLS - 1)
            raise

    def _served(self, procedure: Procedure, method: str) -> RpcHandler:
        """A procedure after the checks, which come before a request is read.

        One with a single request is served as one with a stream of them, the same on the wire: only
        those are called before gRPC has read and parsed a request.
        """

        async def serve(requests: AsyncIterator[Any], call: _Call) -> bytes | None:
            try:
                with self._charging(call.caller.account.key):
                    if procedure.many_requests:
                        return await procedure.handler(requests, call)
                    async for request in requests:
                        return await procedure.handler(request, call)
                    # The peer left, or gRPC has refused the request for its length.
                    call.abort(grpc.StatusCode.INVALID_ARGUMENT, "no request came")
            except CallError as error:
                return await call.context.abort(error.code, str(error))

        async def answers(requests: AsyncIterator[Any], context: Context) -> bytes | None:
            caller = await self._admit(context, procedure.right, method)
            if not procedure.many_requests and not procedure.many_responses:
                return await serve(requests, _Call(caller, context, None))
            async with self._stream(caller.account.key, context) as stream:
                return await serve(requests, _Call(caller, context, stream))

        make: Any = (
            grpc.stream_stream_rpc_method_handler
            if procedure.many_responses
            else grpc.stream_unary_rpc_method_handler
        )
        made: RpcHandler = make(answers, request_deserializer=procedure.parse)
        return made

    def _guarded(self, handler: RpcHandler, method: str) -> RpcHandler:
        """A handler of gRPC's own services, health and reflection, after the checks."""
        right = None if method.startswith(_OPEN) else Right.READ
        many = "stream" if handler.response_streaming else "unary"
        name = f"{'stream' if handler.request_streaming else 'unary'}_{many}"
        inner = getattr(handler, name)

        async def answers(request: Any, context: Context) -> Any:
            await self._admit(context, right, method)
            return await inner(request, context)

        async def yields(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
            caller = await self._admit(context, right, method)
            async with self._stream(caller.account.key, context):
                async for response in inner(requests, context):
                    yield response

        make = getattr(grpc, f"{name}_rpc_method_handler")
        guarded: RpcHandler = make(
            yields if handler.request_streaming else answers,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )
        return guarded
