"""A gRPC server of a program: address, TLS, access, health and reflection services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from pydantic import Field

from ric.access import Right
from ric.door_interceptor import DoorInterceptor
from ric.endpoint_settings import (
    CertificateFile,
    ClientCaFile,
    Insecure,
    KeyFile,
    ServerSettings,
)
from ric.errors import SettingsError
from ric.limits import Pool
from ric.security import Security
from ric.settings import Flag

LIMIT_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    # Connections whose TLS handshake or HTTP/2 preface does not come, and those without a call.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 120_000),
    # Peers that have vanished without a word.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.max_concurrent_streams", 64),
    # The soft limit alone would let some larger ones pass.
    ("grpc.max_metadata_size", 16 * 1024),
    ("grpc.absolute_max_metadata_size", 16 * 1024),
)
"""Limits of connections, which gRPC keeps; it does not count them by peer."""


class DoorSettings(ServerSettings):
    """Address and TLS of a gRPC server; a program's own gives `listen` a default."""

    listen: Annotated[str, Flag("listen")] = Field(
        min_length=1,
        description="Address to serve at, host:port or unix:path; port 0 takes a free one.",
    )
    certificate_file: Annotated[CertificateFile, Flag("certificate-file")] = None
    key_file: Annotated[KeyFile, Flag("key-file")] = None
    client_ca_file: Annotated[ClientCaFile, Flag("client-ca-file")] = None
    insecure: Annotated[Insecure, Flag("insecure")] = False
    max_streams: int = Field(
        default=256,
        ge=4,
        le=65_536,
        description="Most streams open at once. A client may hold as many as are free: half if it"
        " is alone, and some are left for others.",
    )


class DoorServer:
    """A gRPC server for one service, with the standard health and reflection services."""

    def __init__(
        self,
        service: str,
        handlers: grpc.GenericRpcHandler,
        door: DoorSettings,
        *,
        rights: Mapping[str, Right],
        security: Security,
        options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Binds the address; `service` is the full name of the service of `handlers`.

        `rights` is what a client needs for each procedure; those not named need `control`.
        Raises `SettingsError` for an unusable certificate, key or address.
        """
        self._service = service
        streams = Pool(door.max_streams)
        interceptor = DoorInterceptor(security.access, security.limits, streams, door.label, rights)
        self._server = grpc.aio.server(
            options=[
                *LIMIT_OPTIONS,
                ("grpc.max_allowed_incoming_connections", door.max_connections),
                *options,
            ],
            interceptors=[interceptor],
        )
        self._server.add_generic_rpc_handlers((handlers,))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (service, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        certificates = security.open_door(door)
        try:
            if certificates is None:
                self.port = self._server.add_insecure_port(door.listen)
            else:
                self.port = self._server.add_secure_port(
                    door.listen, certificates.grpc_credentials()
                )
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
