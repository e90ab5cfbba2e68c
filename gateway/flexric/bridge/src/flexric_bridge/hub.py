"""Shared subscriptions: at most one per node, RAN function and slice, for all readers.

The shortest requested period is subscribed; slower readers are thinned. A subscription without
readers is kept for a while, because each one costs one of the RIC's requests.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import structlog
from ric.clock import Clock
from ric.errors import ServiceModelError
from ric.sm import KPM_OID, TC_V1_OID, ran_function_name

from flexric_bridge.budget import BudgetSpent
from flexric_bridge.freshness import Freshness
from flexric_bridge.kpm_subscription import action_definition, event_trigger
from flexric_bridge.metrics import Metrics
from flexric_bridge.nodes import KnownNode, NodeRegistry
from flexric_bridge.readers import Reader, Tap
from flexric_bridge.records import BlockError, Record, is_full, records
from flexric_bridge.sdk import E2Node, ReportRequest, SdkError, SNssai
from flexric_bridge.session import Session, SessionDown
from flexric_bridge.settings import NodeSettings, SubscriptionSettings
from flexric_bridge.subscription import (
    LONGEST_MS,
    NodeGone,
    SharedSubscription,
    UnsupportedSubscription,
    Variant,
    announced_measurements,
)
from flexric_bridge.v1_reports import SubscriptionRefused, V1Selection, v1_report

_log = structlog.get_logger()

Value = TypeVar("Value")

MAX_SLICES: Final = 8
"""Most slices of one node with their own KPM subscription."""
MAX_SELECTIONS: Final = 32
"""Most subscriptions to a node's E2SM-TC v1."""
_RETRY_S: Final = 1.0
"""Shortest time until the next attempt to delete a subscription."""


