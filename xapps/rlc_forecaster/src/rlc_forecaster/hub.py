"""Between the engines and the consumers: the newest batch of each node, and who waits for more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ric.clock import Clock

from rlc_forecaster.core import Batch, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True, eq=False)
class Mailbox:
    """The newest batch of each node that a consumer has not taken yet.

    A forecast that waits is worth less than the one after it, so a slow consumer skips.
    """

    waiting: dict[str, Batch] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    skipped: int = 0

    def put(self, batch: Batch) -> None:
        """Leaves a batch, in place of one of the same node still waiting."""
        if batch.node_id in self.waiting:
            self.skipped += 1
        self.waiting[batch.node_id] = batch
        self.wake.set()

    async def batches(self) -> AsyncIterator[Batch]:
        """The batches as they come, for ever."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            taken, self.waiting = self.waiting, {}
            for batch in taken.values():
                yield batch


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
