"""RIC subscriptions over one call: independent of each other, batched into messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import grpc
import grpc.aio
import pytest
from e2_gateway_server import SERVICE, Backend, Outbox, ProcedureError
from e2_gateway_server.subscribe_call import BATCH_BYTES, MAX_SUBSCRIPTIONS, SubscribeCall
from ric.e2 import Indication, SubscriptionRequest
from ric.errors import (
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RicError,
    SubscriptionRefused,
)
from ric.gateway import GrpcLink
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security
from ric.settings import GatewaySettings
from ric.sm import RLC_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

PATIENCE_S = 10.0


class Gateway:
    """A gateway with subscriptions only, which counts calls and messages."""

    def __init__(self) -> None:
        self.calls = 0
        self.outboxes: dict[str, Outbox[bytes]] = {}
        self.left: list[str] = []
        self.written: list[bytes] = []
        self.garbage: bytes | None = None
        self.call: SubscribeCall | None = None
        self.server = GrpcServer(
            SERVICE,
            {"Subscribe": ("subscribe", self.serve)},
            GrpcServerSettings(listen="127.0.0.1:0"),
            security=Security(),
        )
        self.port = self.server.port

    async def serve(self, requests: Any, call: Any) -> None:
        self.calls += 1
        # Unbounded, for the tests of the client's queue.
        self.call = SubscribeCall(cast("Backend", self), lambda _requested: 0)

        async def write(message: bytes) -> None:
            self.written.append(message)
            await call.write(self.garbage or message)

        try:
            await self.call.run(requests, write)
        except ProcedureError as error:
            call.abort(error.code, str(error))

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        node = subscription.node_id
        if node == "refused":
            raise ProcedureError(grpc.StatusCode.INVALID_ARGUMENT, "period of 0 ms")
        if node == "bug":
            raise LookupError(node)
        self.outboxes[node] = outbox
        try:
            yield
        finally:
            self.left.append(node)

    async def outbox(self, node: str) -> Outbox[bytes]:
        await until(lambda: node in self.outboxes)
        return self.outboxes[node]

    def report(self, node: str, *messages: bytes) -> None:
        for message in messages:
            self.outboxes[node].put(pb.Indication(message=message).SerializeToString())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.001)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    await gateway.server.start()
    yield gateway
    await gateway.server.stop(0)


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
        # Not every test reads the exception.
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
    for node in nodes:
        await gateway.outbox(node)
    for number in range(20):
        for node in nodes:
            gateway.report(node, f"{node} {number}".encode())
    for node, reader in readers.items():
        expected = [f"{node} {number}".encode() for number in range(20)]
        assert await reader.until_got(20) == expected
    assert gateway.calls == 1
    assert len(gateway.written) < 50 * 20 / 10, "queued indications share a message"


async def test_a_message_is_of_bounded_size_and_all_have_their_turn(
    gateway: Gateway, link: GrpcLink
) -> None:
    large, small = Reader(link, "large", 100), Reader(link, "small")
    await gateway.outbox("large")
    await gateway.outbox("small")
    await asyncio.sleep(0.01)
    gateway.report("large", *[bytes(10_000)] * 40)
    gateway.report("small", b"x")
    await large.until_got(40)
    assert await small.until_got(1) == [b"x"]
    sizes = [len(message) for message in gateway.written]
    assert max(sizes) < BATCH_BYTES + 11_000
    # Behind one message of the others, not behind all of them.
    responses = map(pb.SubscribeResponse.FromString, gateway.written)
    events = [[event.indication.message for event in response.events] for response in responses]
    assert b"x" in events[1]


async def test_the_end_of_a_subscription_does_not_affect_the_others(
    gateway: Gateway, link: GrpcLink
) -> None:
    other = Reader(link, "gnb-1")
    await gateway.outbox("gnb-1")
    refused = await Reader(link, "refused").ends_with()
    assert isinstance(refused, SubscriptionRefused)
    assert "period of 0 ms" in str(refused)
    assert isinstance(await Reader(link, "bug").ends_with(), GatewayProtocolError)
    leaving = Reader(link, "gnb-2")
    gone = await gateway.outbox("gnb-2")
    gateway.report("gnb-2", b"last")
    gone.end(ProcedureError(grpc.StatusCode.UNAVAILABLE, "node disconnected"))
    assert isinstance(await leaving.ends_with(), (NodeGone, GatewayUnavailable))
    assert leaving.got == [b"last"]
    gateway.report("gnb-1", b"still here")
    assert await other.until_got(1) == [b"still here"]
    assert gateway.calls == 1


async def test_leaving_a_subscription_ends_it_at_the_gateway(
    gateway: Gateway, link: GrpcLink
) -> None:
    first, second = Reader(link, "gnb-1"), Reader(link, "gnb-2")
    one = await gateway.outbox("gnb-1")
    await gateway.outbox("gnb-2")
    gateway.report("gnb-1", b"a")
    await first.until_got(1)
    first.task.cancel()
    await until(lambda: gateway.left == ["gnb-1"])
    # An indication in flight does not reach another subscription.
    gateway.report("gnb-1", b"late")
    gateway.report("gnb-2", b"b")
    assert await second.until_got(1) == [b"b"]
    again = Reader(link, "gnb-1")
    await until(lambda: gateway.outboxes["gnb-1"] is not one)
    gateway.report("gnb-1", b"c")
    assert await again.until_got(1) == [b"c"]


async def test_a_slow_handler_loses_the_oldest_and_does_not_delay_other_readers(
    gateway: Gateway, link: GrpcLink
) -> None:
    count, depth = 1_000, 300
    slow = link.indications(SubscriptionRequest("slow", RLC_OID, queue_depth=depth))
    pending = asyncio.ensure_future(anext(slow))
    brisk = Reader(link, "brisk")
    await gateway.outbox("slow")
    await gateway.outbox("brisk")
    gateway.report("slow", b"first")
    got = [await pending]
    for number in range(count):
        gateway.report("slow", b"%d" % number)
        gateway.report("brisk", b"%d" % number)
        if number % 32 == 31:
            # On a busy machine a brisk reader may fall behind, too.
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
        await gateway.outbox(node)
    await link.close()
    for reader in readers:
        assert isinstance(await reader.ends_with(), GatewayUnavailable)
    await until(lambda: sorted(gateway.left) == ["gnb-1", "gnb-2"])


async def test_a_gateway_that_stops_sends_what_is_queued(gateway: Gateway, link: GrpcLink) -> None:
    reader = Reader(link, "gnb-1")
    await gateway.outbox("gnb-1")
    gateway.report("gnb-1", b"1", b"2")
    assert gateway.call is not None
    gateway.call.stop(ProcedureError(grpc.StatusCode.UNAVAILABLE, "the gateway stops"))
    error = await reader.ends_with()
    assert isinstance(error, (NodeGone, GatewayUnavailable))
    assert "the gateway stops" in str(error)
    assert reader.got == [b"1", b"2"]
    # The next subscription opens another call.
    Reader(link, "gnb-2")
    await gateway.outbox("gnb-2")
    assert gateway.calls == 2


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xff\xff",
        # The same within a subscription's event.
        b"\x0a\x03\x08\x01\xff",
    ],
)
async def test_garbage_is_an_error_and_another_call_follows(
    garbage: bytes, gateway: Gateway, link: GrpcLink
) -> None:
    gateway.garbage = garbage
    reader = Reader(link, "gnb-1")
    await gateway.outbox("gnb-1")
    gateway.report("gnb-1", b"x")
    assert isinstance(await reader.ends_with(), RicError)
    gateway.garbage = None
    gateway.outboxes.clear()
    again = Reader(link, "gnb-1")
    await gateway.outbox("gnb-1")
    gateway.report("gnb-1", b"y")
    assert await again.until_got(1) == [b"y"]


async def test_unknown_events_and_subscriptions_are_ignored(
    gateway: Gateway, link: GrpcLink
) -> None:
    reader = Reader(link, "gnb-1")
    await gateway.outbox("gnb-1")
    strange = pb.SubscribeResponse(
        events=[
            pb.SubscriptionEvent(subscription_id=1),
            pb.SubscriptionEvent(subscription_id=99, indication=pb.Indication(message=b"?")),
            pb.SubscriptionEvent(subscription_id=99, end=pb.SubscriptionEnd(code=14)),
        ]
    )
    gateway.garbage = strange.SerializeToString()
    gateway.report("gnb-1", b"replaced")
    await until(lambda: len(gateway.written) == 1)
    gateway.garbage = None
    gateway.report("gnb-1", b"real")
    assert await reader.until_got(1) == [b"real"]
    end = pb.SubscriptionEvent(subscription_id=1, end=pb.SubscriptionEnd(code=99, detail="new"))
    gateway.garbage = pb.SubscribeResponse(events=[end]).SerializeToString()
    gateway.report("gnb-1", b"replaced")
    error = await reader.ends_with()
    assert isinstance(error, GatewayProtocolError)
    assert "UNKNOWN: new" in str(error)


# ------------------------------------------------------ a client other than the SDK


class Call:
    """A `Subscribe` call without the SDK."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._call: Any = channel.stream_stream(
            f"/{SERVICE.full_name}/Subscribe",
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

    async def close_requests(self) -> None:
        await self._call.done_writing()

    async def ends_with(self) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(PATIENCE_S):
            return await self._call.code(), await self._call.details()


