"""The states of a bearer under control, and what happens to it."""

from __future__ import annotations

import enum
from typing import Final


class State(enum.Enum):
    """What is in force on the bearer, and what is awaited."""

    UNCONTROLLED = "uncontrolled", "No pipeline of this controller is in force."
    UNCONFIRMED = (
        "unconfirmed",
        "A pipeline is desired (from the state file, or from before the node restarted); no status "
        "report has shown yet what is in force.",
    )
    HOLDING = "holding", "A pipeline of this controller is in force; its lease is renewed."
    AWAITING_ANSWER = "awaiting answer", "A transaction was sent."
    AWAITING_STATUS = (
        "awaiting status",
        "A transaction was stale or not answered; the next status report gives the revision.",
    )
    VERIFYING = "verifying", "A change took effect; its benefit is measured."
    GONE = "gone", "The bearer was removed. Final."

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


class Event(enum.Enum):
    """What happens to a bearer."""

    VIOLATION = "violation", "The objective is violated, or a forecast predicts it."
    ACCEPTED = "accepted", "The RAN function accepted the transaction."
    TOOK_EFFECT = "took effect", "A status report shows that an unanswered transaction took effect."
    REFUSED = "refused", "The RAN function refused the transaction."
    STALE = "stale", "The RAN function refused the transaction: its expected revision is old."
    UNANSWERED = "unanswered", "The transaction was not answered in time."
    RENEWED = "renewed", "A lease renewal was accepted or not answered."
    RENEWAL_REFUSED = "renewal refused", "A lease renewal was refused: the revision is another."
    STATUS = "status", "A status report of the bearer's pipeline."
    LEASE_EXPIRED = "lease expired", "The RAN function reports that it returned to safe."
    SATISFIED = "satisfied", "Verdict: objective met, or too few reports for a verdict."
    INSUFFICIENT = "insufficient", "Verdict: no harm, but the objective is still violated."
    WORSE = "worse", "Verdict: the guard measured harm."
    TIMER = "timer", "Time passed: leases, idleness and waits are checked."
    RELEASE = (
        "release",
        "The controller stops and returns bearers to their initial pipelines.",
    )
    DISOWNED = "disowned", "Another controller holds the node."
    REMOVED = "removed", "The bearer is gone."

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


#: States in which a change may begin.
FREE: Final = frozenset({State.UNCONTROLLED, State.HOLDING})
