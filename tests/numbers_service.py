"""A gRPC service for tests of servers; requests and responses are `google.protobuf.BytesValue`s."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import BytesValue
from ric.procedures import Call, Handlers


def _service() -> ServiceDescriptor:
    file = descriptor_pb2.FileDescriptorProto(
        name="test/numbers.proto",
        package="test",
        dependency=["google/protobuf/wrappers.proto"],
        syntax="proto3",
    )
    service = file.service.add(name="Service")
    kind = ".google.protobuf.BytesValue"
    for name, many_requests, many_responses in (
        ("Count", False, True),
        ("Ask", False, False),
        ("Fail", False, False),
        ("Sum", True, False),
        ("Echo", True, True),
    ):
        service.method.add(
            name=name,
            input_type=kind,
            output_type=kind,
            client_streaming=many_requests,
            server_streaming=many_responses,
        )
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindServiceByName("test.Service")


SERVICE: Final = _service()
COUNT, ASK, FAIL, SUM, ECHO = (f"/{SERVICE.full_name}/{name}" for name in SERVICE.methods_by_name)


class Numbers:
    """A procedure of each kind, and one that fails."""

    def __init__(self) -> None:
        self.asked = self.begun = self.written = self.cancelled = 0

    def handlers(self) -> Handlers:
        return {
            "Count": ("subscribe", self.count),
            "Ask": ("read", self.ask),
            "Fail": ("read", self.fail),
            "Sum": ("read", self.sum),
            "Echo": ("control", self.echo),
        }

    async def count(self, request: BytesValue, call: Call) -> None:
        """A number each millisecond; the request makes them longer."""
        self.begun += 1
        try:
            for number in range(1_000_000):
                await call.write(_encode(number.to_bytes(4) + request.value))
                self.written += 1
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def ask(self, request: BytesValue, _: Call) -> bytes:
        self.asked += 1
        return request.SerializeToString()

    async def fail(self, request: BytesValue, call: Call) -> bytes:
        code = grpc.StatusCode.UNAVAILABLE if request.value else grpc.StatusCode.INVALID_ARGUMENT
        if request.value == b"bug":
            raise LookupError("secret")
        call.abort(code, "always, für immer")

    async def sum(self, requests: AsyncIterator[BytesValue], _: Call) -> bytes:
        return _encode(b"".join([request.value async for request in requests]))

    async def echo(self, requests: AsyncIterator[BytesValue], call: Call) -> None:
        async for request in requests:
            await call.write(request.SerializeToString())


def unary(channel: Any, path: str) -> Any:
    """A procedure with one response."""
    return channel.unary_unary(path, *_CODERS)


def stream(channel: Any, path: str) -> Any:
    """A procedure with many responses."""
    return channel.unary_stream(path, *_CODERS)


def both(channel: Any, path: str) -> Any:
    """A procedure with many requests and many responses."""
    return channel.stream_stream(path, *_CODERS)


def _encode(content: bytes) -> bytes:
    return BytesValue(value=content).SerializeToString()


def _decode(message: bytes) -> bytes:
    return BytesValue.FromString(message).value


_CODERS: Final = (_encode, _decode)
