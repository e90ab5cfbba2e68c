"""Every server of every program with TLS and an access file: who gets in, and with what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from guarded_programs import Visitor, World, running
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces import forecast_pb2
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

READ, SUBSCRIBE, CONTROL = "read", "subscribe", "control"
HANDSHAKE, UNKNOWN, RIGHT, SERVED = "handshake", "unknown", "right", "served"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# --------------------------------------------------------------------------------- asking


def of_call(call: Callable[[], Any]) -> str:
    """What a gRPC call came to; errors of a service behind the server mean that it was served."""
    try:
        call()
    except grpc.RpcError as error:
        return {
            grpc.StatusCode.UNAVAILABLE: HANDSHAKE,
            grpc.StatusCode.UNAUTHENTICATED: UNKNOWN,
            grpc.StatusCode.PERMISSION_DENIED: RIGHT,
        }.get(error.code(), SERVED)
    return SERVED


def of_gateway(channel: Any, visitor: Visitor, right: str) -> str:
    stub: Any = E2GatewayStub(channel)
    given: dict[str, Any] = {"metadata": visitor.metadata, "timeout": 30}
    if right == READ:
        return of_call(lambda: stub.ListNodes(pb.ListNodesRequest(), **given))
    if right == SUBSCRIBE:
        subscribe = pb.SubscribeRequest(subscribe=pb.Subscription(node_id="south-1"))
        return of_call(lambda: next(stub.Subscribe(iter([subscribe]), **given), None))
    control = pb.ControlRequest(node_id="south-1")
    return of_call(lambda: next(stub.Control(iter([control]), **given), None))


def of_forecaster(channel: Any, visitor: Visitor, right: str) -> str:
    stub: Any = ForecasterStub(channel)
    bad = forecast_pb2.ForecastRequest(node_id="south-1", quantiles=[2.0])
    given: dict[str, Any] = {"metadata": visitor.metadata, "timeout": 30}
    if right == READ:
        return of_call(lambda: stub.Predict(bad, **given))
    return of_call(lambda: next(stub.Subscribe(bad, **given), None))


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


@pytest.mark.parametrize("program", ["gnb-lab", "bridge", "forecaster"])
async def test_who_may_do_what_over_grpc(program: str, world: World) -> None:
    rights = (READ, SUBSCRIBE) if program == "forecaster" else (READ, SUBSCRIBE, CONTROL)
    ask = of_forecaster if program == "forecaster" else of_gateway
    server = world.server_settings()
    found: dict[str, dict[str, str]] = {}
    async with running(
        program, {"server": server, "http": {"listen": ""}, "access": world.access}, world.where
    ):
        for name, visitor in world.visitors.items():
            with world.blocking_channel(server["listen"], visitor) as channel:
                found[name] = {
                    right: await asyncio.to_thread(ask, channel, visitor, right) for right in rights
                }
    assert found == {name: {r: row[r] for r in rights} for name, row in GRPC.items()}
    lines = [json.loads(line) for line in world.audit.read_text().splitlines()]
    assert {line["who"] for line in lines if line["action"] == "refused"} >= {
        "reader",
        "certificate unlisted, localhost",
        r"certificate all\x00.evil.example",
    }


@pytest.mark.parametrize("program", ["gnb-lab", "bridge", "forecaster", "controller"])
async def test_who_may_read_metrics_and_that_probes_are_open(program: str, world: World) -> None:
    http = world.server_settings()
    settings = {"http": http, "access": world.access}
    if program != "controller":
        settings["server"] = world.server_settings()
    found: dict[str, str] = {}
    async with running(program, settings, world.where):
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


async def test_who_may_see_the_live_page(world: World) -> None:
    """Its files hold no data: a browser loads them before it can ask for a token."""
    http = world.server_settings()
    found: dict[str, str] = {}
    async with running("controller", {"http": http, "access": world.access}, world.where):
        for name, visitor in world.visitors.items():
            connector = aiohttp.TCPConnector(ssl=world.context(visitor))
            async with aiohttp.ClientSession(connector=connector) as session:
                of = partial(of_http, session, http["listen"], visitor)
                found[name], _ = await of("/live/events", "HEAD")
                assert (await of("/live/history?bearer=x"))[0] == found[name]
                page, body = await of("/live/")
                assert page == (HANDSHAKE if found[name] == HANDSHAKE else SERVED)
                assert ("<title>" in body) == (page == SERVED)
    assert found == {name: row[READ] for name, row in HTTP.items()}


async def test_who_may_read_and_change_a1_policies(world: World) -> None:
    a1 = world.server_settings()
    root = "/A1-P/v2/policytypes"
    found: dict[str, dict[str, str]] = {}
    settings = {"http": {"listen": ""}, "access": world.access, "a1": a1}
    async with running("controller", settings, world.where):
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
