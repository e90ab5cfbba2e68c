"""A guard with one server, and clients of it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2
from pki import Authority
from sojourn_interfaces import forecast_pb2
from sojourn_serving import (
    Call,
    Certificates,
    GrpcServer,
    Guard,
    HttpServer,
    LogRecord,
    Procedure,
    Request,
    Response,
)

SERVICE = "sojourn.forecast.v1.Forecaster"
PATIENCE_S = 20.0
DESCRIPTORS = descriptor_pb2.FileDescriptorSet(
    file=[descriptor_pb2.FileDescriptorProto.FromString(forecast_pb2.DESCRIPTOR.serialized_pb)]
).SerializeToString()


class Guarded:
    """What the guard of a test has logged."""

    def __init__(self, **given: Any) -> None:
        self.records: list[LogRecord] = []
        self.guard = Guard(log=self.records.append, **given)

    @property
    def events(self) -> list[str]:
        return [record.event for record in self.records]

    def value(self, family: str, *labels: str) -> float:
        """The value of a series; 0 if there is none."""
        found = [each for each in self.guard.metrics() if each.name == family]
        return sum(value for each in found for key, value in each.values if key == labels)


def certificates(authority: Authority, name: str = "server", *, ca: bool = False) -> Certificates:
    pem, key = authority.issue(name, dns=("localhost",))
    return Certificates(pem, key, authority.file if ca else None)


async def echo(call: Call) -> None:
    """Sends back what comes."""
    async for message in call:
        await call.write(message)


async def one(call: Call) -> bytes:
    """The request as the response."""
    return await call.receive() or b""


async def count(call: Call) -> None:
    """Sends as many messages as the request says, each with its number in four octets."""
    number, length = (int(text) for text in (await call.receive() or b"").split())
    for each in range(number):
        await call.write(each.to_bytes(4) + bytes(length))


PROCEDURES = {
    "One": Procedure(one, "read", max_request_bytes=1 << 16),
    "Count": Procedure(count, "subscribe", many_responses=True),
    "Echo": Procedure(
        echo, "control", many_requests=True, many_responses=True, max_request_bytes=1 << 16
    ),
}


@asynccontextmanager
async def grpc_server(
    guarded: Guarded, procedures: dict[str, Procedure] | None = None, **given: Any
) -> AsyncIterator[GrpcServer]:
    server = GrpcServer(
        guarded.guard,
        **{
            "section": "server",
            "listen": "localhost:0",
            "service": SERVICE,
            "procedures": procedures or PROCEDURES,
            "descriptors": DESCRIPTORS,
            **given,
        },
    )
    await server.start()
    server.set_ready(True)
    try:
        yield server
    finally:
        await server.stop(0)
        guarded.guard.close()


@asynccontextmanager
async def http_server(
    guarded: Guarded, handler: Callable[[Request], Any], **given: Any
) -> AsyncIterator[HttpServer]:
    server = HttpServer(
        guarded.guard,
        **{
            "section": "http",
            "label": "http",
            "listen": "127.0.0.1:0",
            "handler": handler,
            **given,
        },
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
        guarded.guard.close()


def channel(server: GrpcServer, *options: tuple[str, int]) -> grpc.aio.Channel:
    if server.port:
        return grpc.aio.insecure_channel(f"localhost:{server.port}", options=options)
    # gRPC's own would be the path with percent signs, which is no authority of HTTP/2.
    named = ("grpc.default_authority", "localhost")
    return grpc.aio.insecure_channel(server.address, options=[named])


def unary(channel: grpc.aio.Channel, name: str = "One") -> Callable[..., Any]:
    return channel.unary_unary(f"/{SERVICE}/{name}")


async def status(call: Any) -> tuple[grpc.StatusCode, str]:
    """Code and detail that a call ends with."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            if hasattr(call, "read"):
                while await call.read() is not grpc.aio.EOF:
                    pass
            else:
                await call
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def ask(
    address: str, request: bytes, context: ssl.SSLContext | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Status, header fields and body of the answer to a request as it stands."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(
        host, int(port), ssl=context, server_hostname="localhost" if context else None
    )
    writer.write(request)
    async with asyncio.timeout(PATIENCE_S):
        text = await reader.read()
    writer.close()
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), fields, body


def get(path: str, *fields: str, method: str = "GET", body: bytes = b"") -> bytes:
    """A request whose connection ends with the answer."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *fields]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


async def say(request: Request) -> Response:
    """What was asked."""
    body = await request.read()
    shown = f"{request.method} {request.path} {request.query} {len(body)}\n"
    return Response(200, {"Content-Type": "text/plain"}, shown.encode())
