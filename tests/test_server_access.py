"""Every server of every Python program with TLS and an access file: who gets in, and with what."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import grpc.aio
import pytest
from flexric_bridge.app import Bridge
from flexric_bridge.settings import BridgeSettings
from pki import Authority
from ric import XApp
from ric.testing import FakeRic
from rlc_forecaster.app import ForecasterApp
from rlc_forecaster.settings import ForecasterSettings
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces import forecast_pb2
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub
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
READ, SUBSCRIBE, CONTROL = "read", "subscribe", "control"
HANDSHAKE, UNKNOWN, RIGHT, SERVED = "handshake", "unknown", "right", "served"


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
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        certificate, key = self.server
        return {
            "listen": f"localhost:{port}",
            "certificate_file": certificate,
            "key_file": key,
            "client_ca_file": self.ca.file,
        }

    def channel(self, address: str, visitor: Visitor) -> grpc.aio.Channel:
        if visitor.plain:
            return grpc.aio.insecure_channel(address)
        pem, key = (
            (path.read_bytes() for path in visitor.certificate)
            if visitor.certificate
            else (None, None)
        )
        return grpc.aio.secure_channel(
            address, grpc.ssl_channel_credentials(self.ca.file.read_bytes(), key, pem)
        )

    def context(self, visitor: Visitor) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca.file)
        if visitor.certificate:
            context.load_cert_chain(*visitor.certificate)
        return context


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@asynccontextmanager
async def running(program: str, settings: dict[str, Any]) -> AsyncIterator[Any]:
    """A program, once it answers."""
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
        yield app
    finally:
        app.stop()
        await asyncio.wait_for(task, 60)


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


# --------------------------------------------------------------------------------- asking


async def of_call(call: Awaitable[Any]) -> str:
    """What a gRPC call came to; errors of a service behind the server mean that it was served."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return {
            grpc.StatusCode.UNAVAILABLE: HANDSHAKE,
            grpc.StatusCode.UNAUTHENTICATED: UNKNOWN,
            grpc.StatusCode.PERMISSION_DENIED: RIGHT,
        }.get(error.code(), SERVED)
    return SERVED


async def first(begin: Callable[[], Any], request: Any) -> Any:
    """The first answer to a request.

    A write to a call that the server has ended meanwhile ends it as INTERNAL in gRPC's client,
    which then does not know the server's status: it asks again.
    """
    for _ in range(10):
        call = begin()
        try:
            await call.write(request)
            return await call.read()
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.INTERNAL:
                raise
    raise AssertionError("ten calls ended as INTERNAL; expected the status of the server")


async def of_gateway(channel: grpc.aio.Channel, visitor: Visitor, right: str) -> str:
    stub, metadata = E2GatewayStub(channel), visitor.metadata
    if right == READ:
        return await of_call(stub.ListNodes(pb.ListNodesRequest(), metadata=metadata, timeout=30))
    if right == SUBSCRIBE:
        subscribe = pb.SubscribeRequest(subscribe=pb.Subscription(node_id="south-1"))
        return await of_call(
            first(partial(stub.Subscribe, metadata=metadata, timeout=30), subscribe)
        )
    control = pb.ControlRequest(node_id="south-1")
    return await of_call(first(partial(stub.Control, metadata=metadata, timeout=30), control))


async def of_forecaster(channel: grpc.aio.Channel, visitor: Visitor, right: str) -> str:
    stub = ForecasterStub(channel)
    bad = forecast_pb2.ForecastRequest(node_id="south-1", quantiles=[2.0])
    if right == READ:
        return await of_call(stub.Predict(bad, metadata=visitor.metadata, timeout=30))
    return await of_call(stub.Subscribe(bad, metadata=visitor.metadata, timeout=30).read())


async def of_http(
    session: aiohttp.ClientSession, address: str, visitor: Visitor, path: str, method: str = "GET"
) -> tuple[str, str]:
    """What a request came to, and the body."""
    scheme = "http" if visitor.plain else "https"
    try:
        async with session.request(
            method, f"{scheme}://{address}{path}", headers=dict(visitor.metadata)
        ) as answer:
            body = await answer.text()
    except (aiohttp.ClientError, ConnectionError):
        return HANDSHAKE, ""
    kind = {401: UNKNOWN, 403: RIGHT}.get(answer.status, SERVED)
    assert (kind == UNKNOWN) == (answer.headers.get("WWW-Authenticate") == "Bearer")
    return kind, body


OTHER_NAMES = (
    "CN beside other names",
    "NUL in a DNS name",
    "NUL in a URI",
    "NUL in the CN",
)
"""A name of a client only by its beginning, or where it does not count."""
Ask = Callable[[str, Visitor, str], Awaitable[str]]

