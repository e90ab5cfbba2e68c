"""Subscriptions shared: at most one for each node, RAN function and slice, whoever reads it.

The shortest period that is asked for is subscribed; slower readers are thinned. A subscription
that nobody reads is kept for a while, for each costs one of the RIC's requests.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import grpc
import structlog
from e2_gateway_server import ProcedureError
from e2_gateway_server.indication import encode_kpm_report, encode_report, encode_source
from ric.clock import Clock
from ric.errors import ServiceModelError
from ric.sm import KPM_OID

from flexric_bridge.budget import BudgetSpent
from flexric_bridge.kpm_definition import KpmDefinitionError, offered
from flexric_bridge.metrics import Flow, Metrics
from flexric_bridge.nodes import KnownNode, NodeRegistry
from flexric_bridge.readers import Reader, Tap
from flexric_bridge.records import (
    BlockError,
    Record,
    kpm_report,
    kpm_selection,
    records,
)
from flexric_bridge.sdk import E2Node, SdkError, SNssai
from flexric_bridge.session import Session, SessionDown
from flexric_bridge.settings import NodeSettings, SubscriptionSettings

_log = structlog.get_logger()

Value = TypeVar("Value")

LONGEST_MS: Final = 10_000
"""What FlexRIC can be asked for; slower readers are thinned."""
MAX_SLICES: Final = 8
"""Of one node with KPM subscriptions of their own."""
_PERIODS_TO_STALE: Final = 3
_SUSPECT_SHARE: Final = 0.25
"""A node that has been silent for this share of what makes it stale is not asked for anything."""
_BEHIND_US: Final = 1_000_000
"""A RIC whose reports come so much later than at best is asked for nothing: answers wait in the
same queue, and it ends itself over one that takes 3 s."""
_AGAIN_S: Final = 1.0
"""How soon at the earliest a subscription that could not be ended is looked at again."""
_LATELY_S: Final = 0.02
_LOOK_S: Final = 0.002


class Unserved(ProcedureError):  # noqa: N818 - says what happened
    """The node has the RAN function, but the SDK does not report what was requested."""

    def __init__(self, detail: str) -> None:
        super().__init__(grpc.StatusCode.INVALID_ARGUMENT, detail)


class Gone(ProcedureError):  # noqa: N818 - says what happened
    """The node is not connected, or was lost during the procedure."""

    def __init__(self, detail: str) -> None:
        super().__init__(grpc.StatusCode.UNAVAILABLE, detail)


class Shared:
    """One subscription and those who read it."""

    def __init__(
        self,
        known: KnownNode,
        function_id: int,
        oid: str,
        flow: Flow,
        kpm_slice: SNssai | None,
    ) -> None:
        self.known = known
        self.function_id = function_id
        self.kpm_slice = kpm_slice
        self.oid = oid
        self.flow = flow
        self.source = encode_source(known.id, function_id, oid)
        self.period_ms = 0
        self.names: tuple[str, ...] = ()
        self.handle = 0
        """0 while it is not subscribed."""
        self.readers: list[Reader] = []
        self.taps: list[Tap] = []
        self.since_ns = 0
        self.one_change = asyncio.Lock()
        self.lingering: asyncio.TimerHandle | None = None

    @property
    def read(self) -> bool:
        """Whether anybody reads it."""
        return bool(self.readers or self.taps)

    def covers(self, period_ms: int, names: tuple[str, ...]) -> bool:
        """Whether it has at least this."""
        there = self.handle and self.period_ms <= period_ms
        return bool(there) and set(self.names).issuperset(names)

    def deliver(self, record: Record) -> None:
        """Hand a report to all it is due for."""
        if self.oid == KPM_OID:
            self._deliver_kpm(record)
            return
        every_us = self.period_ms * 1000
        collected_at_us = record.collected_at_us
        written: bytes | None = None
        for reader in self.readers:
            if reader.thinning.due(collected_at_us, every_us):
                if written is None:
                    times = (collected_at_us, record.received_at_us)
                    written = encode_report(self.source, record.message, *times)
                reader.put(written)
        for tap in self.taps:
            if tap.thinning.due(collected_at_us, every_us):
                tap.hear(record.message, collected_at_us, record.received_at_us)

    def _deliver_kpm(self, record: Record) -> None:
        """As `deliver`. Each reader gets the measurements that it asked for, whatever others asked
        for, and whatever is asked for besides to tell units."""
        report = kpm_report(record.message)
        units = self.known.units
        units.learn(report.period_ms, [ue.values for ue in report.ues])
        times = (record.collected_at_us, record.received_at_us)
        written: dict[tuple[str, ...], bytes] = {}
        for reader in self.readers:
            if reader.thinning.due(record.collected_at_us, self.period_ms * 1000):
                names = reader.measurements
                if names not in written:
                    own = kpm_selection(report, names, units.of(names))
                    written[names] = encode_kpm_report(self.source, own, *times)
                reader.put(written[names])

    def end(self, why: ProcedureError) -> None:
        """End the streams; taps stay for when the node is back."""
        for reader in self.readers:
            reader.end(why)
        self.readers.clear()

    def forget(self) -> None:
        """The subscription is no more."""
        self.handle = 0
        if self.lingering is not None:
            self.lingering.cancel()
            self.lingering = None


class Hub:
    """All subscriptions; finds out which nodes are silent."""

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
        self._stale_after_s = freshness.stale_after_s
        self._shared: dict[tuple[str, int, SNssai | None], Shared] = {}
        self._by_handle: dict[int, Shared] = {}
        self._forgotten: dict[int, KnownNode] = {}
        """Handles that a node lost with its restart; the SDK still has them."""
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
        kpm_slice: SNssai | None = None,
    ) -> None:
        """Have `who` get the reports of a RAN function until `leave`; KPM of the UEs of a slice.

        Raises `Unserved`, `Gone`, `BudgetSpent`, and `SdkError` for a refusal.
        """
        shared = self._shared.get((known.id, known.functions[oid].id, kpm_slice))
        if (
            shared is not None
            and who in shared.taps
            and not shared.one_change.locked()
            and shared.covers(min(period_ms, LONGEST_MS), names)
        ):
            return
        # A caller that gives up must not take the subscription under way with it.
        await self._to_its_end(self._read(known, oid, period_ms, names, who, kpm_slice=kpm_slice))

    async def _read(
        self,
        known: KnownNode,
        oid: str,
        period_ms: int,
        names: tuple[str, ...],
        who: Reader | Tap,
        *,
        kpm_slice: SNssai | None,
    ) -> None:
        function = known.functions[oid]
        key = (known.id, function.id, kpm_slice)
        shared = self._shared.get(key)
        if shared is None:
            self._forget_unread(known.id, function.id)
            slices = sum(key[:2] == other[:2] for other in self._shared)
            if slices >= MAX_SLICES:
                raise Unserved(f"KPM: of {MAX_SLICES} slices of {known.id} are reports already")
            flow = self._metrics.flow(known.id, oid, kpm_slice)
            shared = self._shared[key] = Shared(known, function.id, oid, flow, kpm_slice)
        if isinstance(who, Tap) and who not in shared.taps:
            # Before the subscription: it is to be made again with every session.
            shared.taps.append(who)
        async with shared.one_change:
            if shared.lingering is not None:
                shared.lingering.cancel()
                shared.lingering = None
            await self._cover(shared, period_ms, names)
            if isinstance(who, Reader) and not who.left:
                shared.readers.append(who)

    def _forget_unread(self, node_id: str, function_id: int) -> None:
        """Slices that nobody reads and that are not subscribed any more make room for others."""
        for key, shared in list(self._shared.items()):
            idle = not (shared.read or shared.handle or shared.one_change.locked())
            if key[:2] == (node_id, function_id) and idle:
                del self._shared[key]

    def leave(
        self, known: KnownNode, oid: str, who: Reader | Tap, kpm_slice: SNssai | None = None
    ) -> None:
        """The inverse of `read`; nothing when the stream was ended from here."""
        function = known.functions.get(oid)
        if function is None:
            return
        shared = self._shared.get((known.id, function.id, kpm_slice))
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

    def _linger(self, shared: Shared, for_s: float) -> None:
        loop = asyncio.get_running_loop()
        shared.lingering = loop.call_later(for_s, self._unread, shared)

    def _unread(self, shared: Shared) -> None:
        shared.lingering = None
        self._spawn(self._drop(shared))

    async def _drop(self, shared: Shared) -> None:
        async with shared.one_change:
            handle = shared.handle
            if shared.read or not handle:
                return
            if self.suspect_reason(shared.known):
                # Should it report again, it is subscribed still; another session ends it as well.
                self._linger(shared, max(self._linger_s, _AGAIN_S))
                return
            self._by_handle.pop(handle, None)
            shared.forget()
            with contextlib.suppress(SdkError, SessionDown, BudgetSpent):
                await self._session.unsubscribe(handle)

    async def _cover(self, shared: Shared, period_ms: int, names: tuple[str, ...]) -> None:
        """Make the subscription such that it has at least this."""
        period_ms = min(period_ms, LONGEST_MS)
        names = tuple(dict.fromkeys((*shared.names, *names)))
        if shared.oid == KPM_OID:
            names = _announced(shared.known, names)
        if shared.covers(period_ms, names):
            return
        if shared.handle:
            period_ms = min(period_ms, shared.period_ms)
        if suspect_reason := self.suspect_reason(shared.known):
            raise Gone(suspect_reason)
        before, number = shared.handle, self.session_number
        try:
            handle = await self._session.subscribe(
                shared.known.id, shared.function_id, period_ms, names, shared.kpm_slice
            )
        except SessionDown as error:
            raise Gone(str(error)) from None
        except SdkError as error:
            if error.kind in ("no-such-node", "no-such-function", "timeout", "closed"):
                raise Gone(str(error)) from None
            raise
        if number != self.session_number:
            raise Gone("the session with the RIC ended on the way")
        shared.handle, shared.period_ms, shared.names = handle, period_ms, names
        shared.since_ns = self._clock.monotonic_ns()
        shared.flow.period_ms = period_ms
        shared.flow.missing.begin(period_ms)
        self._by_handle[handle] = shared
        if before:
            self._by_handle.pop(before, None)
            with contextlib.suppress(SdkError, SessionDown, BudgetSpent):
                await self._session.unsubscribe(before)

    # ------------------------------------------------------------------------ reports

    def on_reports(self, block: bytes) -> None:
        """A block of reports came from the SDK."""
        by_handle, now_ns = self._by_handle, self._clock.monotonic_ns()
        # A wall clock that is set here is no lag either.
        ahead_us = self._clock.now_us() - now_ns // 1_000
        try:
            for record in records(block):
                shared = by_handle.get(record.handle)
                if shared is None:
                    self._metrics.unknown_reports += 1
                    continue
                flow = shared.flow
                flow.reports += 1
                flow.lost += record.lost
                flow.last_ns = now_ns
                flow.delay.observe_us(record.received_at_us - record.collected_at_us)
                flow.missing.note(record.collected_at_us, record.lost)
                flow.lag.note(record.collected_at_us, record.received_at_us - ahead_us)
                if not shared.known.present:
                    self._reports_again(shared.known)
                try:
                    shared.deliver(record)
                except ServiceModelError as error:
                    flow.bad += 1
                    if flow.bad == 1:
                        _log.warning("report refused", node=shared.known.id, error=str(error))
        except BlockError as error:
            self._metrics.bad_blocks += 1
            _log.error("a block of reports that is none", error=str(error))

    def silent(self, after_s: float | None = None) -> dict[KnownNode, float]:
        """The nodes that are subscribed to and have been silent for too long, and how long, s.

        Too long is `after_s`, by default the setting, or three periods where that is longer.
        """
        now_ns = self._clock.monotonic_ns()
        newest: dict[KnownNode, tuple[int, int]] = {}
        for shared in self._by_handle.values():
            known = shared.known
            if known.present:
                last_report_ns, period_ms = newest.get(known, (0, 1 << 31))
                last_ns = max(last_report_ns, shared.since_ns, shared.flow.last_ns)
                newest[known] = (last_ns, min(period_ms, shared.period_ms))
        found = {}
        for known, (last_ns, period_ms) in newest.items():
            least_s = self._stale_after_s if after_s is None else after_s
            limit_s = max(least_s, _PERIODS_TO_STALE * period_ms / 1000)
            silent_s = (now_ns - last_ns) / 1e9
            if silent_s > limit_s:
                found[known] = silent_s
        return found

    def suspect_reason(self, known: KnownNode) -> str:
        """Why nothing may be asked of a node now; "" when nothing speaks against it.

        The RIC does not survive a request to a node it has lost, and it is the last to tell.
        """
        if not known.present:
            return f"node {known.id} is away"
        silent_s = self.silent(_SUSPECT_SHARE * self._stale_after_s).get(known)
        if silent_s is not None:
            return (
                f"node {known.id} has not reported for {silent_s:.1f} s; the RIC may have lost it"
            )
        return self._behind()

    def _behind(self) -> str:
        """Whether the RIC is behind with the reports of any node: it serves all from one queue."""
        oldest_ns = self._clock.monotonic_ns() - int(self._stale_after_s * 1e9)
        for shared in self._by_handle.values():
            lag_us = shared.flow.lag.us
            if lag_us > _BEHIND_US and shared.flow.last_ns > oldest_ns:
                return (
                    f"reports of node {shared.known.id} come {lag_us / 1e6:.1f} s late; the RIC is"
                    " behind and would not survive a request"
                )
        return ""

    def last_report_ns(self, known: KnownNode) -> int:
        """When the last report of a node came, by the clock that never goes back; 0: never."""
        return max((shared.flow.last_ns for shared in self._of(known)), default=0)

    async def await_recent_report(self, known: KnownNode) -> str:
        """Wait for a report of a node whose reports are overdue; returns as `suspect_reason`.

        A node that has just died has been silent for a few periods alone, and a control would be
        one too many for its RIC; a busy machine's reports come in a moment.
        """
        while not (suspect_reason := self.suspect_reason(known)) and known in self.silent(
            _LATELY_S
        ):
            await self._clock.sleep(_LOOK_S)
        return suspect_reason

    def undeletable(self) -> tuple[int, ...]:
        """Handles of subscriptions on nodes that are away or silent: not to be deleted, for the RIC
        does not survive that."""
        on = {handle: shared.known for handle, shared in self._by_handle.items()}
        on |= self._forgotten
        return tuple(handle for handle, known in on.items() if self.suspect_reason(known))

    @property
    def subscriptions(self) -> int:
        """Subscriptions there are now."""
        return len(self._by_handle)

    def _reports_again(self, known: KnownNode) -> None:
        _log.info("node reports again", node=known.id)
        self._nodes.connected(known.node)

    # --------------------------------------------------------------------- the session

    def node_disconnected(self, known: KnownNode, why: str) -> None:
        """A node is gone: its streams end. Its subscriptions are not deleted: the RIC does not
        survive a deletion on a node that it has lost."""
        self._nodes.disconnected(known, why)
        for shared in self._of(known):
            shared.end(Gone(f"node {known.id}: {why}"))

    def node_restarted(self, known: KnownNode, node: E2Node) -> None:
        """A node that was gone is in the RIC's list again: what was subscribed there is not."""
        for shared in self._of(known):
            if shared.handle:
                self._by_handle.pop(shared.handle, None)
                self._forgotten[shared.handle] = known
            shared.forget()
        self._nodes.connected(node)
        self._renew(known)

    def session_down(self, why: str) -> None:
        """Every node is gone until there is another session."""
        self.session_number += 1
        self._by_handle.clear()
        self._forgotten.clear()
        for shared in self._shared.values():
            shared.forget()
        for known in self._nodes.known.values():
            if known.present:
                self.node_disconnected(known, why)

    def session_up(self, nodes: list[E2Node]) -> None:
        """There is another session; streams that are still open go on."""
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

    async def _subscribe_again(self, shared: Shared) -> None:
        async with shared.one_change:
            if shared.handle or not shared.known.present:
                return
            try:
                await self._cover(shared, shared.period_ms or _shortest(shared), shared.names)
            except (Gone, Unserved, BudgetSpent, SdkError) as error:
                _log.warning("not subscribed again", node=shared.known.id, why=str(error))
                shared.end(Gone(str(error)))

    def _of(self, known: KnownNode) -> list[Shared]:
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
            # Whoever waits gets it; nobody waits for one that gave up.
            task.exception()


def _announced(known: KnownNode, names: tuple[str, ...]) -> tuple[str, ...]:
    """Of KPM measurements those that the node announces now: one that came back may be another
    version of itself, and ends at what it does not have."""
    function = known.functions.get(KPM_OID)
    try:
        announced, _ = offered(b"" if function is None else function.definition, names)
    except KpmDefinitionError as error:
        raise Unserved(f"KPM: {error}") from None
    if not announced:
        raise Unserved(f"KPM: none of {list(names)} is a measurement of this node")
    return announced


def _shortest(shared: Shared) -> int:
    asked = [reader.thinning.period_us for reader in shared.readers]
    asked += [tap.thinning.period_us for tap in shared.taps]
    return min(asked, default=LONGEST_MS * 1000) // 1000
