"""The bridge as the RIC behind the E2 gateway: each procedure by FlexRIC's SDK."""

from __future__ import annotations

import struct
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

import grpc
from e2_gateway_server import (
    SERVICE,
    AuthorizedBackend,
    GatewayService,
    Outbox,
    ProcedureError,
    describe,
)
from e2_gateway_server.indication import encode_kpm
from e2sm_tc import Owners
from ric.access import Caller
from ric.clock import Clock
from ric.errors import ServiceModelError
from ric.grpc_server import GrpcServer
from ric.security import Security
from ric.sm import KPM_OID, TC_V0_OID, TC_V1_OID, tc
from ric.sm.plain import event_trigger_period_ms
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_serving import Pool, Share

from flexric_bridge.budget import BudgetSpent, Use
from flexric_bridge.controls import ControlQueue, Rate, RateExceeded
from flexric_bridge.hub import Hub
from flexric_bridge.kpm_definition import KpmDefinitionError, offered
from flexric_bridge.kpm_units import THROUGHPUT_OF
from flexric_bridge.limited import LimitedBackend, ReportLoad
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import REPORTED, KnownNode, NodeRegistry
from flexric_bridge.owned import OwnedBackend
from flexric_bridge.readers import Reader
from flexric_bridge.sdk import SdkError, SNssai
from flexric_bridge.session import Session, SessionDown
from flexric_bridge.settings import GatewayServerSettings
from flexric_bridge.subscription import (
    LONGEST_MS,
    NodeGone,
    UnsupportedSubscription,
    requested_measurements,
)
from flexric_bridge.tc.messages import Answer
from flexric_bridge.tc.own_v1 import OwnV1, element_of, superseded
from flexric_bridge.traffic_control import TrafficControl, wanted
from flexric_bridge.v1_reports import V1Selection, selections

