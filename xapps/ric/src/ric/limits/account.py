"""The token buckets of each client, for a bounded number of clients."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from ric.limits.bucket import Rate, TokenBucket

MAX_ACCOUNTS: Final = 1024


class Accounts:
    """Buckets by client. Those of the client that was active longest ago make room for others'.

    They outlast a client's calls: a client with one call at a time must not get a full bucket for
    each.
    """

    def __init__(self, most: int = MAX_ACCOUNTS) -> None:
        self._most = most
        self._buckets: OrderedDict[str, dict[Rate, TokenBucket]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, client: str, rate: Rate, now_ns: int, count: float = 1.0) -> float:
        """See `TokenBucket.take`."""
        return self._bucket(client, rate).take(now_ns, count)

    def charge(self, client: str, rate: Rate, now_ns: int, count: float) -> None:
        """See `TokenBucket.charge`."""
        self._bucket(client, rate).charge(now_ns, count)

    def _bucket(self, client: str, rate: Rate) -> TokenBucket:
        buckets = self._buckets.get(client)
        if buckets is None:
            if len(self._buckets) >= self._most:
                self._buckets.popitem(last=False)
            buckets = self._buckets[client] = {}
        else:
            self._buckets.move_to_end(client)
        bucket = buckets.get(rate)
        if bucket is None:
            bucket = buckets[rate] = TokenBucket(rate.per_s, rate.burst)
        return bucket
