"""Clients over TLS that want all of a server, or nothing of it, beside one that is served.

The same of every program, whatever serves it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
import grpc
import grpc.aio
import pytest
from guarded_programs import Visitor, World, running
from http2_client import Http2Client, literal
from pki import Authority
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces import forecast_pb2
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

GRPC = ("gnb-lab", "bridge", "forecaster")
PROGRAMS = (*GRPC, "controller")
CONNECTIONS = 40
PATIENCE_S = 30.0
SILENCE_S = 10.0
"""How long a connection may say nothing before its first request."""
RELOADED_S = 15.0
LONG = "x" * (1 << 20)
TOO_LONG = {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.OUT_OF_RANGE}
"""What gRPC for Python and tonic answer to a message beyond the bound."""
POLICIES = "/A1-P/v2/policytypes/ORAN_QoSTarget_6.0.0/policies"
OF_STATUS = {
    HTTPStatus.OK: grpc.StatusCode.OK,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    HTTPStatus.TOO_MANY_REQUESTS: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
"""What gRPC has for the answers of an HTTP server."""


@dataclass
class Served:
    """A program and how to ask it."""

    name: str
    world: World
    server: dict[str, Any]
    http: dict[str, Any]
    alpn: ClassVar[str] = "h2"

    @property
    def port(self) -> int:
        return int(self.server["listen"].rpartition(":")[2])

    @property
    def procedure(self) -> str:
        """One with a single answer."""
        if self.name == "forecaster":
            return "/sojourn.forecast.v1.Forecaster/Predict"
        return "/sojourn.e2.v1.E2Gateway/ListNodes"

    def channel(self, visitor: Visitor) -> Any:
        """A connection of a client; an asynchronous context manager."""
        return self.world.channel(self.server["listen"], visitor)

    async def ask(self, channel: Any, text: str = "") -> grpc.StatusCode:
        """What one call comes to; NOT_FOUND is the answer of a forecaster without nodes."""
        try:
            if self.name == "forecaster":
                stub = ForecasterStub(channel)
                request = forecast_pb2.ForecastRequest(node_id=text)
                await stub.Predict(request, timeout=PATIENCE_S)
            else:
                padded = pb.ListNodesRequest.FromString(_unknown_field(text))
                await E2GatewayStub(channel).ListNodes(padded, timeout=PATIENCE_S)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                return error.code()
        return grpc.StatusCode.OK

    async def serves(self, visitor: Visitor) -> bool:
        """Whether a client that connects now is served, with patience."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            async with self.channel(visitor) as channel:
                if await self.ask(channel) is grpc.StatusCode.OK:
                    return True
            await asyncio.sleep(0.1)
        return False

    def context(self, visitor: Visitor, protocol: str) -> ssl.SSLContext:
        context = self.world.context(visitor)
        context.set_alpn_protocols([protocol])
        return context


