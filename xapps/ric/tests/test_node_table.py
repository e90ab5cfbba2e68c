"""The task that updates the node table while the gateway disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from ric.backoff import Backoff
from ric.clock import SystemClock
from ric.e2 import ControlAnswer, Indication, Node, NodeEvent, SubscriptionRequest
from ric.errors import GatewayUnavailable
from ric.gateway.node_table import NodeTable
from ric.metrics import GatewayMetrics
from ric.testing import on_virtual_time


class GoingLink:
    """A gateway that disconnects on `gone`; cancelling its list of nodes takes 1 s."""

    address = "gateway:1"

    def __init__(self) -> None:
        self.gone, self.ending = asyncio.Event(), asyncio.Event()

    async def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        await self.gone.wait()
        raise GatewayUnavailable(self.address, "went away")
        yield

    async def list_nodes(self) -> tuple[Node, ...]:
        try:
            return await asyncio.Future()
        finally:
            self.ending.set()
            await asyncio.sleep(1)

    def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        raise AssertionError(request)

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        raise AssertionError(node_id, oid, header, message, timeout_s)

    async def close(self) -> None:
        """No effect."""


@on_virtual_time
async def test_a_client_can_be_closed_while_its_gateway_disconnects() -> None:
    link = GoingLink()
    table = NodeTable(link, SystemClock(), GatewayMetrics(), Backoff(1, 1), 10)
    running = asyncio.create_task(table.run())
    await asyncio.sleep(0.1)
    link.gone.set()
    # The task group is about to end with the error; the cancellation is of its parent.
    await link.ending.wait()
    running.cancel()
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await running
