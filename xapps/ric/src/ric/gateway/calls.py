"""The two calls that carry all RIC subscriptions and all RIC controls of a client.

Opening a call costs Python's gRPC more than carrying two messages over an open one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final, Generic, TypeVar

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub

from ric.e2 import Indication
from ric.gateway import messages
from ric.gateway.channel import WINDOW_BYTES

DEFAULT_QUEUE_DEPTH: Final = 64
"""Indications that a gateway queues for a reader that requests no depth."""
LATE_US: Final = 10_000
"""Age of the oldest that waits, by the gateway's clock, at which a new indication replaces those of
a reader of the newest."""
CLIENT_QUEUE: Final = 256
"""Indications of one subscription that may be queued here beyond its queue depth while they are at
most `WINDOW_BYTES`: with a call of its own they would be in its connection."""

_FAILED_IN_CLIENT: Final = "Internal error from Core"
"""Details of gRPC's own error where a write meets a call that the gateway has ended."""
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

Metadata = tuple[tuple[str, str], ...]
Request = TypeVar("Request")
Response = TypeVar("Response")


class _Call(Generic[Request, Response]):
    """One bidirectional call until it ends; create it within a running event loop."""

    def __init__(
        self,
        method: Callable[..., grpc.aio.StreamStreamCall[Request, Response]],
        metadata: Metadata,
        name: str,
    ) -> None:
        self._outgoing: asyncio.Queue[Request | None] = asyncio.Queue()
        self._last_id = 0
        # gRPC writes from a task of its own: cancelling a caller that writes would cancel the call.
        self._call = method(self._requests(), metadata=metadata)
        self._reading = asyncio.create_task(self._read(), name=name)

    @property
    def ended(self) -> bool:
        """Whether the call can carry nothing more."""
        return self._reading.done()

    async def close(self) -> None:
        """End the call; what is pending ends with `CANCELLED`."""
        self._call.cancel()
        await asyncio.wait([self._reading])

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _send(self, request: Request) -> None:
        self._outgoing.put_nowait(request)

    async def _requests(self) -> AsyncIterator[Request]:
        while (request := await self._outgoing.get()) is not None:
            yield request

    async def _read(self) -> None:
        end = rpc_error(grpc.StatusCode.UNAVAILABLE, "the gateway ended the call")
        try:
            async for response in self._call:
                if response is None:  # gRPC could not parse the message
                    end = rpc_error(grpc.StatusCode.INTERNAL, "not a message of the interface")
                    break
                self._on_response(response)
        except grpc.aio.AioRpcError as error:
            end = error
            if error.details() == _FAILED_IN_CLIENT:
                # gRPC has discarded the gateway's status, which the next call can obtain.
                end = rpc_error(grpc.StatusCode.ABORTED, "the gateway ended the call")
        except asyncio.CancelledError:
            end = rpc_error(grpc.StatusCode.CANCELLED, "link closed")
        self._call.cancel()
        # If the gateway ended the call, gRPC's task still waits for a request.
        self._outgoing.put_nowait(None)
        self._on_end(end)

    def _on_response(self, response: Response) -> None:
        raise NotImplementedError

    def _on_end(self, end: grpc.aio.AioRpcError) -> None:
        raise NotImplementedError


class ControlCall(_Call[pb.ControlRequest, pb.ControlResponse]):
    """All RIC controls of a client over one `Control` call."""

    def __init__(self, stub: E2GatewayStub, metadata: Metadata = ()) -> None:
        self._pending: dict[int, asyncio.Future[pb.ControlAnswer]] = {}
        super().__init__(stub.Control, metadata, "ric controls")

    async def control(self, request: pb.ControlRequest, timeout_s: float) -> pb.ControlAnswer:
        """Send `request`, whose `request_id` and `timeout_ms` are set here; returns its answer.

        Raises `grpc.aio.AioRpcError` with the code of the control, or of the whole call if that
        ended.
        """
        request.request_id = request_id = self._next_id()
        request.timeout_ms = max(1, round(1000 * timeout_s))
        self._send(request)
        answer: asyncio.Future[pb.ControlAnswer] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = answer
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise rpc_error(grpc.StatusCode.DEADLINE_EXCEEDED, "no answer") from None
        finally:
            self._pending.pop(request_id, None)

    def _on_response(self, response: pb.ControlResponse) -> None:
        answer = self._pending.get(response.request_id)
        # The caller has given up, or its deadline has passed.
        if answer is None or answer.done():
            return
        if response.HasField("error"):
            answer.set_exception(rpc_error(code_of(response.error.code), response.error.detail))
        else:
            answer.set_result(response.answer)

    def _on_end(self, end: grpc.aio.AioRpcError) -> None:
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(end)


