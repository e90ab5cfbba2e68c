"""The doctor against gateways with one fault each: its findings, and no subscriptions left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pki import Authority
from prometheus_client import CollectorRegistry
from ric.cli import ric as ric_cli
from ric.clock import SystemClock
from ric.e2 import ControlAnswer, Indication, KpmReport, SubscriptionRequest
from ric.errors import AccessDenied, NodeGone, SettingsError
from ric.gateway import GrpcLink
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.health import Readiness, add_health_routes
from ric.http import HttpServer
from ric.security import Security
from ric.settings import AccessSettings, GatewaySettings, HttpSettings, TlsSettings
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, mac, rlc, tc
from ric.testing import FakeGatewayServer, FakeNode, FakeRic
from ric_doctor.facts import Facts, PortState, Tried
from ric_doctor.finding import Finding, Level
from ric_doctor.judge import judge
from ric_doctor.probe import DoctorSettings, Patience, examine
from ric_doctor.probe.endpoint import HttpClient, url_of
from ric_doctor.probe.examine import ForecasterSettings
from ric_doctor.probe.node import Periods
from ric_doctor.probe.port import check_port
from sojourn_interfaces import forecast_pb2 as forecast

pytestmark = pytest.mark.skipif(not tc.available(), reason="the module e2sm_tc is not built")

QUICK = Patience(1.0, 4, None, Periods(10, 10, 20, 20))
PATIENT = Patience(3.0, 4, None, QUICK.periods)
"""Patience with reports that must arrive, on a loaded machine as well."""
PLAIN = TlsSettings()
STATUS = {
    "bearer": {"ue": {"rnti": 17}, "drb": 1},
    "revision": 4,
    "name": "transparent",
    "safe": True,
    "lease_left_ms": None,
    "head_of_line_age_us": 0,
    "queues": [],
    "pacer": {
        "drain_kbps": 1,
        "rlc_occupancy_bytes": 1,
        "forwarded_bytes": 1,
        "limit_bytes": None,
        "by_forecast": None,
    },
    "ingress_packets": 1,
    "ingress_bytes": 1,
    "dropped_packets": 0,
}
STATUS_MESSAGE = {"pipeline_status": [STATUS]}
INVENTORY_MESSAGE = {
    "flow_inventory": [
        {"bearer": STATUS["bearer"], "active_flows": 0, "window_ms": 100, "flows": []}
    ]
}


def accepting(revision: int = 4) -> Callable[[bytes, bytes], ControlAnswer]:
    outcome = tc.encode("control-outcome", {"accepted": {"revision": revision, "lease_ms": None}})
    return lambda header, message: ControlAnswer(True, outcome)


def reporting(
    node: FakeNode,
    oid: str,
    message: bytes,
    *,
    every_ms: int = 10,
    collected_at: Callable[[int], int] | None = None,
    style: str = "",
) -> None:
    """Report until the node is gone; `collected_at` maps our time to the time of collection."""

    def wanted(request: SubscriptionRequest) -> bool:
        if not style:
            return True
        return bool(tc.decode("action-definition", request.actions[0])["style"] == style)

    async def source() -> None:
        while True:
            now_us = SystemClock().now_us()
            at_us = now_us if collected_at is None else collected_at(now_us)
            kpm = KpmReport(every_ms) if oid == KPM_OID else None
            node.report(oid, message, kpm=kpm, collected_at_us=at_us, to=wanted)
            await asyncio.sleep(every_ms / 1000)

    node.sources.append(asyncio.get_running_loop().create_task(source()))


def whole_node(ric: FakeRic, name: str = "gnb-1") -> FakeNode:
    """A healthy node."""
    node = ric.add_node(name, RLC_OID, MAC_OID, KPM_OID, TC_V1_OID)
    reporting(node, RLC_OID, rlc.encode(rlc.zeros(1), SystemClock().now_us()))
    reporting(node, MAC_OID, mac.encode(mac.zeros(1), SystemClock().now_us()))
    reporting(node, KPM_OID, b"")
    for message in (INVENTORY_MESSAGE, STATUS_MESSAGE):
        (style,) = message
        reporting(node, TC_V1_OID, tc.encode("indication", message), style=style)
    node.on_control(TC_V1_OID, accepting())
    return node


@pytest.fixture
async def ric() -> AsyncIterator[FakeRic]:
    fake = FakeRic(clock=SystemClock())
    yield fake
    for node in fake.nodes():
        fake.remove_node(node.id)


async def examined(
    gateway: str, patience: Patience = QUICK, **settings: Any
) -> tuple[Facts, list[Finding]]:
    connection = GatewaySettings(address=gateway, connect_timeout_s=1.0, control_timeout_s=0.4)
    facts = await examine(DoctorSettings(gateway=connection, **settings), patience)
    return facts, judge(facts)


async def examined_fake(
    ric: FakeRic, patience: Patience = QUICK, **settings: Any
) -> tuple[Facts, list[Finding]]:
    """Findings; asserts that no subscription is left at the gateway."""
    async with FakeGatewayServer(ric) as server:
        facts, findings = await examined(server.address, patience, **settings)
        async with asyncio.timeout(10):
            while ric.subscriptions:
                await asyncio.sleep(0.01)
        return facts, findings


def found(findings: list[Finding], check: str, subject: str = "") -> list[str]:
    """Warnings and failures of one check."""
    return [
        f"{f.level.value}: {f.what}"
        for f in findings
        if f.check == check and subject in f.subject and f.level not in (Level.OK, Level.NOTE)
    ]


# -------------------------------------------------------------------- in order


async def test_a_healthy_gateway_is_examined_completely(ric: FakeRic) -> None:
    whole_node(ric)
    facts, findings = await examined_fake(ric, PATIENT)
    assert facts.gateway.usable
    assert [stream.received > 1 for stream in facts.streams] == [True] * 5
    assert [stream.undecodable for stream in facts.streams] == [0] * 5
    (tried,) = facts.dry_runs
    assert (tried.tried, tried.bearer, tried.revision) == (Tried.ACCEPTED, "rnti 17 drb 1", 4)
    for check in ("nodes", "functions"):
        assert not found(findings, check), check


async def test_the_control_that_is_tried_changes_nothing(ric: FakeRic) -> None:
    whole_node(ric)
    await examined_fake(ric)
    (control,) = ric.controls
    message = tc.decode("control", control.message)["transaction"]
    assert message == {
        "bearer": STATUS["bearer"],
        "expected_revision": 4,
        "lease_ms": None,
        "owner": None,
        "dry_run": True,
        "as_safe": False,
        "change": "safe",
    }


async def test_a_pipeline_that_is_not_the_safe_one_keeps_name_and_lease(ric: FakeRic) -> None:
    node = whole_node(ric)
    node.sources.pop().cancel()
    status = {**STATUS, "name": "fq_codel", "safe": False, "lease_left_ms": 700}
    message = tc.encode("indication", {"pipeline_status": [status]})
    reporting(node, TC_V1_OID, message, style="pipeline_status")
    await examined_fake(ric)
    transaction = tc.decode("control", ric.controls[0].message)["transaction"]
    assert transaction["dry_run"] is True
    assert transaction["lease_ms"] == 700
    assert transaction["change"] == {"delta": [{"set_name": "fq_codel"}]}


async def test_the_number_of_examined_nodes_is_limited(ric: FakeRic) -> None:
    for name in ("a", "b", "c"):
        ric.add_node(name, RLC_OID)
    patience = Patience(0.1, 2)
    async with FakeGatewayServer(ric) as server:
        facts, _ = await examined(server.address, patience)
        assert facts.passed_over == ("c",)
        one, findings = await examined(server.address, Patience(0.1, 2, "c"))
        assert {stream.node_id for stream in one.streams} == {"c"}
        none, findings = await examined(server.address, Patience(0.1, 2, "d"))
        assert not none.streams
        assert found(findings, "nodes") == ["fail: the gateway has no node with this id"]


# ---------------------------------------------------------------- faulty nodes


async def test_no_nodes(ric: FakeRic) -> None:
    _, findings = await examined_fake(ric)
    assert found(findings, "nodes") == ["fail: the gateway has no E2 node"]


async def test_a_node_that_accepts_and_sends_nothing(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID, MAC_OID, TC_V1_OID).on_control(TC_V1_OID, accepting())
    _, findings = await examined_fake(ric)
    assert found(findings, "reports", "rlc")[0].startswith("fail: none within")
    assert found(findings, "reports", "mac")[0].startswith("warn: none within")
    assert found(findings, "control") == [
        "warn: a dry run was accepted for a bearer that cannot exist"
    ]


async def test_stale_reports(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    then_us = SystemClock().now_us()
    message = rlc.encode(rlc.zeros(1), then_us)
    reporting(node, RLC_OID, message, collected_at=lambda now_us: then_us)
    _, findings = await examined_fake(ric)
    (what,) = found(findings, "fresh", "gnb-1")
    assert " old, by its clock" in what


async def test_a_node_whose_clock_is_behind(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    message = rlc.encode(rlc.zeros(1), 0)
    reporting(node, RLC_OID, message, collected_at=lambda now_us: now_us - 7_000_000)
    _, findings = await examined_fake(ric)
    (what,) = found(findings, "fresh", "gnb-1")
    assert what.startswith("fail: its reports are 7.0")
    assert not any("ahead" in what for what in found(findings, "fresh", "gateway"))


class _Ahead(SystemClock):
    def now_us(self) -> int:
        return super().now_us() + 90_000_000


async def test_a_gateway_whose_clock_is_ahead() -> None:
    fake = FakeRic(clock=_Ahead())
    node = fake.add_node("gnb-1", RLC_OID)
    reporting(node, RLC_OID, rlc.encode(rlc.zeros(1), 0))
    _, findings = await examined_fake(fake)
    (what,) = found(findings, "fresh", "gateway")
    assert "ahead of ours by at least" in what
    assert not any("ahead" in what for what in found(findings, "fresh", "gnb-1"))
    fake.remove_node("gnb-1")


async def test_garbage_bytes(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID, MAC_OID, TC_V0_OID, TC_V1_OID)
    for oid in (RLC_OID, MAC_OID, TC_V0_OID, TC_V1_OID):
        reporting(node, oid, b"\xde\xad\xbe\xef" * 5)
    node.on_control(TC_V1_OID, lambda header, message: ControlAnswer(True, b"\xff" * 7))
    _, findings = await examined_fake(ric)
    for name in ("rlc", "mac", "tc_v1", "tc_v1 flow_inventory"):
        assert "100 % do not decode" in found(findings, "reports", name)[0]
    assert found(findings, "control")[0].startswith("fail: the answer to a dry run is not")
    assert found(findings, "definition")[0].startswith("warn: the RAN function definition does not")


@pytest.mark.parametrize(
    ("outcome", "text_in"),
    [
        (
            {"cause": "unsupported", "element": "name", "detail": "no", "revision": 4},
            "fail: a dry run that changes nothing is refused (unsupported at name: no)",
        ),
        ({"cause": "stale_revision", "element": "", "detail": "", "revision": 9}, None),
    ],
)
async def test_tc_that_refuses(ric: FakeRic, outcome: dict[str, Any], text_in: str | None) -> None:
    node = whole_node(ric)
    answer = tc.encode("control-outcome", {"refused": outcome})
    node.on_control(TC_V1_OID, lambda header, message: ControlAnswer(True, answer))
    facts, findings = await examined_fake(ric)
    assert facts.dry_runs[0].cause == outcome["cause"]
    assert found(findings, "control") == ([text_in] if text_in else [])
    assert len(ric.controls) == (1 if text_in else 2), "a stale revision is tried once more"


async def test_tc_that_fails_without_an_outcome(ric: FakeRic) -> None:
    whole_node(ric).on_control(TC_V1_OID, lambda h, m: ControlAnswer(False, b"", "budget spent"))
    _, findings = await examined_fake(ric)
    (what,) = found(findings, "control")
    assert what == "fail: a dry run failed without an outcome (budget spent)"


async def test_tc_that_does_not_answer(ric: FakeRic) -> None:
    async def never(header: bytes, message: bytes) -> ControlAnswer:
        await asyncio.sleep(600)
        raise AssertionError

    whole_node(ric).on_control(TC_V1_OID, never)
    facts, findings = await examined_fake(ric)
    assert facts.dry_runs[0].tried is Tried.TIMEOUT
    assert found(findings, "control")[0].startswith("fail: a dry run was not answered")


async def test_a_control_that_kills_the_node(ric: FakeRic) -> None:
    def disconnect(header: bytes, message: bytes) -> ControlAnswer:
        ric.remove_node("gnb-1")
        raise NodeGone("gnb-1")

    whole_node(ric).on_control(TC_V1_OID, disconnect)
    facts, findings = await examined_fake(ric)
    assert facts.dry_runs[0].tried is Tried.GONE
    assert {stream.ended for stream in facts.streams} == {"gone"}
    assert any("the node left" in what for what in found(findings, "reports", "rlc"))


async def test_refused_subscriptions(ric: FakeRic) -> None:
    whole_node(ric).refuse_subscriptions(RLC_OID, "1 ms is too often")
    _, findings = await examined_fake(ric)
    (what,) = found(findings, "reports", "rlc")
    assert "the subscription is refused" in what
    assert "1 ms is too often" in what


async def test_a_client_without_rights_to_a_node(
    ric: FakeRic, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_node(ric)

    async def denied(link: GrpcLink, *_: Any) -> ControlAnswer:
        raise AccessDenied(link.address, "operator lacks the right control")

    async def closed(link: GrpcLink, request: SubscriptionRequest) -> AsyncIterator[Indication]:
        raise AccessDenied(link.address, "operator lacks the right subscribe")
        yield

    monkeypatch.setattr(GrpcLink, "control", denied)
    monkeypatch.setattr(GrpcLink, "indications", closed)
    facts, findings = await examined_fake(ric)
    assert {stream.ended for stream in facts.streams} == {"denied"}
    assert facts.dry_runs[0].tried is Tried.DENIED
    (control,) = found(findings, "control")
    assert control.endswith("control the node (operator lacks the right control)")
    assert "(operator lacks the right subscribe)" in found(findings, "reports", "rlc")[0]


# ---------------------------------------------------------------- faulty servers


@asynccontextmanager
async def port_that(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    path: Path | None = None,
) -> AsyncIterator[str]:
    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await serve(reader, writer)
        writer.transport.abort()
        ended.set()

    ended = asyncio.Event()
    if path is None:
        server = await asyncio.start_server(one, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
    else:
        server = await asyncio.start_unix_server(one, path)
    try:
        yield f"{host}:{port}" if path is None else f"unix:{path}"
    finally:
        server.close()
        await ended.wait()


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1024):
        pass


async def _close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x01\x02SSH-2.0-something else\r\n")
    await reader.read(1024)


async def _short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1024)
    writer.write(b"\x00\x00")
    writer.close()


async def _web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1024)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@pytest.mark.parametrize(
    ("serve", "state"),
    [
        (_silent, PortState.SILENT),
        (_close, PortState.CLOSES),
        (_ssh, PortState.NOT_HTTP2),
        (_short, PortState.NOT_HTTP2),
        (_web, PortState.HTTP1),
    ],
)
async def test_ports_that_are_something_else(serve: Any, state: PortState) -> None:
    async with port_that(serve) as address:
        reach = await check_port(address, PLAIN, 0.3)
        assert reach.port is state
        by_tls = await check_port(address, TlsSettings(enabled=True), 0.3)
        assert by_tls.port in (
            PortState.SILENT,
            PortState.CLOSES,
            PortState.NOT_HTTP2,
            PortState.PLAIN_TEXT,
        )


async def test_a_half_open_port_is_reported_in_bounded_time() -> None:
    async with asyncio.timeout(30), port_that(_silent) as address:
        facts, findings = await examined(address)
        assert facts.nodes is None
        assert "the server sends nothing" in found(findings, "gateway")[0]


async def test_a_port_whose_backlog_is_full_does_not_answer() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = f"127.0.0.1:{full.getsockname()[1]}"
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(full.getsockname())
            waiting.append(one)
        reach = await check_port(address, PLAIN, 0.3)
        for one in waiting:
            one.close()
    assert reach.port is PortState.NO_ANSWER


async def test_a_port_without_a_listener() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    reach = await check_port(address, PLAIN, 1.0)
    assert (reach.port, reach.detail) == (PortState.REFUSED, "Connection refused")


async def test_a_name_that_does_not_resolve() -> None:
    reach = await check_port("no-such-host.invalid:1", PLAIN, 5.0)
    assert reach.port in (PortState.NAME_UNKNOWN, PortState.NO_ANSWER)
    assert reach.detail


async def test_a_unix_socket(ric: FakeRic, tmp_path: Path) -> None:
    absent = await check_port(f"unix:{tmp_path}/none", PLAIN, 1.0)
    assert absent.port is PortState.REFUSED
    async with port_that(_silent, tmp_path / "socket") as address:
        assert (await check_port(address, PLAIN, 0.2)).port is PortState.SILENT


async def test_another_grpc_server() -> None:
    async with forecaster("gnb-1") as address:
        facts, findings = await examined(address)
    assert facts.gateway.code == "UNIMPLEMENTED"
    assert "not an E2 gateway" in found(findings, "gateway")[0]


async def test_tls_and_plain_text_mixed_up(ric: FakeRic, certificates: Path) -> None:
    encrypted = partial(
        FakeGatewayServer,
        ric,
        certificate_file=certificates / "gateway.pem",
        key_file=certificates / "gateway.key",
    )
    right = TlsSettings(enabled=True, ca_file=certificates / "ca.pem", server_name="gateway")
    async with encrypted() as server:
        assert (await check_port(server.address, PLAIN, 2.0)).port is PortState.TLS_WANTED
        assert (await check_port(server.address, right, 2.0)).port is PortState.ANSWERS
        unknown_ca = await check_port(server.address, TlsSettings(enabled=True), 2.0)
        assert unknown_ca.port is PortState.CERTIFICATE
        assert unknown_ca.detail
        wrong_name = right.model_copy(update={"server_name": "other"})
        named = await check_port(server.address, wrong_name, 2.0)
        assert named.port is PortState.CERTIFICATE
        assert "other" in named.detail
    async with encrypted(client_ca_file=certificates / "ca.pem") as server:
        assert (await check_port(server.address, right, 2.0)).port is PortState.CLIENT_CERTIFICATE
        ours = right.model_copy(
            update={
                "certificate_file": certificates / "xapp.pem",
                "key_file": certificates / "xapp.key",
            }
        )
        assert (await check_port(server.address, ours, 2.0)).port is PortState.ANSWERS
    async with FakeGatewayServer(ric) as server:
        assert (await check_port(server.address, right, 2.0)).port is PortState.PLAIN_TEXT


# ------------------------------------------------------- forecaster, metrics


@asynccontextmanager
async def forecaster(node_id: str, *, silent: bool = False) -> AsyncIterator[str]:
    async def subscribe(_: Any, call: Any) -> None:
        while True:
            if not silent:
                await call.write(forecast.ForecastBatch(node_id=node_id).SerializeToString())
            await asyncio.sleep(0.01)

    server = GrpcServer(
        forecast.DESCRIPTOR.services_by_name["Forecaster"],
        {"Subscribe": ("subscribe", subscribe)},
        GrpcServerSettings(listen="127.0.0.1:0"),
        security=Security(),
    )
    await server.start()
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        await server.stop(0)


async def test_a_forecaster_that_forecasts(ric: FakeRic) -> None:
    async with forecaster("gnb-1") as address:
        facts, findings = await examined_fake(ric, forecaster=ForecasterSettings(address=address))
    assert facts.forecaster is not None
    assert facts.forecaster.usable
    assert not found(findings, "forecaster")


async def test_a_forecaster_that_sends_nothing(ric: FakeRic) -> None:
    async with forecaster("gnb-1", silent=True) as address:
        _, findings = await examined_fake(
            ric, Patience(0.3), forecaster=ForecasterSettings(address=address)
        )
    (what,) = found(findings, "forecaster")
    assert "sends no forecast (no forecast within 0.3 s)" in what


async def test_a_gateway_at_the_forecasters_address(ric: FakeRic) -> None:
    async with FakeGatewayServer(ric) as server:
        _, findings = await examined(
            server.address, forecaster=ForecasterSettings(address=server.address)
        )
    problems = found(findings, "forecaster")
    assert problems == ["fail: a gRPC server, but not a forecaster (Method not found!)"]


async def test_endpoints_that_answer_and_do_not(ric: FakeRic) -> None:
    server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security())
    add_health_routes(server, CollectorRegistry(), Readiness())
    address = await server.start()
    facts, findings = await examined_fake(
        ric, metrics=(address, f"http://{address}/nowhere", "[::1]:1")
    )
    await server.stop()
    assert facts.metrics[0].error == ""
    absent, refused = found(findings, "metrics")
    assert "HTTP 404" in absent
    assert "cannot be read" in refused


async def test_an_endpoint_that_wants_tls_and_a_token(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server", dns=("localhost",))
    (tmp_path / "doctor.token").write_text("0123456789abcdef0123456789abcdef")
    access = tmp_path / "access.yaml"
    access.write_text("clients: [{name: doctor, token_file: doctor.token, may: [read]}]")
    settings = HttpSettings(listen="localhost:0", certificate_file=certificate, key_file=key)
    server = HttpServer(settings, Security(AccessSettings(file=access)))
    add_health_routes(server, CollectorRegistry(), Readiness())
    url = url_of(f"https://localhost:{(await server.start()).rpartition(':')[2]}/metrics")
    trusting = TlsSettings(ca_file=authority.file)
    try:
        with_token = HttpClient(trusting, tmp_path / "doctor.token")
        assert (await with_token.reach(url, 20.0)).error == ""
        unknown = await HttpClient(trusting, None).reach(url, 20.0)
        assert unknown.error == "HTTP 401: unknown client: no certificate and no token"
        untrusted = await HttpClient(PLAIN, None).reach(url, 20.0)
        assert "certificate verify failed" in untrusted.error
    finally:
        await server.stop()
    with pytest.raises(SettingsError, match=r"http\.token_file: .*; expected a readable file"):
        HttpClient(trusting, tmp_path / "absent")


def test_variables_of_the_program_beside_it_are_not_taken_for_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor has a section `http` too, of clients."""
    monkeypatch.setenv("SOJOURN_HTTP__LISTEN", "127.0.0.1:1")
    assert ric_cli.main(["doctor", "--gateway", "127.0.0.1:1", "--json"]) == 2
    findings = json.loads(capsys.readouterr().out)["findings"]
    subjects = {f["subject"] for f in findings if f["check"] == "metrics"}
    assert subjects == {"http://localhost:1/metrics", "http://localhost:1/readyz"}


