"""The change of a bearer's pipeline that was decided and sent last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tc_controller.core.act.decision import Decision
from tc_controller.core.act.outbox import OpenTransaction, Purpose
from tc_controller.core.act.reconcile import Desired
from tc_controller.core.inputs import Refused

_HOUR_US = 3_600_000_000


@dataclass(slots=True)
class Change:
    """Decision, transaction and their outcome."""

    decision: Decision | None = None
    #: The transaction on its way.
    transaction: OpenTransaction | None = None
    #: What was desired before the decision, to roll back to.
    previous: Desired | None = None
    #: Answer to the last transaction, if it was refused.
    refusal: Refused | None = None
    #: Times of the transactions of the last hour.
    sent_us: deque[int] = field(default_factory=deque)

    @property
    def applies(self) -> bool:
        """Whether the transaction is to apply what was decided."""
        return self.transaction is not None and self.transaction.purpose is Purpose.APPLY

    def forget_sent(self, now_us: int) -> None:
        """Keep the times of the last hour alone."""
        while self.sent_us and now_us - self.sent_us[0] > _HOUR_US:
            self.sent_us.popleft()
