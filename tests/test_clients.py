"""Clients over TLS: renewed certificates and tokens, rights that are taken away, node filters."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from e2_gateway_server import SERVICE, AuthorizedBackend, GatewayService
from flexric_bridge.gateway import describe_control
from pki import Authority
from prometheus_client import CollectorRegistry
from ric import E2GatewayClient
from ric.access import Caller
from ric.clock import SystemClock
from ric.errors import AccessDenied, GatewayUnavailable
from ric.gateway import GrpcLink
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security
from ric.settings import AccessSettings, GatewaySettings
from ric.sm import RLC_OID, TC_V1_OID, rlc, tc
from ric.testing import FakeRic
from ric.testing.fake_server import FakeRicBackend
from rlc_forecaster.core import Layout
from rlc_forecaster.hub import Hub
from rlc_forecaster.service import ForecastServer
from rlc_forecaster.settings import ForecastServerSettings
from tc_controller.forecasts import follow_forecasts
from tc_controller.settings import ForecastsSettings

ACCESS = """
clients:
  - {name: controller, certificates: [xapp], may: [read, subscribe, control], nodes: ["gnb-1*"]}
  - {name: token, token_file: known.token, may: [read, subscribe]}
"""
TOKEN = "0123456789abcdef0123456789abcdef"
PATIENCE_S = 60.0


class Gateway:
    """A `FakeRic` behind a protected server on a port that stays."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.ric = FakeRic()
        self.ca = Authority(where)
        self.ca.issue("server", dns=("localhost",))
        self.ca.issue("xapp")
        (where / "access.yaml").write_text(ACCESS)
        for name in ("known.token", "xapp.token"):
            (where / name).write_text(TOKEN)
        self.port = 0
        self.security = Security()
        self._server: GrpcServer | None = None

    async def start(self, *, client_ca: bool = True) -> None:
        self.security = Security(
            AccessSettings(file=self.where / "access.yaml", audit_file=self.where / "audit.jsonl"),
            CollectorRegistry(),
        )
        backend = FakeRicBackend(self.ric)

        def authorize(caller: Caller) -> AuthorizedBackend:
            return AuthorizedBackend(backend, caller, describe_control)

        settings = GrpcServerSettings(
            listen=f"localhost:{self.port}",
            certificate_file=self.where / "server.pem",
            key_file=self.where / "server.key",
            client_ca_file=self.where / "ca.pem" if client_ca else None,
        )
        self._server = GrpcServer(
            SERVICE,
            GatewayService(backend, authorize=authorize).handlers(),
            settings,
            security=self.security,
        )
        self.port = self._server.port
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
            self.security.close()

    def settings(self, **more: Any) -> GatewaySettings:
        tls = {
            "enabled": True,
            "ca_file": self.where / "ca.pem",
            "certificate_file": self.where / "xapp.pem",
            "key_file": self.where / "xapp.key",
        }
        return GatewaySettings.model_validate(
            {
                "address": f"localhost:{self.port}",
                "tls": tls,
                "backoff_initial_s": 0.01,
                "backoff_max_s": 0.05,
                "connect_timeout_s": 5.0,
                **more,
            }
        )

    def by_token(self) -> GatewaySettings:
        tls = {"enabled": True, "ca_file": self.where / "ca.pem"}
        return self.settings(tls=tls, token_file=self.where / "xapp.token")

    def audit(self) -> list[dict[str, str]]:
        text = (self.where / "audit.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    gateway = Gateway(tmp_path)
    gateway.ric.add_node("gnb-1", RLC_OID, TC_V1_OID)
    gateway.ric.add_node("other", RLC_OID)
    yield gateway
    await gateway.stop()


@asynccontextmanager
async def link_to(settings: GatewaySettings) -> AsyncIterator[GrpcLink]:
    link = GrpcLink(settings)
    try:
        yield link
    finally:
        await link.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_client_takes_renewed_certificates_when_it_connects_again(
    gateway: Gateway, tmp_path: Path
) -> None:
    """The authority changes on both sides; the client is not restarted."""
    await gateway.start()
    async with E2GatewayClient(gateway.settings()) as client:
        await until(lambda: client.connected)
        elsewhere = tmp_path / "new"
        elsewhere.mkdir()
        new = Authority(elsewhere)
        new.issue("server", dns=("localhost",))
        new.issue("xapp")
        await gateway.stop()
        await until(lambda: not client.connected)
        for path in elsewhere.iterdir():
            shutil.copy(path, tmp_path / path.name)
        await gateway.start()
        await until(lambda: client.connected)


async def test_a_token_is_read_at_each_call(gateway: Gateway, tmp_path: Path) -> None:
    await gateway.start(client_ca=False)
    async with link_to(gateway.by_token()) as link:
        assert {node.id for node in await link.list_nodes()} == {"gnb-1", "other"}
        (tmp_path / "xapp.token").write_text(TOKEN[::-1])
        with pytest.raises(AccessDenied, match="unknown client: token not known"):
            await link.list_nodes()
        (tmp_path / "xapp.token").write_text(TOKEN)
        assert len(await link.list_nodes()) == 2
        (tmp_path / "xapp.token").unlink()
        with pytest.raises(GatewayUnavailable, match=r"gateway\.token_file: .*; expected"):
            await link.list_nodes()


async def test_other_nodes_are_neither_listed_nor_watched_nor_used(gateway: Gateway) -> None:
    await gateway.start()
    async with link_to(gateway.settings()) as link:
        assert [node.id for node in await link.list_nodes()] == ["gnb-1"]
        async with aclosing(link.watch_nodes()) as events:
            assert (await anext(events)).node.id == "gnb-1"
            gateway.ric.add_node("other-2", RLC_OID)
            gateway.ric.add_node("gnb-12", RLC_OID)
            assert (await anext(events)).node.id == "gnb-12"
        with pytest.raises(AccessDenied, match="client controller: no access to node other"):
            await link.control("other", TC_V1_OID, b"", b"", 10)
        async with E2GatewayClient(gateway.settings()) as client:
            await client.wait_for_node("gnb-1")
            assert "other" not in {node.id for node in client.nodes}
    (line,) = [line for line in gateway.audit() if line["action"] == "refused"]
    assert (line["who"], line["node"]) == ("controller", "other")


async def test_a_subscription_ends_when_its_right_is_taken_and_comes_back_with_it(
    gateway: Gateway, tmp_path: Path
) -> None:
    await gateway.start()
    node = gateway.ric.add_node("gnb-11", RLC_OID)
    report = rlc.encode(rlc.zeros(1), 1)
    async with E2GatewayClient(gateway.settings()) as client:
        stream = client.subscribe("gnb-11", RLC_OID, rlc.event_trigger(1))
        async with aclosing(stream), asyncio.timeout(PATIENCE_S):

            async def reported() -> int:
                waiting = asyncio.ensure_future(anext(stream))
                while not waiting.done():
                    node.report(RLC_OID, report)
                    await asyncio.sleep(0.01)
                return (await waiting).subscription

            assert await reported() == 1
            (tmp_path / "access.yaml").write_text(ACCESS.replace("subscribe, control", "control"))
            gateway.security.check()
            await until(lambda: not gateway.ric.subscriptions)
            (tmp_path / "access.yaml").write_text(ACCESS)
            gateway.security.check()
            # Reports of before may still be queued.
            while await reported() == 1:
                pass


async def test_controls_are_audited_with_client_node_bearer_and_outcome(gateway: Gateway) -> None:
    await gateway.start()
    transaction = {
        "bearer": {"ue": {"rnti": 17}, "drb": 1},
        "dry_run": True,
        "as_safe": False,
        "expected_revision": None,
        "lease_ms": None,
        "owner": None,
        "change": {"safe": None},
    }
    message = tc.encode("control", {"transaction": transaction})
    async with link_to(gateway.settings()) as link:
        await link.control("gnb-1", TC_V1_OID, b"header", message, 10)
        await link.control("gnb-1", TC_V1_OID, b"", b"not TC", 10)
    lines = [line for line in gateway.audit() if line["action"] == "control"]
    assert [(line["who"], line["node"], line["outcome"]) for line in lines] == [
        ("controller", "gnb-1", "accepted")
    ] * 2
    assert lines[0]["what"].startswith("transaction UE 0x0011 DRB 1, sha256 ")
    assert lines[1]["what"].startswith("not decodable, sha256 ")
    assert lines[0]["peer"].rpartition(":")[0] in ("127.0.0.1", "[::1]")


async def test_the_controller_follows_forecasts_by_tls_and_token(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    pem, key = ca.issue("server", dns=("localhost",))
    (tmp_path / "access.yaml").write_text(ACCESS)
    (tmp_path / "known.token").write_text(TOKEN)
    hub = Hub(Layout(), SystemClock())
    serving = ForecastServerSettings(listen="localhost:0", certificate_file=pem, key_file=key)
    registry = CollectorRegistry()
    security = Security(AccessSettings(file=tmp_path / "access.yaml"), registry)
    server = ForecastServer(hub, serving, security, oldest_s=1, period_ms=1)
    await server.start()
    settings = ForecastsSettings.model_validate(
        {
            "address": f"localhost:{server.port}",
            "tls": {"enabled": True, "ca_file": ca.file},
            "token_file": tmp_path / "known.token",
        }
    )
    following = asyncio.create_task(follow_forecasts(settings, SystemClock(), lambda _: None))
    try:
        await until(lambda: hub.consumers == 1)
        (tmp_path / "access.yaml").write_text(ACCESS.replace("subscribe]", "control]"))
        security.check()
        await until(
            lambda: (
                registry.get_sample_value(
                    "sojourn_access_refused_total", {"server": "grpc", "reason": "right"}
                )
                == 1
            )
        )
        hub.publish(empty_batch())
        await until(lambda: hub.consumers == 0)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await server.stop()


def empty_batch() -> Any:
    """A batch of a node without bearers."""

    class Empty:
        node_id = "gnb-1"

    return Empty()
