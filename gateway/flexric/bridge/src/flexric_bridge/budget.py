"""Number of requests left until FlexRIC's near-RT RIC must be restarted.

The RIC numbers requests with 16 bits from 1021 on and aborts when it runs out: after about 64,500
subscriptions and controls from all xApps. Deletions reuse the number of their subscription; they
are counted as well, so the count is an upper bound.

This counts the requests through the gateway, in a file that outlives it; requests of xApps that
bypass the gateway are not counted.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Final

UNCLEAN_MARGIN: Final = 100
"""Added when the last process did not write its final count: it is written each second."""


class Use(enum.Enum):
    """What a request is for."""

    SUBSCRIPTION = "subscription"
    DELETION = "deletion"
    CONTROL = "control"
    SAFE = "safe"
    """A control that restores a safe pipeline; it may use the reserve."""


class BudgetSpent(Exception):  # noqa: N818 - says what happened
    """Too few requests are left; the message says how many and what to do."""


@dataclass(slots=True)
class Budget:
    """Counts requests against `total`; the last `reserve` are for subscriptions and safe pipelines.

    `warn_at` are shares of `total`, ascending: `spend` returns each one when it is passed.
    """

    total: int
    reserve: int
    warn_at: tuple[float, ...] = (0.5, 0.8, 0.95)
    spent: dict[Use, int] = field(default_factory=dict)
    before: int = 0
    """Spent since the RIC's start by earlier processes."""
    sessions: int = 0
    """Sessions since the RIC's start; it numbers at most 65,536."""
    newest_session: int = 0
    """The RIC's own number of the newest session; it grows until the RIC restarts."""
    _warned: int = 0

    @property
    def used(self) -> int:
        """Requests spent since the RIC's start."""
        return self.before + sum(self.spent.values())

    @property
    def left(self) -> int:
        """Requests left."""
        return max(0, self.total - self.used)

    def refuse(self, use: Use, count: int = 1) -> None:
        """Raise `BudgetSpent` when `count` more requests for `use` are not available."""
        floor = self.reserve if use is Use.CONTROL else 0
        if self.left - count < floor:
            kept = (
                f", of which {floor} are reserved for subscriptions and safe pipelines"
                if floor
                else ""
            )
            raise BudgetSpent(
                f"{self.left} of the {self.total} requests that the RIC can number are left{kept};"
                " expected more before another"
                f" {use.value}: restart the RIC when traffic is low"
            )

    def spend(self, use: Use, count: int = 1) -> float | None:
        """Count requests that were sent; returns the highest share of `warn_at` just passed."""
        self.spent[use] = self.spent.get(use, 0) + count
        passed = sum(self.used >= share * self.total for share in self.warn_at)
        if passed <= self._warned:
            return None
        self._warned = passed
        return self.warn_at[passed - 1]

    def begin_session(self, number: int | None) -> bool:
        """Count a session to which the RIC gave this number; returns whether the RIC restarted
        since the previous one. Without a number that is unknown and the count goes on: restarting a
        RIC too early is harmless."""
        renewed = number is not None and number <= self.newest_session
        if renewed:
            self.renew()
        self.sessions += 1
        self.newest_session = number or self.newest_session
        return renewed

    def renew(self) -> None:
        """The RIC restarted."""
        self.spent.clear()
        self.before = self._warned = self.sessions = self.newest_session = 0

    def to_json(self, *, clean: bool) -> dict[str, Any]:
        """The counts that the state file keeps."""
        return {
            "used": self.used,
            "sessions": self.sessions,
            "newest_session": self.newest_session,
            "clean": clean,
        }

    def load(self, value: Any) -> None:
        """Restore the result of `to_json`; raises `ValueError` for anything else."""
        names = ("used", "sessions", "newest_session")
        found: list[int] = []
        for name in names:
            number = value.get(name) if isinstance(value, dict) else None
            if not isinstance(number, int) or number < 0:
                raise ValueError(f"budget: {value!r}; expected {', '.join(names)}, numbers from 0")
            found.append(number)
        used, self.sessions, self.newest_session = found
        self.before = used + (0 if value.get("clean") is True else UNCLEAN_MARGIN)
        self._warned = sum(self.used >= share * self.total for share in self.warn_at)
