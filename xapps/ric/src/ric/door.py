"""A gRPC door that a part serves: where, how it is protected, with health and reflection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from pydantic import Field, field_validator, model_validator

from ric.pem import read_pem
from ric.settings import Section, is_local, split_address


class DoorSettings(Section):
    """Where a door is served, and how it is protected; a part's own has a default for `listen`."""

    section: ClassVar[str] = "door"
    """What errors call it."""

    listen: str = Field(
        description="Address to serve at, host:port or unix:path; port 0 takes a free one."
    )
    certificate_file: Path | None = Field(
        default=None, description="Certificate chain of the door, PEM; TLS is spoken with one."
    )
    key_file: Path | None = Field(default=None, description="Its private key, PEM, not encrypted.")
    client_ca_file: Path | None = Field(
        default=None,
        description="Certificates that may sign a caller's, PEM; with it, mutual TLS.",
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, listen: str) -> str:
        split_address(listen)
        return listen

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("one without the other; expected certificate_file and key_file both")
        if self.client_ca_file is not None and self.certificate_file is None:
            raise ValueError("client_ca_file without TLS; expected certificate_file and key_file")
        if self.certificate_file is None and not is_local(self.listen):
            raise ValueError(
                f"plain text on {self.listen}; expected certificate_file and key_file,"
                " or a loopback address"
            )
        return self

    def credentials(self) -> grpc.ServerCredentials | None:
        """TLS credentials; `None` for plain text. Raises `SettingsError` for a file that is no
        good."""
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
    """A service behind a door, with the standard health and reflection services beside it."""

    def __init__(
        self,
        service: str,
        handlers: grpc.GenericRpcHandler,
        door: DoorSettings,
        options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Binds the address; `service` is the full name of what `handlers` serve.

        Raises `SettingsError` for a file of the door's that is no good, and `RuntimeError`
        where the address is taken.
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
        if credentials is None:
            self.port = self._server.add_insecure_port(door.listen)
        else:
            self.port = self._server.add_secure_port(door.listen, credentials)

    async def start(self) -> None:
        """Begin to answer; not serving until `set_ready`."""
        await self.set_ready(False)
        await self._server.start()

    async def set_ready(self, ready: bool) -> None:
        """Tell health checks whether what is served is good."""
        kind = health_pb2.HealthCheckResponse
        status = kind.SERVING if ready else kind.NOT_SERVING
        await self._health.set("", status)
        await self._health.set(self._service, status)

    async def stop(self, grace_s: float) -> None:
        """End every stream, after so long at most."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)
