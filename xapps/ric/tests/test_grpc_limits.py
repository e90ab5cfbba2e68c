"""A gRPC server against clients that want all of it, beside one that keeps what it has."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http2_client import Http2Client, literal
from numbers_service import ASK, COUNT, FAIL, SERVICE, Numbers, stream, unary
from prometheus_client import CollectorRegistry
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def security() -> Security:
    return Security()


@pytest.fixture
async def port(numbers: Numbers, security: Security) -> AsyncIterator[int]:
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


async def test_a_client_with_many_streams_leaves_others_theirs(port: int) -> None:
    async with AsyncExitStack() as stack:
        greedy, second = [await stack.enter_async_context(client(port)) for _ in range(2)]
        count = stream(second, COUNT)
        before = aiter(count(b""))
        seen = [int.from_bytes(await anext(before))]
        greedy_count = stream(greedy, COUNT)
        open_, refused = [], []
        # One after the other: the connection itself takes 64 at once.
        for _ in range(24):
            call = greedy_count(b"")
            try:
                await anext(aiter(call))
                open_.append(call)
            except grpc.aio.AioRpcError as error:
                refused.append(error)
        assert (len(open_), len(refused)) == (16, 8)
        assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert "more than its share of 32 streams" in str(refused[0].details())
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

        def kept() -> list[int]:
            return [sum(not reader.done() for reader in some) for some in readers]

        async with asyncio.timeout(10):
            # Those that came last have them of those with most; of 32 the newcomer has one.
            while sum(kept()) > 31 or max(kept()) - min(kept()) > 1:
                await asyncio.sleep(0.01)
        assert sum(kept()) >= 29
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
        codes: list[grpc.StatusCode] = []
        while len(codes) < 100:
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await unary(failing, FAIL)(b"")
            if failed.value.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                break
            codes.append(failed.value.code())
        assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert 10 <= len(codes) < 50, "10 of a burst of 200, and what came in the meantime"
        assert await unary(second, ASK)(b"y") == b"y"


async def test_a_flood_of_calls_is_refused_slowly_and_another_client_is_served(port: int) -> None:
    refused: list[grpc.aio.AioRpcError] = []
    served = 0

    async def call_again(ask: Any) -> None:
        nonlocal served
        while True:
            try:
                await ask(b"x")
                served += 1
            except grpc.aio.AioRpcError as error:
                refused.append(error)

    async with client(port) as flooding, client(port) as second:
        began_s = time.monotonic()
        flood = [asyncio.create_task(call_again(unary(flooding, ASK))) for _ in range(32)]
        other = unary(second, ASK)
        assert [await other(b"y") for _ in range(100)] == [b"y"] * 100
        health = health_pb2_grpc.HealthStub(second)
        await health.Check(health_pb2.HealthCheckRequest())
        async with asyncio.timeout(60):
            while len(refused) < 4:
                await asyncio.sleep(0.1)
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        took_s = time.monotonic() - began_s
    assert 200 <= served <= 200 + 100 * took_s + 1, "the burst, and then the rate"
    assert len(refused) <= 4 + 16 * took_s, "about four a second, however many calls it makes"
    assert {one.code() for one in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert "more than 100 calls/s (burst 200); again in" in str(refused[0].details())
    trailing = dict(refused[0].trailing_metadata())
    assert int(trailing["grpc-retry-pushback-ms"]) > 0


async def test_metadata_beyond_what_was_announced_is_refused(port: int) -> None:
    async with client(port) as large, client(port) as second:
        ask = unary(large, ASK)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(b"", metadata=(("padding", "x" * 32_000),))
        # By the client itself, if it knows the bound already, or by HTTP/2 (431).
        assert refused.value.code() in (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            grpc.StatusCode.UNKNOWN,
        )
        assert await unary(second, ASK)(b"y") == b"y"


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
    fields: bytes, port: int, numbers: Numbers
) -> None:
    async with await Http2Client.connect(port) as hostile:
        hostile.call(ASK, fields)
        # HTTP/2 answers some of them, and the connection stays.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                status, _ = await hostile.ended()
                assert status in (None, grpc.StatusCode.RESOURCE_EXHAUSTED.value[0])
    async with client(port) as second:
        assert await unary(second, ASK)(b"y") == b"y"
    assert numbers.asked == 1


async def test_a_client_with_much_metadata_keeps_nobody_from_being_served(port: int) -> None:
    """60 calls with 15 kB each."""
    async with await Http2Client.connect(port) as hostile:
        for _ in range(60):
            hostile.call(COUNT, literal("padding", "x" * 15_000))
        async with client(port) as second:
            other = unary(second, ASK)
            for _ in range(20):
                assert await other(b"y") == b"y"


async def test_the_pings_of_clients_are_permitted_without_a_call(port: int) -> None:
    async with await Http2Client.connect(port) as quiet:
        for _ in range(4):
            assert await quiet.ping() is None
            await asyncio.sleep(1.05)
        assert await quiet.ping() is None
