"""RIC subscriptions over one call: independent of each other, batched into messages."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from ric.e2 import Indication, SubscriptionRequest
from ric.errors import (
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RicError,
    SubscriptionRefused,
)
from ric.gateway import GrpcLink
from ric.gateway.channel import BATCH_BYTES
from ric.gateway.subscription_door import MOST_AT_ONCE, Feed, SubscriptionDoor, SubscriptionOver
from ric.settings import GatewaySettings
from ric.sm import RLC_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

SERVICE = "sojourn.e2.v1.E2Gateway"
PATIENCE_S = 10.0


class Source:
    """What a node reports, as a test tells it."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._waiting: deque[bytes] = deque()
        self._sequence = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def report(self, *messages: bytes) -> None:
        for message in messages:
            self._sequence += 1
            one = pb.Indication(sequence=self._sequence, message=message)
            self._waiting.append(one.SerializeToString())
        self._feed.note()

    def take(self) -> bytes | None:
        return self._waiting.popleft() if self._waiting else None


class Gateway:
    """A gateway with subscriptions only, which counts calls and messages."""

    def __init__(self) -> None:
        self.calls = 0
        self.sources: dict[str, Source] = {}
        self.left: list[str] = []
        self.written: list[bytes] = []
        self.garbage: bytes | None = None
        self.door = SubscriptionDoor(self.serve)
        subscribe = grpc.stream_stream_rpc_method_handler(
            self.stream, pb.SubscribeRequest.FromString
        )
        self.server = grpc.aio.server()
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {"Subscribe": subscribe}),)
        )
        self.port = self.server.add_insecure_port("127.0.0.1:0")

    async def stream(self, requests: Any, context: Any) -> None:
        self.calls += 1

        async def write(message: bytes) -> None:
            self.written.append(message)
            await context.write(self.garbage or message)

        await self.door.stream(requests, context, write)

    async def serve(self, request: pb.Subscription, feed: Feed) -> None:
        node = request.node_id
        if node == "refused":
            raise SubscriptionOver(grpc.StatusCode.INVALID_ARGUMENT, "period of 0 ms")
        if node == "bug":
            raise LookupError(node)
        self.sources[node] = source = Source(feed)
        feed.attach(source)
        try:
            await source.over
        finally:
            self.left.append(node)

    async def source(self, node: str) -> Source:
        await until(lambda: node in self.sources)
        return self.sources[node]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.001)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    await gateway.server.start()
    yield gateway
    await gateway.server.stop(None)


@pytest.fixture
async def link(gateway: Gateway, fast_gateway: GatewaySettings) -> AsyncIterator[GrpcLink]:
    address = f"127.0.0.1:{gateway.port}"
    link = GrpcLink(fast_gateway.model_copy(update={"address": address}))
    yield link
    await link.close()


class Reader:
    """One subscription, read by a task of its own until its end."""

    def __init__(self, link: GrpcLink, node: str, depth: int = 0) -> None:
        request = SubscriptionRequest(node, RLC_OID, queue_depth=depth)
        self._stream: AsyncGenerator[Indication] = link.indications(request)
        self.got: list[bytes] = []
        self.task = asyncio.create_task(self._read())
        # Not every test asks what ended it.
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _read(self) -> None:
        async for indication in self._stream:
            self.got.append(indication.message)

    async def until_got(self, count: int) -> list[bytes]:
        await until(lambda: len(self.got) >= count or self.task.done())
        return self.got

    async def ends_with(self) -> BaseException | None:
        await asyncio.wait([self.task], timeout=PATIENCE_S)
        return self.task.exception()


async def test_many_share_a_call_and_each_gets_its_own_in_order(
    gateway: Gateway, link: GrpcLink
) -> None:
    nodes = [f"gnb-{number}" for number in range(50)]
    readers = {node: Reader(link, node) for node in nodes}
    sources = {node: await gateway.source(node) for node in nodes}
    for number in range(20):
        for node, source in sources.items():
            source.report(f"{node} {number}".encode())
    for node, reader in readers.items():
        expected = [f"{node} {number}".encode() for number in range(20)]
        assert await reader.until_got(20) == expected
    assert gateway.calls == 1
    assert len(gateway.written) < 50 * 20 / 10, "what waits travels together"


