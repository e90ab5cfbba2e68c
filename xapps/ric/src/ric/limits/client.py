"""What a program's code asks the limits of the client of a call or request."""

from __future__ import annotations

from ric.limits.bucket import Rate
from ric.limits.limits import Exceeded, Limits
from ric.limits.pool import Pool, Share


class Hold:
    """What a client holds of a pool until it is released."""

    __slots__ = ("_amount", "_share")

    def __init__(self, share: Share, amount: float) -> None:
        """`amount` has been taken."""
        self._share = share
        self._amount = amount

    def correct(self, amount: float) -> None:
        """Hold so much instead, as measured: the threshold does not matter."""
        self._share.change(amount - self._amount)
        self._amount = amount

    def release(self) -> None:
        """Give it back; may be called again."""
        self.correct(0.0)


class Account:
    """The client whose limits count, by its name or address; equal accounts are one client."""

    __slots__ = ("_limits", "key")

    def __init__(self, limits: Limits, key: str) -> None:
        self._limits = limits
        self.key = key
        """What tells clients apart."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Account) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def take(self, rate: Rate, count: float = 1.0) -> Exceeded | None:
        """See `Limits.take`."""
        return self._limits.take(self.key, rate, count)

    def share(self, pool: Pool) -> Share:
        """What the client may take of a pool, without a count of refusals."""
        return Share(pool, self.key)

    def hold(
        self, pool: Pool, what: str, amount: float = 1.0, *, label: str = ""
    ) -> Hold | Exceeded:
        """See `Limits.hold`."""
        exceeded = self._limits.hold(self.key, pool, what, amount, label=label)
        return Hold(self.share(pool), amount) if exceeded is None else exceeded
