"""A bounded queue between a fake and its reader that drops the oldest, as a gateway does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Outbox(Generic[Item]):
    """Items for one reader; `depth` 0 is unbounded."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()
        self.error: Exception | None = None
        """What its end is, once that is known."""
        self.on_change: Callable[[], None] = _nothing
        """Called when there is more to get, or the end is known."""

    def put(self, item: Item) -> int:
        """Add an item; returns how many old ones were dropped for it."""
        dropped = 0
        if self._depth and len(self._items) == self._depth:
            self._items.popleft()
            dropped = 1
        self._items.append(item)
        self._ready.set()
        self.on_change()
        return dropped

    def end(self, error: Exception) -> None:
        """Raise `error` to the reader, after what is waiting."""
        self.error = error
        self._ready.set()
        self.on_change()

    async def get(self) -> Item:
        """The next item; raises what `end` was given once all are read."""
        while not self._items:
            if self.error is not None:
                raise self.error
            self._ready.clear()
            await self._ready.wait()
        return self._items.popleft()

    def take(self) -> Item | None:
        """The next item, if there is one."""
        return self._items.popleft() if self._items else None


def _nothing() -> None:
    pass
