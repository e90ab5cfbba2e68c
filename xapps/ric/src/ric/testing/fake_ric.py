"""A near-RT RIC in memory: nodes, reports, answers to controls, and an in-memory link to it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from e2_gateway_server import Outbox

from ric.clock import Clock
from ric.e2 import (
    ControlAnswer,
    Indication,
    KpmReport,
    Node,
    NodeEvent,
    NodeEventKind,
    NodeType,
    RanFunction,
    Reading,
    SubscriptionRequest,
)
from ric.errors import (
    ControlTimeout,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SubscriptionRefused,
)
from ric.gateway import E2GatewayClient
from ric.gateway.link import GatewayLink
from ric.settings import GatewaySettings
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID
from ric.testing.virtual_time import LoopClock

ControlHandler = Callable[[bytes, bytes], ControlAnswer | Awaitable[ControlAnswer]]
"""Answers a control, given its header and message; may raise a `GatewayError`."""

RAN_FUNCTION_IDS: Final = {KPM_OID: 2, MAC_OID: 142, RLC_OID: 143, TC_V0_OID: 146, TC_V1_OID: 1146}


def ran_function(oid: str, definition: bytes = b"") -> RanFunction:
    """A RAN function with the id that FlexRIC assigns, else 1000."""
    return RanFunction(RAN_FUNCTION_IDS.get(oid, 1000), oid, 1, definition)


@dataclass(frozen=True, slots=True)
class RecordedControl:
    """One control that reached a node."""

    node_id: str
    oid: str
    header: bytes
    message: bytes
    at_us: int


@dataclass(slots=True, eq=False)
class OpenSubscription:
    """One RIC subscription at the fake; `put`, `skip` and `end` are those of its outbox."""

    request: SubscriptionRequest
    put: Callable[[Indication], None]
    skip: Callable[[int], None]
    end: Callable[[Exception], None]


@dataclass(slots=True, eq=False)
class FakeNode:
    """One E2 node; made by `FakeRic.add_node`."""

    ric: FakeRic
    node: Node
    handlers: dict[str, ControlHandler] = field(default_factory=dict)
    sources: list[asyncio.Task[None]] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)

    def report(
        self,
        oid: str,
        message: bytes = b"",
        *,
        header: bytes = b"",
        kpm: KpmReport | None = None,
        collected_at_us: int | None = None,
        received_at_us: int | None = None,
        to: Callable[[SubscriptionRequest], bool] = lambda _: True,
    ) -> int:
        """Send one indication to each subscription of `oid` that `to` accepts; returns how many."""
        function = self.node.ran_function(oid)
        if function is None:
            raise RanFunctionUnknown(self.node.id, oid)
        now_us = self.ric.clock.now_us()
        reached = 0
        for subscription in self.ric.subscriptions:
            request = subscription.request
            if (request.node_id, request.oid) != (self.node.id, oid) or not to(request):
                continue
            reached += 1
            subscription.put(
                Indication(
                    self.node.id,
                    function.id,
                    oid,
                    0,
                    header,
                    message,
                    kpm,
                    now_us if collected_at_us is None else collected_at_us,
                    now_us if received_at_us is None else received_at_us,
                )
            )
        return reached

    def report_every(
        self, oid: str, period_us: int, message_at: Callable[[int], bytes]
    ) -> asyncio.Task[None]:
        """Report `message_at(now_us)` each period until the node leaves or the task is cancelled.

        Needs a running event loop; the first report is due one period from now.
        """

        async def source() -> None:
            due_us = self.ric.clock.now_us()
            while True:
                due_us += period_us
                await self.ric.clock.sleep(max(0, due_us - self.ric.clock.now_us()) / 1e6)
                self.report(oid, message_at(self.ric.clock.now_us()))

        task = asyncio.get_running_loop().create_task(source())
        self.sources.append(task)
        return task

    def on_control(self, oid: str, handler: ControlHandler) -> None:
        """Answer controls to `oid` by `handler`; the default acknowledges."""
        self.handlers[oid] = handler

    def refuse_subscriptions(self, oid: str, reason: str) -> None:
        """Refuse every RIC subscription of `oid` from now on; "" accepts again."""
        self.refusals[oid] = reason

    def skip(self, oid: str, count: int) -> None:
        """Lose `count` reports, as a gateway does for a slow reader."""
        for subscription in self.ric.subscriptions:
            if (subscription.request.node_id, subscription.request.oid) == (self.node.id, oid):
                subscription.skip(count)

    def break_streams(self) -> None:
        """End the node's subscriptions with UNAVAILABLE while the node stays."""
        self.ric.end_subscriptions(
            lambda request: request.node_id == self.node.id,
            NodeGone(self.node.id, "subscription lost"),
        )