@pytest.mark.parametrize("given", ["ftp://x", "h:1,unix:///run/m"])
def test_a_metrics_endpoint_of_another_scheme_is_refused(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ric_cli.main(["doctor", "--gateway", "127.0.0.1:1", "--metrics", given]) == 2
    assert "; expected http, https or host:port\n" in capsys.readouterr().err


async def test_an_endpoint_without_http() -> None:
    async with port_that(_ssh) as address:
        assert (await HttpClient(PLAIN, None).reach(url_of(address), 1.0)).error


# ------------------------------------------------------------------ the program


async def test_the_program_prints_and_exits(
    ric: FakeRic, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeGatewayServer(ric) as server:
        arguments = ["doctor", "--gateway", server.address, "--seconds", "0.2"]
        assert await asyncio.to_thread(ric_cli.main, arguments) == 2
        assert "What to do: Start the gNB's E2 agent" in capsys.readouterr().out
        assert await asyncio.to_thread(ric_cli.main, [*arguments, "--json"]) == 2
        shown = json.loads(capsys.readouterr().out)
        assert shown["status"] == 2
        assert [f["level"] for f in shown["findings"]] == ["ok", "fail"]


@pytest.mark.parametrize(
    "arguments",
    [["--gateway", "10.0.0.1:1"], ["--forecaster", "10.0.0.1:1"], ["--forecaster", "nonsense"]],
)
def test_invalid_settings_are_reported_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ric_cli.main(["doctor", *arguments]) == 2
    assert "expected" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--seconds", "0"], ["--seconds", "nan"], ["--nodes", "0"]])
def test_arguments_out_of_range(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ric_cli.main(["doctor", *arguments])
    assert ended.value.code == 2
    assert "expected" in capsys.readouterr().err