_CODE = grpc.StatusCode
_CODE_OF: Final[dict[type[Exception], grpc.StatusCode]] = {
    SessionDown: _CODE.UNAVAILABLE,
    ServiceModelError: _CODE.INVALID_ARGUMENT,
    # Not permanent: a restart of the RIC renews the budget.
    BudgetSpent: _CODE.RESOURCE_EXHAUSTED,
}
_CODE_OF_SDK: Final = {
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
MAX_SHOWN: Final = 8
"""Names in an error."""


@dataclass(eq=False, kw_only=True)
class Gateway:
    """An `e2_gateway_server.Backend`."""

    session: Session
    registry: NodeRegistry
    hub: Hub
    traffic: TrafficControl
    own_v1: OwnV1
    lane: ControlQueue[Answer]
    rate: Rate
    metrics: Metrics
    clock: Clock

    def nodes(self) -> list[pb.Node]:
        """See `Backend.nodes`; empty without a session with the RIC."""
        return self.registry.messages()

    async def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        """See `Backend.watch_nodes`."""
        queue = self.registry.watch()
        try:
            while True:
                yield await queue.get()
        finally:
            self.registry.leave(queue)

    # ----------------------------------------------------------------- subscriptions

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        """See `Backend.subscribe`."""
        known = self._present(subscription.node_id)
        oid = subscription.ran_function_oid
        if not _offers(known, oid):
            offered = ", ".join(function.oid for function in known.message.ran_functions)
            detail = f"{known.id} has no RAN function {oid}; it has {offered}"
            if known.no_tc and oid == TC_V1_OID:
                detail = f"{known.id}: {known.no_tc}"
            raise ProcedureError(_CODE.NOT_FOUND, detail)
        self.metrics.readers += 1
        try:
            with _procedure_errors():
                kpm_slice = _kpm_slice(subscription)
                if oid != TC_V1_OID:
                    reading = self._read(known, subscription, outbox, kpm_slice)
                elif known.has_v1:
                    reading = self._read_v1(known, subscription, outbox)
                else:
                    reading = self._read_tc(known, subscription, outbox)
                async with reading:
                    yield
        finally:
            self.metrics.readers -= 1
            self.metrics.dropped += outbox.dropped
            self.metrics.coalesced += outbox.coalesced

    @asynccontextmanager
    async def _read_tc(
        self, known: KnownNode, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        """E2SM-TC v1 reports, translated from v0."""
        asked = wanted(subscription.event_trigger, subscription.action_definitions)
        _check_reading(subscription, asked.period_ms)
        reader = Reader(outbox, asked.period_ms or 1)
        await self.traffic.subscribe(known, asked, reader)
        try:
            yield
        finally:
            self.traffic.leave(known, reader)

    @asynccontextmanager
    async def _read_v1(
        self, known: KnownNode, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        """E2SM-TC v1 reports of the node, unchanged."""
        wanted_of_node = selections(subscription.event_trigger, subscription.action_definitions)
        async with AsyncExitStack() as stack:
            for selection in wanted_of_node:
                _check_reading(subscription, selection.period_ms)
                reader = Reader(outbox, selection.period_ms or LONGEST_MS)
                stack.callback(self.hub.leave, known, TC_V1_OID, reader, selection)
                await self.hub.read(
                    known, TC_V1_OID, _poll_ms(selection), (), reader, variant=selection
                )
            yield

    @asynccontextmanager
    async def _read(
        self,
        known: KnownNode,
        subscription: pb.Subscription,
        outbox: Outbox[bytes],
        kpm_slice: SNssai | None,
    ) -> AsyncGenerator[None]:
        """Reports of the node, unchanged."""
        oid = subscription.ran_function_oid
        if oid not in REPORTED:
            raise UnsupportedSubscription(
                f"RAN function {oid}: the bridge supports reports of RLC, MAC, KPM and TC"
            )
        period_ms = event_trigger_period_ms(subscription.event_trigger)
        reader = Reader(outbox, period_ms)
        names: tuple[str, ...] = ()
        if oid == KPM_OID:
            requested = requested_measurements(subscription)
            try:
                own, lacking = offered(known.functions[oid].definition, requested)
            except KpmDefinitionError as error:
                raise UnsupportedSubscription(f"KPM: {error}") from error
            if not own:
                raise UnsupportedSubscription(
                    f"KPM: none of {list(requested[:MAX_SHOWN])} is a measurement of this node"
                )
            names = own + tuple(THROUGHPUT_OF[name] for name in own if name in THROUGHPUT_OF)
            unsupported = encode_kpm(pb.KpmReport(unsupported=lacking)) if lacking else b""
            reader = Reader(outbox, period_ms, unsupported, own)
        try:
            await self.hub.read(known, oid, period_ms, names, reader, variant=kpm_slice)
            yield
        finally:
            self.hub.leave(known, oid, reader, kpm_slice)

    # ---------------------------------------------------------------------- controls

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """See `Backend.control`."""
        known, oid = self._present(request.node_id), request.ran_function_oid
        if known.no_tc and oid in (TC_V0_OID, TC_V1_OID):
            raise ProcedureError(_CODE.NOT_FOUND, f"{known.id}: {known.no_tc}")
        if oid not in (TC_V0_OID, TC_V1_OID) or not _offers(known, oid):
            detail = f"{known.id}: RAN function {oid} takes no controls; only E2SM-TC does"
            raise ProcedureError(_CODE.NOT_FOUND, detail)
        began_ns = self.clock.monotonic_ns()
        outcome = "cancelled"
        try:
            with _procedure_errors():
                answer = await self._controlled(known, oid, request.header, request.message)
            outcome = "acknowledged" if answer.accepted else "failed"
        except ProcedureError as error:
            outcome = error.__cause__.kind if isinstance(error.__cause__, SdkError) else "gone"
            raise
        finally:
            took_us = (self.clock.monotonic_ns() - began_ns) / 1000
            self.metrics.count_control(outcome, took_us)
        status = pb.ControlAnswer.ACKNOWLEDGED if answer.accepted else pb.ControlAnswer.FAILED
        return pb.ControlAnswer(status=status, outcome=answer.outcome, detail=answer.detail)

    async def _controlled(
        self, known: KnownNode, oid: str, header: bytes, message: bytes
    ) -> Answer:
        if oid == TC_V0_OID:
            key = _element(message)
            return await self.lane.run(
                None if key is None else (known.id, oid, key),
                lambda: self._control_v0(known, header, message),
                lambda: Answer(False, b"", _SUPERSEDED),
            )
        if known.has_v1:
            fed = element_of(message)
            return await self.lane.run(
                None if fed is None else (known.id, oid, fed),
                lambda: self.own_v1.control(known, header, message),
                superseded,
            )
        served = self.traffic.of(known)
        await served.listen()
        await served.first_report()
        if known.no_tc:
            raise UnsupportedSubscription(f"{known.id}: {known.no_tc}")
        function = served.function
        asked = function.receive(header, message)
        if isinstance(asked, Answer):
            return asked
        return await self.lane.run(
            None if asked.element is None else (known.id, oid, asked.element),
            lambda: function.transact(asked),
            function.superseded,
        )

    async def _control_v0(self, known: KnownNode, header: bytes, message: bytes) -> Answer:
        """A v0 control, unchanged. A refusal by the RIC or the node is an answer."""
        try:
            self.session.budget.refuse(Use.CONTROL)
            await self.rate.take(1)
            if suspect_reason := await self.hub.freshness.await_recent_report(known):
                raise NodeGone(suspect_reason)
            function_id = known.functions[TC_V0_OID].id
            self.traffic.controlled(known)
            outcome = await self.session.control(known.id, function_id, header, message)
        except (RateExceeded, BudgetSpent) as error:
            return Answer(False, b"", str(error))
        except SdkError as error:
            if error.kind in ("refused", "bad-message"):
                return Answer(False, b"", str(error))
            raise
        return Answer(True, outcome)

    def _present(self, node_id: str) -> KnownNode:
        known = self.registry.present(node_id)
        if known is None:
            raise ProcedureError(_CODE.NOT_FOUND, f"no node {node_id} is connected")
        return known


@contextmanager
def _procedure_errors() -> Iterator[None]:
    """Errors of the session and of service models, as the gateway's clients see them."""
    try:
        yield
    except SdkError as error:
        raise ProcedureError(_CODE_OF_SDK[error.kind], str(error)) from error
    except (SessionDown, ServiceModelError, BudgetSpent) as error:
        raise ProcedureError(_CODE_OF[type(error)], str(error)) from error


def _poll_ms(selection: V1Selection) -> int:
    """Within what FlexRIC takes for a period; the trigger has the node's own."""
    return min(selection.period_ms or LONGEST_MS, LONGEST_MS)


def _check_reading(subscription: pb.Subscription, period_ms: int | None) -> None:
    """An event replaces no other."""
    if subscription.reading == pb.Subscription.NEWEST and period_ms is None:
        raise UnsupportedSubscription(
            "reading: NEWEST with an event trigger that is not periodic, of which no report"
            " replaces another; expected HISTORY"
        )


def _kpm_slice(request: pb.Subscription) -> SNssai | None:
    if not request.HasField("kpm_slice"):
        return None
    if request.ran_function_oid != KPM_OID:
        raise UnsupportedSubscription(
            f"kpm_slice: RAN function {request.ran_function_oid} takes none"
        )
    asked = request.kpm_slice
    try:
        return SNssai(asked.sst, asked.sd if asked.HasField("sd") else None)
    except ValueError as error:
        raise UnsupportedSubscription(f"kpm_slice.{error}") from None


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


def describe_control(request: pb.ControlRequest) -> str:
    """A control for the audit log: kind and bearer of E2SM-TC v1, start of its SHA-256."""
    digest = describe(request)
    if request.ran_function_oid != TC_V1_OID:
        return digest
    try:
        ((kind, content),) = tc.decode("control", request.message).items()
    except ServiceModelError:
        return f"not decodable, {digest}"
    kind = kind.replace("_", " ")
    if kind == "forecast feed":
        return f"forecasts of {len(content['bearers'])} bearers, {digest}"
    if (bearer := content.get("bearer")) is None:
        return f"{kind}, {digest}"
    rnti = bearer["ue"].get("rnti")
    ue = f"F1AP {bearer['ue']['gnb_cu_ue_f1ap_id']}" if rnti is None else f"{rnti:#06x}"
    return f"{kind} UE {ue} DRB {bearer['drb']}, {digest}"


class GatewayServer(GrpcServer):
    """The gRPC server: gateway, health, reflection."""

    def __init__(
        self, gateway: Gateway, settings: GatewayServerSettings, security: Security
    ) -> None:
        self.load = ReportLoad(settings.max_report_load_bytes_per_s, gateway.metrics)
        self.queued = Pool(settings.max_queued_bytes)
        owners = Owners()

        def authorize(caller: Caller) -> AuthorizedBackend:
            owned = OwnedBackend(gateway, owners, gateway.clock, caller.name, caller.address)
            limited = LimitedBackend(owned, caller.account, self.load)
            return AuthorizedBackend(limited, caller, describe_control)

        def room(caller: Caller) -> Share:
            return caller.account.share(self.queued)

        self._gateway_service = GatewayService(
            gateway,
            authorize=authorize,
            queue_depth=settings.queue_depth,
            max_queue_depth=settings.max_queue_depth,
            room=room,
        )
        super().__init__(SERVICE, self._gateway_service.handlers(), settings, security=security)

    async def stop(self, grace_s: float = 0.5) -> None:
        """End every call."""
        self._gateway_service.stop("the gateway stops")
        await super().stop(grace_s)