class ServedOverHttp(Served):
    """A controller; `server` is that of its policies."""

    alpn = "http/1.1"

    def channel(self, visitor: Visitor) -> aiohttp.ClientSession:
        # Floods are of calls, as those of gRPC over one connection.
        context = self.world.context(visitor)
        connector = aiohttp.TCPConnector(ssl=context, limit=CONNECTIONS // 4)
        return aiohttp.ClientSession(f"https://{self.server['listen']}", connector=connector)

    async def ask(self, channel: Any, text: str = "") -> grpc.StatusCode:
        method, path = ("PUT", f"{POLICIES}/p") if text else ("GET", POLICIES)
        timeout = aiohttp.ClientTimeout(PATIENCE_S)
        try:
            async with channel.request(method, path, data=text, timeout=timeout) as answer:
                return OF_STATUS[answer.status]
        except aiohttp.ClientError:
            return grpc.StatusCode.UNAVAILABLE


def _unknown_field(text: str) -> bytes:
    """A field that the message does not have, of this length (protobuf's encoding, LEN)."""
    if not text:
        return b""
    length, size = len(text), b""
    while length > 0x7F:
        size, length = size + bytes((length & 0x7F | 0x80,)), length >> 7
    return b"\xfa\x01" + size + bytes((length,)) + text.encode()


@pytest.fixture(params=PROGRAMS)
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    world = World(tmp_path)
    server = world.server_settings() | {"max_connections": CONNECTIONS}
    http = world.server_settings() | {"max_connections": CONNECTIONS}
    over_http = request.param == "controller"
    settings = {"a1" if over_http else "server": server, "http": http, "access": world.access}
    async with running(request.param, settings, tmp_path):
        kind = ServedOverHttp if over_http else Served
        yield kind(request.param, world, server, http)


async def _ends(reader: asyncio.StreamReader, within_s: float) -> bool:
    """Whether the server ends a connection."""
    with contextlib.suppress(OSError):
        try:
            async with asyncio.timeout(within_s):
                while await reader.read(1 << 16):
                    pass
        except TimeoutError:
            return False
    return True


async def test_connections_that_say_nothing_end_and_keep_nobody_out(served: Served) -> None:
    visitor = served.world.visitors["all"]
    # Begins as a record of TLS that a handshake could follow (RFC 8446 §5.1).
    beginnings = (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    silent = []
    for number in range(2 * CONNECTIONS):
        reader, writer = await asyncio.open_connection("localhost", served.port)
        writer.write(beginnings[number % 2])
        silent.append((reader, writer))
    assert await served.serves(visitor)
    ended = await asyncio.gather(*(_ends(reader, 3 * SILENCE_S) for reader, _ in silent))
    assert all(ended)
    for _, writer in silent:
        writer.close()


async def test_a_request_that_comes_in_drops_ends(served: Served) -> None:
    context = served.context(served.world.visitors["all"], "http/1.1")
    host, port = served.http["listen"].split(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    ending = asyncio.create_task(_ends(reader, 4 * SILENCE_S))
    for byte in b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 1000:
        if ending.done():
            break
        with contextlib.suppress(OSError):
            writer.write(bytes((byte,)))
        await asyncio.wait({ending}, timeout=0.5)
    assert await ending
    writer.transport.abort()


@pytest.mark.parametrize(
    "fields",
    [
        b"".join(literal(f"h{number}", "v") for number in range(20_000)),
        literal("padding", "x" * 64_000),
        # The large entry of the dynamic table, 20,000 times: 80 MB in 24 kB.
        b"\x40" + literal("big", "v" * 3900)[1:] + b"\xbe" * 20_000,
    ],
    ids=["20,000 fields", "one long field", "an indexed field, often"],
)
@pytest.mark.parametrize("served", GRPC, indirect=True)
async def test_a_header_beyond_the_bound_reaches_no_procedure(
    served: Served, fields: bytes
) -> None:
    reader, other = (served.world.visitors[name] for name in ("reader", "all"))
    hostile = await Http2Client.connect(
        served.port, "localhost", context=served.context(reader, "h2")
    )
    async with hostile:
        hostile.call(served.procedure, fields)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                status, _ = await hostile.ended()
                assert status in (None, grpc.StatusCode.RESOURCE_EXHAUSTED.value[0])
        assert await served.serves(other)


async def test_a_message_beyond_the_bound_is_refused(served: Served) -> None:
    async with served.channel(served.world.visitors["all"]) as channel:
        assert await served.ask(channel, LONG) in TOO_LONG
        assert await served.ask(channel) is grpc.StatusCode.OK


async def test_a_flood_of_calls_keeps_nobody_else_from_being_served(served: Served) -> None:
    visitors = served.world.visitors
    async with (
        served.channel(visitors["reader"]) as flooding,
        served.channel(visitors["all"]) as quiet,
    ):
        flood = asyncio.gather(*(served.ask(flooding) for _ in range(300)))
        for _ in range(20):
            assert await served.ask(quiet) is grpc.StatusCode.OK
        codes = await asyncio.wait_for(flood, 120)
    assert codes.count(grpc.StatusCode.OK) >= 200, "the burst is served"


async def test_renewed_certificates_are_shown_and_an_old_ca_is_no_longer_trusted(
    served: Served,
) -> None:
    world, visitor = served.world, served.world.visitors["all"]
    async with served.channel(visitor) as old:
        assert await served.ask(old) is grpc.StatusCode.OK
        before = await _shown(served, visitor)
        world.ca.issue("server", dns=("localhost",))
        await _until(lambda: _is_other(served, visitor, before))
        assert await served.ask(old) is grpc.StatusCode.OK, "an open connection stays"
    # The same file with another CA; the server's own certificate is of the first.
    first = world.ca.file.read_bytes()
    successor = Authority(world.ca.where, "successor")
    new = Visitor(successor.issue("all-new", common_name="all", dns=()))
    world.ca.file.write_bytes(successor.file.read_bytes())
    trusted = world.ca.where / "server-ca.pem"
    trusted.write_bytes(first)
    world.ca.file = trusted
    await _until(lambda: _is_served(served, new))
    assert not await _is_served(served, visitor)


async def _is_served(served: Served, visitor: Visitor) -> bool:
    async with served.channel(visitor) as channel:
        return await served.ask(channel) is grpc.StatusCode.OK


async def _shown(served: Served, visitor: Visitor) -> bytes | None:
    """The certificate that the server shows."""
    context = served.context(visitor, served.alpn)
    _, writer = await asyncio.open_connection("localhost", served.port, ssl=context)
    shown: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return shown


async def _is_other(served: Served, visitor: Visitor, before: bytes | None) -> bool:
    return await _shown(served, visitor) != before


async def _until(holds: Any) -> None:
    async with asyncio.timeout(RELOADED_S):
        while not await holds():
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_name_that_was_made_to_resolve_to_a_server_is_not_answered(
    program: str, tmp_path: Path
) -> None:
    world = World(tmp_path)
    plain = [{"listen": world.server_settings()["listen"]} for _ in range(2)]
    access = {"file": None, "audit_file": world.audit}
    first = "a1" if program == "controller" else "server"
    settings = {first: plain[0], "http": plain[1], "access": access}
    async with running(program, settings, tmp_path):
        host, port = plain[1]["listen"].split(":")
        for headers, status in (
            (f"Host: localhost:{port}", HTTPStatus.OK),
            (f"Host: 127.0.0.1:{port}", HTTPStatus.OK),
            ("Host: evil.example", HTTPStatus.MISDIRECTED_REQUEST),
            (f"Host: localhost:{port}\r\nOrigin: https://evil.example", HTTPStatus.FORBIDDEN),
        ):
            reader, writer = await asyncio.open_connection(host, int(port))
            request = f"GET /metrics HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n"
            writer.write(request.encode())
            answer = (await asyncio.wait_for(reader.read(), PATIENCE_S)).decode()
            writer.close()
            assert answer.startswith(f"HTTP/1.1 {status.value} "), headers
            assert ("evil.example' is not" in answer or 'evil.example" is not' in answer) == (
                status is not HTTPStatus.OK
            )
