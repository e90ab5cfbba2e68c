"""What a program's handlers get of a gRPC server, and what its clients get of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from numbers_service import (
    ASK,
    COUNT,
    ECHO,
    FAIL,
    SERVICE,
    SUM,
    Numbers,
    both,
    stream,
    unary,
)
from ric.grpc_server import MAX_REQUEST_BYTES, GrpcServer, GrpcServerSettings
from ric.security import Security

CODE = grpc.StatusCode


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
async def server(numbers: Numbers) -> AsyncIterator[GrpcServer]:
    settings = GrpcServerSettings(listen="127.0.0.1:0")
    made = GrpcServer(SERVICE, numbers.handlers(), settings, security=Security())
    await made.start()
    yield made
    await made.stop(0)


@pytest.fixture
async def channel(server: GrpcServer) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield channel


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


async def test_each_kind_of_procedure(channel: grpc.aio.Channel) -> None:
    assert await unary(channel, ASK)(b"x") == b"x"
    summing: Any = channel.stream_unary(SUM)
    parts = [b"\n\x01a", b"\n\x01b", b""]
    assert await summing(iter(parts)) == b"\n\x02ab"
    counting = stream(channel, COUNT)(b"")
    assert [await counting.read() for _ in range(3)] == [
        bytes(4),
        bytes(3) + b"\1",
        bytes(3) + b"\2",
    ]
    echo = both(channel, ECHO)()
    for content in (b"first", b"", b"x" * 200_000):
        await echo.write(content)
        assert await echo.read() == content
    await echo.done_writing()
    assert await echo.read() is grpc.aio.EOF
    assert await echo.code() is CODE.OK


async def test_a_client_that_leaves_ends_its_calls_alone(
    channel: grpc.aio.Channel, numbers: Numbers
) -> None:
    left, kept = stream(channel, COUNT)(b""), stream(channel, COUNT)(b"")
    await left.read()
    await kept.read()
    left.cancel()
    await until(lambda: numbers.cancelled == 1)
    assert [await kept.read() for _ in range(50)]
    assert numbers.cancelled == 1


async def test_writes_wait_for_a_client_that_does_not_read_and_lose_nothing(
    channel: grpc.aio.Channel, numbers: Numbers
) -> None:
    counting = stream(channel, COUNT)(b"x" * 100_000)
    await until(lambda: numbers.written > 0)
    before = -1
    while numbers.written != before:
        before = numbers.written
        await asyncio.sleep(0.5)
    assert before < 100, "10 MB"
    for number in range(before + 20):
        assert int.from_bytes((await counting.read())[:4]) == number
    counting.cancel()


@pytest.mark.parametrize(
    ("path", "request_", "code", "detail"),
    [
        (FAIL, b"", CODE.INVALID_ARGUMENT, "always, für immer"),
        (FAIL, b"absent", CODE.UNAVAILABLE, "always, für immer"),
        (FAIL, b"bug", CODE.UNKNOWN, None),
        (ASK, b"x" * MAX_REQUEST_BYTES, CODE.RESOURCE_EXHAUSTED, None),
        (f"/{SERVICE.full_name}/Absent", b"", CODE.UNIMPLEMENTED, None),
        ("/absent.Service/Ask", b"", CODE.UNIMPLEMENTED, None),
    ],
)
async def test_a_call_that_fails_has_its_status_and_the_next_is_served(
    path: str, request_: bytes, code: CODE, detail: str | None, channel: grpc.aio.Channel
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await unary(channel, path)(request_)
    assert failed.value.code() is code
    if detail is not None:
        assert failed.value.details() == detail
    assert await unary(channel, ASK)(b"y") == b"y"


async def test_bytes_that_are_no_request_end_their_call_alone(
    channel: grpc.aio.Channel, numbers: Numbers
) -> None:
    ask: Any = channel.unary_unary(ASK)
    with pytest.raises(grpc.aio.AioRpcError):
        await ask(b"\xff\xff")
    assert numbers.asked == 0
    assert await unary(channel, ASK)(b"y") == b"y"


async def test_health_is_that_of_the_program(server: GrpcServer, channel: grpc.aio.Channel) -> None:
    kind = health_pb2.HealthCheckResponse
    stub = health_pb2_grpc.HealthStub(channel)
    for name in ("", SERVICE.full_name):
        request = health_pb2.HealthCheckRequest(service=name)
        watching = stub.Watch(request)
        for ready, status in ((False, kind.NOT_SERVING), (True, kind.SERVING)):
            await server.set_ready(ready)
            assert (await stub.Check(request)).status == status
            assert (await watching.read()).status == status
        watching.cancel()
        await server.set_ready(False)


async def test_reflection_describes_the_service(channel: grpc.aio.Channel) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    kind = reflection_pb2.ServerReflectionRequest
    asking = stub.ServerReflectionInfo(
        iter([kind(list_services=""), kind(file_containing_symbol=SERVICE.full_name)])
    )
    listed = {service.name for service in (await asking.read()).list_services_response.service}
    assert listed >= {SERVICE.full_name, "grpc.health.v1.Health"}
    described = (await asking.read()).file_descriptor_response.file_descriptor_proto
    assert any(b"test/numbers.proto" in file for file in described)


async def test_a_stop_ends_calls_after_its_grace(
    server: GrpcServer, channel: grpc.aio.Channel
) -> None:
    counting = stream(channel, COUNT)(b"")
    await counting.read()
    async with asyncio.timeout(10):
        await server.stop(0.1)
        with pytest.raises(grpc.aio.AioRpcError):
            while True:
                await counting.read()
