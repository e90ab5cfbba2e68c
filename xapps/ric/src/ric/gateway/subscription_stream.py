"""RIC subscriptions over one call: what several have to say at once comes in one message."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub

from ric.e2 import Indication
from ric.gateway import messages
from ric.gateway.channel import WINDOW_BYTES
from ric.gateway.status import code_of, rpc_error

DEFAULT_DEPTH: Final = 64
"""What a gateway holds for a reader that asks for no number."""
CONNECTION: Final = 256
"""Indications of one subscription that may wait here beyond what its reader asked for, if they are
no more than `WINDOW_BYTES`: a call of its own would have them in its connection."""


class SubscriptionStream:
    """One `Subscriptions` call, from the first subscription to whatever ends it; make it within a
    running event loop."""

    def __init__(self, stub: E2GatewayStub) -> None:
        self._asked: asyncio.Queue[pb.SubscriptionsRequest] = asyncio.Queue()
        self._inboxes: dict[int, _Inbox] = {}
        self._last_id = 0
        self._call = stub.Subscriptions(self._requests())
        self._following = asyncio.create_task(self._follow(), name="ric subscriptions")

    @property
    def ended(self) -> bool:
        """Whether there can be no more subscriptions over it."""
        return self._following.done()

    async def indications(self, request: pb.SubscribeRequest) -> AsyncGenerator[Indication]:
        """One subscription; closing the generator ends it.

        Where the handler is slow the oldest are dropped and counted in `missed` of the next.
        Raises `grpc.aio.AioRpcError` with what a call of its own would end with, or with what ended
        this one.
        """
        self._last_id += 1
        number = self._last_id
        inbox = self._inboxes[number] = _Inbox(request.queue_depth or DEFAULT_DEPTH)
        self._ask(pb.SubscriptionsRequest(subscription_id=number, subscribe=request))
        try:
            while True:
                while inbox.waiting:
                    yield inbox.take()
                if inbox.end is not None:
                    raise inbox.end
                await inbox.more()
        finally:
            del self._inboxes[number]
            if inbox.end is None:
                self._ask(
                    pb.SubscriptionsRequest(subscription_id=number, unsubscribe=pb.Unsubscribe())
                )

    async def close(self) -> None:
        """End the call; its subscriptions end with `CANCELLED`."""
        self._call.cancel()
        await asyncio.wait([self._following])

    def _ask(self, request: pb.SubscriptionsRequest) -> None:
        self._asked.put_nowait(request)

    async def _requests(self) -> AsyncIterator[pb.SubscriptionsRequest]:
        while True:
            yield await self._asked.get()

    async def _follow(self) -> None:
        """Hand on what comes; when the call ends, its end."""
        end = rpc_error(grpc.StatusCode.UNAVAILABLE, "the gateway ended the subscriptions")
        try:
            async for response in self._call:
                if response is None:  # what gRPC cannot parse
                    end = rpc_error(grpc.StatusCode.INTERNAL, "not the interface's message")
                    break
                self._hand_on(response)
        except grpc.aio.AioRpcError as error:
            end = error
        except asyncio.CancelledError:
            end = rpc_error(grpc.StatusCode.CANCELLED, "link closed")
        self._call.cancel()
        for inbox in self._inboxes.values():
            inbox.over(end)

    def _hand_on(self, response: pb.SubscriptionsResponse) -> None:
        inboxes, indication_from_pb = self._inboxes, messages.indication_from_pb
        for event in response.events:
            inbox = inboxes.get(event.subscription_id)
            # Without one it comes too late: the subscription was left.
            if inbox is None:
                continue
            if event.HasField("indication"):
                inbox.put(indication_from_pb(event.indication))
            elif event.HasField("end"):
                inbox.over(rpc_error(code_of(event.end.code), event.end.detail))


class _Inbox:
    """What came of one subscription and was not taken yet."""

    __slots__ = ("_bytes", "_depth", "_more", "end", "waiting")

    def __init__(self, depth: int) -> None:
        self.waiting: deque[Indication] = deque()
        self.end: grpc.aio.AioRpcError | None = None
        self._depth = depth
        self._bytes = 0
        self._more: asyncio.Future[None] | None = None

    def put(self, indication: Indication) -> None:
        """One more; the oldest goes where there is no room."""
        waiting = self.waiting
        waiting.append(indication)
        self._bytes += len(indication.message)
        while len(waiting) > self._depth and (
            len(waiting) > CONNECTION or self._bytes > WINDOW_BYTES
        ):
            lost = self.take()
            waiting[0].missed += 1 + lost.missed
        if self._more is not None:
            self._wake()

    def take(self) -> Indication:
        """The oldest that waits."""
        indication = self.waiting.popleft()
        self._bytes -= len(indication.message)
        return indication

    def over(self, end: grpc.aio.AioRpcError) -> None:
        """Nothing more comes."""
        self.end = self.end or end
        self._wake()

    async def more(self) -> None:
        """Wait for either."""
        self._more = asyncio.get_running_loop().create_future()
        await self._more

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)
        self._more = None
