"""Shares of what all clients use together, by dynamic thresholds.

Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
Transactions on Networking 6(2), 1998: a client may hold up to α times what is free. One client
alone gets α/(1+α) of the pool, n clients α/(1+nα) each, and something is always left for one that
comes later; a fixed share would leave most of the pool unused, or nothing to the last.
"""

from __future__ import annotations


class Pool:
    """An amount that clients hold parts of."""

    def __init__(self, total: float, alpha: float = 1.0) -> None:
        self.total = total
        self.used = 0.0
        self._alpha = alpha
        self._held: dict[str, float] = {}

    def held(self, client: str) -> float:
        """What a client holds."""
        return self._held.get(client, 0.0)

    def most(self, client: str) -> float:
        """What a client may hold in all now."""
        free = self.total - self.used
        return min(self._alpha * free, self.held(client) + free)

    def take(self, client: str, amount: float) -> bool:
        """Let a client hold `amount` more, if its threshold allows that."""
        if self.held(client) + amount > self.most(client):
            return False
        self.change(client, amount)
        return True

    def give(self, client: str, amount: float) -> None:
        """A client no longer holds `amount`."""
        self.change(client, -amount)

    def change(self, client: str, by: float) -> None:
        """A client holds more or less than before, as measured: its threshold does not matter."""
        held = self.held(client) + by
        self.used += by
        if held > 0:
            self._held[client] = held
        else:
            self._held.pop(client, None)
        if not self._held:
            # Without what rounding has left.
            self.used = 0.0


class Share:
    """A pool as one client sees it."""

    __slots__ = ("_client", "_pool")

    def __init__(self, pool: Pool, client: str) -> None:
        self._pool = pool
        self._client = client

    def take(self, amount: float) -> bool:
        """See `Pool.take`."""
        return self._pool.take(self._client, amount)

    def give(self, amount: float) -> None:
        """See `Pool.give`."""
        self._pool.give(self._client, amount)

    def change(self, by: float) -> None:
        """See `Pool.change`."""
        self._pool.change(self._client, by)
