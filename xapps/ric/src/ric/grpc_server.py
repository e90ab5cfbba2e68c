"""A gRPC server of a program: address, TLS, access, health and reflection services."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Final, NoReturn

import grpc
import sojourn_serving
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError
from pydantic import Field
from sojourn_serving import Abort, Guard, Message

from ric.access import Caller
from ric.endpoint_settings import (
    CertificateFile,
    ClientCaFile,
    Insecure,
    KeyFile,
    ServerSettings,
)
from ric.procedures import CallError, Handlers, Procedure, procedures_of
from ric.security import Security, settings_errors
from ric.settings import Flag

MAX_REQUEST_BYTES: Final = 256 << 10
"""Most bytes of a request: those of E2SM-TC are far smaller; gnb-lab takes as much."""
_INVALID: Final[int] = grpc.StatusCode.INVALID_ARGUMENT.value[0]


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
        procedures = {
            name: sojourn_serving.Procedure(
                partial(_serve, security.guard, procedure),
                procedure.right.value,
                procedure.many_requests,
                procedure.many_responses,
                max_request_bytes,
            )
            for name, procedure in procedures_of(service, handlers).items()
        }
        with settings_errors():
            self._server = sojourn_serving.GrpcServer(
                security.guard,
                section=settings.section,
                listen=settings.listen,
                service=service.full_name,
                procedures=procedures,
                descriptors=_descriptors(service.file),
                certificates=security.certificates(settings),
                insecure=settings.insecure,
                max_connections=settings.max_connections,
                max_streams=settings.max_streams,
            )
        self.port: Final = self._server.port
        """The TCP port in use; 0 of a Unix socket."""

    async def start(self) -> None:
        """Start, unless it was stopped; health is NOT_SERVING until `set_ready`."""
        await self._server.start()

    async def set_ready(self, ready: bool) -> None:
        """Set the status of the health service."""
        self._server.set_ready(ready)

    async def stop(self, grace_s: float) -> None:
        """Stop; streams are cancelled after `grace_s`."""
        await self._server.stop(grace_s)


class _Call:
    """A `ric.procedures.Call`."""

    __slots__ = ("caller", "write")

    def __init__(self, call: sojourn_serving.Call, guard: Guard) -> None:
        self.caller = Caller(call.caller, guard)
        self.write: Callable[[bytes | Message], Awaitable[None]] = call.write

    def abort(self, code: grpc.StatusCode, detail: str) -> NoReturn:
        """See `ric.procedures.Call`."""
        raise CallError(code, detail)


async def _serve(
    guard: Guard, procedure: Procedure, call: sojourn_serving.Call
) -> bytes | Message | None:
    """Answers a call."""
    requests: Any
    if procedure.many_requests:
        requests = _requests(procedure, call)
    else:
        requests = _parsed(procedure, await call.receive() or b"")
    try:
        return await procedure.handler(requests, _Call(call, guard))
    except CallError as error:
        raise Abort(error.code.value[0], str(error)) from None


async def _requests(procedure: Procedure, call: sojourn_serving.Call) -> AsyncIterator[Any]:
    while (request := await call.receive()) is not None:
        yield _parsed(procedure, request)


def _parsed(procedure: Procedure, request: bytes) -> Any:
    try:
        return procedure.parse(request)
    except DecodeError:
        raise Abort(_INVALID, "the request is not a message of its type") from None


def _descriptors(file: FileDescriptor) -> bytes:
    """A FileDescriptorSet of a file with its dependencies, for reflection."""
    found: dict[str, FileDescriptorProto] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in found:
            for dependency in file.dependencies:
                add(dependency)
            found[file.name] = FileDescriptorProto.FromString(file.serialized_pb)

    add(file)
    return FileDescriptorSet(file=found.values()).SerializeToString()
