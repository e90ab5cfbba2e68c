"""When a bearer's next decision may be taken, and how long its pipeline stays in force."""

from __future__ import annotations

from typing import Final

from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import Slot

NEVER: Final = 1 << 62
#: First wait after a violation for which no rung could be tried.
_NO_RUNG_WAIT_US = 50_000
#: A rung that fails each time is tried again after an hour, if the first wait is a minute.
_MOST_DOUBLINGS = 6


class HoldOff:
    """Cool-downs of one bearer, and the rungs of base and ladder that are skipped for a while."""

    def __init__(self) -> None:
        #: No decision before this.
        self.until_us = 0
        self._failed: dict[Slot, int] = {}
        self._failures: dict[Slot, int] = {}
        self._no_rung_wait_us = 0
        #: The base pipeline is not installed before this.
        self.base_until_us = 0

    def stop(self) -> None:
        """Install nothing any more: the controller stops."""
        self.base_until_us = NEVER

    def cool_down(self, rule: Rule | None, now_us: int) -> None:
        """No decision for the rule's cool-down: a change was made or given up."""
        if rule is not None:
            self.until_us = now_us + rule.enforce.cool_down_ms * 1000

    def extend(self, until_us: int) -> None:
        """No decision before this, nor before the end of what is waited for already."""
        self.until_us = max(self.until_us, until_us)

    def skip(self, slot: Slot, rule: Rule | None, now_us: int) -> None:
        """Skip a rung that did harm or was refused, twice as long as last time."""
        if rule is not None:
            failures = self._failures.get(slot, 0)
            self._failures[slot] = failures + 1
            wait_us = rule.enforce.retry_failed_rung_ms * 1000 << min(failures, _MOST_DOUBLINGS)
            self._failed[slot] = now_us + wait_us

    def helped(self, slot: Slot) -> None:
        """The rung met the objective: earlier failures no longer count."""
        self._failures.pop(slot, None)

    def skipped(self, now_us: int) -> dict[Slot, int]:
        """The rungs to skip, and until when."""
        self._failed = {slot: until for slot, until in self._failed.items() if until > now_us}
        return self._failed

    def back_off(self, rule: Rule, now_us: int) -> bool:
        """No rung can be tried: wait twice as long as last time, at most the cool-down.

        Returns whether this is the first time since the violation began.
        """
        first = self._no_rung_wait_us == 0
        wait_us = self._no_rung_wait_us * 2 or _NO_RUNG_WAIT_US
        self._no_rung_wait_us = min(rule.enforce.cool_down_ms * 1000, wait_us)
        self.until_us = now_us + self._no_rung_wait_us
        return first

    def violation_ended(self) -> None:
        """The next back-off begins anew."""
        self._no_rung_wait_us = 0

    def rule_changed(self, *, same_rungs: bool) -> None:
        """Another rule holds: decide at once; skip no rung of another base or ladder."""
        self._no_rung_wait_us = 0
        self.until_us = self.base_until_us = 0
        if not same_rungs:
            self._failed.clear()
            self._failures.clear()


class LeaseTimer:
    """When the lease of a bearer's pipeline is renewed, and since when the bearer is idle."""

    def __init__(self) -> None:
        #: Time of the next renewal.
        self.renew_at_us = NEVER
        self._idle: tuple[int, int] | None = None

    def stop(self) -> None:
        """Renew nothing: a transaction is on its way, or no pipeline of ours is in force."""
        self.renew_at_us = NEVER

    def schedule(self, rule: Rule | None, now_us: int) -> None:
        """Renew after a third of the lease, so that two renewals may be lost."""
        lease_us = 0 if rule is None else rule.enforce.lease_ms * 1000
        self.renew_at_us = now_us + lease_us // 3

    def note_drained(self, rule: Rule | None, drained_bytes: int, now_us: int) -> None:
        """The bearer has drained this much; called while the pipeline is in force."""
        if rule is None or rule.enforce.release_idle_after_ms is None:
            return
        if self._idle is None or self._idle[0] != drained_bytes:
            self._idle = (drained_bytes, now_us)

    def idle(self, rule: Rule | None, now_us: int) -> bool:
        """Whether the bearer has drained nothing for as long as its rule allows."""
        after_ms = None if rule is None else rule.enforce.release_idle_after_ms
        if after_ms is None or self._idle is None:
            return False
        return now_us - self._idle[1] >= after_ms * 1000

    def released(self) -> None:
        """Idleness is measured anew."""
        self._idle = None
