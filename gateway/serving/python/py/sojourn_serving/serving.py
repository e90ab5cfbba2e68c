"""What gRPC and HTTP servers have in common: their handlers' tasks, and how they stop."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from sojourn_serving._native import Message
from sojourn_serving.guard import Guard

_CUT_S = 1.0
"""Time for connections that were cut, and for handlers that were cancelled, to end."""


class Sender(Protocol):
    """The native end of a stream of responses."""

    def try_send(self, message: bytes | Message) -> bool:
        """Send, unless another message waits."""
        ...


class Stream:
    """What a client sends, and what it is sent."""

    __slots__ = ("_arrived", "_ended", "_incoming", "_room", "_sender", "_why", "task")

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._incoming: deque[bytes] = deque()
        self._arrived: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._ended = False
        self._why: tuple[int, str] | None = None
        self.task: asyncio.Task[None] | None = None
        """That of the handler."""

    async def write(self, message: bytes | Message) -> None:
        """Send a message.

        Returns at once while the connection takes messages, else waits. One task at a time.
        """
        while not self._sender.try_send(message):
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    async def next(self) -> bytes | None:
        """What the client has sent next; `None` at the end."""
        while not self._incoming:
            if self._ended:
                return None
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        return self._incoming.popleft()

    def message(self, message: bytes) -> None:
        """See `Open`."""
        self._incoming.append(message)
        _wake(self._arrived)

    def end_of_requests(self, why: tuple[int, str] | None) -> None:
        """See `Open`."""
        self._ended, self._why = True, why
        _wake(self._arrived)

    def writable(self) -> None:
        """See `Open`."""
        _wake(self._room)

    def gone(self) -> None:
        """See `Open`."""
        if self.task is not None:
            self.task.cancel()


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


class Native(Protocol):
    """A native server."""

    def stop(self) -> bool:
        """Accept no more; whether connections have to end."""
        ...

    def cut(self) -> None:
        """End all connections."""
        ...


class Handlers:
    """The tasks of a server's handlers."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._tasks: set[asyncio.Task[None]] = set()
        self._over: asyncio.Future[None] | None = None

    def run(self, number: int, stream: Stream, task: asyncio.Task[None]) -> None:
        """Keep a task until it is done."""
        stream.task = task
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self.guard.forget(number)

        task.add_done_callback(done)

    def ended(self) -> None:
        """All connections have ended."""
        if self._over is not None:
            _wake(self._over)

    async def stop(self, native: Native, grace_s: float) -> None:
        """End the connections: in `grace_s` by themselves, then by force."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        over = self._over
        # After another stop, the connections may have ended.
        if native.stop() and not over.done():
            _, left = await asyncio.wait({over}, timeout=grace_s)
            if left:
                native.cut()
                await asyncio.wait({over}, timeout=_CUT_S)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CUT_S)
