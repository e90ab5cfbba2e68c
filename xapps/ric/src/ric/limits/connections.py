"""Connections of a server: how many, whose, how long each may say nothing; time is passed in.

A connection waits for a request's head, serves a request, or is idle between two. When a client has
its share, or the server is full, the connection that was idle longest makes room, of the client
with the most; one that serves a request is never ended for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ric.limits.pool import Pool

HEAD_NS: Final = 10 * 10**9
"""Longest TLS handshake with the head of a request, counted from the first byte."""
IDLE_NS: Final = 120 * 10**9
"""Longest pause between two requests, above a usual scrape interval."""
ANSWER_NS: Final = 60 * 10**9
"""Longest time to answer a request that is no stream."""


@dataclass(slots=True, eq=False)
class Connection:
    """One connection; `close` ends it."""

    client: str
    close: Callable[[], object]
    since_ns: int
    """When it began what it does now."""
    waits_for_head: bool = True
    serving: int = 0
    """Requests in progress."""
    streams: bool = False
    """Whether its answer has no end."""
    idle: dict[Connection, None] = field(default_factory=dict, repr=False)
    """All of the server that serve no request, those that are idle longest first."""

    def received(self, now_ns: int) -> None:
        """Bytes came."""
        if not self.serving and not self.waits_for_head:
            self.waits_for_head = True
            self._idle_since(now_ns)

    def ready(self, now_ns: int) -> None:
        """What precedes the first request has come."""
        self.waits_for_head = False
        self._idle_since(now_ns)

    def begin(self, now_ns: int) -> None:
        """The head of a request is complete."""
        self.serving += 1
        self.idle.pop(self, None)
        self.waits_for_head, self.since_ns = False, now_ns

    def end(self, now_ns: int) -> None:
        """A request was answered."""
        self.serving -= 1
        self.streams, self.since_ns = False, now_ns
        if not self.serving:
            self._idle_since(now_ns)

    def _idle_since(self, now_ns: int) -> None:
        self.since_ns = now_ns
        self.idle.pop(self, None)
        self.idle[self] = None

    def over(self, now_ns: int) -> bool:
        """Whether it has been silent for too long."""
        if self.serving:
            most_ns = None if self.streams else ANSWER_NS
        else:
            most_ns = HEAD_NS if self.waits_for_head else IDLE_NS
        return most_ns is not None and now_ns - self.since_ns >= most_ns


class Connections:
    """All connections of a server."""

    def __init__(
        self, most: int, refused: Callable[[str, str], None] = lambda client, why: None
    ) -> None:
        """`refused(client, why)` is called for a connection that is not accepted, or that made room
        for another."""
        self._shares = Pool(most)
        self._refused = refused
        self._open: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._clients_with: Counter[int] = Counter()
        self._largest = 0
        """Connections of the client that has the most."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._open))

    def open(self, client: str, close: Callable[[], object], now_ns: int) -> Connection | None:
        """Accept a connection; `None` if there is no room for it."""
        if not self._shares.take(client, 1):
            full = self._shares.used >= self._shares.total
            idle = self._idle_longest(None if full else client)
            if idle is None:
                self._refused(client, f"{self._held(client)}; none of them was idle")
                return None
            self._refused(idle.client, f"{self._held(idle.client)}; an idle one made room")
            self.remove(idle)
            idle.close()
            self._shares.change(client, 1)
        self._count(round(self._shares.held(client)), 1)
        made = Connection(client, close, now_ns, idle=self._idle)
        self._open[made] = self._idle[made] = None
        return made

    def remove(self, connection: Connection) -> None:
        """A connection is closed; no effect if it was removed before."""
        if connection in self._open:
            del self._open[connection]
            self._idle.pop(connection, None)
            # What becomes of its requests is no longer of interest.
            connection.idle = {}
            self._count(round(self._shares.held(connection.client)), -1)
            self._shares.give(connection.client, 1)

    def end_silent(self, now_ns: int) -> None:
        """Close the connections that have been silent for too long; call it every second."""
        for connection in self:
            if connection.over(now_ns):
                self.remove(connection)
                connection.close()

    def _count(self, held: int, by: int) -> None:
        """A client has come to hold as many (`by` 1), or will hold one less (`by` -1)."""
        self._clients_with[held] += by
        self._clients_with[held - 1] -= by
        if by > 0:
            self._largest = max(self._largest, held)
        elif held == self._largest and not self._clients_with[held]:
            self._largest -= 1

    def _idle_longest(self, client: str | None) -> Connection | None:
        """The longest idle connection of the client, else of the client with the most."""
        if client is not None:
            return next((one for one in self._idle if one.client == client), None)
        of_largest = (one for one in self._idle if self._shares.held(one.client) >= self._largest)
        found = next(of_largest, None)
        if found is None and self._idle:
            # All connections of the largest clients serve requests.
            return min(self._idle, key=lambda one: (-self._shares.held(one.client), one.since_ns))
        return found

    def _held(self, client: str) -> str:
        return (
            f"{self._shares.held(client):.0f} connections open,"
            f" {self._shares.used:.0f} of {self._shares.total:.0f} in all"
        )
