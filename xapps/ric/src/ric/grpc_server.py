"""A gRPC server of a program: address, TLS, access, health and reflection services."""

from __future__ import annotations

import asyncio
from typing import Annotated, ClassVar, Final

import grpc.aio
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from pydantic import Field

from ric.call_interceptor import CallInterceptor
from ric.endpoint_settings import (
    CertificateFile,
    ClientCaFile,
    Insecure,
    KeyFile,
    ServerSettings,
    split_address,
)
from ric.errors import SettingsError
from ric.http2.frames import MAX_HEADER_BYTES
from ric.limits import Pool
from ric.limits.connections import Connections
from ric.listener import Listener, address_of, bind
from ric.procedures import Handlers, procedures_of
from ric.relay import Relay
from ric.security import Security
from ric.settings import Flag

_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.max_connection_idle_ms", 120_000),
    # Peers that have vanished without a word.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Clients ping each 5 s, also while they have no call: gRPC takes more than two pings in 300 s
    # for abuse ("too_many_pings").
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_concurrent_streams", 64),
    # Announced to clients, which then refuse such a call themselves; the relay enforces it.
    ("grpc.max_metadata_size", MAX_HEADER_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_HEADER_BYTES),
)
MAX_REQUEST_BYTES: Final = 256 << 10
"""Most bytes of a request: those of E2SM-TC are far smaller; gnb-lab takes as much."""


class GrpcServerSettings(ServerSettings):
    """Address and TLS of a gRPC server; a program's own gives `listen` a default."""

    grpc: ClassVar[bool] = True

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


class GrpcServer:
    """A gRPC server for one service, with the standard health and reflection services."""

    def __init__(
        self,
        service: ServiceDescriptor,
        handlers: Handlers,
        settings: GrpcServerSettings,
        *,
        security: Security,
        max_request_bytes: int = MAX_REQUEST_BYTES,
    ) -> None:
        """Binds the address; `handlers` are those of `service`.

        Raises `SettingsError` for an unusable certificate, key or address.
        """
        self._service = service.full_name
        clock, limits = security.clock, security.limits
        certificates = security.server_certificates(settings)
        streams = Pool(settings.max_streams)
        procedures = procedures_of(service, handlers)
        interceptor = CallInterceptor(security.access, limits, streams, settings.label, procedures)
        self._server = grpc.aio.server(
            options=[*_OPTIONS, ("grpc.max_receive_message_length", max_request_bytes)],
            interceptors=[interceptor],
        )
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (service.full_name, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        connections = Connections(
            settings.max_connections, lambda client, why: limits.refused(client, "connections", why)
        )
        limits.count_connections(settings.label, connections.__len__)
        try:
            sockets = bind(settings.listen)
            client_ca = certificates is not None and certificates.client_ca
            self._relay = Relay(settings.label, security, certified=client_ca)
        except OSError as error:
            raise SettingsError(
                [f"{settings.section}.listen: {settings.listen}: cannot be bound ({error})"]
            ) from None
        self._server.add_insecure_port(self._relay.address)
        self._listener = Listener(
            sockets,
            serve=self._relay.connect,
            connections=connections,
            limits=limits,
            clock=clock,
            context=None if certificates is None else certificates.ssl_context(),
        )
        self._starting_or_stopping = asyncio.Lock()
        self.port = split_address(address_of(sockets[0]))[1]
        """The TCP port in use; 0 of a Unix socket."""

    async def start(self) -> None:
        """Start, unless it was stopped; health is NOT_SERVING until `set_ready`."""
        # gRPC's server that is stopped while it starts crashes the process or never ends.
        async with self._starting_or_stopping:
            if self._listener.stopped:
                return
            await self.set_ready(False)
            await self._server.start()
            self._listener.start()

    async def set_ready(self, ready: bool) -> None:
        """Set the status of the health service."""
        kind = health_pb2.HealthCheckResponse
        status = kind.SERVING if ready else kind.NOT_SERVING
        await self._health.set("", status)
        await self._health.set(self._service, status)

    async def stop(self, grace_s: float) -> None:
        """Stop; streams are cancelled after `grace_s`."""
        async with self._starting_or_stopping:
            await self._listener.stop()
            await self._health.enter_graceful_shutdown()
            await self._server.stop(grace_s)
            await self._relay.stop()
