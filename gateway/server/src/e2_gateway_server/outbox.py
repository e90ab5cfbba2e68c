"""The bounded queue between a source and one reader, which drops the oldest item when full.

A reader that wants the newest alone is late once the oldest item has waited for `LATE_S`: a new
item then replaces those queued.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

LATE_S: Final = 0.010
"""Wait after which the newest item replaces those queued: ten reports each ms, so that one that is
held up for a moment loses none."""

Item = TypeVar("Item")


class Room(Protocol):
    """The bytes that may be queued for a client."""

    def take(self, amount: int) -> bool:
        """Queue so many more, if there is room."""
        ...

    def give(self, amount: int) -> None:
        """So many are no longer queued."""
        ...


class Outbox(Generic[Item]):
    """Numbers its items from 0. A depth of 0 is unbounded.

    `on_change` is called when an item was added or the end is known. With `room` items are bytes,
    and the oldest are dropped while there is none. `newest`: a late reader gets the newest alone.
    """

    __slots__ = (
        *("_depth", "_ending", "_newest", "_next", "_now_s", "_on_change", "_queue", "_reader"),
        *("_room", "_times_s", "closed", "coalesced", "dropped", "ended"),
    )

    def __init__(
        self,
        depth: int = 0,
        on_change: Callable[[], None] | None = None,
        room: Room | None = None,
        *,
        newest: bool = False,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._room = room
        self._newest = newest
        self._now_s = now_s
        self._times_s: deque[float] = deque()
        self._depth = depth
        self._on_change = on_change
        self._queue: deque[tuple[int, Item]] = deque()
        self._next = 0
        self._reader: asyncio.Future[None] | None = None
        self._ending: asyncio.Future[Exception] | None = None
        self.dropped = 0
        """Items dropped because the reader was slow."""
        self.coalesced = 0
        """Items replaced by newer ones."""
        self.ended: Exception | None = None
        """Why no more items follow."""
        self.closed = False
        """Whether nobody reads it any more."""

    def put(self, item: Item) -> None:
        """Append an item; drops the oldest if there is no room."""
        if self.closed:
            return
        queue = self._queue
        if self._newest:
            now_s, times_s = self._now_s(), self._times_s
            if times_s and now_s - times_s[0] >= LATE_S:
                self.coalesced += len(queue)
                while queue:
                    self._taken(queue.popleft())
        if self._depth and len(queue) >= self._depth:
            self._taken(queue.popleft())
            self.dropped += 1
        if self._room is not None and isinstance(item, bytes):
            while not self._room.take(len(item)):
                if not queue:
                    self.skip(1)
                    return
                self._taken(queue.popleft())
                self.dropped += 1
        queue.append((self._next, item))
        if self._newest:
            times_s.append(now_s)
        self._next += 1
        self._changed()

    def skip(self, count: int) -> None:
        """Count `count` items as dropped before they were queued."""
        self._next += count
        self.dropped += count

    def end(self, error: Exception) -> None:
        """No more items follow; the first reason counts."""
        if self.ended is None:
            self.ended = error
        self._changed()
        if self._ending is not None and not self._ending.done():
            self._ending.set_result(error)

    def take(self) -> tuple[int, Item] | None:
        """Remove the oldest item; returns its number and itself, `None` if the queue is empty."""
        return self._taken(self._queue.popleft()) if self._queue else None

    async def get(self) -> tuple[int, Item]:
        """Wait for an item; raises the reason of the end once the queue is empty. One caller."""
        while not self._queue:
            if self.ended is not None:
                raise self.ended
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self._taken(self._queue.popleft())

    def close(self) -> None:
        """Drop what is queued, and whatever follows."""
        self.closed = True
        while self._queue:
            self._taken(self._queue.popleft())

    async def until_ended(self) -> Exception:
        """Wait for the end; returns its reason. Items may still be queued. One caller."""
        if self.ended is not None:
            return self.ended
        self._ending = asyncio.get_running_loop().create_future()
        return await self._ending

    def _taken(self, queued: tuple[int, Item]) -> tuple[int, Item]:
        if self._newest:
            self._times_s.popleft()
        if self._room is not None and isinstance(queued[1], bytes):
            self._room.give(len(queued[1]))
        return queued

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change()
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