class Hub:
    """All subscriptions."""

    def __init__(
        self,
        *,
        session: Session,
        nodes: NodeRegistry,
        metrics: Metrics,
        clock: Clock,
        subscriptions: SubscriptionSettings,
        freshness: NodeSettings,
    ) -> None:
        self._session = session
        self._nodes = nodes
        self._metrics = metrics
        self._clock = clock
        self._linger_s = subscriptions.linger_s
        self._shared: dict[tuple[str, int, Variant], SharedSubscription] = {}
        self._by_handle: dict[int, SharedSubscription] = {}
        self.freshness = Freshness(self._by_handle, clock, freshness.stale_after_s)
        self._forgotten: dict[int, KnownNode] = {}
        """Handles that a node lost when it restarted; the SDK still has them."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self.session_number = 0

    # ------------------------------------------------------------------------ reading

    async def read(
        self,
        known: KnownNode,
        oid: str,
        period_ms: int,
        names: tuple[str, ...],
        who: Reader | Tap,
        *,
        variant: Variant = None,
    ) -> None:
        """Deliver the reports of a RAN function to `who` until `leave`; KPM of the UEs of a slice,
        TC v1 by its selection.

        Raises `UnsupportedSubscription`, `NodeGone`, `BudgetSpent`, and `SdkError` for a refusal.
        """
        shared = self._shared.get((known.id, known.functions[oid].id, variant))
        if (
            shared is not None
            and who in shared.taps
            and not shared.one_change.locked()
            and shared.covers(min(period_ms, LONGEST_MS), names)
        ):
            return
        # A cancelled caller must not cancel the subscription that is being made.
        await self._to_its_end(self._read(known, oid, period_ms, names, who, variant=variant))

    async def _read(
        self,
        known: KnownNode,
        oid: str,
        period_ms: int,
        names: tuple[str, ...],
        who: Reader | Tap,
        *,
        variant: Variant,
    ) -> None:
        function = known.functions[oid]
        key = (known.id, function.id, variant)
        shared = self._shared.get(key)
        if shared is None:
            self._forget_unread(known.id, function.id)
            self._check_room(known, function.id, oid)
            flow = self._metrics.flow(known.id, oid, variant)
            shared = self._shared[key] = SharedSubscription(known, function.id, oid, flow, variant)
        if isinstance(who, Tap) and who not in shared.taps:
            # Before the subscription, so that every new session makes it again.
            shared.taps.append(who)
        async with shared.one_change:
            if shared.lingering is not None:
                shared.lingering.cancel()
                shared.lingering = None
            replaced = await self._cover(shared, period_ms, names)
            # Before the one that it replaces ends: reports of the new one come already.
            if isinstance(who, Reader) and not who.left:
                shared.readers.append(who)
            if replaced:
                await self._unsubscribe(replaced)

    def _check_room(self, known: KnownNode, function_id: int, oid: str) -> None:
        there = sum((known.id, function_id) == other[:2] for other in self._shared)
        what, most = ("slices", MAX_SLICES) if oid == KPM_OID else ("selections", MAX_SELECTIONS)
        if there >= most:
            name = "KPM" if oid == KPM_OID else "E2SM-TC v1"
            raise UnsupportedSubscription(
                f"{name}: {known.id} already has reports of {most} {what}, the most"
            )

    def _forget_unread(self, node_id: str, function_id: int) -> None:
        """Remove slices without readers and subscription, to make room for others."""
        for key, shared in list(self._shared.items()):
            idle = not (shared.read or shared.handle or shared.one_change.locked())
            if key[:2] == (node_id, function_id) and idle:
                del self._shared[key]

    def leave(self, known: KnownNode, oid: str, who: Reader | Tap, variant: Variant = None) -> None:
        """The inverse of `read`; no effect when the hub ended the stream."""
        function = known.functions.get(oid)
        if function is None:
            return
        shared = self._shared.get((known.id, function.id, variant))
        if shared is None:
            return
        if isinstance(who, Reader):
            who.left = True
            if who in shared.readers:
                shared.readers.remove(who)
        elif who in shared.taps:
            shared.taps.remove(who)
        if not shared.read and shared.handle:
            self._linger(shared, self._linger_s)

    def _linger(self, shared: SharedSubscription, for_s: float) -> None:
        loop = asyncio.get_running_loop()
        shared.lingering = loop.call_later(for_s, self._unread, shared)

    def _unread(self, shared: SharedSubscription) -> None:
        shared.lingering = None
        self._spawn(self._drop(shared))

    async def _drop(self, shared: SharedSubscription) -> None:
        async with shared.one_change:
            handle = shared.handle
            if shared.read or not handle:
                return
            if self.freshness.suspect_reason(shared.known):
                # If the node reports again, the subscription still exists; a new session drops it.
                self._linger(shared, max(self._linger_s, _RETRY_S))
                return
            self._by_handle.pop(handle, None)
            shared.forget()
            await self._unsubscribe(handle)

    async def _unsubscribe(self, handle: int) -> None:
        with contextlib.suppress(SdkError, SessionDown, BudgetSpent):
            await self._session.unsubscribe(handle)

    async def _cover(
        self, shared: SharedSubscription, period_ms: int, names: tuple[str, ...]
    ) -> int:
        """Make the subscription cover this period and these measurements.

        Returns the handle of the subscription that it replaces, for the caller to end; or 0.
        """
        period_ms = min(period_ms, LONGEST_MS)
        names = tuple(dict.fromkeys((*shared.names, *names)))
        if shared.oid == KPM_OID:
            names = announced_measurements(shared.known, names)
        if shared.covers(period_ms, names):
            return 0
        if shared.handle:
            period_ms = min(period_ms, shared.period_ms)
        if suspect_reason := self.freshness.suspect_reason(shared.known):
            raise NodeGone(suspect_reason)
        before, number = shared.handle, self.session_number
        try:
            handle = await self._session.subscribe(_request(shared, period_ms, names))
        except SessionDown as error:
            raise NodeGone(str(error)) from None
        except SdkError as error:
            if error.kind in ("no-such-node", "no-such-function", "timeout", "closed"):
                raise NodeGone(str(error)) from None
            raise
        if number != self.session_number:
            raise NodeGone("the session with the RIC ended in the meantime")
        shared.handle, shared.period_ms, shared.names = handle, period_ms, names
        shared.since_ns = self._clock.monotonic_ns()
        shared.flow.period_ms = period_ms
        shared.flow.missing.begin(period_ms if shared.periodic else 0)
        self._by_handle[handle] = shared
        self._by_handle.pop(before, None)
        return before

    # ------------------------------------------------------------------------ reports

    def on_reports(self, block: bytes) -> None:
        """Deliver a block of reports from the SDK."""
        by_handle, now_ns = self._by_handle, self._clock.monotonic_ns()
        # Both times monotonic: a step of the wall clock is no lag.
        ahead_us = self._clock.now_us() - now_ns // 1_000
        try:
            for record in records(block):
                shared = by_handle.get(record.handle)
                if shared is None:
                    self._metrics.unknown_reports += 1
                    continue
                if not shared.known.present:
                    self._reports_again(shared.known)
                try:
                    if shared.oid == TC_V1_OID:
                        timed, report = v1_report(record)
                        self._measure(shared, timed, now_ns, ahead_us)
                        shared.deliver_v1(timed, report)
                    else:
                        self._measure(shared, record, now_ns, ahead_us)
                        shared.deliver(record)
                except SubscriptionRefused as refusal:
                    shared.refused(refusal)
                except ServiceModelError as error:
                    shared.flow.bad += 1
                    if shared.flow.bad == 1:
                        _log.warning("report refused", node=shared.known.id, error=str(error))
        except BlockError as error:
            self._metrics.bad_blocks += 1
            _log.error("invalid block of reports", error=str(error))

    def _measure(
        self, shared: SharedSubscription, record: Record, now_ns: int, ahead_us: int
    ) -> None:
        flow = shared.flow
        flow.reports += 1
        flow.lost += record.lost
        flow.last_ns = now_ns
        flow.message_bytes = len(record.message)
        if is_full(shared.oid, record.message):
            flow.full += 1
            if flow.full == 1:
                _log.warning(
                    "reports have no room for all bearers: each is in every second, third … one",
                    node=shared.known.id,
                    ran_function=ran_function_name(shared.oid),
                    bytes=len(record.message),
                )
        flow.delay.observe_us(record.received_at_us - record.collected_at_us)
        flow.missing.observe(record.collected_at_us, record.lost)
        flow.lag.observe(record.collected_at_us, record.received_at_us - ahead_us)

    def last_report_ns(self, known: KnownNode) -> int:
        """When the last report of a node came, by the monotonic clock; 0: never."""
        return max((shared.flow.last_ns for shared in self._of(known)), default=0)

    def undeletable(self) -> tuple[int, ...]:
        """Handles of subscriptions on absent or silent nodes: the RIC aborts on their deletion."""
        on = {handle: shared.known for handle, shared in self._by_handle.items()}
        on |= self._forgotten
        return tuple(handle for handle, known in on.items() if self.freshness.suspect_reason(known))

    @property
    def subscriptions(self) -> int:
        """Number of subscriptions."""
        return len(self._by_handle)

    def _reports_again(self, known: KnownNode) -> None:
        _log.info("node reports again", node=known.id)
        self._nodes.connected(known.node)

    # --------------------------------------------------------------------- the session

    def node_disconnected(self, known: KnownNode, why: str) -> None:
        """A node disconnected: its streams end. Its subscriptions are not deleted: the RIC aborts
        on a deletion on a node that it has lost."""
        self._nodes.disconnected(known, why)
        for shared in self._of(known):
            shared.end(NodeGone(f"node {known.id}: {why}"))

    def node_restarted(self, known: KnownNode, node: E2Node) -> None:
        """An absent node is in the RIC's list again: it has lost its subscriptions."""
        for shared in self._of(known):
            if shared.handle:
                self._by_handle.pop(shared.handle, None)
                self._forgotten[shared.handle] = known
            shared.forget()
        self._nodes.connected(node)
        self._renew(known)

    def session_down(self, why: str) -> None:
        """The session ended: every node is disconnected until there is another."""
        self.session_number += 1
        self._by_handle.clear()
        self._forgotten.clear()
        for shared in self._shared.values():
            shared.forget()
        for known in self._nodes.known.values():
            if known.present:
                self.node_disconnected(known, why)

    def session_up(self, nodes: list[E2Node]) -> None:
        """A new session is open; streams that are still open go on."""
        self.session_number += 1
        self._by_handle.clear()
        self._forgotten.clear()
        for shared in self._shared.values():
            shared.forget()
        there = {node.id for node in nodes}
        for known in list(self._nodes.known.values()):
            if known.id not in there:
                self.node_disconnected(known, "not in the RIC's list")
        for node in nodes:
            self._renew(self._nodes.connected(node))

    def _renew(self, known: KnownNode) -> None:
        for shared in self._of(known):
            if shared.read:
                self._spawn(self._subscribe_again(shared))

    async def _subscribe_again(self, shared: SharedSubscription) -> None:
        async with shared.one_change:
            if shared.handle or not shared.known.present:
                return
            try:
                await self._cover(
                    shared, shared.period_ms or shared.shortest_period_ms(), shared.names
                )
            except (NodeGone, UnsupportedSubscription, BudgetSpent, SdkError) as error:
                _log.warning("not subscribed again", node=shared.known.id, why=str(error))
                shared.end(NodeGone(str(error)))

    def _of(self, known: KnownNode) -> list[SharedSubscription]:
        return [shared for shared in self._shared.values() if shared.known is known]

    # ------------------------------------------------------------------------- helpers

    async def _to_its_end(self, work: Coroutine[Any, Any, Value]) -> Value:
        return await asyncio.shield(self._spawn(work))

    def _spawn(self, work: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Callers that wait get the exception; a cancelled one does not.
            task.exception()


def _request(shared: SharedSubscription, period_ms: int, names: tuple[str, ...]) -> ReportRequest:
    variant = shared.variant
    if isinstance(variant, V1Selection):
        return ReportRequest(
            shared.known.id,
            shared.function_id,
            period_ms,
            trigger=variant.trigger,
            action=variant.action,
        )
    if shared.oid == KPM_OID and not shared.known.is_flexrics:
        own = variant or SNssai(sst=1)
        return ReportRequest(
            shared.known.id,
            shared.function_id,
            period_ms,
            names,
            own,
            trigger=event_trigger(period_ms),
            action=action_definition(names, period_ms, own),
        )
    return ReportRequest(shared.known.id, shared.function_id, period_ms, names, variant)
