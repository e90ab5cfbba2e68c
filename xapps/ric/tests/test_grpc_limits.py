"""A gRPC server against clients that want all of it, beside one that keeps what it has."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http2_client import Http2Client, literal
from numbers_service import ASK, COUNT, FAIL, SERVICE, Numbers, stream, unary
from prometheus_client import CollectorRegistry, generate_latest
from ric.clock import SystemClock
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.paced_refusals import PacedRefusals
from ric.security import Security
from ric.testing.virtual_time import on_virtual_time


class StoppedClock(SystemClock):
    """No token is added to a bucket."""

    def monotonic_ns(self) -> int:
        return 0


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def security() -> Security:
    return Security(clock=StoppedClock())


@pytest.fixture
async def port(
    monkeypatch: pytest.MonkeyPatch, numbers: Numbers, security: Security
) -> AsyncIterator[int]:
    monkeypatch.setattr("ric.paced_refusals.REFUSALS_PER_S", 10_000.0)
    server = GrpcServer(
        SERVICE,
        numbers.handlers(),
        GrpcServerSettings(listen="127.0.0.1:0", max_streams=32),
        security=security,
    )
    await server.start()
    yield server.port
    await server.stop(0)


async def test_a_stop_that_comes_first_leaves_nothing_to_start(
    numbers: Numbers, security: Security
) -> None:
    server = GrpcServer(
        SERVICE,
        numbers.handlers(),
        GrpcServerSettings(listen="127.0.0.1:0"),
        security=security,
    )
    await server.stop(0)
    await server.start()
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_stop_while_it_starts_ends_it(numbers: Numbers, security: Security) -> None:
    for turns in range(12):
        settings = GrpcServerSettings(listen="127.0.0.1:0")
        server = GrpcServer(SERVICE, numbers.handlers(), settings, security=security)
        starting = asyncio.create_task(server.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.wait_for(server.stop(0), 30)
        await starting


def registry_of(security: Security) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(security)
    return registry


def client(port: int) -> grpc.aio.Channel:
    """A connection of its own, which on loopback is a client."""
    return grpc.aio.insecure_channel(f"127.0.0.1:{port}", (("grpc.use_local_subchannel_pool", 1),))


async def test_a_client_with_200_streams_leaves_others_theirs(port: int) -> None:
    async with AsyncExitStack() as stack:
        greedy, second = [await stack.enter_async_context(client(port)) for _ in range(2)]
        count = stream(second, COUNT)
        before = aiter(count(b""))
        seen = [int.from_bytes(await anext(before))]
        greedy_count = stream(greedy, COUNT)
        open_, refused = [], []
        # One after the other: the connection itself takes 64 at once.
        for _ in range(200):
            call = greedy_count(b"")
            try:
                await anext(aiter(call))
                open_.append(call)
            except grpc.aio.AioRpcError as error:
                refused.append(error)
        assert (len(open_), len(refused)) == (16, 184)
        assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert "16 streams open, 15 of 32 free; expected" in str(refused[0].details())
        after = aiter(count(b""))
        assert int.from_bytes(await anext(after)) == 0
        seen += [int.from_bytes(await anext(before)) for _ in range(100)]
        assert seen == list(range(101))
        for call in open_:
            call.cancel()


async def test_a_newcomer_has_a_stream_of_the_client_with_most(port: int) -> None:
    async def read(messages: AsyncIterator[bytes]) -> grpc.aio.AioRpcError | None:
        try:
            async for _ in messages:
                pass
        except grpc.aio.AioRpcError as error:
            return error
        return None

    async with AsyncExitStack() as stack:
        readers: list[list[asyncio.Task[grpc.aio.AioRpcError | None]]] = []
        for _ in range(8):
            count = stream((await stack.enter_async_context(client(port))), COUNT)
            readers.append([])
            with contextlib.suppress(grpc.aio.AioRpcError):
                while True:
                    messages = aiter(count(b""))
                    await anext(messages)
                    readers[-1].append(asyncio.create_task(read(messages)))
        newcomer = stream((await stack.enter_async_context(client(port))), COUNT)
        assert await anext(aiter(newcomer(b""))) == bytes(4)
        async with asyncio.timeout(10):
            while sum(kept := [sum(not reader.done() for reader in some) for some in readers]) > 31:
                await asyncio.sleep(0.01)
        assert sum(kept) == 31, "of 32 streams"
        assert max(kept) - min(kept) <= 1, "those that came last had them of those with most"
        ended = [reader.result() for some in readers for reader in some if reader.done()]
        assert {error and error.code() for error in ended} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert "it had the most streams; another client needed one" in str(ended[0])
        for reader in itertools.chain(*readers):
            reader.cancel()


async def test_calls_for_what_is_absent_cost_no_more_than_others(port: int) -> None:
    async with client(port) as polling:
        fail = unary(polling, FAIL)
        for _ in range(100):
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await fail(b"absent")
            assert failed.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_call_with_an_invalid_request_counts_as_twenty(port: int) -> None:
    async with client(port) as failing, client(port) as second:
        fail = unary(failing, FAIL)
        codes = []
        for _ in range(12):
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await fail(b"")
            codes.append(failed.value.code())
        invalid, exhausted = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED
        assert codes == [invalid] * 10 + [exhausted] * 2
        ask = unary(second, ASK)
        assert await ask(b"y") == b"y"


@on_virtual_time
async def test_a_client_has_few_refusals_a_second_however_many_calls_it_makes() -> None:
    refusals, loop = PacedRefusals(), asyncio.get_running_loop()
    at_s: list[float] = []

    async def call_again(client: str) -> None:
        while True:
            await refusals.pause(client)
            at_s.append(loop.time())

    tasks = [asyncio.create_task(call_again("flood")) for _ in range(64)]
    await asyncio.sleep(100)
    for task in tasks:
        task.cancel()
    began = loop.time()
    assert 200 <= len(at_s) <= 800, "about four a second"
    busiest = max(sum(first <= at < first + 1 for at in at_s) for first in range(20, 99))
    assert busiest <= 16, "and not together"
    await refusals.pause("once")
    assert loop.time() - began <= 0.375


async def test_a_flood_of_calls_is_refused_and_another_client_is_served(port: int) -> None:
    async with client(port) as flooding, client(port) as second:
        ask = unary(flooding, ASK)
        answers: list[Any] = []
        for _ in range(20):
            some = (ask(b"x") for _ in range(40))
            answers += await asyncio.gather(*some, return_exceptions=True)
        refused = [one for one in answers if isinstance(one, grpc.aio.AioRpcError)]
        assert (len(answers), len(refused)) == (800, 600), "the burst is served"
        assert {one.code() for one in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert "more than 100 calls/s (burst 200); retry in" in str(refused[0].details())
        trailing = dict(refused[0].trailing_metadata())
        assert int(trailing["grpc-retry-pushback-ms"]) > 0
        other = unary(second, ASK)
        assert [await other(b"y") for _ in range(100)] == [b"y"] * 100
        health = health_pb2_grpc.HealthStub(second)
        await health.Check(health_pb2.HealthCheckRequest())


async def test_metadata_and_messages_beyond_their_bounds_are_refused(port: int) -> None:
    async with client(port) as large, client(port) as second:
        ask = unary(large, ASK)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(b"", metadata=(("padding", "x" * 32_000),))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        other = unary(second, ASK)
        assert await other(b"y") == b"y"


@pytest.mark.parametrize(
    "fields",
    [
        b"".join(literal(f"h{number}", "v") for number in range(20_000)),
        literal("padding", "x" * 32_000),
        # The large entry of the dynamic table, 20,000 times: 80 MB in 24 kB.
        b"\x40" + literal("big", "v" * 3900)[1:] + b"\xbe" * 20_000,
        b"\x40" + literal("big", "v" * 3900)[1:] + b"\xbe" * 8,
    ],
    ids=["20,000 fields", "one long field", "an indexed field, often", "within a frame"],
)
async def test_metadata_that_ignores_what_was_announced_never_reaches_a_call(
    fields: bytes, port: int, numbers: Numbers, security: Security
) -> None:
    async with await Http2Client.connect(port) as hostile:
        hostile.call(ASK, fields)
        status, code = await hostile.ended()
        assert status == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert code == 11, "ENHANCE_YOUR_CALM"
    async with client(port) as second:
        other = unary(second, ASK)
        assert await other(b"y") == b"y"
    assert numbers.asked == 1
    limited = generate_latest(registry_of(security)).decode()
    assert 'limit="metadata"' in limited


@pytest.fixture
def room_for_two_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ric.relay.OPEN_CALLS_BYTES", 64 << 10)


async def beside_much_metadata(port: int) -> None:
    """60 calls with 15 kB of metadata each; another client is served meanwhile."""
    async with await Http2Client.connect(port) as hostile:
        for _ in range(60):
            hostile.call(COUNT, literal("padding", "x" * 15_000))
        async with client(port) as second:
            other = unary(second, ASK)
            for _ in range(20):
                assert await other(b"y") == b"y"


async def test_a_client_that_sends_much_metadata_waits_in_its_connection(
    port: int, numbers: Numbers, security: Security
) -> None:
    await beside_much_metadata(port)
    assert 'limit="metadata"' in generate_latest(registry_of(security)).decode()
    assert numbers.begun <= 17, "256 KiB of header blocks"


@pytest.mark.usefixtures("room_for_two_calls")
async def test_a_client_that_holds_much_metadata_waits_in_its_connection(
    port: int, numbers: Numbers, security: Security
) -> None:
    await beside_much_metadata(port)
    assert 'limit="open_calls"' in generate_latest(registry_of(security)).decode()
    assert numbers.begun <= 2, "half of 64 KiB"


async def test_the_pings_of_clients_are_permitted_without_a_call(port: int) -> None:
    async with await Http2Client.connect(port) as quiet:
        for _ in range(4):
            assert await quiet.ping() is None
            await asyncio.sleep(1.05)
        assert await quiet.ping() is None
