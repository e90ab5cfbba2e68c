"""Controllers with live pages over TLS, and servers that answer otherwise than one."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from live_cells import Cells
from pki import Authority
from ric.clock import SystemClock
from ric.http import HttpServer
from ric.security import Security
from ric.settings import AccessSettings, HttpSettings, TlsSettings
from tc_controller.live.server import LivePage
from tc_controller.settings import FleetSettings, PeersSettings, SiteSettings

Raw = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def now_us() -> int:
    return time.time_ns() // 1000


class Servers:
    """Starts them, with certificates of one authority; `reader` alone may read."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._ca = Authority(folder)
        self._server = self._ca.issue("controller")
        self._access = folder / "access.yaml"
        client = {"name": "reader", "certificates": ["reader"], "may": ["read"]}
        self._access.write_text(yaml.safe_dump({"clients": [client]}))

    def client(self, address: str, name: str = "reader") -> dict[str, Any]:
        """Settings of a client of that name."""
        certificate, key = self._ca.issue(name)
        files = {"ca_file": self._ca.file, "certificate_file": certificate, "key_file": key}
        tls = TlsSettings(enabled=True, server_name="controller", **files)
        return {"address": address, "tls": tls}

    def server(self, listen: str = "127.0.0.1:0") -> HttpServer:
        """The HTTP server of a controller, to be started."""
        certificate, key = self._server
        settings = HttpSettings(
            listen=listen,
            certificate_file=certificate,
            key_file=key,
            client_ca_file=self._ca.file,
        )
        server = HttpServer(settings, Security(AccessSettings(file=self._access)))
        self._stack.push_async_callback(server.stop)
        return server

    async def controller(
        self, cells: Cells, peers: str = "", sites: tuple[SiteSettings, ...] = (), site: str = ""
    ) -> tuple[str, HttpServer]:
        """A controller that has been fed for a second; returns its address."""
        server = self.server()
        page = LivePage(
            cells.feed,
            SystemClock(),
            now_us,
            4,
            peers=PeersSettings(**self.client(peers)) if peers else None,
            fleet=FleetSettings(site=site, sites=sites),
        )
        page.add_routes(server)
        cells.second(now_us())
        for _ in cells.feed.sample(cells.now_us):
            pass
        self._stack.push_async_callback(page.close)
        return await server.start(), server

    async def raw(self, answer: Raw, host: str = "127.0.0.1", port: int = 0) -> str:
        """A server that speaks TLS and then answers as it likes."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*self._server)

        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                await answer(reader, writer)
            except (OSError, EOFError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(handler, host, port, ssl=context)
        self._stack.callback(server.close)
        return f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def get(self, address: str, query: str = "", name: str = "reader") -> dict[str, Any]:
        """What `/live/fleet` answers."""
        certificate, key = self._ca.issue(name)
        context = ssl.create_default_context(cafile=str(self._ca.file))
        context.load_cert_chain(certificate, key)
        url = f"https://{address}/live/fleet{query}"
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, ssl=context, server_hostname="controller") as answer,
        ):
            answer.raise_for_status()
            document: dict[str, Any] = json.loads(await answer.text())
            return document


@asynccontextmanager
async def servers(folder: Path) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield Servers(folder, stack)


def http(body: bytes) -> Raw:
    """An answer with this body."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    return answer


def trickle(begin: bytes) -> Raw:
    """A byte after this now and then, for ever."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n" + begin)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    return answer
