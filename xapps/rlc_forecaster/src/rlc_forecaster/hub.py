"""Distributes batches of forecasts from the engines to the consumers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ric.clock import Clock

from rlc_forecaster.core import Batch, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_QUEUED: Final = 16
"""Batches of a node queued for a consumer: it may stall for as many report periods without loss."""


@dataclass(slots=True, eq=False)
class BatchQueue:
    """Batches that a consumer has not taken yet.

    A newer forecast supersedes an older one, so a consumer that falls behind by more than
    :data:`MAX_QUEUED` skips to the newest. Of one node; with an empty `node_id` of all.
    """

    node_id: str = ""
    waiting: dict[str, list[Batch]] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    skipped: int = 0

    def put(self, batch: Batch) -> None:
        """Queues a batch."""
        waiting = self.waiting.setdefault(batch.node_id, [])
        if len(waiting) == MAX_QUEUED:
            self.skipped += len(waiting)
            waiting.clear()
        waiting.append(batch)
        self.wake.set()

    async def batches(self) -> AsyncIterator[Batch]:
        """The batches as they arrive, forever."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            for node_id in list(self.waiting):
                while waiting := self.waiting[node_id]:
                    yield waiting.pop(0)
            self.waiting = {node_id: kept for node_id, kept in self.waiting.items() if kept}

    def newest(self, batch: Batch) -> Batch:
        """The newest batch of the node of `batch`, which was taken; those between are skipped."""
        waiting = self.waiting.get(batch.node_id)
        if not waiting:
            return batch
        self.skipped += len(waiting)
        newest = waiting[-1]
        waiting.clear()
        return newest


class Hub:
    """The newest batch of each node, and the queues of the consumers."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self.layout = layout
        self.latest: dict[str, Batch] = {}
        self._clock = clock
        self._received_ns: dict[str, int] = {}
        self.published = 0
        self.wants_cumulated = False
        """Whether a consumer asked for the cumulated drain: it is forecast from then on."""
        self._queues: set[BatchQueue] = set()
        self._skipped_before = 0

    @property
    def consumers(self) -> int:
        """Open forecast streams."""
        return len(self._queues)

    @property
    def skipped(self) -> int:
        """Batches that slow consumers skipped, cumulative."""
        return self._skipped_before + sum(m.skipped for m in self._queues)

    def publish(self, batch: Batch) -> None:
        """Passes a batch to every consumer."""
        self.latest[batch.node_id] = batch
        self._received_ns[batch.node_id] = self._clock.monotonic_ns()
        self.published += 1
        for queue in self._queues:
            if queue.node_id in ("", batch.node_id):
                queue.put(batch)

    def forget(self, node_id: str) -> None:
        """Drops the newest batch of a node that disconnected."""
        self.latest.pop(node_id, None)
        self._received_ns.pop(node_id, None)

    def age_s(self, node_id: str) -> float:
        """Age of the newest batch of a node, s."""
        return (self._clock.monotonic_ns() - self._received_ns[node_id]) / 1e9

    @contextmanager
    def queue(self, node_id: str = "") -> Iterator[BatchQueue]:
        """The queue of one consumer, of one node or of all, until the context exits."""
        queue = BatchQueue(node_id)
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)
            self._skipped_before += queue.skipped
