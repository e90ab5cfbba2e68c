"""The link over gRPC: one attempt at each procedure, status codes turned into typed errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, NoReturn, TypeVar

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub

from ric.e2 import ControlAnswer, Indication, Node, NodeEvent, SubscriptionRequest
from ric.errors import (
    ControlTimeout,
    GatewayError,
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SubscriptionRefused,
)
from ric.gateway import messages
from ric.gateway.channel import open_channel
from ric.gateway.control_stream import ControlStream
from ric.gateway.subscription_stream import SubscriptionStream
from ric.settings import GatewaySettings

Message = TypeVar("Message")

MAX_BATCH: Final = 64
"""Indications that a gateway may put into one message: as many as it holds for a slow reader."""

_AWAY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


class GrpcLink:
    """A gateway at `settings.address`; make it within a running event loop."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._channel = open_channel(settings)
        self._stub = E2GatewayStub(self._channel)
        self._controls: ControlStream | None = None
        self._streams_controls = True
        self._subscriptions: SubscriptionStream | None = None
        self._gathers_subscriptions = True

    @property
    def address(self) -> str:
        """Where the gateway is."""
        return self._settings.address

    async def list_nodes(self) -> tuple[Node, ...]:
        """See `GatewayLink.list_nodes`."""
        try:
            response = await self._stub.ListNodes(
                pb.ListNodesRequest(), timeout=self._settings.connect_timeout_s
            )
        except grpc.aio.AioRpcError as error:
            self._raise_for_gateway(error)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise
        return tuple(messages.node_from_pb(node) for node in self._parsed(response).nodes)

    async def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """See `GatewayLink.watch_nodes`."""
        # It may be another gateway by now.
        self._streams_controls = self._gathers_subscriptions = True
        call = self._stub.WatchNodes(pb.WatchNodesRequest())
        try:
            async for message in call:
                event = messages.event_from_pb(self._parsed(message))
                if event is not None:
                    yield event
        except grpc.aio.AioRpcError as error:
            self._raise_for_gateway(error)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise
        finally:
            call.cancel()

    async def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        """See `GatewayLink.indications`."""
        try:
            async with aclosing(self._indications(request)) as indications:
                async for indication in indications:
                    yield indication
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
                raise SubscriptionRefused(request.node_id, request.oid, _details(error)) from error
            await self._raise_for_node(error, request.node_id, request.oid)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise

    async def _indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        question = messages.subscribe_request(request)
        if self._gathers_subscriptions:
            if self._subscriptions is None or self._subscriptions.ended:
                self._subscriptions = SubscriptionStream(self._stub)
            try:
                async with aclosing(self._subscriptions.indications(question)) as indications:
                    async for indication in indications:
                        yield indication
            except grpc.aio.AioRpcError as error:
                if error.code() != grpc.StatusCode.UNIMPLEMENTED:
                    raise
                self._gathers_subscriptions = False
        indication_from_pb = messages.indication_from_pb
        question.max_batch = MAX_BATCH
        call = self._stub.Subscribe(question)
        try:
            async for message in call:
                yield indication_from_pb(message if message is not None else self._parsed(message))
                for later in message.later:
                    yield indication_from_pb(later)
        finally:
            call.cancel()

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        """See `GatewayLink.control`."""
        request = pb.ControlRequest(
            node_id=node_id, ran_function_oid=oid, header=header, message=message
        )
        try:
            response = await self._control(request, timeout_s)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise ControlTimeout(node_id, oid, timeout_s) from error
            await self._raise_for_node(error, node_id, oid)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise
        answer = messages.answer_from_pb(self._parsed(response))
        if answer is None:
            raise GatewayProtocolError(self.address, f"control status {response.status}")
        return answer

    async def _control(self, request: pb.ControlRequest, timeout_s: float) -> pb.ControlResponse:
        if self._streams_controls:
            if self._controls is None or self._controls.ended:
                self._controls = ControlStream(self._stub)
            try:
                return await self._controls.control(request, timeout_s)
            except grpc.aio.AioRpcError as error:
                if error.code() != grpc.StatusCode.UNIMPLEMENTED:
                    raise
                # A gateway that lacks the procedure has not seen the control.
                self._streams_controls = False
        return await self._stub.Control(request, timeout=timeout_s)

    async def close(self) -> None:
        """See `GatewayLink.close`."""
        for stream in (self._controls, self._subscriptions):
            if stream is not None:
                await stream.close()
        await self._channel.close()

    async def _raise_for_node(
        self, error: grpc.aio.AioRpcError, node_id: str, oid: str
    ) -> NoReturn:
        """NOT_FOUND and UNAVAILABLE mean two things each; the node list tells which."""
        if error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE):
            self._raise_for_gateway(error)
        try:
            nodes = await self.list_nodes()
        except GatewayError:
            self._raise_for_gateway(error)
        node = next((node for node in nodes if node.id == node_id), None)
        if error.code() == grpc.StatusCode.NOT_FOUND and node is not None:
            raise RanFunctionUnknown(node_id, oid, _details(error)) from error
        raise NodeGone(node_id, _details(error)) from error

    def _raise_for_gateway(self, error: grpc.aio.AioRpcError) -> NoReturn:
        if error.code() in (*_AWAY, grpc.StatusCode.DEADLINE_EXCEEDED):
            raise GatewayUnavailable(self.address, _details(error)) from error
        raise GatewayProtocolError(
            self.address, f"{error.code().name}: {_details(error)}"
        ) from error

    def _parsed(self, message: Message | None) -> Message:
        """gRPC hands on what it cannot parse as `None`."""
        if message is None:
            raise GatewayProtocolError(self.address, "bytes that are not the interface's message")
        return message

    def _raise_if_channel_closed(self) -> None:
        """Closing the channel cancels its calls; only a cancelled task should look cancelled."""
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            raise GatewayUnavailable(self.address, "link closed")


def _details(error: grpc.aio.AioRpcError) -> str:
    return error.details() or error.code().name
