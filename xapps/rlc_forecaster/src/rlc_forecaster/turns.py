"""The order in which consumers are sent forecasts, and how much of it at once.

Encoding and sending run on the event loop that receives the reports. Each message has a cost, its
bytes and a constant for the call; one turn of the loop spends a bounded cost. Streams whose load
was free when they came are served first: who comes later, or asks for more, takes nothing from
them. The others share what is left, at a rate that falls while the event loop is late. Clients get
equal parts of both. What does not get its turn in time waits in its consumer's own queue, which
skips to the newest.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from sojourn_serving import Account, Pool

from rlc_forecaster.excess_rate import ExcessRate

Item = TypeVar("Item")

CALL_BYTES: Final = 65_536
"""Cost of a message besides its bytes: of the call in Python and gRPC, which takes as long as some
60 kB."""
TURN_BYTES: Final = 4 * CALL_BYTES
"""Cost of the messages of one turn of the event loop, exceeded by at most one message."""
ASSURED: Final = 0.5
"""Part of the rate that streams may hold: at the default rate 3000 messages a second, about a
quarter of a core."""
_AHEAD_S: Final = 0.01
"""What an idle time may be made up for."""
_MEASURE_S: Final = 1.0
"""Between two looks at the load of a stream."""


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


class Stream:
    """One stream of a client; its load is held while it is assured."""

    def __init__(self, turns: Turns, client: Account) -> None:
        self._turns = turns
        self._client = client
        self._share = client.share(turns.assured_load)
        self._held = 0
        self._measured_s: float | None = None

    @property
    def assured(self) -> bool:
        """Whether its load is held."""
        return self._held > 0

    async def wait(self, cost_bytes: float, messages_per_s: float) -> None:
        """Wait for the turn of a message; the stream has as many of them."""
        cost = cost_bytes + CALL_BYTES
        now_s = asyncio.get_running_loop().time()
        if self._measured_s is None or now_s - self._measured_s >= _MEASURE_S:
            self._measured_s = now_s
            self._measure(round(cost * messages_per_s))
        await self._turns.wait(self._client, cost_bytes, assured=self.assured)

    def _measure(self, load: int) -> None:
        if self.assured:
            # It has other bearers or another period than when it came.
            self._share.change(load - self._held)
            self._held = load
        elif self._share.take(load):
            self._held = load

    def end(self) -> None:
        """Return what it holds."""
        self._share.give(self._held)
        self._held = 0


class Turns:
    """Grants turns on the running event loop."""

    def __init__(self, bytes_per_s: float) -> None:
        self.assured_load = Pool(round(ASSURED * bytes_per_s))
        """Bytes per second that assured streams hold."""
        self._excess_rate = ExcessRate(bytes_per_s)
        self._assured: FairOrder[asyncio.Future[None]] = FairOrder()
        self._excess: FairOrder[asyncio.Future[None]] = FairOrder()
        self._free_at_s = 0.0
        """When all excess that was granted has been paid for at its rate."""
        self._spent = 0.0
        """Spent in this turn of the event loop."""
        self._next: asyncio.Handle | None = None
        self._is_later = False
        """Whether it waits for the rate of the excess, not for the event loop alone."""
        self._due_s = 0.0

    @property
    def waiting(self) -> int:
        """Messages that wait for their turn."""
        return len(self._assured) + len(self._excess)

    @contextmanager
    def stream(self, client: Account) -> Iterator[Stream]:
        """A stream until the context exits."""
        stream = Stream(self, client)
        try:
            yield stream
        finally:
            stream.end()

    async def wait(self, client: Account, cost_bytes: float, *, assured: bool) -> None:
        """Wait for the turn of a message."""
        cost = cost_bytes + CALL_BYTES
        loop = asyncio.get_running_loop()
        if self._next is None or (assured and self._is_later):
            self._schedule(0.0)
        ahead = self._assured or (not assured and self._excess)
        if not ahead and self._may_spend(assured=assured):
            self._spend(cost, assured=assured)
            return
        granted: asyncio.Future[None] = loop.create_future()
        (self._assured if assured else self._excess).add(client.key, cost, granted)
        await granted

    def _may_spend(self, *, assured: bool) -> bool:
        if self._spent >= TURN_BYTES:
            return False
        return assured or self._free_at_s <= asyncio.get_running_loop().time() + _AHEAD_S

    def _spend(self, cost: float, *, assured: bool) -> None:
        self._spent += cost
        if not assured:
            now_s = asyncio.get_running_loop().time()
            rate = self._excess_rate.bytes_per_s
            self._free_at_s = max(self._free_at_s, now_s) + cost / rate

    def _schedule(self, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._next is not None:
            self._next.cancel()
        self._due_s = loop.time() + wait_s
        self._is_later = wait_s > 0
        if self._is_later:
            self._next = loop.call_later(wait_s, self._turn)
        else:
            self._next = loop.call_soon(self._turn)

    def _turn(self) -> None:
        now_s = asyncio.get_running_loop().time()
        self._excess_rate.update(now_s, now_s - self._due_s)
        self._next = None
        self._spent = 0.0
        for order, assured in ((self._assured, True), (self._excess, False)):
            while order and self._may_spend(assured=assured):
                cost, granted = order.take()
                if not granted.done():
                    self._spend(cost, assured=assured)
                    granted.set_result(None)
        if not self.waiting and not self._spent:
            return
        wait_s = self._free_at_s - now_s - _AHEAD_S
        self._schedule(0.0 if self._spent or self._assured else max(0.0, wait_s))