GRPC = {
    "all": {READ: SERVED, SUBSCRIBE: SERVED, CONTROL: SERVED},
    "south": {READ: SERVED, SUBSCRIBE: SERVED, CONTROL: SERVED},
    "reader": {READ: SERVED, SUBSCRIBE: RIGHT, CONTROL: RIGHT},
    "CN alone": {READ: SERVED, SUBSCRIBE: SERVED, CONTROL: SERVED},
    **{
        name: dict.fromkeys((READ, SUBSCRIBE, CONTROL), UNKNOWN)
        for name in ("unlisted", "certificate, wrong token", *OTHER_NAMES)
    },
    **{
        name: dict.fromkeys((READ, SUBSCRIBE, CONTROL), HANDSHAKE)
        for name in ("expired", "other CA", "nothing", "token", "wrong token", "plain text")
    },
}
HTTP = {
    **{name: {READ: SERVED, CONTROL: SERVED} for name in ("all", "CN alone")},
    # A policy applies to bearers of all nodes.
    "south": {READ: SERVED, CONTROL: RIGHT},
    **{name: {READ: SERVED, CONTROL: RIGHT} for name in ("reader", "token")},
    **{
        name: {READ: UNKNOWN, CONTROL: UNKNOWN}
        for name in ("unlisted", "certificate, wrong token", "nothing", "wrong token", *OTHER_NAMES)
    },
    **{
        name: {READ: HANDSHAKE, CONTROL: HANDSHAKE}
        for name in ("expired", "other CA", "plain text")
    },
}


@pytest.mark.parametrize("program", ["bridge", "forecaster"])
async def test_who_may_do_what_over_grpc(program: str, world: World) -> None:
    rights = (READ, SUBSCRIBE, CONTROL) if program == "bridge" else (READ, SUBSCRIBE)
    ask = of_gateway if program == "bridge" else of_forecaster
    server = world.server_settings()
    found: dict[str, dict[str, str]] = {}
    async with running(program, {"server": server, "http": {"listen": ""}, "access": world.access}):
        for name, visitor in world.visitors.items():
            async with world.channel(server["listen"], visitor) as channel:
                found[name] = {right: await ask(channel, visitor, right) for right in rights}
    assert found == {name: {r: row[r] for r in rights} for name, row in GRPC.items()}
    lines = [json.loads(line) for line in world.audit.read_text().splitlines()]
    assert {line["who"] for line in lines if line["action"] == "refused"} >= {
        "reader",
        "certificate unlisted, localhost",
        r"certificate all\x00.evil.example",
    }


@pytest.mark.parametrize("program", ["bridge", "forecaster", "controller"])
async def test_who_may_read_metrics_and_that_probes_are_open(program: str, world: World) -> None:
    http = world.server_settings()
    settings = {"http": http, "access": world.access}
    if program != "controller":
        settings["server"] = world.server_settings()
    found: dict[str, str] = {}
    async with running(program, settings):
        for name, visitor in world.visitors.items():
            connector = aiohttp.TCPConnector(ssl=world.context(visitor))
            async with aiohttp.ClientSession(connector=connector) as session:
                found[name], body = await of_http(session, http["listen"], visitor, "/metrics")
                assert ("sojourn_tls_certificate_not_after_seconds" in body) == (
                    found[name] == SERVED
                )
                for probe in ("/healthz", "/readyz"):
                    probed, _ = await of_http(session, http["listen"], visitor, probe)
                    assert probed == (HANDSHAKE if found[name] == HANDSHAKE else SERVED)
    assert found == {name: row[READ] for name, row in HTTP.items()}


async def test_who_may_read_and_change_a1_policies(world: World) -> None:
    a1 = world.server_settings()
    root = "/A1-P/v2/policytypes"
    found: dict[str, dict[str, str]] = {}
    settings = {"http": {"listen": ""}, "access": world.access, "a1": a1}
    async with running("controller", settings):
        for name, visitor in world.visitors.items():
            connector = aiohttp.TCPConnector(ssl=world.context(visitor))
            async with aiohttp.ClientSession(connector=connector) as session:
                policy = f"{root}/ORAN_QoSTarget_6.0.0/policies/p"
                found[name] = {
                    READ: (await of_http(session, a1["listen"], visitor, root))[0],
                    CONTROL: (await of_http(session, a1["listen"], visitor, policy, "DELETE"))[0],
                }
    assert found == HTTP
    lines = [json.loads(line) for line in world.audit.read_text().splitlines()]
    changed = [line for line in lines if line["action"] == "a1_delete"]
    assert [(line["who"], line["what"]) for line in changed] == [("all", policy)] * 2
    assert {line["outcome"] for line in changed} == {"rejected: 404"}
