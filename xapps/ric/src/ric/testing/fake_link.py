"""The in-memory link between the real client and a `FakeRic`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING

from ric.e2 import ControlAnswer, Indication, Node, NodeEvent, SubscriptionRequest
from ric.errors import ControlTimeout, GatewayUnavailable

if TYPE_CHECKING:
    from ric.testing.fake_ric import FakeRic


class FakeLink:
    """A `GatewayLink` without a network. An answer takes as long as the fake's handlers do."""

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
        outbox = self._ric.open_watch()
        try:
            while True:
                yield await outbox.get()
        finally:
            self._ric.close_watch(outbox)

    async def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        """See `GatewayLink.indications`."""
        self._check_open()
        subscription = self._ric.open_subscription(request)
        try:
            while True:
                # A copy, for the client writes into what it is given.
                yield replace(await subscription.outbox.get())
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
