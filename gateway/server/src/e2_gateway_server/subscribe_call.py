"""One `Subscribe` call: the RIC subscriptions of one client, batched into messages.

A message costs Python's gRPC more on either side than the reports in it. Indications that arrive
while a message is written share the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Final

import grpc
import structlog
from sojourn_interfaces import e2_gateway_pb2 as pb

from e2_gateway_server.backend import Backend, ProcedureError
from e2_gateway_server.indication import encode_event, encode_numbers, encode_subscription_id
from e2_gateway_server.outbox import Outbox, Room

MAX_SUBSCRIPTIONS: Final = 4096
"""Most subscriptions of one call."""
BATCH_BYTES: Final = 32 * 1024
"""Indications in one message: half of HTTP/2's initial window (RFC 9113 §6.9.2), for indications in
flight can no longer be dropped."""

_log = structlog.get_logger()


class _Subscription:
    __slots__ = ("end", "id", "outbox")

    def __init__(self, subscription_id: int) -> None:
        self.id = encode_subscription_id(subscription_id)
        self.outbox: Outbox[bytes] | None = None
        self.end: pb.SubscriptionEnd | None = None

    def close(self) -> None:
        """Nobody reads it any more."""
        if self.outbox is not None:
            self.outbox.close()


class SubscribeCall:
    """Serves one call; create it within a running event loop."""

    def __init__(
        self, backend: Backend, depth_of: Callable[[int], int], room: Room | None = None
    ) -> None:
        """`depth_of` gives the depth of the queue for the requested one; `room` bounds the bytes
        of all queues of the client."""
        self._room = room
        self._backend = backend
        self._depth_of = depth_of
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._open: dict[int, _Subscription] = {}
        # Those with queued indications, in the order of their oldest.
        self._ready: dict[_Subscription, None] = {}
        self._waiting: asyncio.Future[None] | None = None
        self._end: BaseException | None = None

    async def run(
        self,
        requests: AsyncIterator[pb.SubscribeRequest],
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Serve until the client leaves or `stop`; raises what ended the call.

        `write` sends an encoded `SubscribeResponse`.
        """
        reading = asyncio.create_task(self._read(requests))
        reading.add_done_callback(self._read_ended)
        try:
            while True:
                while not self._ready:
                    if self._end is not None:
                        raise self._end
                    self._waiting = self._loop.create_future()
                    await self._waiting
                if message := self._next_message():
                    await write(message)
        finally:
            reading.cancel()
            for task in self._tasks.values():
                task.cancel()
            for subscription in self._open.values():
                subscription.close()
            await asyncio.gather(reading, *self._tasks.values(), return_exceptions=True)

    def stop(self, error: BaseException) -> None:
        """End the call with `error` after what is queued."""
        self._end = self._end or error
        self._wake()

    # ----------------------------------------------------------------------- requests

    async def _read(self, requests: AsyncIterator[pb.SubscribeRequest]) -> None:
        async for request in requests:
            number = request.subscription_id
            if request.HasField("subscribe"):
                self._subscribe(number, request.subscribe)
            elif request.HasField("unsubscribe") and number in self._tasks:
                subscription = self._open.pop(number)
                subscription.close()
                self._ready.pop(subscription, None)
                self._tasks.pop(number).cancel()

    def _read_ended(self, reading: asyncio.Task[None]) -> None:
        # A client that has closed its side may still read.
        if not reading.cancelled() and (error := reading.exception()) is not None:
            self.stop(error)

    def _subscribe(self, number: int, request: pb.Subscription) -> None:
        if number in self._tasks:
            detail = f"subscription_id {number} is in use; expected another for each subscription"
            raise ProcedureError(grpc.StatusCode.INVALID_ARGUMENT, detail)
        subscription = _Subscription(number)
        if len(self._tasks) >= MAX_SUBSCRIPTIONS:
            detail = f"more than {MAX_SUBSCRIPTIONS} subscriptions in one call"
            self._ended(subscription, grpc.StatusCode.RESOURCE_EXHAUSTED, detail)
            return
        self._open[number] = subscription
        self._tasks[number] = task = asyncio.create_task(self._run(subscription, request))
        task.add_done_callback(partial(self._task_done, number))

    async def _run(self, subscription: _Subscription, request: pb.Subscription) -> None:
        depth = self._depth_of(request.queue_depth)
        changed = partial(self._changed, subscription)
        newest = request.reading == pb.Subscription.NEWEST
        subscription.outbox = Outbox(depth, changed, self._room, newest=newest)
        try:
            async with self._backend.subscribe(request, subscription.outbox):
                error = await subscription.outbox.until_ended()
        except Exception as raised:
            error = raised
        if isinstance(error, ProcedureError):
            self._ended(subscription, error.code, str(error))
        else:
            _log.error("subscription failed", node=request.node_id, exc_info=error)
            self._ended(subscription, grpc.StatusCode.UNKNOWN, "the gateway failed; see its log")

    def _task_done(self, number: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(number) is task:
            del self._tasks[number], self._open[number]

    def _ended(self, subscription: _Subscription, code: grpc.StatusCode, detail: str) -> None:
        subscription.end = pb.SubscriptionEnd(code=code.value[0], detail=detail)
        self._changed(subscription)

    # ---------------------------------------------------------------------- responses

    def _changed(self, subscription: _Subscription) -> None:
        self._ready[subscription] = None
        if self._waiting is not None:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        self._waiting = None

    def _next_message(self) -> bytes:
        """Queued events, up to about `BATCH_BYTES`; empty if there are none."""
        parts: list[bytes] = []
        size = 0
        ready = self._ready
        while ready and size < BATCH_BYTES:
            subscription = next(iter(ready))
            del ready[subscription]
            outbox = subscription.outbox
            while outbox is not None and (queued := outbox.take()) is not None:
                sequence, indication = queued
                numbers = encode_numbers(sequence, outbox.dropped, outbox.coalesced)
                parts += encode_event(subscription.id, "indication", indication, numbers)
                size += len(indication)
                if size >= BATCH_BYTES:
                    # Behind those that had no turn yet.
                    ready[subscription] = None
                    break
            else:
                if subscription.end is not None:
                    end = subscription.end.SerializeToString()
                    parts += encode_event(subscription.id, "end", end)
                    subscription.outbox = subscription.end = None
        return b"".join(parts)