class SubscribeCall(_Call[pb.SubscribeRequest, pb.SubscribeResponse]):
    """All RIC subscriptions of a client over one `Subscribe` call."""

    def __init__(self, stub: E2GatewayStub, metadata: Metadata = ()) -> None:
        self._queues: dict[int, _IndicationQueue] = {}
        super().__init__(stub.Subscribe, metadata, "ric subscriptions")

    async def indications(self, subscription: pb.Subscription) -> AsyncGenerator[Indication]:
        """One RIC subscription; closing the generator ends it.

        If the handler is slow, the oldest indications are dropped and counted in `missed` of the
        next, or replaced and counted in `coalesced`.

        Raises `grpc.aio.AioRpcError` with the code of the subscription's end, or of the whole
        call if that ended.
        """
        number = self._next_id()
        depth = subscription.queue_depth or DEFAULT_QUEUE_DEPTH
        queue = _IndicationQueue(depth, newest=subscription.reading == pb.Subscription.NEWEST)
        self._queues[number] = queue
        self._send(pb.SubscribeRequest(subscription_id=number, subscribe=subscription))
        try:
            while True:
                while queue.waiting:
                    yield queue.take()
                if queue.end is not None:
                    raise queue.end
                await queue.changed()
        finally:
            del self._queues[number]
            if queue.end is None:
                unsubscribe = pb.Unsubscribe()
                self._send(pb.SubscribeRequest(subscription_id=number, unsubscribe=unsubscribe))

    def _on_response(self, response: pb.SubscribeResponse) -> None:
        queues, indication_from_pb = self._queues, messages.indication_from_pb
        for event in response.events:
            queue = queues.get(event.subscription_id)
            # Sent before the gateway received the unsubscription.
            if queue is None:
                continue
            if event.HasField("indication"):
                queue.put(indication_from_pb(event.indication))
            elif event.HasField("end"):
                queue.close(rpc_error(code_of(event.end.code), event.end.detail))

    def _on_end(self, end: grpc.aio.AioRpcError) -> None:
        for queue in self._queues.values():
            queue.close(end)


class _IndicationQueue:
    """Received indications of one subscription that its reader has not taken yet."""

    __slots__ = ("_bytes", "_changed", "_coalesced", "_depth", "_newest", "end", "waiting")

    def __init__(self, depth: int, *, newest: bool = False) -> None:
        self._newest = newest
        #: Indications replaced here.
        self._coalesced = 0
        self.waiting: deque[Indication] = deque()
        self.end: grpc.aio.AioRpcError | None = None
        self._depth = depth
        self._bytes = 0
        self._changed: asyncio.Future[None] | None = None

    def put(self, indication: Indication) -> None:
        """Append; drops the oldest if there is no room, or replaces all of a late reader."""
        waiting = self.waiting
        if (
            self._newest
            and waiting
            and indication.received_at_us - waiting[0].received_at_us >= LATE_US
        ):
            self._coalesced += len(waiting)
            indication.missed += sum(each.missed for each in waiting)
            waiting.clear()
            self._bytes = 0
        indication.coalesced += self._coalesced
        waiting.append(indication)
        self._bytes += len(indication.message)
        while len(waiting) > self._depth and (
            len(waiting) > CLIENT_QUEUE or self._bytes > WINDOW_BYTES
        ):
            lost = self.take()
            waiting[0].missed += 1 + lost.missed
        if self._changed is not None:
            self._wake()

    def take(self) -> Indication:
        """Remove and return the oldest."""
        indication = self.waiting.popleft()
        self._bytes -= len(indication.message)
        return indication

    def close(self, end: grpc.aio.AioRpcError) -> None:
        """No more indications follow; the first reason counts."""
        self.end = self.end or end
        self._wake()

    async def changed(self) -> None:
        """Wait for an indication or the end."""
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
        self._changed = None


def code_of(number: int) -> grpc.StatusCode:
    """The gRPC status code with this number; `UNKNOWN` if this version of gRPC lacks it."""
    return _CODES.get(number, grpc.StatusCode.UNKNOWN)


def rpc_error(code: grpc.StatusCode, details: str) -> grpc.aio.AioRpcError:
    """The error that a call with this status raises."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)
