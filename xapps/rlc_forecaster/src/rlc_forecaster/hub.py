"""Between the engines and the consumers: the newest batch of each node, and who waits for more."""

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


HICCUP: Final = 16
"""Batches of a node that wait for a consumer: one that stalls for so many report periods misses
nothing."""


@dataclass(slots=True, eq=False)
class Mailbox:
    """The batches that a consumer has not taken yet.

    A forecast that waits is worth less than the one after it, so a consumer that falls behind by
    more than :data:`HICCUP` skips to the newest.
    """

    waiting: dict[str, list[Batch]] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    skipped: int = 0

    def put(self, batch: Batch) -> None:
        """Leaves a batch."""
        waiting = self.waiting.setdefault(batch.node_id, [])
        if len(waiting) == HICCUP:
            self.skipped += len(waiting)
            waiting.clear()
        waiting.append(batch)
        self.wake.set()

    async def batches(self) -> AsyncIterator[Batch]:
        """The batches as they come, for ever."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            for node_id in list(self.waiting):
                while waiting := self.waiting[node_id]:
                    yield waiting.pop(0)
            self.waiting = {node_id: kept for node_id, kept in self.waiting.items() if kept}


class Hub:
    """Takes batches in, hands them to every mailbox."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self.layout = layout
        self.latest: dict[str, Batch] = {}
        self._clock = clock
        self._came_ns: dict[str, int] = {}
        self.published = 0
        self._mailboxes: set[Mailbox] = set()
        self._skipped_before = 0

    @property
    def consumers(self) -> int:
        """Open forecast streams."""
        return len(self._mailboxes)

    @property
    def skipped(self) -> int:
        """Batches consumers were too slow for, cumulative."""
        return self._skipped_before + sum(m.skipped for m in self._mailboxes)

    def publish(self, batch: Batch) -> None:
        """Hands a batch out."""
        self.latest[batch.node_id] = batch
        self._came_ns[batch.node_id] = self._clock.monotonic_ns()
        self.published += 1
        for mailbox in self._mailboxes:
            mailbox.put(batch)

    def forget(self, node_id: str) -> None:
        """Drops the latest batch of a node that went away."""
        self.latest.pop(node_id, None)
        self._came_ns.pop(node_id, None)

    def age_s(self, node_id: str) -> float:
        """How long ago the newest batch of a node came, s."""
        return (self._clock.monotonic_ns() - self._came_ns[node_id]) / 1e9

    @contextmanager
    def mailbox(self) -> Iterator[Mailbox]:
        """A mailbox for as long as the consumer is there."""
        mailbox = Mailbox()
        self._mailboxes.add(mailbox)
        try:
            yield mailbox
        finally:
            self._mailboxes.discard(mailbox)
            self._skipped_before += mailbox.skipped
