"""The open streams of a gRPC server, and which of them ends when a newcomer finds no room."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ric.limits import Pool


@dataclass(slots=True, eq=False)
class OpenStream:
    """The task that serves a stream."""

    client: str
    task: asyncio.Task[Any]
    has_ended: bool = False
    is_sending: bool = False
    """gRPC has the task: cancelled there, it loses what it has begun to send."""

    def end(self) -> None:
        """End it for another; if its task is sending a message, after that."""
        self.has_ended = True
        if not self.is_sending:
            self.task.cancel()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """The time in which a message is sent."""
        if asyncio.current_task() is not self.task:
            # Another task of the call, which `end` does not cancel.
            yield
            return
        self.is_sending = True
        yield
        self.is_sending = False
        if self.has_ended:
            raise asyncio.CancelledError


class OpenStreams:
    """The streams of all clients, in the order in which they were opened."""

    def __init__(self) -> None:
        self._streams: dict[OpenStream, None] = {}

    @contextmanager
    def held(self, client: str, task: asyncio.Task[Any]) -> Iterator[OpenStream]:
        """A stream while the context lasts."""
        stream = OpenStream(client, task)
        self._streams[stream] = None
        try:
            yield stream
        finally:
            del self._streams[stream]

    def newest_of_most(self, pool: Pool, newcomer: str) -> OpenStream | None:
        """What makes room for one more of a client, if others have at least two more than it."""
        enough = pool.held(newcomer) + 2
        running = (stream for stream in self._streams if not stream.has_ended)
        most = max(running, key=lambda stream: pool.held(stream.client), default=None)
        if most is None or pool.held(most.client) < enough:
            return None
        return next(
            stream
            for stream in reversed(self._streams)
            if stream.client == most.client and not stream.has_ended
        )
