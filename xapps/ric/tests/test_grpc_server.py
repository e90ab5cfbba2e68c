"""A server's TLS: files that change while it runs, and files that cannot be used."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography import x509
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numbers_service import COUNT, SERVICE, Numbers, stream
from pki import Authority
from prometheus_client import CollectorRegistry, generate_latest
from pydantic import ValidationError
from ric.errors import SettingsError
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.health import Readiness, add_health_routes
from ric.http import HttpServer
from ric.security import Security
from ric.settings import (
    AccessSettings,
    ClientSettings,
    HttpSettings,
    ServiceSettings,
    TlsSettings,
)
from structlog.testing import capture_logs


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    authority = Authority(tmp_path)
    authority.issue("server", dns=("localhost",))
    authority.issue("client")
    return authority


def files(where: Path, **more: object) -> dict[str, object]:
    return {
        "listen": "localhost:0",
        "certificate_file": where / "server.pem",
        "key_file": where / "server.key",
        "client_ca_file": where / "ca.pem",
        **more,
    }


def channel(port: int, where: Path, client: str = "client", ca: str = "ca") -> grpc.aio.Channel:
    credentials = grpc.ssl_channel_credentials(
        (where / f"{ca}.pem").read_bytes(),
        (where / f"{client}.key").read_bytes(),
        (where / f"{client}.pem").read_bytes(),
    )
    local = (("grpc.use_local_subchannel_pool", 1),)
    return grpc.aio.secure_channel(f"localhost:{port}", credentials, local)


async def served(opened: grpc.aio.Channel) -> bool:
    """Whether the health service answers."""
    async with opened:
        stub = health_pb2_grpc.HealthStub(opened)
        try:
            await stub.Check(health_pb2.HealthCheckRequest(), timeout=20)
        except grpc.aio.AioRpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE
            return False
        return True


@pytest.fixture
async def guarded(authority: Authority) -> AsyncIterator[tuple[GrpcServer, Security]]:
    settings = GrpcServerSettings.model_validate(files(authority.where))
    security = Security(registry=CollectorRegistry())
    server = GrpcServer(
        SERVICE,
        Numbers().handlers(),
        settings,
        security=security,
    )
    await server.start()
    yield server, security
    await server.stop(0)


async def test_a_new_authority_takes_over_without_a_lost_report(
    guarded: tuple[GrpcServer, Security], authority: Authority, tmp_path: Path
) -> None:
    """A stream that is open goes on; who connects afterwards meets the new certificate and CA."""
    server, security = guarded
    elsewhere = tmp_path / "new"
    elsewhere.mkdir()
    new = Authority(elsewhere)
    new.issue("server", dns=("localhost",))
    new.issue("client")
    async with channel(server.port, tmp_path) as old:
        counting = aiter(stream(old, COUNT)(b""))
        numbers = [int.from_bytes(await anext(counting)) for _ in range(50)]
        for name in ("server.pem", "server.key", "ca.pem"):
            shutil.copy(elsewhere / name, tmp_path / name)
        security.check()
        assert await served(channel(server.port, elsewhere))
        shutil.copy(elsewhere / "ca.pem", tmp_path / "newca.pem")
        assert not await served(channel(server.port, tmp_path, ca="newca"))
        numbers += [int.from_bytes(await anext(counting)) for _ in range(200)]
    assert numbers == list(range(250))


@pytest.mark.parametrize("fault", ["key of another", "not PEM", "absent", "encrypted"])
async def test_files_that_cannot_be_used_keep_those_in_force(
    fault: str, guarded: tuple[GrpcServer, Security], authority: Authority
) -> None:
    server, security = guarded
    where = authority.where
    # Renamed into place: a server that reads its files by itself meets none half written.
    aside = where / "aside"
    match fault:
        case "key of another":
            shutil.copy(where / "client.key", aside)
            aside.rename(where / "server.key")
        case "not PEM":
            aside.write_text("nothing")
            aside.rename(where / "server.pem")
        case "absent":
            (where / "server.pem").unlink()
        case _:
            authority.issue("server", dns=("localhost",), password=b"secret")
    with capture_logs() as logged:
        for _ in range(3):
            security.check()
        assert await served(channel(server.port, where))
    assert [line["event"] for line in logged] == ["certificate refused, the one in force stays"]
    assert metric(security, 'sojourn_tls_reload_failures_total{server="grpc"}') == 1
    authority.issue("server", dns=("localhost",))
    security.check()
    assert await served(channel(server.port, where))


def exposed(security: Security) -> str:
    registry = CollectorRegistry()
    registry.register(security)
    return generate_latest(registry).decode()


def metric(security: Security, sample: str) -> float:
    return float(exposed(security).split(f"\n{sample} ")[1].split("\n")[0])


@pytest.mark.parametrize(
    ("days", "event"),
    [(15, None), (13, "certificate expires soon"), (-1, "certificate expired")],
)
async def test_the_end_of_a_certificate_is_a_metric_and_a_warning_two_weeks_before(
    days: int, event: str | None, authority: Authority
) -> None:
    authority.issue("server", dns=("localhost",), days=days)
    security = Security()
    settings = GrpcServerSettings.model_validate(files(authority.where))
    with capture_logs() as logged:
        server = GrpcServer(SERVICE, Numbers().handlers(), settings, security=security)
        await server.start()
        security.check()
        security.check()
    shown = metric(security, 'sojourn_tls_certificate_not_after_seconds{use="grpc"}')
    await server.stop(0)
    assert [line["event"] for line in logged if "expire" in line["event"]] == (
        [] if event is None else [event]
    )
    certificate = x509.load_pem_x509_certificate((authority.where / "server.pem").read_bytes())
    assert shown == certificate.not_valid_after_utc.timestamp()


def test_the_end_of_a_client_certificate_follows_its_file(authority: Authority) -> None:
    certificate, key = authority.issue("client", days=40)
    tls = TlsSettings(enabled=True, certificate_file=certificate, key_file=key)
    unused = ClientSettings(tls=tls.model_copy(update={"enabled": False}))
    security = Security(clients=(ClientSettings(tls=tls),))
    line = 'sojourn_tls_certificate_not_after_seconds{use="gateway"}'
    first = metric(security, line)
    assert line not in exposed(Security(clients=(unused,)))

    authority.issue("client", days=3)
    with capture_logs() as logged:
        security.check()
        security.check()
    assert [(one["event"], one["use"]) for one in logged] == [
        ("certificate expires soon", "gateway")
    ]
    assert round((first - metric(security, line)) / 86_400) == 37

    for damaged in (b"no certificate", certificate.read_bytes()[:300]):
        certificate.write_bytes(damaged)
        security.check()
        assert line not in exposed(security)


async def test_an_http_server_takes_a_new_certificate_and_authority(
    authority: Authority, tmp_path: Path
) -> None:
    security = Security()
    settings = HttpSettings.model_validate(files(tmp_path))
    server = HttpServer(settings, security)
    add_health_routes(server, CollectorRegistry(), Readiness())
    port = int((await server.start()).rpartition(":")[2])
    elsewhere = tmp_path / "new"
    elsewhere.mkdir()
    new = Authority(elsewhere)
    new.issue("server", dns=("localhost",))
    new.issue("client")
    try:
        assert await status(port, tmp_path, tmp_path) == 200
        assert await status(port, tmp_path, None) == 401
        old = shutil.copytree(tmp_path, tmp_path / "old", ignore=lambda *_: ["new", "old"])
        for name in ("server.pem", "server.key", "ca.pem"):
            shutil.copy(elsewhere / name, tmp_path / name)
        security.check()
        assert await status(port, elsewhere, elsewhere) == 200
        assert await status(port, elsewhere, old) == 0
        assert await status(port, old, None) == 0
    finally:
        await server.stop()


async def status(port: int, trusted: Path, client: Path | None) -> int:
    """Status of /metrics on a connection of its own; 0 if either side refuses the other.

    Addressed by IP, so that the client indicates no server name.
    """
    context = ssl.create_default_context(cafile=trusted / "ca.pem")
    context.check_hostname = False
    if client is not None:
        context.load_cert_chain(client / "client.pem", client / "client.key")
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    except ssl.SSLError:
        return 0
    try:
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        # In TLS 1.3 the server refuses a client after the client's side of the handshake.
        answer = await reader.read()
    except (ssl.SSLError, ConnectionError):
        return 0
    finally:
        writer.transport.abort()
    return int(answer.split()[1]) if answer else 0


# ----------------------------------------------------------------------------- settings


def test_plain_text_beyond_this_machine_needs_a_word() -> None:
    with pytest.raises(ValidationError, match=r"plain text on 0\.0\.0\.0:1; expected"):
        GrpcServerSettings(listen="0.0.0.0:1")
    assert GrpcServerSettings(listen="0.0.0.0:1", insecure=True).exposed
    with pytest.raises(ValidationError, match="one without the other"):
        GrpcServerSettings(listen="127.0.0.1:1", certificate_file=Path("c"))
    with pytest.raises(ValidationError, match="client_ca_file without TLS"):
        GrpcServerSettings(listen="127.0.0.1:1", client_ca_file=Path("c"))
    with pytest.raises(ValidationError, match="insecure beside certificate_file"):
        GrpcServerSettings(
            listen="0.0.0.0:1", certificate_file=Path("c"), key_file=Path("k"), insecure=True
        )


def test_tls_that_identifies_nobody_is_refused_beyond_this_machine() -> None:
    server_only = {"listen": "0.0.0.0:1", "certificate_file": "c", "key_file": "k"}
    with pytest.raises(ValidationError, match=r"every client may use 0\.0\.0\.0:1; expected"):
        ServiceSettings.model_validate({"http": server_only})
    ServiceSettings.model_validate({"http": {**server_only, "client_ca_file": "ca"}})
    ServiceSettings.model_validate({"http": server_only, "access": {"file": "a"}})
    ServiceSettings.model_validate({"http": {**server_only, "listen": "127.0.0.1:1"}})


@pytest.mark.parametrize("field", ["certificate_file", "key_file", "client_ca_file"])
@pytest.mark.parametrize("content", [None, b"", b"not pem"])
async def test_a_file_that_cannot_be_used_is_named(
    field: str, content: bytes | None, authority: Authority, tmp_path: Path
) -> None:
    path = tmp_path / "bad.pem"
    if content is not None:
        path.write_bytes(content)
    settings = GrpcServerSettings.model_validate(files(tmp_path, **{field: path}))
    with pytest.raises(SettingsError, match=rf"server\.{field}: {path}: "):
        GrpcServer(SERVICE, Numbers().handlers(), settings, security=Security())


async def test_files_that_do_not_belong_together_are_named(
    authority: Authority, tmp_path: Path
) -> None:
    settings = GrpcServerSettings.model_validate(files(tmp_path, key_file=tmp_path / "client.key"))
    with pytest.raises(
        SettingsError,
        match=r"server\.key_file: .*client\.key.*; expected PEM files, the key matching",
    ):
        GrpcServer(SERVICE, Numbers().handlers(), settings, security=Security())


def test_an_access_file_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"access\.yaml: .*; expected a readable file"):
        Security(AccessSettings(file=tmp_path / "access.yaml"))
