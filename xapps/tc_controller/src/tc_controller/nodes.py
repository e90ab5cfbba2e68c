"""The watched nodes: subscriptions, connects, disconnects, restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog
from ric.e2 import E2Gateway, Indication, Node
from ric.gateway import for_each_node
from ric.sm import RLC_OID

from tc_controller.core.inputs import NodeDown, NodeEvent, NodeUp
from tc_controller.core.policy.schema import Reports
from tc_controller.subscriptions import capabilities, subscribe_all

_log = structlog.get_logger()


class RestartDetector:
    """Detects that a node, or the way to it, was away between two RLC reports.

    The SDK renews a subscription that was lost under another number; counters and pipelines of the
    node may have begun anew.
    """

    def __init__(self) -> None:
        self._subscription: dict[str, int] = {}

    def restarted(self, indication: Indication) -> bool:
        """Whether the node restarted since its last RLC report; to be called for each report."""
        before = self._subscription.get(indication.node_id)
        self._subscription[indication.node_id] = indication.subscription
        return before is not None and before != indication.subscription

    def forget(self, node_id: str) -> None:
        """The node is gone."""
        self._subscription.pop(node_id, None)


class NodeWatcher:
    """Subscribes to every node with RLC reports.

    Args:
        gateway: where the nodes are.
        reports: what to subscribe to now.
        on_event: called when a node connects, restarts or disconnects.
        on_indication: called with each indication.
        wanted: whether a node, by its id, is to be watched.
    """

    def __init__(
        self,
        gateway: E2Gateway,
        reports: Callable[[], Reports],
        on_event: Callable[[NodeEvent], None],
        on_indication: Callable[[Indication], None],
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._gateway = gateway
        self._reports = reports
        self._on_event = on_event
        self._on_indication = on_indication
        self._wanted = wanted
        self._restarts = RestartDetector()
        self._changed = asyncio.Event()
        self._runs: dict[str, object] = {}

    async def run(self) -> None:
        """Watch all nodes until cancelled."""
        await for_each_node(self._gateway, RLC_OID, self._watch)

    def resubscribe(self) -> None:
        """Subscribe anew: other reports are wanted."""
        self._changed.set()

    async def _watch(self, node: Node) -> None:
        if not self._wanted(node.id):
            _log.info("node left to other replicas", node=node.id)
            await asyncio.Event().wait()
        run = self._runs[node.id] = object()
        self._on_event(NodeUp(node.id, capabilities(node)))
        _log.info("node watched", node=node.id)
        try:
            while True:
                self._changed.clear()
                await self._subscribe_until_changed(node)
        finally:
            # A node that reconnects at once is watched by another run before this one has ended.
            if self._runs.get(node.id) is run:
                del self._runs[node.id]
                self._restarts.forget(node.id)
                self._on_event(NodeDown(node.id))

    async def _subscribe_until_changed(self, node: Node) -> None:
        subscribed = asyncio.create_task(
            subscribe_all(self._gateway, node, self._reports(), self._received)
        )
        changed = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((subscribed, changed), return_when=asyncio.FIRST_COMPLETED)
            if subscribed.done():
                # Every subscription was refused: wait until other reports are wanted.
                await subscribed
                await changed
        finally:
            for task in (subscribed, changed):
                task.cancel()
            await asyncio.gather(subscribed, changed, return_exceptions=True)

    def _received(self, indication: Indication) -> None:
        if indication.oid == RLC_OID and self._restarts.restarted(indication):
            node = next((n for n in self._gateway.nodes if n.id == indication.node_id), None)
            if node is not None:
                self._on_event(NodeUp(node.id, capabilities(node)))
        self._on_indication(indication)
