"""How many requests FlexRIC's near-RT RIC has left in its life.

The RIC numbers requests with 16 bits, begins at 1021 and stops the whole process when it runs out:
about 64,500 subscriptions and controls, whoever sends them. Deletions take the number of their
subscription; they are counted all the same, for a count that errs should err to this side.

Nobody but the RIC knows the true number. Here is counted what went through this gateway, in a file
that outlives it; an xApp that talks to the RIC past it is not counted.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Final

UNCLEAN_MARGIN: Final = 100
"""Added when the last process did not get to write its count: it is written each second."""


class Use(enum.Enum):
    """What a request is for."""

    SUBSCRIPTION = "subscription"
    DELETION = "deletion"
    CONTROL = "control"
    SAFE = "safe"
    """A control that brings a safe pipeline back; it may use the reserve."""


class BudgetSpent(Exception):  # noqa: N818 - says what happened
    """The request would not leave enough; the message says what is left and what to do."""


@dataclass(slots=True)
class Budget:
    """Counts requests against `total`; the last `reserve` are for subscriptions and safe pipelines.

    `warn_at` are the shares of `total` whose passing `spend` tells, ascending.
    """

    total: int
    reserve: int
    warn_at: tuple[float, ...] = (0.5, 0.8, 0.95)
    spent: dict[Use, int] = field(default_factory=dict)
    before: int = 0
    """Spent in the RIC's present life by earlier processes."""
    sessions: int = 0
    """Times an SDK was opened against this RIC; it has numbers for 65,000."""
    newest_session: int = 0
    """The RIC's own number of the newest of them; it grows for as long as the RIC lives."""
    _told: int = 0

    @property
    def used(self) -> int:
        """Requests spent in the RIC's present life."""
        return self.before + sum(self.spent.values())

    @property
    def left(self) -> int:
        """Requests left."""
        return max(0, self.total - self.used)

    def refuse(self, use: Use, count: int = 1) -> None:
        """Raise `BudgetSpent` when `count` more requests for `use` are not to be had."""
        floor = self.reserve if use is Use.CONTROL else 0
        if self.left - count < floor:
            kept = (
                f", of which {floor} are kept for subscriptions and safe pipelines" if floor else ""
            )
            raise BudgetSpent(
                f"{self.left} of the {self.total} requests of the RIC's life are left{kept};"
                " expected more before another"
                f" {use.value}: restart the RIC at a quiet hour"
            )

    def spend(self, use: Use, count: int = 1) -> float | None:
        """Count requests that were sent; the highest share of `warn_at` that was just passed."""
        self.spent[use] = self.spent.get(use, 0) + count
        passed = sum(self.used >= share * self.total for share in self.warn_at)
        if passed <= self._told:
            return None
        self._told = passed
        return self.warn_at[passed - 1]

    def begin_session(self, number: int | None) -> bool:
        """Count a session that the RIC gave this number; whether it began another life since the
        one before. Without a number nobody can tell: then the count goes on, for a RIC that is
        restarted too early does no harm."""
        renewed = number is not None and number <= self.newest_session
        if renewed:
            self.renew()
        self.sessions += 1
        self.newest_session = number or self.newest_session
        return renewed

    def renew(self) -> None:
        """The RIC began another life."""
        self.spent.clear()
        self.before = self._told = self.sessions = self.newest_session = 0

    def to_json(self, *, clean: bool) -> dict[str, Any]:
        """For the state file."""
        return {
            "used": self.used,
            "sessions": self.sessions,
            "newest_session": self.newest_session,
            "clean": clean,
        }

    def load(self, value: Any) -> None:
        """Take over what `to_json` gave; raises `ValueError` for anything else."""
        names = ("used", "sessions", "newest_session")
        found: list[int] = []
        for name in names:
            number = value.get(name) if isinstance(value, dict) else None
            if not isinstance(number, int) or number < 0:
                raise ValueError(f"budget: {value!r}; expected {', '.join(names)}, numbers from 0")
            found.append(number)
        used, self.sessions, self.newest_session = found
        self.before = used + (0 if value.get("clean") is True else UNCLEAN_MARGIN)
        self._told = sum(self.used >= share * self.total for share in self.warn_at)