class FakeRic:
    """A gateway and its nodes. `up` and `down` start and stop the gateway as a whole."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self.clock = clock or LoopClock()
        self.controls: list[RecordedControl] = []
        self.subscriptions: list[OpenSubscription] = []
        self._nodes: dict[str, FakeNode] = {}
        self._watchers: list[Outbox[NodeEvent]] = []
        self._up = True

    # ---------------------------------------------------------------- nodes

    def add_node(
        self,
        node_id: str,
        *functions: RanFunction | str,
        node_type: NodeType = NodeType.GNB,
        base_station_id: str = "",
    ) -> FakeNode:
        """A node connects; functions are RAN functions or OIDs."""
        offered = tuple(map(_as_function, functions))
        number = len(self._nodes)
        node = Node(node_id, node_type, 1, 1, number, offered, base_station_id=base_station_id)
        fake = FakeNode(self, node)
        self._nodes[node_id] = fake
        self._publish(NodeEvent(NodeEventKind.CONNECTED, node))
        return fake

    def remove_node(self, node_id: str) -> None:
        """The node leaves: its subscriptions end, its sources stop."""
        fake = self._nodes.pop(node_id)
        for source in fake.sources:
            source.cancel()
        self._publish(NodeEvent(NodeEventKind.DISCONNECTED, fake.node))
        self.end_subscriptions(lambda request: request.node_id == node_id, NodeGone(node_id))

    def update_node(self, node_id: str, *functions: RanFunction | str) -> None:
        """The node's RAN functions change."""
        fake = self._nodes[node_id]
        old = fake.node
        fake.node = Node(
            old.id, old.type, old.mcc, old.mnc, old.nb_id, tuple(map(_as_function, functions))
        )
        self._publish(NodeEvent(NodeEventKind.UPDATED, fake.node))
        self.end_subscriptions(
            lambda r: r.node_id == node_id and fake.node.ran_function(r.oid) is None,
            NodeGone(node_id, "RAN function went away"),
        )

    # -------------------------------------------------------------- gateway

    def down(self) -> None:
        """The gateway is lost; nodes and their sources continue."""
        self._up = False
        error = GatewayUnavailable("fake", "gateway is down")
        self.end_subscriptions(lambda _: True, error)
        for watcher in self._watchers:
            watcher.end(error)
        self._watchers.clear()

    def up(self) -> None:
        """The gateway is reachable again."""
        self._up = True

    def link(self) -> GatewayLink:
        """An in-memory link to this gateway."""
        return FakeLink(self)

    def client(self, settings: GatewaySettings | None = None, **options: Any) -> E2GatewayClient:
        """The real client over the in-memory link, on this fake's clock."""
        return E2GatewayClient(settings, link=self.link(), clock=self.clock, **options)

    # ------------------------------------------- procedures, for link and server

    def nodes(self) -> tuple[Node, ...]:
        """The nodes connected now."""
        self._check_up()
        return tuple(fake.node for fake in self._nodes.values())

    def open_watch(self) -> Outbox[NodeEvent]:
        """A node watch: the nodes as `CONNECTED`, then changes. Close it with `close_watch`."""
        self._check_up()
        outbox: Outbox[NodeEvent] = Outbox()
        for fake in self._nodes.values():
            outbox.put(NodeEvent(NodeEventKind.CONNECTED, fake.node))
        self._watchers.append(outbox)
        return outbox

    def close_watch(self, outbox: Outbox[NodeEvent]) -> None:
        """End a node watch."""
        if outbox in self._watchers:
            self._watchers.remove(outbox)

    def open_subscription(
        self,
        request: SubscriptionRequest,
        put: Callable[[Indication], None],
        skip: Callable[[int], None],
        end: Callable[[Exception], None],
    ) -> OpenSubscription:
        """A RIC subscription. Close it with `close_subscription`."""
        self._check_up()
        fake = self._find(request.node_id, request.oid)
        if reason := fake.refusals.get(request.oid):
            raise SubscriptionRefused(request.node_id, request.oid, reason)
        subscription = OpenSubscription(request, put, skip, end)
        self.subscriptions.append(subscription)
        return subscription

    def close_subscription(self, subscription: OpenSubscription) -> None:
        """End a RIC subscription."""
        if subscription in self.subscriptions:
            self.subscriptions.remove(subscription)

    def end_subscriptions(
        self, which: Callable[[SubscriptionRequest], bool], error: Exception
    ) -> None:
        """End subscriptions with an error."""
        for subscription in [s for s in self.subscriptions if which(s.request)]:
            subscription.end(error)
            self.subscriptions.remove(subscription)

    async def control(self, node_id: str, oid: str, header: bytes, message: bytes) -> ControlAnswer:
        """A RIC control, recorded and answered."""
        self._check_up()
        fake = self._find(node_id, oid)
        self.controls.append(RecordedControl(node_id, oid, header, message, self.clock.now_us()))
        handler = fake.handlers.get(oid)
        if handler is None:
            return ControlAnswer(acknowledged=True)
        answer = handler(header, message)
        return await answer if inspect.isawaitable(answer) else answer

    def _find(self, node_id: str, oid: str) -> FakeNode:
        fake = self._nodes.get(node_id)
        if fake is None:
            raise NodeGone(node_id)
        if fake.node.ran_function(oid) is None:
            raise RanFunctionUnknown(node_id, oid)
        return fake

    def _check_up(self) -> None:
        if not self._up:
            raise GatewayUnavailable("fake", "gateway is down")

    def _publish(self, event: NodeEvent) -> None:
        for watcher in self._watchers:
            watcher.put(event)


