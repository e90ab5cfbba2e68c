"""When the next decision about a bearer may be taken, and which rungs are out for now."""

from __future__ import annotations

from tc_controller.core.policy import Rule

#: First wait after a violation for which no rung could be taken.
_NO_RUNG_WAIT_US = 50_000


class Patience:
    """The waits of one bearer."""

    def __init__(self) -> None:
        #: No decision before this.
        self.until_us = 0
        self._failed: dict[int, int] = {}
        self._no_rung_wait_us = 0

    def cool(self, rule: Rule | None, now_us: int) -> None:
        """A change was made or given up: its effect is waited for."""
        if rule is not None:
            self.until_us = now_us + rule.enforce.cool_down_ms * 1000

    def wait(self, until_us: int) -> None:
        """No decision before this."""
        self.until_us = max(self.until_us, until_us)

    def end(self, now_us: int) -> None:
        """The next decision may be taken at once."""
        self.until_us = now_us

    def fail(self, index: int, rule: Rule | None, now_us: int) -> None:
        """A rung did not help or was refused."""
        if rule is not None:
            self._failed[index] = now_us + rule.enforce.retry_failed_rung_ms * 1000

    def failed(self, now_us: int) -> dict[int, int]:
        """Rungs that are not to be tried, and until when."""
        self._failed = {rung: until for rung, until in self._failed.items() if until > now_us}
        return self._failed

    def no_rung(self, rule: Rule, now_us: int) -> bool:
        """There was nothing to take: look again, ever more rarely. Whether this is news."""
        first = self._no_rung_wait_us == 0
        wait_us = self._no_rung_wait_us * 2 or _NO_RUNG_WAIT_US
        self._no_rung_wait_us = min(rule.enforce.cool_down_ms * 1000, wait_us)
        self.until_us = now_us + self._no_rung_wait_us
        return first

    def violation_ended(self) -> None:
        """That there was no rung is news again."""
        self._no_rung_wait_us = 0

    def govern(self, *, same_ladder: bool) -> None:
        """Another rule holds."""
        self._no_rung_wait_us = 0
        self.until_us = 0
        if not same_ladder:
            self._failed.clear()
