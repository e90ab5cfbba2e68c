"""The limits of a program's servers: one account a client, what was refused, how many connections.

| metric | type | labels |
|---|---|---|
| `sojourn_limited_total` | counter | `client`, `limit` |
| `sojourn_server_connections` | gauge | `server` |

`client` is the name by the access file or of the certificate, else the address; 32 clients have
series of their own, the rest are `other`. The emulated gNB has the same two metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import Metric

from ric.clock import Clock
from ric.limits.account import Accounts
from ric.limits.bucket import Rate
from ric.limits.pool import Pool
from ric.limits.refusals import Refusals
from ric.metrics import counter, gauge

CALLS: Final = Rate("calls", per_s=100, burst=200, what="calls")
"""Rate of gRPC calls."""
REQUESTS: Final = Rate("requests", per_s=100, burst=200, what="requests")
"""Rate of HTTP requests, unless a route has its own."""
SCRAPES: Final = Rate("scrapes", per_s=5, burst=50, what="scrapes")
"""Rate of reading metrics, which may be long; a scraper comes once a second at most."""


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that a client has reached; `detail` is what the client reads."""

    detail: str
    retry_s: float


def retry_after_s(exceeded: Exceeded) -> int:
    """Whole seconds for the header `Retry-After` (RFC 9110 §10.2.3)."""
    return max(1, math.ceil(exceeded.retry_s))


class Limits:
    """Limits of one program, by client."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._accounts = Accounts()
        self._refusals = Refusals()
        self._connections: dict[str, Callable[[], int]] = {}

    def take(self, client: str, rate: Rate, count: float = 1.0) -> Exceeded | None:
        """Why a client has to wait, counted; `None` if it may go on."""
        retry_s = self._accounts.take(client, rate, self._clock.monotonic_ns(), count)
        if not retry_s:
            return None
        self.refused(client, rate.limit, f"more than {rate}")
        return Exceeded(f"client {client}: more than {rate}; retry in {retry_s:.2f} s", retry_s)

    def charge(self, client: str, rate: Rate, count: float) -> None:
        """Count what a client has cost beyond what it took."""
        self._accounts.charge(client, rate, self._clock.monotonic_ns(), count)

    def hold(
        self, client: str, pool: Pool, what: str, amount: float = 1.0, *, label: str = ""
    ) -> Exceeded | None:
        """Take from a pool, to be given back; otherwise like `take`.

        `what` is what the pool is of, in the plural, and the name of the limit without `label`.
        """
        most = max(0.0, pool.most(client))
        if pool.take(client, amount):
            return None
        held, free = pool.held(client), pool.total - pool.used
        more = f" and {amount:.0f} more" if amount != 1 else ""
        why = f"{held:.0f} {what} open{more}, {free:.0f} of {pool.total:.0f} free"
        why += f"; expected at most {most:.0f} of one client now"
        self.refused(client, label or what, why)
        return Exceeded(f"client {client}: {why}", 1.0)

    def refused(self, client: str, limit: str, why: str, count: int = 1) -> None:
        """Count what a client was refused or has lost."""
        self._refusals.add(client, limit, why, self._clock.monotonic_ns(), count)

    def count_connections(self, server: str, connections: Callable[[], int]) -> None:
        """Show the number of connections of a server."""
        self._connections[server] = connections

    def log(self) -> None:
        """Log what was refused, once a minute for each client and limit; call it regularly."""
        self._refusals.log(self._clock.monotonic_ns())

    def collect(self) -> Iterator[Metric]:
        """The metrics of now."""
        yield counter(
            "sojourn_limited",
            "What a client was refused or lost by a limit; the label says which.",
            ("client", "limit"),
            dict(self._refusals.counts),
        )
        yield gauge(
            "sojourn_server_connections",
            "Open connections of a server.",
            ("server",),
            {server: count() for server, count in self._connections.items()},
        )
