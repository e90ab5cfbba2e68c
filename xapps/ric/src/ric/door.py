"""A gRPC server of a program: address, TLS, health and reflection services."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from pydantic import Field, field_validator, model_validator

from ric.errors import SettingsError
from ric.settings import Flag, Section, check_protection, read_pem, split_address


class DoorSettings(Section):
    """Address and TLS of a gRPC server; a program's own gives `listen` a default."""

    section: ClassVar[str] = "door"
    """Name of the section in errors."""

    listen: Annotated[str, Flag("listen")] = Field(
        description="Address to serve at, host:port or unix:path; port 0 takes a free one."
    )
    certificate_file: Annotated[Path | None, Flag("certificate-file")] = Field(
        default=None, description="Server certificate chain, PEM; plain text if unset."
    )
    key_file: Annotated[Path | None, Flag("key-file")] = Field(
        default=None, description="Private key of that certificate, PEM, not encrypted."
    )
    client_ca_file: Annotated[Path | None, Flag("client-ca-file")] = Field(
        default=None,
        description="CA certificates for client certificates, PEM; if set, mutual TLS is required.",
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, listen: str) -> str:
        split_address(listen)
        return listen

    @model_validator(mode="after")
    def _protected(self) -> Self:
        check_protection(self.listen, self.certificate_file, self.key_file, self.client_ca_file)
        return self

    def credentials(self) -> grpc.ServerCredentials | None:
        """TLS credentials; `None` for plain text. Raises `SettingsError` for an unusable file."""
        if self.certificate_file is None or self.key_file is None:
            return None
        ca = self._pem("client_ca_file", self.client_ca_file) if self.client_ca_file else None
        pair = (
            self._pem("key_file", self.key_file),
            self._pem("certificate_file", self.certificate_file),
        )
        return grpc.ssl_server_credentials(
            [pair], root_certificates=ca, require_client_auth=ca is not None
        )

    def _pem(self, field: str, path: Path) -> bytes:
        return read_pem(f"{self.section}.{field}", path)


class DoorServer:
    """A gRPC server for one service, with the standard health and reflection services."""

    def __init__(
        self,
        service: str,
        handlers: grpc.GenericRpcHandler,
        door: DoorSettings,
        options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Binds the address; `service` is the full name of the service of `handlers`.

        Raises `SettingsError` for an unusable certificate, key or address.
        """
        self._service = service
        self._server = grpc.aio.server(options=list(options))
        self._server.add_generic_rpc_handlers((handlers,))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (service, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        credentials = door.credentials()
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(door.listen)
            else:
                self.port = self._server.add_secure_port(door.listen, credentials)
        except RuntimeError as error:
            raise SettingsError(
                [f"{door.section}.listen: {door.listen}: cannot be bound ({error})"]
            ) from None

    async def start(self) -> None:
        """Start; health is NOT_SERVING until `set_ready`."""
        await self.set_ready(False)
        await self._server.start()

    async def set_ready(self, ready: bool) -> None:
        """Set the status of the health service."""
        kind = health_pb2.HealthCheckResponse
        status = kind.SERVING if ready else kind.NOT_SERVING
        await self._health.set("", status)
        await self._health.set(self._service, status)

    async def stop(self, grace_s: float) -> None:
        """Stop; streams are cancelled after `grace_s`."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)
