"""A bridge with a fake RIC and clients of its gateway, for tests."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from fake_flexric import FakeRic, Subscription, node
from flexric_bridge.app import Bridge
from flexric_bridge.sdk import E2Node
from flexric_bridge.settings import BridgeSettings
from ric import E2GatewayClient, Indication
from ric.settings import GatewaySettings
from ric.sm import RLC_OID, rlc

PATIENCE_S = 120.0

QUICK: dict[str, Any] = {
    "server": {"listen": "127.0.0.1:0"},
    "http": {"listen": ""},
    "ric": {
        "sdk": "fake_sdk:FakeSdk",
        "backoff_initial_s": 0.05,
        "backoff_max_s": 0.2,
        "nodes_come_within_s": 0.05,
    },
    "nodes": {"stale_after_s": 60, "query_period_s": 0},
    "subscriptions": {"linger_s": 0.2},
}


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Settings with some replaced."""
    out = dict(base)
    for key, value in more.items():
        inner = out.get(key)
        nested = isinstance(value, dict) and isinstance(inner, dict)
        out[key] = merged(inner, value) if nested and isinstance(inner, dict) else value
    return out


QUICKLY_STALE = {"stale_after_s": 1.0}

ONE, TWO, THREE = node(0xE00), node(0xE01), node(0xE02)


def kill_child(bridge: Bridge) -> None:
    """SIGKILL to the process that owns the SDK."""
    assert bridge.session._child is not None
    os.kill(bridge.session._child.pid, signal.SIGKILL)


class BridgeWorld:
    """A RIC, a bridge, and clients of its gateway."""

    def __init__(self, path: str, folder: Path) -> None:
        self.ric = FakeRic(path)
        self.folder = folder
        self.bridge: Bridge | None = None
        self._running: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[Any]] = []

    async def start(self, *nodes: E2Node, **settings: Any) -> Bridge:
        """A bridge, listening, whose RIC has these nodes; the session may still be opening."""
        self.ric.add(*nodes)
        bridge = self.bridge = Bridge(BridgeSettings.model_validate(merged(QUICK, settings)))
        ready = asyncio.Event()
        self._running = asyncio.create_task(bridge.run(lambda _bridge: ready.set()))
        await asyncio.wait_for(ready.wait(), PATIENCE_S)
        return bridge

    async def stop(self) -> None:
        """A graceful stop."""
        if self.bridge is not None and self._running is not None:
            self.bridge.stop()
            await asyncio.wait_for(self._running, PATIENCE_S)
            self.bridge = self._running = None

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.stop()
        await self.ric.stop()

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        """Run concurrently until the end of the test."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    def reporting(
        self, node_id: str, function_id: int, message: Callable[[], bytes]
    ) -> asyncio.Task[Any]:
        """Reports each 10 ms, until cancelled."""
        return self.spawn(self.ric.keep_reporting(node_id, function_id, message))

    @asynccontextmanager
    async def client(self, node_id: str = "") -> AsyncIterator[E2GatewayClient]:
        """A client of the gateway, once it has the node."""
        assert self.bridge is not None
        settings = GatewaySettings(address=self.bridge.address, control_timeout_s=100)
        async with E2GatewayClient(settings) as client:
            if node_id:
                await client.wait_for_node(node_id)
            yield client

    @asynccontextmanager
    async def reading(
        self, node: E2Node = ONE, period_ms: int = 10
    ) -> AsyncIterator[tuple[E2GatewayClient, AsyncGenerator[Indication]]]:
        """A client and the RLC reports of a node, of which the first was received."""
        async with self.client(node.id) as client:
            stream = client.subscribe(node.id, RLC_OID, rlc.event_trigger(period_ms))
            async with aclosing(stream), asyncio.timeout(PATIENCE_S):
                assert (await anext(stream)).subscription == 1
                yield client, stream

    async def subscription(
        self, node_id: str, function_id: int, oid: str
    ) -> tuple[int, Subscription]:
        """The only one to a RAN function, with its handle, once its reports are forwarded.

        The RIC has it before the bridge gets the answer, and a report may overtake the answer.
        """
        assert self.bridge is not None
        flow = self.bridge.metrics.flow(node_id, oid)
        await self.until(lambda: flow.period_ms, "a subscription")
        (found,) = self.ric.on(node_id, function_id)
        return found

    async def until(self, condition: Callable[[], Any], what: str = "") -> None:
        """Return as soon as the condition holds."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise AssertionError(f"never: {what or condition}") from None


async def resubscribed(stream: AsyncGenerator[Indication]) -> None:
    """Return at the first report of another subscription than the first."""
    while (await anext(stream)).subscription == 1:
        pass


async def some(stream: Any, count: int) -> list[Indication]:
    """The first `count` of a stream."""
    got: list[Indication] = []
    async with asyncio.timeout(PATIENCE_S), aclosing(stream) as indications:
        async for indication in indications:
            got.append(indication)
            if len(got) == count:
                break
    return got