@pytest.fixture
async def channel(gateway: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{gateway.port}") as channel:
        yield channel


async def test_a_subscription_id_in_use_ends_the_call(
    gateway: Gateway, channel: grpc.aio.Channel
) -> None:
    call = Call(channel)
    await call.subscribe(7, "gnb-1")
    await call.subscribe(7, "gnb-2")
    code, detail = await call.ends_with()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "subscription_id 7 is in use" in detail
    await until(lambda: gateway.left in (["gnb-1"], []))
    assert "gnb-2" not in gateway.outboxes


async def test_subscriptions_beyond_the_limit_of_a_call_are_refused(
    gateway: Gateway, channel: grpc.aio.Channel
) -> None:
    call = Call(channel)
    for number in range(MAX_SUBSCRIPTIONS + 1):
        await call.subscribe(number, f"gnb-{number}")
    (event,) = await call.events()
    assert event.subscription_id == MAX_SUBSCRIPTIONS
    assert event.end.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    await gateway.outbox("gnb-5")
    gateway.report("gnb-5", b"goes on")
    (event,) = await call.events()
    assert (event.subscription_id, event.indication.message) == (5, b"goes on")


async def test_a_client_that_closed_its_side_still_reads(
    gateway: Gateway, channel: grpc.aio.Channel
) -> None:
    call = Call(channel)
    await call.subscribe(1, "gnb-1")
    await call.close_requests()
    await gateway.outbox("gnb-1")
    await asyncio.sleep(0.05)
    gateway.report("gnb-1", b"x")
    (event,) = await call.events()
    assert event.indication.message == b"x"
