"""One RIC subscription that is renewed after the loss of its node or of the gateway."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Final, NoReturn

import structlog

from ric.backoff import Backoff
from ric.clock import Clock
from ric.e2 import Indication, SubscriptionRequest
from ric.errors import (
    AccessDenied,
    GatewayError,
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SubscriptionRefused,
)
from ric.gateway.lag import Lag
from ric.gateway.link import GatewayLink
from ric.gateway.node_table import NodeTable
from ric.metrics import GatewayMetrics, IndicationStats

MOST_LAG_US: Final = 10_000
"""Beyond it a reader of the newest passes on few, and is soon less behind."""
PASSED_WHEN_LATE: Final = 8
"""Late indications of which one is passed on, even if all are late: a path may become longer."""
_log = structlog.get_logger()


class Subscription:
    """Indications of one RAN function, forever; see `E2GatewayClient.subscribe`."""

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
        self._expected: int | None = None
        self._coalesced = 0

    async def indications(self) -> AsyncGenerator[Indication]:
        """Indications in order, with subscription number, handling time and `missed` set."""
        handling, monotonic_ns = self._stats.handling, self._clock.monotonic_ns
        while True:
            async with self._subscribed() as stream:
                async for indication in stream:
                    self._on_indication(indication)
                    began_ns = monotonic_ns()
                    yield indication
                    handling.observe_us((monotonic_ns() - began_ns) / 1000)

    async def newest(self, limit: int) -> AsyncGenerator[Indication]:
        """Yield indications through a queue of the newest `limit` between connection and handler.

        If the handler is slower than the reports, some are dropped and counted in `missed` of the
        next: the oldest of the queue, and most of those that were in the buffers of the connection
        for too long, which this queue cannot reach.
        """
        stats, monotonic_ns = self._stats, self._clock.monotonic_ns
        loop = asyncio.get_running_loop()
        waiting: deque[Indication] = deque()
        ready: asyncio.Future[None] = loop.create_future()
        missed = late = passed_over = 0
        lag = Lag()

        def wake(_: object = None) -> None:
            if not ready.done():
                ready.set_result(None)

        async def read() -> None:
            nonlocal missed, late, passed_over
            while True:
                async with self._subscribed() as stream:
                    async for indication in stream:
                        self._on_indication(indication)
                        now_us = indication.handled_at_us
                        if lag.of(now_us, now_us - indication.received_at_us) > MOST_LAG_US:
                            late += 1
                            if late % PASSED_WHEN_LATE:
                                passed_over += 1 + indication.missed
                                stats.missed_by_slow_handler += 1
                                continue
                        if len(waiting) == limit:
                            lost = waiting.popleft()
                            missed += 1 + lost.missed
                            stats.missed_by_slow_handler += 1
                        indication.missed += passed_over
                        passed_over = 0
                        waiting.append(indication)
                        wake()

        reader = asyncio.create_task(read())
        reader.add_done_callback(wake)
        try:
            while True:
                while waiting:
                    indication = waiting.popleft()
                    indication.missed += missed
                    missed = 0
                    began_ns = monotonic_ns()
                    yield indication
                    stats.handling.observe_us((monotonic_ns() - began_ns) / 1000)
                if reader.done():
                    reader.result()
                    return
                ready = loop.create_future()
                await ready
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    @asynccontextmanager
    async def _subscribed(self) -> AsyncGenerator[AsyncGenerator[Indication]]:
        """One RIC subscription at the gateway, as soon as the node is connected.

        After its loss the context exits once the back-off delay has passed.
        """
        node = await self._nodes.wait_for(self._request.node_id)
        if node.ran_function(self._request.oid) is None:
            raise RanFunctionUnknown(self._request.node_id, self._request.oid)
        self._number += 1
        self._expected = None
        self._coalesced = 0
        try:
            async with aclosing(self._link.indications(self._request)) as stream:
                yield stream
            self._ended()
        except SubscriptionRefused:
            self._count("refused")
            raise
        except RanFunctionUnknown:
            self._count("unknown")
            raise
        except (AccessDenied, GatewayUnavailable, NodeGone, GatewayProtocolError) as error:
            await self._wait_to_retry(error)

    def _on_indication(self, indication: Indication) -> None:
        """Set the fields that the client owns and update the statistics."""
        stats = self._stats
        handled_at_us = self._clock.now_us()
        sequence, expected = indication.sequence, self._expected
        if sequence != expected:
            coalesced = indication.coalesced - self._coalesced
            self._coalesced = indication.coalesced
            stats.coalesced += coalesced
            if expected is None:
                self._count("started")
                self._backoff.reset()
                # Dropped before the first was received; later drops show as gaps of `sequence`.
                at_gateway = indication.dropped
            else:
                at_gateway = max(0, sequence - expected - indication.missed - coalesced)
            # `missed` so far: dropped by the link because the handler was slow.
            stats.missed_by_slow_handler += indication.missed
            stats.missed_at_gateway += at_gateway
            indication.missed += at_gateway
        self._expected = sequence + 1
        indication.oid = indication.oid or self._request.oid
        indication.handled_at_us = handled_at_us
        indication.subscription = self._number

        stats.received += 1
        stats.last_handled_at_us = handled_at_us
        collected_at_us, received_at_us = indication.collected_at_us, indication.received_at_us
        stats.node_to_gateway.observe_us(received_at_us - collected_at_us)
        stats.gateway_to_handler.observe_us(handled_at_us - received_at_us)
        stats.node_to_handler.observe_us(handled_at_us - collected_at_us)

    async def _wait_to_retry(self, error: GatewayError) -> None:
        self._count("lost")
        self._nodes.refresh()
        delay_s = self._backoff.next_s()
        _log.warning(
            "subscription lost",
            node=self._request.node_id,
            oid=self._request.oid,
            error=str(error),
            retry_in_s=round(delay_s, 3),
        )
        await self._clock.sleep(delay_s)

    def _ended(self) -> NoReturn:
        raise GatewayUnavailable(self._link.address, "subscription ended without a reason")

    def _count(self, outcome: str) -> None:
        self._metrics.subscriptions[self._request.node_id, self._request.oid, outcome] += 1
