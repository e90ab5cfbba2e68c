"""How long a pipeline of ours stays in force: leases to renew, idleness to notice."""

from __future__ import annotations

from typing import Final

from tc_controller.core.policy import Rule

NEVER: Final = 1 << 62


def _lease_us(rule: Rule | None) -> int:
    return 0 if rule is None else rule.enforce.lease_ms * 1000


class Tenure:
    """The lease of one bearer's pipeline, and since when the bearer drains nothing."""

    def __init__(self) -> None:
        #: When the lease is to be renewed.
        self.renew_at_us = NEVER
        self._idle: tuple[int, int] | None = None

    def pause(self) -> None:
        """A transaction is on its way, or nothing of ours is in force."""
        self.renew_at_us = NEVER

    def begin(self, rule: Rule | None, now_us: int) -> None:
        """A lease begins, or goes on: it is renewed at a third of its length."""
        self.renew_at_us = now_us + _lease_us(rule) // 3

    def renew(self, now_us: int) -> None:
        """The lease is to be renewed now."""
        self.renew_at_us = now_us

    def idle_too_long(self, rule: Rule | None, drained_bytes: int, now_us: int) -> bool:
        """Whether the bearer has drained nothing for as long as its rule allows."""
        after_ms = None if rule is None else rule.enforce.release_idle_after_ms
        if after_ms is None:
            return False
        if self._idle is None or self._idle[0] != drained_bytes:
            self._idle = (drained_bytes, now_us)
        return now_us - self._idle[1] >= after_ms * 1000

    def released(self) -> None:
        """Idleness is measured anew."""
        self._idle = None
