"""Programs with TLS and an access file, and what their clients show."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import yaml
from flexric_bridge.app import Bridge
from flexric_bridge.settings import BridgeSettings
from loop import SCENARIO
from pki import Authority
from ric import XApp
from ric.testing import FakeRic
from rlc_forecaster.app import ForecasterApp
from rlc_forecaster.settings import ForecasterSettings
from sojourn_demo.programs import Programs, free_address
from tc_controller.app import ControllerApp
from tc_controller.settings import ControllerSettings

ACCESS = """
clients:
  - {name: all, certificates: [all], may: [read, subscribe, control]}
  - {name: reader, certificates: ["spiffe://sojourn/reader"], may: [read]}
  - {name: south, certificates: [south], may: [read, subscribe, control], nodes: ["south-*"]}
  - {name: noc, token_file: noc.token, may: [read]}
"""
EVIL = "all\0.evil.example"
TOKEN = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Visitor:
    """What a client shows: certificate and token, or plain text."""

    certificate: tuple[Path, Path] | None = None
    token: str | None = None
    plain: bool = False

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


class World:
    """Certificates, access file and the servers' settings."""

    def __init__(self, where: Path) -> None:
        self.ca = Authority(where)
        stranger = Authority(where, "stranger")
        self.where = where
        self.audit = where / "audit.jsonl"
        self.server = self.ca.issue("server", dns=("localhost",))
        (where / "access.yaml").write_text(ACCESS)
        (where / "noc.token").write_text(f"{TOKEN}\n")
        issue = self.ca.issue
        self.visitors = {
            "all": Visitor(issue("all")),
            "reader": Visitor(issue("reader", uris=("spiffe://sojourn/reader",))),
            "south": Visitor(issue("south")),
            "unlisted": Visitor(issue("unlisted")),
            "CN beside other names": Visitor(issue("other", common_name="all")),
            "CN alone": Visitor(issue("alone", common_name="all", dns=())),
            "NUL in a DNS name": Visitor(issue("nul-dns", dns=(EVIL,))),
            "NUL in a URI": Visitor(issue("nul-uri", dns=(), uris=(EVIL,))),
            "NUL in the CN": Visitor(issue("nul-cn", common_name=EVIL, dns=())),
            "expired": Visitor(issue("late", common_name="all", days=-1)),
            "other CA": Visitor(stranger.issue("all-by-stranger", common_name="all")),
            "nothing": Visitor(),
            "token": Visitor(token=TOKEN),
            "wrong token": Visitor(token=TOKEN[::-1]),
            "certificate, wrong token": Visitor(issue("all2", common_name="all"), TOKEN[::-1]),
            "plain text": Visitor(plain=True),
        }
        self.access = {"file": where / "access.yaml", "audit_file": self.audit}

    def server_settings(self) -> dict[str, Any]:
        """Settings of a server on a free port."""
        certificate, key = self.server
        return {
            "listen": free_address("localhost"),
            "certificate_file": certificate,
            "key_file": key,
            "client_ca_file": self.ca.file,
        }

    def channel(self, address: str, visitor: Visitor) -> grpc.aio.Channel:
        if visitor.plain:
            return grpc.aio.insecure_channel(address)
        return grpc.aio.secure_channel(address, self._credentials(visitor))

    def blocking_channel(self, address: str, visitor: Visitor) -> grpc.Channel:
        """A connection whose calls end with the server's status, whenever it refuses them.

        A write to a call that the server has ended ends it as INTERNAL in gRPC's asyncio client.
        """
        if visitor.plain:
            return grpc.insecure_channel(address)
        return grpc.secure_channel(address, self._credentials(visitor))

    def _credentials(self, visitor: Visitor) -> grpc.ChannelCredentials:
        pem, key = (
            (path.read_bytes() for path in visitor.certificate)
            if visitor.certificate
            else (None, None)
        )
        return grpc.ssl_channel_credentials(self.ca.file.read_bytes(), key, pem)

    def context(self, visitor: Visitor) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca.file)
        if visitor.certificate:
            context.load_cert_chain(*visitor.certificate)
        return context


@asynccontextmanager
async def running(program: str, settings: dict[str, Any], folder: Path) -> AsyncIterator[None]:
    """A program, once it answers; `folder` is for what it is given to read."""
    if program == "gnb-lab":
        async with Programs(folder) as programs:
            await programs.start(program, "serve", *gnb_lab_flags(settings, folder))
            yield
        return
    if program == "bridge":
        given = {**settings, "ric": {"sdk": "fake_sdk:FakeSdk"}}
        app: Any = Bridge(BridgeSettings.model_validate(given))
        work = app.run()
    elif program == "forecaster":
        made = ForecasterSettings.model_validate({**settings, "model": "none"})
        app = XApp("rlc-forecaster", made, link=FakeRic().link())
        work = app.run(lambda xapp: ForecasterApp(xapp).run())
    else:
        controller = ControllerSettings.model_validate(settings)
        app = XApp("tc-controller", controller, link=FakeRic().link())
        work = app.run(lambda xapp: ControllerApp(xapp).main())
    task = asyncio.create_task(work)
    try:
        async with asyncio.timeout(60):
            for name in ("server", "http", "a1"):
                if address := settings.get(name, {}).get("listen"):
                    await listening(address, task)
        yield
    finally:
        app.stop()
        await asyncio.wait_for(task, 60)


def gnb_lab_flags(settings: dict[str, Any], folder: Path) -> list[str]:
    """The same settings as `gnb-lab serve` has them."""
    server, access = settings["server"], settings["access"]
    scenario = folder / "scenario.yaml"
    scenario.write_text(yaml.safe_dump(SCENARIO))
    flags = {
        "--listen": server["listen"],
        "--metrics-listen": settings["http"]["listen"],
        "--tls-cert": server.get("certificate_file"),
        "--tls-key": server.get("key_file"),
        "--tls-client-ca": server.get("client_ca_file"),
        "--max-connections": server.get("max_connections"),
        "--access": access["file"],
        "--audit": access["audit_file"],
    }
    given = ((flag, str(value)) for flag, value in flags.items() if value)
    return [str(scenario), *chain.from_iterable(given)]


async def listening(address: str, task: asyncio.Task[None]) -> None:
    host, port = address.split(":")
    while not task.done():
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    task.result()
