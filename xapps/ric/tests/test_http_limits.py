"""An HTTP server over real sockets, against clients that want all of it."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pki import Authority
from prometheus_client import CollectorRegistry, Counter, generate_latest
from ric.health import Readiness, add_health_routes
from ric.http import HttpServer
from ric.scrape import MOST, WITHIN_S, Scrape
from ric.security import Security
from ric.settings import AccessSettings, HttpSettings

LOOPS = ["asyncio", "uvloop"]
TOKEN = "0123456789abcdef0123456789abcdef"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Client:
    """A connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes = METRICS) -> tuple[int, bytes]:
        """Status and head of the answer."""
        self.writer.write(request)
        async with asyncio.timeout(20):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await self.reader.readexactly(length)
        return int(head.split()[1]), head


class Served:
    """A server and its clients."""

    def __init__(self, settings: HttpSettings, access: AccessSettings | None) -> None:
        self.registry = CollectorRegistry()
        self.security = Security(access, registry=self.registry)
        self.server = HttpServer(settings, self.security)
        add_health_routes(self.server, self.registry, Readiness())
        self.host, self.port = "", 0
        self.silent: list[socket.socket] = []
        self.clients: list[Client] = []

    async def client(self, context: ssl.SSLContext | None = None) -> Client:
        client = Client(*await asyncio.open_connection(self.host, self.port, ssl=context))
        self.clients.append(client)
        return client

    async def say_nothing(self, count: int) -> None:
        """Open sockets that say nothing."""
        where = self.host, self.port
        for _ in range(count):
            self.silent.append(await asyncio.to_thread(socket.create_connection, where))

    def metric(self, sample: str) -> float:
        text = generate_latest(self.registry).decode()
        return sum(
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith("sojourn_") and sample in line
        )


@asynccontextmanager
async def served(access: AccessSettings | None = None, **settings: Any) -> AsyncIterator[Served]:
    opened = Served(HttpSettings.model_validate({"listen": "127.0.0.1:0", **settings}), access)
    address = await opened.server.start()
    opened.host, port = address.rsplit(":", 1)
    opened.port = int(port)
    try:
        yield opened
    finally:
        for silent in opened.silent:
            silent.close()
        for client in opened.clients:
            client.writer.transport.abort()
        await opened.server.stop()


def run(loop: str, main: Awaitable[None]) -> None:
    """Run on the named event loop: the standard library's, or that of the programs."""

    async def body() -> None:
        await main

    made = pytest.importorskip(loop).new_event_loop
    with asyncio.Runner(loop_factory=made) as runner:
        runner.run(body())


@pytest.mark.parametrize("loop", LOOPS)
def test_900_silent_sockets_leave_a_scraper_every_scrape(
    loop: str,
) -> None:
    async def main() -> None:
        async with served(max_connections=32) as d:
            scraper = await d.client()
            for _ in range(30):
                assert (await scraper.ask())[0] == 200
                await d.say_nothing(30)
            assert (await (await d.client()).ask())[0] == 200
            assert d.metric('sojourn_server_connections{server="http"}') <= 32
            # 902 came, 32 stay.
            assert d.metric('limit="connections"') >= 860

    run(loop, main())


