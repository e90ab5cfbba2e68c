"""The order in which consumers are sent forecasts, and how much of it at once.

Encoding and sending run on the event loop that receives the reports. Each message has a cost, its
bytes and a constant for the call; one turn of the loop spends a bounded cost, all together spend a
bounded rate, and clients get equal parts of both. What does not get its turn in time waits in its
consumer's own queue, which skips to the newest.
"""

from __future__ import annotations

import asyncio
import heapq
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

CALL_BYTES: Final = 65_536
"""Cost of a message besides its bytes: of the call in Python and gRPC, which takes as long as some
60 kB. At the default rate 6000 messages a second are sent, about half of a core: reports, and
consumers that ask for little, find it free."""
TURN_BYTES: Final = 2 * CALL_BYTES
"""Cost of the messages of one turn of the event loop, exceeded by at most one message."""
_AHEAD_S: Final = 0.01
"""What an idle time may be made up for."""


class FairOrder(Generic[Item]):
    """Orders what clients wait for so that each gets an equal part of the cost.

    Start-time fair queueing: Goyal, Vin and Cheng, "Start-Time Fair Queueing: A Scheduling
    Algorithm for Integrated Services Packet Switching Networks", SIGCOMM 1996, §2.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, float, Item]] = []
        self._virtual = 0.0
        self._finish: dict[str, float] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, client: str, cost: float, item: Item) -> None:
        """Let an item wait for its turn."""
        start = max(self._virtual, self._finish.get(client, 0.0))
        self._finish[client] = start + cost
        self._number += 1
        heapq.heappush(self._waiting, (start, self._number, cost, item))

    def take(self) -> tuple[float, Item]:
        """Cost and item of the next turn."""
        self._virtual, _, cost, item = heapq.heappop(self._waiting)
        if not self._waiting:
            # Nobody is owed anything.
            self._virtual = 0.0
            self._finish.clear()
        return cost, item


class Turns:
    """Grants turns on the running event loop."""

    def __init__(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._order: FairOrder[asyncio.Future[None]] = FairOrder()
        self._free_at_s = 0.0
        """When all that was granted has been paid for at the rate."""
        self._spent = 0.0
        """In this turn of the event loop."""
        self._next: asyncio.Handle | None = None

    @property
    def waiting(self) -> int:
        """Messages that wait for their turn."""
        return len(self._order)

    async def wait(self, client: str, message_bytes: float) -> None:
        """Wait for the turn of a message."""
        cost = message_bytes + CALL_BYTES
        loop = asyncio.get_running_loop()
        if self._next is None:
            self._next = loop.call_soon(self._turn)
        if not self._order and self._may_spend():
            self._spend(cost)
            return
        granted: asyncio.Future[None] = loop.create_future()
        self._order.add(client, cost, granted)
        await granted

    def _may_spend(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        return self._spent < TURN_BYTES and self._free_at_s <= now_s + _AHEAD_S

    def _spend(self, cost: float) -> None:
        self._spent += cost
        now_s = asyncio.get_running_loop().time()
        self._free_at_s = max(self._free_at_s, now_s) + cost / self._bytes_per_s

    def _turn(self) -> None:
        self._next = None
        self._spent = 0.0
        while self._order and self._may_spend():
            cost, granted = self._order.take()
            if not granted.done():
                self._spend(cost)
                granted.set_result(None)
        if not self._order and not self._spent:
            return
        loop = asyncio.get_running_loop()
        wait_s = self._free_at_s - loop.time() - _AHEAD_S
        if wait_s > 0 and not self._spent:
            self._next = loop.call_later(wait_s, self._turn)
        else:
            self._next = loop.call_soon(self._turn)
