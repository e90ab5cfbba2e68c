"""A `FakeRic` behind real gRPC, for faults that need a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import grpc
from e2_gateway_server import SERVICE, GatewayService, Outbox, ProcedureError
from sojourn_interfaces import e2_gateway_pb2 as pb

from ric.e2 import Indication
from ric.errors import (
    ControlTimeout,
    GatewayError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SubscriptionRefused,
)
from ric.gateway import messages
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security
from ric.testing.fake_ric import FakeRic

_CODE_OF: Final[dict[type[GatewayError], grpc.StatusCode]] = {
    NodeGone: grpc.StatusCode.UNAVAILABLE,
    RanFunctionUnknown: grpc.StatusCode.NOT_FOUND,
    SubscriptionRefused: grpc.StatusCode.INVALID_ARGUMENT,
    ControlTimeout: grpc.StatusCode.DEADLINE_EXCEEDED,
    GatewayUnavailable: grpc.StatusCode.UNAVAILABLE,
}


class FakeGatewayServer:
    """Serves a `FakeRic` on a loopback port; an asynchronous context manager.

    `stop` and another `start`, which takes the same port, restart the gateway.
    """

    def __init__(
        self,
        ric: FakeRic,
        *,
        port: int = 0,
        certificate_file: Path | None = None,
        key_file: Path | None = None,
        client_ca_file: Path | None = None,
    ) -> None:
        """The files are those of `GrpcServerSettings`; plain text without them."""
        self.ric = ric
        self.port = port
        self._files = {
            "certificate_file": certificate_file,
            "key_file": key_file,
            "client_ca_file": client_ca_file,
        }
        self._server: GrpcServer | None = None

    @property
    def address(self) -> str:
        """host:port to connect to."""
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen; port 0 becomes the port in use."""
        settings = GrpcServerSettings.model_validate({"listen": self.address, **self._files})
        handlers = GatewayService(FakeRicBackend(self.ric)).handlers()
        self._server = GrpcServer(SERVICE, handlers, settings, security=Security())
        self.port = self._server.port
        await self._server.start()

    async def stop(self) -> None:
        """Die: connections are cut immediately."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        await self.stop()


class FakeRicBackend:
    """A `FakeRic` as an `e2_gateway_server.Backend`."""

    def __init__(self, ric: FakeRic) -> None:
        self._ric = ric

    def nodes(self) -> Iterable[pb.Node]:
        with _procedure_errors():
            return [messages.node_to_pb(node) for node in self._ric.nodes()]

    async def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        with _procedure_errors():
            watch = self._ric.open_watch()
            try:
                while True:
                    yield messages.event_to_pb((await watch.get())[1])
            finally:
                self._ric.close_watch(watch)

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        def put(indication: Indication) -> None:
            outbox.put(messages.indication_to_pb(indication).SerializeToString())

        def end(error: Exception) -> None:
            outbox.end(_procedure_error(error) if isinstance(error, GatewayError) else error)

        self._check_connected(subscription.node_id)
        with _procedure_errors():
            request = messages.subscription_from_pb(subscription)
            opened = self._ric.open_subscription(request, put, outbox.skip, end)
        try:
            yield
        finally:
            self._ric.close_subscription(opened)

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        self._check_connected(request.node_id)
        with _procedure_errors():
            answer = await self._ric.control(
                request.node_id, request.ran_function_oid, request.header, request.message
            )
        return messages.answer_to_pb(answer)

    def _check_connected(self, node_id: str) -> None:
        if all(node.id != node_id for node in self.nodes()):
            raise ProcedureError(grpc.StatusCode.NOT_FOUND, f"no node {node_id}")


def _procedure_error(error: GatewayError) -> ProcedureError:
    return ProcedureError(_CODE_OF.get(type(error), grpc.StatusCode.INTERNAL), str(error))


@contextmanager
def _procedure_errors() -> Iterator[None]:
    try:
        yield
    except GatewayError as error:
        raise _procedure_error(error) from error
