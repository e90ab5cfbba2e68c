"""The task that keeps the node table, in the corners that a gateway's end leads to."""

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
from ric.testing import run_virtual


class GoingLink:
    """A gateway that goes away when told, and answers its last question slowly even then."""

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
        """There is nothing to close."""


def test_a_client_can_be_closed_while_its_gateway_disconnects() -> None:
    async def main() -> None:
        link = GoingLink()
        table = NodeTable(link, SystemClock(), GatewayMetrics(), Backoff(1, 1), 10)
        running = asyncio.create_task(table.run())
        await asyncio.sleep(0.1)
        link.gone.set()
        # The group of tasks is about to end by the error; what is cancelled now is its parent.
        await link.ending.wait()
        running.cancel()
        async with asyncio.timeout(60):
            with pytest.raises(asyncio.CancelledError):
                await running

    run_virtual(main())
