"""The gateway's side of many RIC subscriptions over one call, for gateways in Python.

A message costs Python's gRPC on either side more than the reports in it. What comes while one is
written leaves together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol

import grpc
import grpc.aio
import structlog
from sojourn_interfaces import e2_gateway_pb2 as pb

from ric.gateway.channel import BATCH_BYTES
from ric.gateway.wire import tags, varint

MOST_AT_ONCE: Final = 4096
"""Subscriptions of one call."""

Context = grpc.aio.ServicerContext[pb.SubscribeRequest, pb.SubscribeResponse]

_EVENTS: Final = tags(pb.SubscribeResponse)["events"]
_TAGS: Final = tags(pb.SubscriptionEvent)

_log = structlog.get_logger()


class SubscriptionOver(Exception):  # noqa: N818 - says what happened
    """A subscription has ended; `code` and the message say why."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Source(Protocol):
    """Where a subscription's indications wait."""

    def take(self) -> bytes | None:
        """The oldest as an `Indication` on the wire, and no longer waiting; `None`: there is
        none."""
        ...


class Feed:
    """One subscription's way into the call."""

    __slots__ = ("_id", "_ready", "end", "source")

    def __init__(self, subscription_id: int, ready: Callable[[Feed], None]) -> None:
        self._id = _TAGS["subscription_id"] + varint(subscription_id)
        self._ready = ready
        self.source: Source | None = None
        self.end: pb.SubscriptionEnd | None = None

    def attach(self, source: Source) -> None:
        """From here the indications are taken."""
        self.source = source
        self._ready(self)

    def note(self) -> None:
        """The source has something, or the subscription has ended."""
        self._ready(self)

    def event(self, kind: bytes, value: bytes) -> tuple[bytes, ...]:
        """A `SubscriptionEvent` within a `SubscribeResponse`, in pieces."""
        length = varint(len(value))
        size = len(self._id) + len(kind) + len(length) + len(value)
        return _EVENTS, varint(size), self._id, kind, length, value


Serve = Callable[[pb.Subscription, Feed], Awaitable[None]]
"""One subscription: attaches its source, lives as long as it does, raises `SubscriptionOver`."""


class SubscriptionDoor:
    """`Subscribe` of the proto."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._open: set[_Call] = set()

    async def stream(
        self,
        requests: AsyncIterator[pb.SubscribeRequest],
        context: Context,
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """The subscriptions of one client, until it goes.

        `write` gets each `SubscribeResponse` as it is on the wire.
        """
        call = _Call(self._serve)
        self._open.add(call)
        try:
            await call.run(requests, write)
        except SubscriptionOver as error:
            await context.abort(error.code, str(error))
        finally:
            self._open.discard(call)

    def end(self, why: str) -> None:
        """End every call, when what waits has left."""
        for call in self._open:
            call.end(SubscriptionOver(grpc.StatusCode.UNAVAILABLE, why))


class _Call:
    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._feeds: dict[int, Feed] = {}
        # In the order in which they came to have something.
        self._ready: dict[Feed, None] = {}
        self._waiting: asyncio.Future[None] | None = None
        self._over: BaseException | None = None

    async def run(
        self,
        requests: AsyncIterator[pb.SubscribeRequest],
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Until the client goes or `end`; raises what ended it."""
        reading = asyncio.create_task(self._read(requests))
        reading.add_done_callback(self._read_to_the_end)
        try:
            while True:
                while not self._ready:
                    if self._over is not None:
                        raise self._over
                    self._waiting = self._loop.create_future()
                    await self._waiting
                if message := self._message():
                    await write(message)
        finally:
            reading.cancel()
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(reading, *self._tasks.values(), return_exceptions=True)

    def end(self, why: BaseException) -> None:
        """No more than what waits."""
        self._over = self._over or why
        self._wake()

    # ------------------------------------------------------------------- what is asked

    async def _read(self, requests: AsyncIterator[pb.SubscribeRequest]) -> None:
        async for request in requests:
            number = request.subscription_id
            if request.HasField("subscribe"):
                self._subscribe(number, request.subscribe)
            elif request.HasField("unsubscribe") and number in self._tasks:
                self._ready.pop(self._feeds.pop(number), None)
                self._tasks.pop(number).cancel()

    def _read_to_the_end(self, reading: asyncio.Task[None]) -> None:
        # A client that has asked all it wants to goes on listening.
        if not reading.cancelled() and (error := reading.exception()) is not None:
            self.end(error)

    def _subscribe(self, number: int, request: pb.Subscription) -> None:
        if number in self._tasks:
            detail = f"subscription_id {number} is in use; expected another for each subscription"
            raise SubscriptionOver(grpc.StatusCode.INVALID_ARGUMENT, detail)
        feed = Feed(number, self._note)
        if len(self._tasks) >= MOST_AT_ONCE:
            code = grpc.StatusCode.RESOURCE_EXHAUSTED
            self._end(feed, code, f"more than {MOST_AT_ONCE} subscriptions in one call")
            return
        self._feeds[number] = feed
        self._tasks[number] = task = asyncio.create_task(self._run(feed, request))
        task.add_done_callback(lambda task: self._done(number, task))

    async def _run(self, feed: Feed, request: pb.Subscription) -> None:
        try:
            await self._serve(request, feed)
            code, detail = grpc.StatusCode.UNKNOWN, "the gateway ended it and did not say why"
        except SubscriptionOver as error:
            code, detail = error.code, str(error)
        except Exception:
            _log.exception("subscription failed", node=request.node_id)
            code, detail = grpc.StatusCode.UNKNOWN, "the gateway failed; its log says where"
        self._end(feed, code, detail)

    def _done(self, number: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(number) is task:
            del self._tasks[number], self._feeds[number]

    def _end(self, feed: Feed, code: grpc.StatusCode, detail: str) -> None:
        feed.end = pb.SubscriptionEnd(code=code.value[0], detail=detail)
        self._note(feed)

    # ------------------------------------------------------------------ what is told

    def _note(self, feed: Feed) -> None:
        self._ready[feed] = None
        if self._waiting is not None:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        self._waiting = None

    def _message(self) -> bytes:
        """What waits, up to about `BATCH_BYTES`; empty when nothing does."""
        parts: list[bytes] = []
        size = 0
        ready = self._ready
        while ready and size < BATCH_BYTES:
            feed = next(iter(ready))
            del ready[feed]
            source = feed.source
            while (indication := source.take() if source is not None else None) is not None:
                parts += feed.event(_TAGS["indication"], indication)
                size += len(indication)
                if size >= BATCH_BYTES:
                    # Behind those that have had no turn.
                    ready[feed] = None
                    break
            else:
                if feed.end is not None:
                    parts += feed.event(_TAGS["end"], feed.end.SerializeToString())
                    feed.source = feed.end = None
        return b"".join(parts)
