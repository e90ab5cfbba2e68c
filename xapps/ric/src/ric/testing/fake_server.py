"""A `FakeRic` behind real gRPC, for what only a network can do wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, NoReturn, Self

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import (
    E2GatewayServicer,
    add_E2GatewayServicer_to_server,
)

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
from ric.gateway.channel import SERVER_OPTIONS
from ric.gateway.control_door import Context as ControlContext
from ric.gateway.control_door import ControlDoor, NoAnswer
from ric.gateway.subscription_door import Context, Feed, SubscriptionDoor, SubscriptionOver
from ric.testing.fake_ric import FakeRic
from ric.testing.outbox import Outbox

_STATUS_OF: dict[type[GatewayError], grpc.StatusCode] = {
    NodeGone: grpc.StatusCode.UNAVAILABLE,
    RanFunctionUnknown: grpc.StatusCode.NOT_FOUND,
    SubscriptionRefused: grpc.StatusCode.INVALID_ARGUMENT,
    ControlTimeout: grpc.StatusCode.DEADLINE_EXCEEDED,
    GatewayUnavailable: grpc.StatusCode.UNAVAILABLE,
}


class FakeGatewayServer:
    """Serves a `FakeRic` on a loopback port; an asynchronous context manager.

    `stop` and `start` again (on the same port) make a gateway that dies and comes back.
    """

    def __init__(
        self,
        ric: FakeRic,
        *,
        port: int = 0,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        self.ric = ric
        self.port = port
        self._credentials = credentials
        self._server: grpc.aio.Server | None = None

    @property
    def address(self) -> str:
        """host:port to connect to."""
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen; port 0 becomes the port in use."""
        self._server = grpc.aio.server(options=list(SERVER_OPTIONS))
        add_E2GatewayServicer_to_server(_Servicer(self.ric), self._server)
        if self._credentials is None:
            self.port = self._server.add_insecure_port(self.address)
        else:
            self.port = self._server.add_secure_port(self.address, self._credentials)
        await self._server.start()

    async def stop(self) -> None:
        """Die: connections are cut in the middle of whatever they do."""
        if self._server is not None:
            await self._server.stop(None)
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


class _Servicer(E2GatewayServicer):
    def __init__(self, ric: FakeRic) -> None:
        self._ric = ric
        self._controls = ControlDoor(self._carry_out)
        self._subscriptions = SubscriptionDoor(self._serve)

    async def ListNodes(  # noqa: N802 - named by the proto
        self,
        request: pb.ListNodesRequest,
        context: grpc.aio.ServicerContext[pb.ListNodesRequest, pb.ListNodesResponse],
    ) -> pb.ListNodesResponse:
        try:
            nodes = self._ric.nodes()
        except GatewayError as error:
            await _abort(context, error)
        return pb.ListNodesResponse(nodes=map(messages.node_to_pb, nodes))

    async def WatchNodes(  # noqa: N802 - named by the proto
        self,
        request: pb.WatchNodesRequest,
        context: grpc.aio.ServicerContext[pb.WatchNodesRequest, pb.NodeEvent],
    ) -> AsyncIterator[pb.NodeEvent]:
        outbox = None
        try:
            outbox = self._ric.open_watch()
            while True:
                yield messages.event_to_pb(await outbox.get())
        except GatewayError as error:
            await _abort(context, error)
        finally:
            if outbox is not None:
                self._ric.close_watch(outbox)

    async def Subscribe(  # noqa: N802 - named by the proto
        self, request_iterator: AsyncIterator[pb.SubscribeRequest], context: Context
    ) -> None:
        await self._subscriptions.stream(
            request_iterator,
            context,
            lambda message: context.write(pb.SubscribeResponse.FromString(message)),
        )

    async def _serve(self, request: pb.Subscription, feed: Feed) -> None:
        try:
            subscription = self._ric.open_subscription(messages.subscription_from_pb(request))
        except NodeGone as error:
            raise SubscriptionOver(grpc.StatusCode.NOT_FOUND, str(error)) from error
        except GatewayError as error:
            raise SubscriptionOver(_status_of(error), str(error)) from error
        outbox, ended = subscription.outbox, asyncio.Event()

        def changed() -> None:
            feed.note()
            if outbox.error is not None:
                ended.set()

        outbox.on_change = changed
        feed.attach(_Waiting(outbox))
        try:
            changed()
            await ended.wait()
        finally:
            self._ric.close_subscription(subscription)
        why = outbox.error
        code = _status_of(why) if isinstance(why, GatewayError) else grpc.StatusCode.UNKNOWN
        raise SubscriptionOver(code, str(why))

    async def Control(  # noqa: N802 - named by the proto
        self, request_iterator: AsyncIterator[pb.ControlRequest], context: ControlContext
    ) -> None:
        await self._controls.stream(request_iterator, context)

    async def _carry_out(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        try:
            if all(node.id != request.node_id for node in self._ric.nodes()):
                raise NoAnswer(grpc.StatusCode.NOT_FOUND, f"no node {request.node_id}")
            answer = await self._ric.control(
                request.node_id, request.ran_function_oid, request.header, request.message
            )
        except GatewayError as error:
            raise NoAnswer(_status_of(error), str(error)) from error
        return messages.answer_to_pb(answer)


class _Waiting:
    """What waits at the fake for one subscription."""

    def __init__(self, outbox: Outbox[Indication]) -> None:
        self._outbox = outbox

    def take(self) -> bytes | None:
        indication = self._outbox.take()
        if indication is None:
            return None
        return messages.indication_to_pb(indication).SerializeToString()


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: GatewayError) -> NoReturn:
    await context.abort(_status_of(error), str(error))


def _status_of(error: GatewayError) -> grpc.StatusCode:
    return _STATUS_OF.get(type(error), grpc.StatusCode.INTERNAL)
