"""The link between the client and a gateway: one attempt per procedure, typed errors."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NoReturn, Protocol, TypeVar

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub

from ric.e2 import ControlAnswer, Indication, Node, NodeEvent, SubscriptionRequest
from ric.errors import (
    AccessDenied,
    ControlTimeout,
    GatewayError,
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SettingsError,
    SubscriptionRefused,
)
from ric.gateway import messages
from ric.gateway.calls import ControlCall, Metadata, SubscribeCall
from ric.gateway.channel import call_metadata, channel_options, open_channel, tls_files
from ric.settings import GatewaySettings

Message = TypeVar("Message")

_AWAY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


class GatewayLink(Protocol):
    """One gateway. Failures are raised, never retried.

    Every procedure may raise `GatewayUnavailable`, `AccessDenied` or `GatewayProtocolError`.
    """

    @property
    def address(self) -> str:
        """Address of the gateway, for messages."""
        ...

    async def list_nodes(self) -> tuple[Node, ...]:
        """The nodes connected now."""
        ...

    def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """The nodes connected now as `CONNECTED` events, then each change; ends with the link."""
        ...

    def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        """One RIC subscription; closing the generator ends it.

        Raises `NodeGone`, `RanFunctionUnknown`, `SubscriptionRefused`.
        """
        ...

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        """One RIC control. Raises `NodeGone`, `RanFunctionUnknown`, `ControlTimeout`."""
        ...

    async def close(self) -> None:
        """Close the connection; pending procedures end with `GatewayUnavailable`."""
        ...


class GrpcLink:
    """The gateway at `settings.address`; create it within a running event loop.

    To the gateway each link is a client of its own, over all its connections: what it owns, another
    one of the same name does not control.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._instance = secrets.token_bytes(16)
        self._files = tls_files(settings)
        self._channel = open_channel(settings, settings.address, channel_options(settings))
        self._stub = E2GatewayStub(self._channel)
        self._controls: ControlCall | None = None
        self._subscriptions: SubscribeCall | None = None

    @property
    def address(self) -> str:
        """See `GatewayLink.address`."""
        return self._settings.address

    async def list_nodes(self) -> tuple[Node, ...]:
        """See `GatewayLink.list_nodes`."""
        await self._reopen_if_files_changed()
        try:
            response = await self._stub.ListNodes(
                pb.ListNodesRequest(),
                timeout=self._settings.connect_timeout_s,
                metadata=self._metadata(),
            )
        except grpc.aio.AioRpcError as error:
            self._raise_for_gateway(error)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise
        return tuple(messages.node_from_pb(node) for node in self._parsed(response).nodes)

    async def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """See `GatewayLink.watch_nodes`."""
        await self._reopen_if_files_changed()
        call = self._stub.WatchNodes(pb.WatchNodesRequest(), metadata=self._metadata())
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
        if self._subscriptions is None or self._subscriptions.ended:
            self._subscriptions = SubscribeCall(self._stub, self._metadata())
        subscription = messages.subscription_to_pb(request)
        try:
            async with aclosing(self._subscriptions.indications(subscription)) as indications:
                async for indication in indications:
                    yield indication
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
                raise SubscriptionRefused(request.node_id, request.oid, _details(error)) from error
            await self._raise_for_node(error, request.node_id, request.oid)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        """See `GatewayLink.control`."""
        if self._controls is None or self._controls.ended:
            self._controls = ControlCall(self._stub, self._metadata())
        request = pb.ControlRequest(
            node_id=node_id,
            ran_function_oid=oid,
            header=header,
            message=message,
            instance=self._instance,
        )
        try:
            response = await self._controls.control(request, timeout_s)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise ControlTimeout(node_id, oid, timeout_s) from error
            await self._raise_for_node(error, node_id, oid)
        except asyncio.CancelledError:
            self._raise_if_channel_closed()
            raise
        answer = messages.answer_from_pb(response)
        if answer is None:
            raise GatewayProtocolError(self.address, f"control status {response.status}")
        return answer

    async def close(self) -> None:
        """See `GatewayLink.close`."""
        for call in (self._controls, self._subscriptions):
            if call is not None:
                await call.close()
        await self._channel.close()

    def _metadata(self) -> Metadata:
        try:
            return call_metadata(self._settings)
        except SettingsError as error:
            raise GatewayUnavailable(self.address, str(error)) from error

    async def _reopen_if_files_changed(self) -> None:
        """A channel keeps its certificates: without a connection, renewed ones need another."""
        if not self._settings.tls.enabled:
            return
        if self._channel.get_state() is grpc.ChannelConnectivity.READY:
            return
        try:
            files = tls_files(self._settings)
            if files == self._files:
                return
            channel = open_channel(self._settings, self.address, channel_options(self._settings))
        except SettingsError as error:
            raise GatewayUnavailable(self.address, str(error)) from error
        old, self._channel, self._files = self._channel, channel, files
        self._stub = E2GatewayStub(channel)
        self._controls = self._subscriptions = None
        await old.close()

    async def _raise_for_node(
        self, error: grpc.aio.AioRpcError, node_id: str, oid: str
    ) -> NoReturn:
        """NOT_FOUND and UNAVAILABLE have two meanings each; the list of nodes decides."""
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
        if error.code() in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            raise AccessDenied(self.address, _details(error)) from error
        raise GatewayProtocolError(
            self.address, f"{error.code().name}: {_details(error)}"
        ) from error

    def _parsed(self, message: Message | None) -> Message:
        """gRPC passes on `None` for a message that it cannot parse."""
        if message is None:
            raise GatewayProtocolError(self.address, "not a message of the interface")
        return message

    def _raise_if_channel_closed(self) -> None:
        """Closing the channel cancels its calls; only a cancelled task may end as cancelled."""
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            raise GatewayUnavailable(self.address, "link closed")


def _details(error: grpc.aio.AioRpcError) -> str:
    return error.details() or error.code().name