async def test_a_message_is_of_bounded_size_and_all_have_their_turn(
    gateway: Gateway, link: GrpcLink
) -> None:
    large, small = Reader(link, "large", 100), Reader(link, "small")
    source, other = await gateway.source("large"), await gateway.source("small")
    await asyncio.sleep(0.01)
    source.report(*[bytes(10_000)] * 40)
    other.report(b"x")
    await large.until_got(40)
    assert await small.until_got(1) == [b"x"]
    sizes = [len(message) for message in gateway.written]
    assert max(sizes) < BATCH_BYTES + 11_000
    # Behind one message of those that came first, not behind them all.
    responses = map(pb.SubscribeResponse.FromString, gateway.written)
    events = [[event.indication.message for event in response.events] for response in responses]
    assert b"x" in events[1]


async def test_what_one_ends_with_is_not_the_end_of_the_others(
    gateway: Gateway, link: GrpcLink
) -> None:
    other = Reader(link, "gnb-1")
    source = await gateway.source("gnb-1")
    refused = await Reader(link, "refused").ends_with()
    assert isinstance(refused, SubscriptionRefused)
    assert "period of 0 ms" in str(refused)
    assert isinstance(await Reader(link, "bug").ends_with(), GatewayProtocolError)
    leaving = Reader(link, "gnb-2")
    gone = await gateway.source("gnb-2")
    gone.report(b"last words")
    gone.over.set_exception(SubscriptionOver(grpc.StatusCode.UNAVAILABLE, "node went away"))
    assert isinstance(await leaving.ends_with(), (NodeGone, GatewayUnavailable))
    assert leaving.got == [b"last words"]
    source.report(b"still here")
    assert await other.until_got(1) == [b"still here"]
    assert gateway.calls == 1


async def test_one_that_is_left_ends_at_the_gateway(gateway: Gateway, link: GrpcLink) -> None:
    first, second = Reader(link, "gnb-1"), Reader(link, "gnb-2")
    one, two = await gateway.source("gnb-1"), await gateway.source("gnb-2")
    one.report(b"a")
    await first.until_got(1)
    first.task.cancel()
    await until(lambda: gateway.left == ["gnb-1"])
    # What was on its way is nobody else's.
    one.report(b"late")
    two.report(b"b")
    assert await second.until_got(1) == [b"b"]
    again = Reader(link, "gnb-1")
    await until(lambda: gateway.sources["gnb-1"] is not one)
    gateway.sources["gnb-1"].report(b"c")
    assert await again.until_got(1) == [b"c"]


async def test_a_slow_handler_loses_the_oldest_is_told_and_holds_up_nobody(
    gateway: Gateway, link: GrpcLink
) -> None:
    count, depth = 1_000, 300
    slow = link.indications(SubscriptionRequest("slow", RLC_OID, queue_depth=depth))
    pending = asyncio.ensure_future(anext(slow))
    brisk = Reader(link, "brisk")
    source, other = await gateway.source("slow"), await gateway.source("brisk")
    source.report(b"first")
    got = [await pending]
    for number in range(count):
        source.report(b"%d" % number)
        other.report(b"%d" % number)
        if number % 32 == 31:
            # On a machine that is busy a brisk reader, too, may be behind for a moment.
            await brisk.until_got(number + 1)
    assert len(await brisk.until_got(count)) == count
    await asyncio.sleep(0.05)
    while got[-1].message != b"%d" % (count - 1):
        got.append(await anext(slow))
    assert len(got) == 1 + depth
    assert got[1].missed == count - depth
    assert sum(1 + indication.missed for indication in got) == 1 + count
    await slow.aclose()


async def test_a_client_that_leaves_ends_its_subscriptions(
    gateway: Gateway, link: GrpcLink
) -> None:
    readers = [Reader(link, node) for node in ("gnb-1", "gnb-2")]
    for node in ("gnb-1", "gnb-2"):
        await gateway.source(node)
    await link.close()
    for reader in readers:
        assert isinstance(await reader.ends_with(), GatewayUnavailable)
    await until(lambda: sorted(gateway.left) == ["gnb-1", "gnb-2"])