def _as_function(function: RanFunction | str) -> RanFunction:
    return ran_function(function) if isinstance(function, str) else function


class FakeLink:
    """A `GatewayLink` without a network. Answers take as long as the fake's handlers."""

    address = "fake"

    def __init__(self, ric: FakeRic) -> None:
        self._ric = ric
        self._closed = False

    async def list_nodes(self) -> tuple[Node, ...]:
        """See `GatewayLink.list_nodes`."""
        self._check_open()
        return self._ric.nodes()

    async def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """See `GatewayLink.watch_nodes`."""
        self._check_open()
        watch = self._ric.open_watch()
        try:
            while True:
                yield (await watch.get())[1]
        finally:
            self._ric.close_watch(watch)

    async def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        """See `GatewayLink.indications`."""
        self._check_open()
        clock = self._ric.clock
        outbox: Outbox[Indication] = Outbox(
            request.queue_depth or 64,
            newest=request.reading is Reading.NEWEST,
            now_s=lambda: clock.monotonic_ns() / 1e9,
        )
        subscription = self._ric.open_subscription(request, outbox.put, outbox.skip, outbox.end)
        try:
            while True:
                sequence, indication = await outbox.get()
                # A copy, because several subscriptions may share the indication.
                yield replace(
                    indication,
                    sequence=sequence,
                    dropped=outbox.dropped,
                    coalesced=outbox.coalesced,
                )
        finally:
            self._ric.close_subscription(subscription)

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        """See `GatewayLink.control`."""
        self._check_open()
        try:
            async with asyncio.timeout(timeout_s):
                return await self._ric.control(node_id, oid, header, message)
        except TimeoutError:
            raise ControlTimeout(node_id, oid, timeout_s) from None

    async def close(self) -> None:
        """See `GatewayLink.close`."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise GatewayUnavailable(self.address, "link closed")
