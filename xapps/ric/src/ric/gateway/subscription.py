"""One RIC subscription that outlives the loss of its node and of the gateway."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog

from ric.backoff import Backoff
from ric.clock import Clock
from ric.e2 import Indication, SubscriptionRequest
from ric.errors import (
    GatewayError,
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SubscriptionRefused,
)
from ric.gateway.link import GatewayLink
from ric.gateway.node_table import NodeTable
from ric.metrics import GatewayMetrics, IndicationStats

_log = structlog.get_logger()


class Subscription:
    """Indications of one RAN function, for ever; see `E2GatewayClient.subscribe`."""

    def __init__(
        self,
        request: SubscriptionRequest,
        *,
        link: GatewayLink,
        nodes: NodeTable,
        clock: Clock,
        metrics: GatewayMetrics,
        backoff: Backoff,
    ) -> None:
        self._request = request
        self._link = link
        self._nodes = nodes
        self._clock = clock
        self._metrics = metrics
        self._backoff = backoff
        self._stats: IndicationStats = metrics.indication_stats(request.node_id, request.oid)
        self._number = 0

    async def indications(self) -> AsyncGenerator[Indication]:
        """Each indication in order, numbered, timed and with gaps marked."""
        while True:
            node = await self._nodes.wait_for(self._request.node_id)
            if node.ran_function(self._request.oid) is None:
                raise RanFunctionUnknown(self._request.node_id, self._request.oid)
            self._number += 1
            try:
                async with aclosing(self._one_life()) as life:
                    async for indication in life:
                        yield indication
            except SubscriptionRefused:
                self._count("refused")
                raise
            except RanFunctionUnknown:
                self._count("unknown")
                raise
            except (GatewayUnavailable, NodeGone, GatewayProtocolError) as error:
                await self._wait_to_retry(error)

    async def _one_life(self) -> AsyncGenerator[Indication]:
        """One RIC subscription at the gateway."""
        stats = self._stats
        now_us, monotonic_ns = self._clock.now_us, self._clock.monotonic_ns
        expected: int | None = None
        async with aclosing(self._link.indications(self._request)) as stream:
            async for indication in stream:
                handled_at_us = now_us()
                sequence = indication.sequence
                if expected is None:
                    self._count("started")
                    self._backoff.reset()
                    # Dropped before we saw the first; afterwards the sequence tells the same.
                    indication.missed = indication.dropped
                elif sequence > expected:
                    indication.missed = sequence - expected
                expected = sequence + 1
                indication.oid = indication.oid or self._request.oid
                indication.handled_at_us = handled_at_us
                indication.subscription = self._number

                stats.received += 1
                stats.missed_at_gateway += indication.missed
                stats.last_handled_at_us = handled_at_us
                collected_at_us, received_at_us = (
                    indication.collected_at_us,
                    indication.received_at_us,
                )
                stats.node_to_gateway.observe_us(received_at_us - collected_at_us)
                stats.gateway_to_handler.observe_us(handled_at_us - received_at_us)
                stats.node_to_handler.observe_us(handled_at_us - collected_at_us)
                began_ns = monotonic_ns()
                yield indication
                stats.handling.observe_us((monotonic_ns() - began_ns) / 1000)
        raise GatewayUnavailable(self._link.address, "subscription ended without a reason")

    async def _wait_to_retry(self, error: GatewayError) -> None:
        self._count("lost")
        self._nodes.doubt()
        delay_s = self._backoff.next_s()
        _log.warning(
            "subscription lost",
            node=self._request.node_id,
            oid=self._request.oid,
            error=str(error),
            retry_in_s=round(delay_s, 3),
        )
        await self._clock.sleep(delay_s)

    def _count(self, outcome: str) -> None:
        self._metrics.subscriptions[self._request.node_id, self._request.oid, outcome] += 1


async def bounded(
    source: AsyncGenerator[Indication], limit: int, stats: IndicationStats
) -> AsyncGenerator[Indication]:
    """Read `source` at its own pace and hand on at most `limit` indications late.

    When the handler is slower, the oldest are dropped and counted; the next one handed on has them
    in `missed`. Without this, a slow handler reads ever older indications out of the connection's
    buffers.
    """
    waiting: deque[Indication] = deque()
    ready = asyncio.Event()
    missed = 0

    async def read() -> None:
        nonlocal missed
        async with aclosing(source):
            async for indication in source:
                if len(waiting) == limit:
                    lost = waiting.popleft()
                    missed += 1 + lost.missed
                    stats.missed_by_slow_handler += 1
                waiting.append(indication)
                ready.set()

    reader = asyncio.create_task(read())
    reader.add_done_callback(lambda _: ready.set())
    try:
        while True:
            while waiting:
                indication = waiting.popleft()
                indication.missed += missed
                missed = 0
                yield indication
            if reader.done():
                reader.result()
                return
            ready.clear()
            await ready.wait()
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