@pytest.mark.parametrize("loop", LOOPS)
def test_handshakes_that_are_never_finished_leave_room(loop: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.issue("server", dns=("localhost",))
    authority.issue("client")
    context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    context.check_hostname = False
    context.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")

    async def main() -> None:
        files: dict[str, Any] = {
            "certificate_file": tmp_path / "server.pem",
            "key_file": tmp_path / "server.key",
            "client_ca_file": tmp_path / "ca.pem",
        }
        async with served(max_connections=16, **files) as d:
            for _ in range(5):
                await d.say_nothing(30)
                scraper = await d.client(context)
                assert (await scraper.ask())[0] == 200
            garbage = await d.client()
            garbage.writer.write(METRICS)
            async with asyncio.timeout(10):
                await garbage.reader.read()
            assert d.metric('sojourn_server_connections{server="http"}') <= 16

    run(loop, main())


async def until_refused(client: Client, request: bytes) -> tuple[int, bytes]:
    """How many requests are served before the first that is not, and its head."""
    for served_before in range(1000):
        status, head = await client.ask(request)
        if status != 200:
            assert status == 429
            return served_before, head
    raise AssertionError("1000 requests were served; expected a limit")


async def test_a_flood_of_requests_learns_when_to_come_again() -> None:
    async with served() as d:
        flooding, second = await d.client(), await d.client()
        count, head = await until_refused(flooding, METRICS.replace(b"metrics", b"healthz"))
        assert 200 <= count < 600, "the burst, and what came in the meantime"
        assert b"\r\nretry-after: 1\r\n" in head.lower()
        assert [(await second.ask())[0] for _ in range(20)] == [200] * 20
        assert d.metric('limit="requests"') == 1


async def test_scrapes_have_a_rate_of_their_own() -> None:
    async with served() as d:
        flooding = await d.client()
        health = METRICS.replace(b"metrics", b"healthz")
        count, _ = await until_refused(flooding, METRICS)
        assert 50 <= count < 100
        assert [(await flooding.ask(health))[0] for _ in range(60)] == [200] * 60
        assert d.metric('limit="scrapes"') == 1


async def test_a_client_is_refused_slowly_however_many_connections_it_has(tmp_path: Path) -> None:
    """A token makes it one client."""
    (tmp_path / "noc.token").write_text(TOKEN)
    access = tmp_path / "access.yaml"
    access.write_text("clients: [{name: noc, token_file: noc.token, may: [read]}]")
    request = METRICS.replace(b"Host", f"Authorization: Bearer {TOKEN}\r\nHost".encode())
    answers: list[int] = []

    async def ask_again(client: Client) -> None:
        while True:
            answers.append((await client.ask(request))[0])

    async with served(access=AccessSettings(file=access)) as d:
        began_s = time.monotonic()
        clients = [await d.client() for _ in range(16)]
        flood = [asyncio.create_task(ask_again(client)) for client in clients]
        async with asyncio.timeout(60):
            while answers.count(429) < 4:
                await asyncio.sleep(0.1)
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        took_s = time.monotonic() - began_s
        assert answers.count(200) <= 50 + 5 * took_s + 1
        assert answers.count(429) <= 4 + 16 * took_s, "about four a second"


async def test_a_unix_socket_is_served_as_well(tmp_path: Path) -> None:
    settings = HttpSettings.model_validate({"listen": f"unix:{tmp_path}/socket"})
    server = HttpServer(settings, Security())
    add_health_routes(server, CollectorRegistry(), Readiness())
    assert await server.start() == f"unix:{tmp_path}/socket"
    client = Client(*await asyncio.open_unix_connection(str(tmp_path / "socket")))
    assert (await client.ask(METRICS.replace(b"metrics", b"healthz")))[0] == 200
    client.writer.close()
    await server.stop()


async def test_scrapes_that_come_at_once_share_one_encoding() -> None:
    registry = CollectorRegistry()
    counted = Counter("counted", "Counted.", registry=registry)
    scrape = Scrape(registry)
    server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security())
    server.route("GET", "/metrics", scrape.answer, None)
    host, port = (await server.start()).rsplit(":", 1)
    clients = [Client(*await asyncio.open_connection(host, int(port))) for _ in range(10)]
    loop = asyncio.get_running_loop()
    try:
        began_s = loop.time()
        for _ in range(100):
            answers = await asyncio.gather(*(client.ask() for client in clients))
            assert {status for status, _ in answers} == {200}
        assert scrape.made <= MOST * (1 + (loop.time() - began_s) // WITHIN_S)
        counted.inc()
        await asyncio.sleep(WITHIN_S)
        before = scrape.made
        await clients[0].ask()
        assert scrape.made == before + 1, "what is older is encoded anew"
    finally:
        for client in clients:
            client.writer.close()
        await server.stop()


async def test_the_unspecified_address_of_ipv6_takes_ipv4_as_well() -> None:
    server = HttpServer(HttpSettings(listen="[::]:0", insecure=True), Security())
    address = await server.start()
    try:
        assert address.startswith("[::]:")
        port = int(address.rpartition(":")[2])
        for host in ("127.0.0.1", "::1"):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
    finally:
        await server.stop()


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.parametrize("loop", LOOPS)
def test_no_connection_outlives_a_server_that_stops_while_it_begins(loop: str) -> None:
    """Whichever step the acceptance has come to; a socket that is left would be reported."""

    async def main() -> None:
        for steps in range(8):
            async with served() as opened:
                clients = [socket.create_connection((opened.host, opened.port)) for _ in range(3)]
                for client in clients:
                    client.sendall(METRICS[:20])
                for _ in range(steps):
                    await asyncio.sleep(0)
            gc.collect()
            for client in clients:
                client.settimeout(5)
                with suppress(ConnectionResetError):
                    assert client.recv(1) == b""
                client.close()

    run(loop, main())
