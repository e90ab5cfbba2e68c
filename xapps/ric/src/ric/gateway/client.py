"""The gateway client of xApps."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

import structlog

from ric.backoff import Backoff
from ric.clock import Clock, SystemClock
from ric.e2 import ControlAnswer, Indication, Node, NodeEvent, Reading, SNssai, SubscriptionRequest
from ric.errors import (
    AccessDenied,
    ControlTimeout,
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    RicError,
)
from ric.gateway.link import GatewayLink, GrpcLink
from ric.gateway.node_table import NodeTable
from ric.gateway.subscription import Subscription
from ric.metrics import GatewayMetrics
from ric.settings import GatewaySettings

_log = structlog.get_logger()

_CONTROL_OUTCOMES: dict[type[Exception], str] = {
    AccessDenied: "access_denied",
    ControlTimeout: "timeout",
    NodeGone: "node_gone",
    RanFunctionUnknown: "ran_function_unknown",
    GatewayUnavailable: "gateway_unavailable",
    GatewayProtocolError: "protocol_error",
}


class E2GatewayClient:
    """An E2 gateway, to which the client reconnects forever.

    Use it as an asynchronous context manager. Entering does not wait for the gateway: connecting is
    retried in the background with jittered exponential back-off.

    `link` defaults to `GrpcLink(settings)`; `clock` and `rng` are for tests.
    """

    def __init__(
        self,
        settings: GatewaySettings | None = None,
        *,
        link: GatewayLink | None = None,
        metrics: GatewayMetrics | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._settings = settings or GatewaySettings()
        self._given_link = link
        self._clock = clock or SystemClock()
        self._rng = rng
        self.metrics = metrics or GatewayMetrics()
        self._link: GatewayLink | None = None
        self._table: NodeTable | None = None
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Open the link and begin to connect."""
        self._link = self._given_link or GrpcLink(self._settings)
        self._table = NodeTable(
            self._link, self._clock, self.metrics, self._backoff(), self._settings.reconcile_s
        )
        self._watching = asyncio.create_task(self._table.run(), name="ric node watch")
        self._watching.add_done_callback(_log_failure)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the link; iterators still in use end with `GatewayUnavailable`."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._link is not None:
            await self._link.close()
        self._link = self._table = self._watching = None
        self.metrics.connected = False

    @property
    def connected(self) -> bool:
        """Whether the gateway is connected now."""
        return self._table is not None and self._table.connected

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes last known; while the gateway is lost, those from before."""
        return self._table.nodes if self._table is not None else ()

    def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """The known nodes as `CONNECTED` events, then each change, forever.

        The loss of the gateway itself is no event; after reconnection, changes that happened in
        between are reported as events.
        """
        return self._open()[1].watch()

    async def wait_for_node(self, node_id: str) -> Node:
        """Wait until the gateway is connected and has the node; returns the node."""
        return await self._open()[1].wait_for(node_id)

    def subscribe(
        self,
        node_id: str,
        oid: str,
        event_trigger: bytes = b"",
        actions: Sequence[bytes] = (),
        kpm_measurements: Sequence[str] = (),
        *,
        queue_depth: int = 0,
        keep_newest: int = 0,
        kpm_slice: SNssai | None = None,
        reading: Reading = Reading.HISTORY,
    ) -> AsyncGenerator[Indication]:
        """Indications of the RAN function `oid` of a node, forever.

        Waits for a node that is not connected. After the loss of the node or the gateway it
        subscribes again as soon as possible and `Indication.subscription` increases. Indications
        lost between two of the same subscription are counted in `Indication.missed`.

        `queue_depth` bounds the gateway's queue for a slow reader; `keep_newest` (0: off) bounds
        the queue here for a handler that awaits, see `Subscription.newest`.
        `kpm_slice` is the slice whose UEs KPM reports.
        `reading` is what a reader that is late gets: `Reading.HISTORY`, or `Reading.NEWEST` for one
        that wants the state and not its history; those left out are counted in
        `Indication.coalesced` and not in `missed`.

        Raises `SubscriptionRefused` and `RanFunctionUnknown`, which a retry would not cure. Close
        the iterator (`contextlib.aclosing`) to end the RIC subscription.
        """
        link, table = self._open()
        self.metrics.reads_newest |= reading is Reading.NEWEST
        request = SubscriptionRequest(
            node_id=node_id,
            oid=oid,
            event_trigger=event_trigger,
            actions=tuple(actions),
            kpm_measurements=tuple(kpm_measurements),
            queue_depth=queue_depth,
            kpm_slice=kpm_slice,
            reading=reading,
        )
        subscription = Subscription(
            request,
            link=link,
            nodes=table,
            clock=self._clock,
            metrics=self.metrics,
            backoff=self._backoff(),
        )
        return subscription.newest(keep_newest) if keep_newest > 0 else subscription.indications()

    async def control(
        self,
        node_id: str,
        oid: str,
        header: bytes,
        message: bytes,
        *,
        timeout_s: float | None = None,
    ) -> ControlAnswer:
        """One RIC control procedure. Never retried: a lost control may have taken effect.

        Returns the answer, which may be a refusal. Raises `ControlTimeout`, `NodeGone`,
        `RanFunctionUnknown`, `GatewayUnavailable`.
        """
        link, table = self._open()
        limit_s = self._settings.control_timeout_s if timeout_s is None else timeout_s
        began_ns, sent_at_us = self._clock.monotonic_ns(), self._clock.now_us()
        outcome = "cancelled"
        try:
            answer = await link.control(node_id, oid, header, message, limit_s)
            outcome = "acknowledged" if answer.acknowledged else "failed"
        except RicError as error:
            outcome = _CONTROL_OUTCOMES.get(type(error), "error")
            if not isinstance(error, ControlTimeout):
                table.refresh()
            raise
        finally:
            took_us = (self._clock.monotonic_ns() - began_ns) / 1000
            self.metrics.count_control(node_id, oid, outcome, took_us)
        return replace(answer, sent_at_us=sent_at_us, answered_at_us=self._clock.now_us())

    def _open(self) -> tuple[GatewayLink, NodeTable]:
        if self._link is None or self._table is None:
            raise GatewayUnavailable(self._settings.address, "client not open; use `async with`")
        return self._link, self._table

    def _backoff(self) -> Backoff:
        s = self._settings
        return Backoff(s.backoff_initial_s, s.backoff_max_s, s.backoff_factor, self._rng)


def _log_failure(task: asyncio.Task[None]) -> None:
    """Watching ends by cancellation only; any other end is a defect."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("node watch failed", exc_info=error)