async def test_a_gateway_that_stops_hands_over_what_waits(gateway: Gateway, link: GrpcLink) -> None:
    reader = Reader(link, "gnb-1")
    source = await gateway.source("gnb-1")
    source.report(b"1", b"2")
    gateway.door.end("the gateway stops")
    error = await reader.ends_with()
    assert isinstance(error, (NodeGone, GatewayUnavailable))
    assert "the gateway stops" in str(error)
    assert reader.got == [b"1", b"2"]
    # What comes after is another call.
    Reader(link, "gnb-2")
    await gateway.source("gnb-2")
    assert gateway.calls == 2


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xff\xff",
        # The same within a subscription's event.
        b"\x0a\x03\x08\x01\xff",
    ],
)
async def test_bytes_that_are_no_response_are_an_error_and_another_call_follows(
    garbage: bytes, gateway: Gateway, link: GrpcLink
) -> None:
    gateway.garbage = garbage
    reader = Reader(link, "gnb-1")
    (await gateway.source("gnb-1")).report(b"x")
    assert isinstance(await reader.ends_with(), RicError)
    gateway.garbage = None
    gateway.sources.clear()
    again = Reader(link, "gnb-1")
    (await gateway.source("gnb-1")).report(b"y")
    assert await again.until_got(1) == [b"y"]


async def test_events_of_nobody_and_of_a_newer_gateway_are_passed_over(
    gateway: Gateway, link: GrpcLink
) -> None:
    reader = Reader(link, "gnb-1")
    source = await gateway.source("gnb-1")
    strange = pb.SubscribeResponse(
        events=[
            pb.SubscriptionEvent(subscription_id=1),
            pb.SubscriptionEvent(subscription_id=99, indication=pb.Indication(message=b"?")),
            pb.SubscriptionEvent(subscription_id=99, end=pb.SubscriptionEnd(code=14)),
        ]
    )
    gateway.garbage = strange.SerializeToString()
    source.report(b"replaced")
    await until(lambda: len(gateway.written) == 1)
    gateway.garbage = None
    source.report(b"real")
    assert await reader.until_got(1) == [b"real"]
    end = pb.SubscriptionEvent(subscription_id=1, end=pb.SubscriptionEnd(code=99, detail="new"))
    gateway.garbage = pb.SubscribeResponse(events=[end]).SerializeToString()
    source.report(b"replaced")
    error = await reader.ends_with()
    assert isinstance(error, GatewayProtocolError)
    assert "UNKNOWN: new" in str(error)


# ------------------------------------------------------ a client that is not this one


class Call:
    """A `Subscribe` call without the SDK."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._call: Any = channel.stream_stream(
            f"/{SERVICE}/Subscribe",
            request_serializer=pb.SubscribeRequest.SerializeToString,
            response_deserializer=pb.SubscribeResponse.FromString,
        )()

    async def subscribe(self, number: int, node: str) -> None:
        subscription = pb.Subscription(node_id=node)
        await self._call.write(pb.SubscribeRequest(subscription_id=number, subscribe=subscription))

    async def events(self) -> list[pb.SubscriptionEvent]:
        async with asyncio.timeout(PATIENCE_S):
            response = await self._call.read()
        return list(response.events)

    async def done_asking(self) -> None:
        await self._call.done_writing()

    async def ends_with(self) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(PATIENCE_S):
            return await self._call.code(), await self._call.details()


@pytest.fixture
async def channel(gateway: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{gateway.port}") as channel:
        yield channel


async def test_a_number_in_use_ends_the_call(gateway: Gateway, channel: grpc.aio.Channel) -> None:
    call = Call(channel)
    await call.subscribe(7, "gnb-1")
    await call.subscribe(7, "gnb-2")
    code, detail = await call.ends_with()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "subscription_id 7 is in use" in detail
    await until(lambda: gateway.left in (["gnb-1"], []))
    assert "gnb-2" not in gateway.sources


async def test_more_than_a_call_may_have_are_refused_one_by_one(
    gateway: Gateway, channel: grpc.aio.Channel
) -> None:
    call = Call(channel)
    for number in range(MOST_AT_ONCE + 1):
        await call.subscribe(number, f"gnb-{number}")
    (event,) = await call.events()
    assert event.subscription_id == MOST_AT_ONCE
    assert event.end.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    (await gateway.source("gnb-5")).report(b"goes on")
    (event,) = await call.events()
    assert (event.subscription_id, event.indication.message) == (5, b"goes on")


async def test_a_client_that_has_asked_all_it_wants_goes_on_listening(
    gateway: Gateway, channel: grpc.aio.Channel
) -> None:
    call = Call(channel)
    await call.subscribe(1, "gnb-1")
    await call.done_asking()
    source = await gateway.source("gnb-1")
    await asyncio.sleep(0.05)
    source.report(b"x")
    (event,) = await call.events()
    assert event.indication.message == b"x"
