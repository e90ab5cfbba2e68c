"""What is known of one bearer under control, and the conditions that its transitions depend on.

The docstring of a condition is what ``tc-controller states`` prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tc_controller.core.act import OpenTransaction, Outbox, Purpose
from tc_controller.core.actions import Action
from tc_controller.core.bearer_view import BearerView
from tc_controller.core.decide import Choice
from tc_controller.core.inputs import BearerKey, Outcome, Unanswered
from tc_controller.core.policy import Rule
from tc_controller.core.reconcile import Desired, DesiredStore, Divergence
from tc_controller.core.records import Counters, Decision
from tc_controller.core.timers import HoldOff, LeaseTimer
from tc_controller.core.verify import Verifier

#: Status reports in a row that must show another pipeline before it counts as lost: one may have
#: been on its way when ours took effect.
DIVERGED_REPORTS = 3
_NO_ANSWER = Unanswered("no answer")


@dataclass(frozen=True, slots=True)
class Shared:
    """What the bearers of a controller share."""

    outbox: Outbox
    desired: DesiredStore
    counters: Counters
    next_decision_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A decision to be taken."""

    view: BearerView
    choice: Choice
    trigger: str
    over_for_us: int
    follows: str | None


@dataclass(slots=True)
class Occurrence:
    """An event of one bearer with what guards and effects need of it."""

    now_us: int
    out: list[Action]
    view: BearerView | None = None
    proposal: Proposal | None = None
    outcome: Outcome = _NO_ANSWER
    #: Of the pipeline in force, by a status report or an event.
    revision: int = 0
    in_force: str = ""
    divergence: Divergence = Divergence.NONE
    reason: str = ""


class BearerState:
    """One bearer."""

    def __init__(self, key: BearerKey, rule: Rule | None, shared: Shared) -> None:
        self.key = key
        self.rule = rule
        self.shared = shared
        self.revision: int | None = None
        self.decision: Decision | None = None
        self.transaction: OpenTransaction | None = None
        self.verifier: Verifier | None = None
        self.pause = HoldOff()
        self.lease = LeaseTimer()
        #: What was desired before the decision, to roll back to.
        self.previous: Desired | None = None
        #: Status reports in a row that showed another pipeline.
        self.diverged = 0

    @property
    def desired(self) -> Desired | None:
        """The pipeline that this controller wants in force; ``None``: the safe one."""
        return self.shared.desired.get(self.key)

    def rung_found(self, on: Occurrence) -> bool:
        """a rung can be tried"""
        return on.proposal is not None and on.proposal.choice.rung is not None

    def dry_run(self, on: Occurrence) -> bool:
        """a rung can be tried; the rule is a dry run"""
        return self.rung_found(on) and self.rule is not None and self.rule.enforce.dry_run

    def applies(self, _: Occurrence) -> bool:
        """a rung was applied"""
        return self.transaction is not None and self.transaction.purpose is Purpose.APPLY

    def verifiable(self, on: Occurrence) -> bool:
        """a rung was applied; RLC reports are there to verify it with"""
        return self.applies(on) and self.rule is not None and on.view is not None

    def replaces(self, on: Occurrence) -> bool:
        """a rung was applied; the pipeline before stays in force"""
        return self.applies(on) and self.desired is not None

    def installs(self, _: Occurrence) -> bool:
        """the transaction installs a pipeline of ours"""
        return self.transaction is not None and self.transaction.target is not None

    def attempts_left(self, _: Occurrence) -> bool:
        """attempts are left"""
        retries = 0 if self.rule is None else self.rule.enforce.stale_retries
        return self.transaction is not None and self.transaction.attempt <= retries

    def status_overdue(self, on: Occurrence) -> bool:
        """no status report for 500 ms"""
        return self.transaction is not None and on.now_us >= self.transaction.status_until_us

    def controlled(self, _: Occurrence) -> bool:
        """a pipeline of ours is in force"""
        return self.desired is not None

    def matches(self, on: Occurrence) -> bool:
        """the desired pipeline is in force"""
        return on.divergence is Divergence.NONE

    def transient(self, _: Occurrence) -> bool:
        """another pipeline, in fewer than 3 reports in a row"""
        return self.diverged + 1 < DIVERGED_REPORTS

    def safe(self, on: Occurrence) -> bool:
        """the safe pipeline is in force"""
        return on.divergence is Divergence.SAFE

    def may_reapply(self, _: Occurrence) -> bool:
        """a rule applies that is no dry run"""
        return self.rule is not None and not self.rule.enforce.dry_run

    def lost(self, on: Occurrence) -> bool:
        """the safe pipeline is in force; a rule applies that is no dry run"""
        return self.safe(on) and self.may_reapply(on)

    def outdated(self, on: Occurrence) -> bool:
        """older than the revision that is known"""
        if self.transaction is not None:
            return on.revision < self.transaction.min_revision
        return self.desired is not None and on.revision <= self.desired.revision

    def unmatched(self, _: Occurrence) -> bool:
        """no rule matches the bearer any more"""
        return self.rule is None

    def idle(self, on: Occurrence) -> bool:
        """idle for as long as the rule allows"""
        return on.view is not None and self.lease.idle(self.rule, on.now_us)

    def renewal_due(self, on: Occurrence) -> bool:
        """a third of the lease has passed"""
        return self.rule is not None and on.now_us >= self.lease.renew_at_us
