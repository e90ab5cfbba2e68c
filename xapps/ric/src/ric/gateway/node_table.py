"""The nodes of the gateway: watched, periodically compared with the whole list, handed to watchers.

One task owns the connection state: while the gateway is unreachable, only this task tries to
connect, not each subscription.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Final

import structlog

from ric.backoff import Backoff
from ric.clock import Clock
from ric.e2 import E2Gateway, Node, NodeEvent, NodeEventKind
from ric.errors import GatewayError, GatewayUnavailable
from ric.gateway.link import GatewayLink
from ric.metrics import GatewayMetrics

_log = structlog.get_logger()
_MOST_CHARACTERS: Final = 300
"""Length of an error in `/readyz` and on the live page, at most."""


class NodeTable:
    """The nodes last known; `run` keeps them current."""

    def __init__(
        self,
        link: GatewayLink,
        clock: Clock,
        metrics: GatewayMetrics,
        backoff: Backoff,
        reconcile_s: float,
    ) -> None:
        self._link = link
        self._clock = clock
        self._metrics = metrics
        self._backoff = backoff
        self._reconcile_s = reconcile_s
        self._nodes: dict[str, Node] = {}
        self._watchers: set[asyncio.Queue[NodeEvent]] = set()
        self._changed = asyncio.Condition()
        self._refresh_requested = asyncio.Event()
        self._events_seen = 0
        self.connected = False

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes last known; while the gateway is disconnected, those of before."""
        return tuple(self._nodes.values())

    async def run(self) -> None:
        """Connect, watch, and start again after each loss, forever."""
        while True:
            try:
                await self._watch_until_lost()
            except GatewayError as error:
                await self._lost(error)
            await self._clock.sleep(self._backoff.next_s())

    async def watch(self) -> AsyncGenerator[NodeEvent]:
        """The known nodes as `CONNECTED`, then each change."""
        queue: asyncio.Queue[NodeEvent] = asyncio.Queue()
        for node in self._nodes.values():
            queue.put_nowait(NodeEvent(NodeEventKind.CONNECTED, node))
        self._watchers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    async def wait_for(self, node_id: str) -> Node:
        """The node, as soon as the gateway is connected and has it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.connected and node_id in self._nodes)
            return self._nodes[node_id]

    def refresh(self) -> None:
        """Request the whole list now: an error did not fit the table."""
        self._refresh_requested.set()

    async def _watch_until_lost(self) -> None:
        # The watch opens first: a change while the list is in flight is seen twice, not missed.
        tasks = [asyncio.create_task(self._follow_events()), asyncio.create_task(self._reconcile())]
        try:
            # Not a TaskGroup: that of Python 3.11 loses a cancellation that arrives while it ends
            # with an error, and closing the client would then hang.
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        raise GatewayUnavailable(self._link.address, "node watch ended")

    async def _follow_events(self) -> None:
        async with aclosing(self._link.watch_nodes()) as events:
            async for event in events:
                self._events_seen += 1
                await self._apply(event)
        raise GatewayUnavailable(self._link.address, "node watch ended")

    async def _reconcile(self) -> None:
        while True:
            self._refresh_requested.clear()
            seen_before = self._events_seen
            nodes = await self._link.list_nodes()
            if self._events_seen != seen_before:
                # The list may be older than an event that overtook it.
                continue
            await self._replace(nodes)
            if not self.connected:
                await self._found()
            await self._requested_or_period()

    async def _requested_or_period(self) -> None:
        requested = asyncio.ensure_future(self._refresh_requested.wait())
        period = asyncio.ensure_future(self._clock.sleep(self._reconcile_s))
        try:
            await asyncio.wait((requested, period), return_when=asyncio.FIRST_COMPLETED)
        finally:
            requested.cancel()
            period.cancel()

    async def _found(self) -> None:
        self.connected = self._metrics.connected = True
        self._metrics.connects += 1
        _log.info("gateway connected", address=self._link.address, nodes=sorted(self._nodes))
        self._backoff.reset()
        async with self._changed:
            self._changed.notify_all()

    async def _lost(self, error: GatewayError) -> None:
        if self.connected:
            self._metrics.losses += 1
            _log.warning("gateway lost", address=self._link.address, error=str(error))
        elif self._backoff.failures == 0:
            _log.warning("gateway not reachable yet", address=self._link.address, error=str(error))
        self.connected = self._metrics.connected = False
        self._metrics.problem = " ".join(str(error).split())[:_MOST_CHARACTERS]

    async def _replace(self, nodes: Iterable[Node]) -> None:
        """Replace the table; differences become events."""
        current = {node.id: node for node in nodes}
        for node_id in self._nodes.keys() - current.keys():
            await self._apply(NodeEvent(NodeEventKind.DISCONNECTED, self._nodes[node_id]))
        for node in current.values():
            await self._apply(NodeEvent(NodeEventKind.CONNECTED, node))

    async def _apply(self, event: NodeEvent) -> None:
        node = event.node
        known = self._nodes.get(node.id)
        if event.kind is NodeEventKind.DISCONNECTED:
            if known is None:
                return
            del self._nodes[node.id]
            self._metrics.nodes.discard(node.id)
        else:
            if known == node:
                return
            self._nodes[node.id] = node
            self._metrics.nodes.add(node.id)
            kind = NodeEventKind.CONNECTED if known is None else NodeEventKind.UPDATED
            event = NodeEvent(kind, node)
        _log.info("node " + event.kind.value, node=node.id, ran_functions=_oids(node))
        for queue in self._watchers:
            queue.put_nowait(event)
        async with self._changed:
            self._changed.notify_all()


def _oids(node: Node) -> list[str]:
    return [function.oid for function in node.ran_functions]


async def for_each_node(
    gateway: E2Gateway, oid: str, run: Callable[[Node], Awaitable[None]]
) -> None:
    """Run `run(node)` for each node with the RAN function `oid`, forever.

    The run of a node that leaves or loses the RAN function is cancelled; if it returns, a new run
    starts once the cancelled one has ended. A change of its other RAN functions has no effect. An
    exception of a run is raised here and ends the others.
    """
    running: dict[str, asyncio.Task[None]] = {}

    async def run_after(previous: asyncio.Task[None] | None, node: Node) -> None:
        if previous is not None:
            try:
                await asyncio.wait([previous])
            finally:
                # If this run is cancelled meanwhile, it still ends after the previous one.
                await asyncio.wait([previous])
        await run(node)

    async with asyncio.TaskGroup() as tasks:
        async for event in gateway.watch_nodes():
            node = event.node
            offered = (
                event.kind is not NodeEventKind.DISCONNECTED and node.ran_function(oid) is not None
            )
            task = running.get(node.id)
            if offered and (task is None or task.done() or task.cancelling()):
                name = f"node {node.id}"
                running[node.id] = tasks.create_task(run_after(task, node), name=name)
            elif not offered and task is not None:
                task.cancel()
