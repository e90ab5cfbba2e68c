"""The E2 gateway: `interfaces/proto/e2_gateway.proto` over gRPC, with health and reflection."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc
import grpc.aio
from ric.clock import Clock
from ric.door import DoorServer
from ric.errors import ServiceModelError
from ric.gateway.channel import SERVER_OPTIONS
from ric.gateway.control_door import Context as ControlContext
from ric.gateway.control_door import ControlDoor, NoAnswer
from ric.gateway.subscription_door import Feed, SubscriptionDoor, SubscriptionOver
from ric.sm import KPM_OID, TC_V0_OID, TC_V1_OID
from ric.sm.plain import event_trigger_period_ms
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.budget import BudgetSpent, Use
from flexric_bridge.controls import Lane, Rate, TooFast
from flexric_bridge.hub import Gone, Hub, Unserved
from flexric_bridge.kpm_definition import KpmDefinitionError, offered
from flexric_bridge.kpm_units import THROUGHPUT_OF
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import REPORTED, KnownNode, NodeBook
from flexric_bridge.readers import Ended, Reader
from flexric_bridge.records import kpm_unsupported
from flexric_bridge.sdk import SdkError, SNssai
from flexric_bridge.session import Session, SessionDown
from flexric_bridge.settings import GatewayDoor
from flexric_bridge.tc.messages import Answer
from flexric_bridge.traffic_control import TrafficControl, wanted

SERVICE: Final = pb.DESCRIPTOR.services_by_name["E2Gateway"].full_name
Context = grpc.aio.ServicerContext[Any, Any]

_CODE = grpc.StatusCode
_STATUS_OF: Final[dict[type[Exception], grpc.StatusCode]] = {
    Gone: _CODE.UNAVAILABLE,
    SessionDown: _CODE.UNAVAILABLE,
    Unserved: _CODE.INVALID_ARGUMENT,
    ServiceModelError: _CODE.INVALID_ARGUMENT,
    # Later there may be more: the RIC may be restarted.
    BudgetSpent: _CODE.RESOURCE_EXHAUSTED,
}
_STATUS_OF_SDK: Final = {
    "no-such-node": _CODE.UNAVAILABLE,
    "no-such-function": _CODE.NOT_FOUND,
    "refused": _CODE.INVALID_ARGUMENT,
    "bad-message": _CODE.INVALID_ARGUMENT,
    "timeout": _CODE.DEADLINE_EXCEEDED,
    "closed": _CODE.UNAVAILABLE,
    "mismatch": _CODE.UNAVAILABLE,
}
_SUPERSEDED: Final = "superseded: a later control of the same element came before this one was sent"
_KINDS: Final = struct.Struct("<II")
_MODIFY: Final = 2


class Gateway:
    """The procedures of the proto."""

    def __init__(
        self,
        *,
        session: Session,
        nodes: NodeBook,
        hub: Hub,
        traffic: TrafficControl,
        lane: Lane[Answer],
        rate: Rate,
        metrics: Metrics,
        clock: Clock,
        door: GatewayDoor,
    ) -> None:
        self._session = session
        self._nodes = nodes
        self._hub = hub
        self._traffic = traffic
        self._lane = lane
        self._rate = rate
        self._metrics = metrics
        self._clock = clock
        self._door = door
        self._streams: set[Reader] = set()
        self._subscriptions = SubscriptionDoor(self._feed)
        self._controls = ControlDoor(self._control)

    def handlers(self) -> grpc.GenericRpcHandler:
        """The procedures; indications are written by hand, so they leave as the bytes they are."""
        unary, stream = (
            grpc.unary_unary_rpc_method_handler,
            grpc.unary_stream_rpc_method_handler,
        )
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "ListNodes": unary(
                    self.ListNodes,
                    pb.ListNodesRequest.FromString,
                    pb.ListNodesResponse.SerializeToString,
                ),
                "WatchNodes": stream(
                    self.WatchNodes,
                    pb.WatchNodesRequest.FromString,
                    pb.NodeEvent.SerializeToString,
                ),
                "Subscribe": grpc.stream_stream_rpc_method_handler(
                    self.Subscribe, pb.SubscribeRequest.FromString
                ),
                "Control": grpc.stream_stream_rpc_method_handler(
                    self.Control,
                    pb.ControlRequest.FromString,
                    pb.ControlResponse.SerializeToString,
                ),
            },
        )

    async def ListNodes(  # noqa: N802 - named by the proto
        self, _request: pb.ListNodesRequest, _context: Context
    ) -> pb.ListNodesResponse:
        """The nodes there are; none while there is no session with the RIC."""
        return pb.ListNodesResponse(nodes=self._nodes.messages())

    async def WatchNodes(  # noqa: N802 - named by the proto
        self, _request: pb.WatchNodesRequest, _context: Context
    ) -> AsyncIterator[pb.NodeEvent]:
        """The nodes there are, then each change."""
        queue = self._nodes.watch()
        try:
            while True:
                yield await queue.get()
        finally:
            self._nodes.leave(queue)

    # ----------------------------------------------------------------- subscriptions

    async def Subscribe(  # noqa: N802 - named by the proto
        self, requests: AsyncIterator[pb.SubscribeRequest], context: Context
    ) -> None:
        """RIC subscriptions; see the proto."""
        await self._subscriptions.stream(requests, context, context.write)

    async def _feed(self, request: pb.Subscription, feed: Feed) -> None:
        ended = asyncio.Event()
        source: Reader | None = None

        def more() -> None:
            feed.note()
            if source is not None and source.ended is not None:
                ended.set()

        async with self._reading(request, more) as reader:
            source = reader
            feed.attach(reader)
            more()
            await ended.wait()
            raise reader.ended or Ended("ended")

    @asynccontextmanager
    async def _reading(
        self, request: pb.Subscription, more: Callable[[], None]
    ) -> AsyncGenerator[Reader]:
        """A reader of what is asked for; raises `SubscriptionOver` for why there is none, and for
        what its body raises."""
        known = self._nodes.present(request.node_id)
        if known is None:
            raise SubscriptionOver(_CODE.NOT_FOUND, f"no node {request.node_id} is connected")
        oid = request.ran_function_oid
        if not _offers(known, oid):
            offered = ", ".join(function.oid for function in known.message.ran_functions)
            detail = f"{known.id} has no RAN function {oid}; it has {offered}"
            if known.no_tc and oid == TC_V1_OID:
                detail = f"{known.id}: {known.no_tc}"
            raise SubscriptionOver(_CODE.NOT_FOUND, detail)
        depth = min(request.queue_depth or self._door.queue_depth, self._door.max_queue_depth)
        reader: Reader | None = None
        self._metrics.readers += 1
        try:
            reader = await self._begin(known, request, depth, more)
            self._streams.add(reader)
            yield reader
        except (Unserved, Gone, Ended, BudgetSpent, SdkError, ServiceModelError) as error:
            raise SubscriptionOver(_status_of(error), str(error)) from error
        finally:
            self._metrics.readers -= 1
            if reader is not None:
                self._streams.discard(reader)
                self._metrics.dropped += reader.dropped
                self._end(known, request, reader)

    async def _begin(
        self, known: KnownNode, request: pb.Subscription, depth: int, more: Callable[[], None]
    ) -> Reader:
        oid, kpm_slice = request.ran_function_oid, _kpm_slice(request)
        if oid == TC_V1_OID:
            asked = wanted(request.event_trigger, request.action_definitions)
            reader = Reader(asked.period_ms or 1, depth, more)
            await self._traffic.subscribe(known, asked, reader)
            return reader
        if oid not in REPORTED:
            raise Unserved(f"RAN function {oid}: the bridge has reports of RLC, MAC, KPM and TC")
        period_ms = event_trigger_period_ms(request.event_trigger)
        names: tuple[str, ...] = ()
        own: tuple[str, ...] = ()
        lacking: tuple[str, ...] = ()
        if oid == KPM_OID:
            asked_names = tuple(dict.fromkeys(request.kpm_measurements))
            try:
                own, lacking = offered(known.functions[oid].definition, asked_names)
            except KpmDefinitionError as error:
                raise Unserved(f"KPM: {error}") from error
            if not own:
                raise Unserved(f"KPM: none of {list(asked_names)} is a measurement of this node")
            names = own + tuple(THROUGHPUT_OF[name] for name in own if name in THROUGHPUT_OF)
        reader = Reader(period_ms, depth, more, kpm_unsupported(lacking), own)
        try:
            await self._hub.read(known, oid, period_ms, names, reader, kpm_slice=kpm_slice)
        except BaseException:
            self._hub.leave(known, oid, reader, kpm_slice)
            raise
        return reader

    def _end(self, known: KnownNode, request: pb.Subscription, reader: Reader) -> None:
        oid = request.ran_function_oid
        if oid == TC_V1_OID:
            self._traffic.leave(known, reader)
        else:
            self._hub.leave(known, oid, reader, _kpm_slice(request))

    def end_streams(self, why: str) -> None:
        """End every stream, for a graceful stop."""
        for reader in self._streams:
            reader.end(Gone(why))
        self._subscriptions.end(why)
        self._controls.end(why)

    # ---------------------------------------------------------------------- controls

    async def Control(  # noqa: N802 - named by the proto
        self, requests: AsyncIterator[pb.ControlRequest], context: ControlContext
    ) -> None:
        """RIC controls; see the proto."""
        await self._controls.stream(requests, context)

    async def _control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        known = self._nodes.present(request.node_id)
        if known is None:
            raise NoAnswer(_CODE.NOT_FOUND, f"no node {request.node_id} is connected")
        oid = request.ran_function_oid
        if known.no_tc and oid in (TC_V0_OID, TC_V1_OID):
            raise NoAnswer(_CODE.NOT_FOUND, f"{known.id}: {known.no_tc}")
        if oid not in (TC_V0_OID, TC_V1_OID) or not _offers(known, oid):
            detail = f"{known.id}: RAN function {oid} takes no controls here; E2SM-TC does"
            raise NoAnswer(_CODE.NOT_FOUND, detail)
        began_ns = self._clock.monotonic_ns()
        outcome = "cancelled"
        try:
            answer = await self._controlled(known, oid, request.header, request.message)
            outcome = "acknowledged" if answer.accepted else "failed"
        except (Gone, Unserved, SessionDown, SdkError, BudgetSpent) as error:
            outcome = error.kind if isinstance(error, SdkError) else "gone"
            raise NoAnswer(_status_of(error), str(error)) from error
        finally:
            took_us = (self._clock.monotonic_ns() - began_ns) / 1000
            self._metrics.count_control(known.id, outcome, took_us)
        status = pb.ControlAnswer.ACKNOWLEDGED if answer.accepted else pb.ControlAnswer.FAILED
        return pb.ControlAnswer(status=status, outcome=answer.outcome, detail=answer.detail)

    async def _controlled(
        self, known: KnownNode, oid: str, header: bytes, message: bytes
    ) -> Answer:
        if oid == TC_V0_OID:
            key = _element(message)
            return await self._lane.run(
                None if key is None else (known.id, oid, key),
                lambda: self._control_v0(known, header, message),
                lambda: Answer(False, b"", _SUPERSEDED),
            )
        served = self._traffic.of(known)
        await served.listen()
        await served.first_report()
        if known.no_tc:
            raise Unserved(f"{known.id}: {known.no_tc}")
        function = served.function
        asked = function.receive(header, message)
        if isinstance(asked, Answer):
            return asked
        return await self._lane.run(
            None if asked.element is None else (known.id, oid, asked.element),
            lambda: function.transact(asked),
            function.superseded,
        )

    async def _control_v0(self, known: KnownNode, header: bytes, message: bytes) -> Answer:
        """A v0 control as it is. What the RIC or the node refuses is an answer."""
        try:
            self._session.budget.refuse(Use.CONTROL)
            await self._rate.take(1)
            if suspect_reason := await self._hub.heard_lately(known):
                raise Gone(suspect_reason)
            function_id = known.functions[TC_V0_OID].id
            self._traffic.controlled(known)
            outcome = await self._session.control(known.id, function_id, header, message)
        except (TooFast, BudgetSpent) as error:
            return Answer(False, b"", str(error))
        except SdkError as error:
            if error.kind in ("refused", "bad-message"):
                return Answer(False, b"", str(error))
            raise
        return Answer(True, outcome)


def _kpm_slice(request: pb.Subscription) -> SNssai | None:
    if not request.HasField("kpm_slice"):
        return None
    if request.ran_function_oid != KPM_OID:
        raise Unserved(f"kpm_slice: RAN function {request.ran_function_oid} takes none")
    asked = request.kpm_slice
    try:
        return SNssai(asked.sst, asked.sd if asked.HasField("sd") else None)
    except ValueError as error:
        raise Unserved(f"kpm_slice.{error}") from None


def _offers(known: KnownNode, oid: str) -> bool:
    return any(function.oid == oid for function in known.message.ran_functions)


def _element(message: bytes) -> bytes | None:
    """What a v0 control changes as a whole, so that a later one replaces it; `None` for those that
    add or delete."""
    if len(message) < _KINDS.size:
        return None
    stage, action = _KINDS.unpack_from(message)
    if action != _MODIFY:
        return None
    # Classifier, scheduler and pacer are one each; queue, policer and shaper come with their id,
    # and so does a filter, behind the classifier's kind.
    if stage in (3, 5):
        return message[:8]
    if stage == 0:
        return message[:16] if message[8:12] == b"\1\0\0\0" else message[:8]
    return message[:12]


def _status_of(error: Exception) -> grpc.StatusCode:
    if isinstance(error, SdkError):
        return _STATUS_OF_SDK[error.kind]
    return _STATUS_OF.get(type(error), _CODE.UNAVAILABLE)


class GatewayServer(DoorServer):
    """The gRPC server: gateway, health, reflection."""

    def __init__(self, gateway: Gateway, door: GatewayDoor) -> None:
        super().__init__(SERVICE, gateway.handlers(), door, SERVER_OPTIONS)
        self._gateway = gateway

    async def stop(self, grace_s: float = 0.5) -> None:
        """End every stream."""
        self._gateway.end_streams("the gateway stops")
        await super().stop(grace_s)
