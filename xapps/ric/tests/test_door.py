"""A gRPC server's TLS: who may connect, and errors of unusable files."""

from __future__ import annotations

from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pydantic import ValidationError
from ric.door import DoorServer, DoorSettings
from ric.errors import SettingsError

SERVICE = "test.Service"
NOTHING = grpc.method_handlers_generic_handler(SERVICE, {})
STATUS = health_pb2.HealthCheckResponse


def protected(certificates: Path, **more: object) -> DoorSettings:
    """Mutual TLS on a free port."""
    files = {
        "certificate_file": certificates / "gateway.pem",
        "key_file": certificates / "gateway.key",
        "client_ca_file": certificates / "ca.pem",
    }
    return DoorSettings.model_validate({"listen": "localhost:0", **files, **more})


async def health(server: DoorServer, credentials: grpc.ChannelCredentials | None) -> int:
    """Status of the server's health service."""
    address = f"localhost:{server.port}"
    options = (("grpc.ssl_target_name_override", "gateway"),)
    channel = (
        grpc.aio.insecure_channel(address)
        if credentials is None
        else grpc.aio.secure_channel(address, credentials, options)
    )
    async with channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=SERVICE), timeout=20)
        return int(answer.status)


async def test_only_a_client_with_a_certificate_may_connect(certificates: Path) -> None:
    ca, key, pem = ((certificates / n).read_bytes() for n in ("ca.pem", "xapp.key", "xapp.pem"))
    server = DoorServer(SERVICE, NOTHING, protected(certificates))
    await server.start()
    try:
        ours = grpc.ssl_channel_credentials(ca, key, pem)
        assert await health(server, ours) == STATUS.NOT_SERVING
        await server.set_ready(True)
        assert await health(server, ours) == STATUS.SERVING
        for others in (grpc.ssl_channel_credentials(ca), None):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await health(server, others)
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    finally:
        await server.stop(0)


def test_plain_text_is_allowed_on_loopback_only() -> None:
    with pytest.raises(ValidationError, match=r"plain text on 0\.0\.0\.0:1; expected"):
        DoorSettings(listen="0.0.0.0:1")
    with pytest.raises(ValidationError, match="one without the other"):
        DoorSettings(listen="127.0.0.1:1", certificate_file=Path("c"))
    with pytest.raises(ValidationError, match="client_ca_file without TLS"):
        DoorSettings(listen="127.0.0.1:1", client_ca_file=Path("c"))


@pytest.mark.parametrize("field", ["certificate_file", "key_file", "client_ca_file"])
@pytest.mark.parametrize("content", [None, b"", b"not pem"])
async def test_a_file_that_cannot_be_used_is_named(
    field: str, content: bytes | None, certificates: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bad.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=rf"door\.{field}: {path}: "):
        DoorServer(SERVICE, NOTHING, protected(certificates, **{field: path}))
