"""What is known of one bearer under control, and the conditions that its transitions depend on.

The docstring of a condition is what ``tc-controller states`` prints.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tc_controller.core.act.decide import BASE, TRIAL, Choice
from tc_controller.core.act.outbox import OpenTransaction, Outbox, Purpose
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import Desired, DesiredStore, Divergence, digest_of
from tc_controller.core.act.sharing import Replica
from tc_controller.core.act.timers import HoldOff, LeaseTimer
from tc_controller.core.actions import Action
from tc_controller.core.inputs import BearerKey, Outcome, Refused, Unanswered
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.policy.ladder import Rung
from tc_controller.core.policy.quality import DEFAULT, SHIPPED, Requirement
from tc_controller.core.policy.schema import Rule
from tc_controller.core.report.records import Counters, Decision
from tc_controller.core.verify.class_compliance import ClassMeter
from tc_controller.core.verify.compliance import Assessment, Compliance
from tc_controller.core.verify.service import PacketMeter, ServiceKey, ServiceTotals
from tc_controller.core.verify.verifier import Verdict, Verifier

#: Status reports in a row that must show another pipeline before it counts as lost: one may have
#: been on its way when ours took effect.
DIVERGED_REPORTS = 3
#: Times that a pipeline is sent again although each was accepted; after that one waits.
REAPPLIED_IN_VAIN = 3
_NO_ANSWER = Unanswered("no answer")
#: A lower revision in all reports for longer than a report can be late: the RAN function restarted
#: and counts anew.
_RESTARTED_AFTER_US = 1_000_000


@dataclass(slots=True)
class Shared:
    """What the bearers of a controller share."""

    outbox: Outbox
    desired: DesiredStore
    counters: Counters
    next_decision_id: Callable[[], str]
    replica: Replica
    #: Identity of the controller.
    owner: str
    #: False: the controller only observes so far.
    acting: bool = True


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
    #: Of the pipeline in force, by a status report or an event; ``collected_at_us`` in node time.
    revision: int = 0
    collected_at_us: int = 0
    safe_in_force: bool = False
    digest: int | None = None
    owner: str | None = None
    by_default: tuple[int, int, int] | None = None
    #: Of a verification that ended.
    verdict: Verdict | None = None
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
        #: Times that the desired pipeline was sent again since a status report last showed it, and
        #: when it may be sent once more after `REAPPLIED_IN_VAIN`.
        self.reapplied = 0
        self.reapply_at_us = 0
        #: Answer to the last transaction, if it was refused.
        self.refusal: Refused | None = None
        #: Node time of the first of the status reports in a row with an older revision.
        self.older_since_us: int | None = None
        #: The newest status report showed the node's safe pipeline.
        self.safe_in_force = False
        #: Name and digest of the pipeline that it showed, and the controller that installed it.
        self.name_in_force = ""
        self.digest_in_force: int | None = None
        self.owner_in_force: str | None = None
        #: It is of the node default, by the same report: revision, rule, age in ms.
        self.by_default: tuple[int, int, int] | None = None
        #: The RAN function lets a transaction set the safe pipeline.
        self.can_set_safe = False
        #: Of this controller at the node.
        self.role = Role.OBSERVER
        #: Against the objective, for the last second; ``None``: no rule, or not assessed yet.
        self.assessment: Assessment | None = None
        #: The same of the delay alone, without rates and classes.
        self.delay_assessment: Assessment | None = None
        #: The same of each class of the rule, by name.
        self.class_assessments: dict[str, Assessment] = {}
        #: Name of its slice in the policy; "" for none.
        self.slice_name = ""
        #: What its traffic needs, by name.
        self.requirement: tuple[str, Requirement] = (DEFAULT, SHIPPED[DEFAULT])
        self.packets = PacketMeter()
        #: Of classes and guaranteed rates; ``None``: the rule has none.
        self.meter: ClassMeter | None = None
        #: Times of the transactions of the last hour.
        self.transactions_us: deque[int] = deque()
        #: The base may be another than the pipeline in force: a rule came or changed.
        self.base_unchecked = True
        #: The pipeline that a trial has in force instead of the base; ``None``: the base.
        self.assigned: Rung | None = None

    @property
    def service(self) -> ServiceTotals | None:
        """Where what it gets is counted; ``None`` without a rule."""
        if self.rule is None:
            return None
        key = ServiceKey(self.key.node_id, self.slice_name, self.rule.name)
        return self.shared.counters.service[key]

    @property
    def desired(self) -> Desired | None:
        """The pipeline that this controller wants in force; ``None``: the safe one."""
        return self.shared.desired.get(self.key)

    @property
    def compliance(self) -> Compliance | None:
        """The state of `assessment`."""
        return None if self.assessment is None else self.assessment.state

    @property
    def kept(self) -> Desired | None:
        """The base that this controller made the node's safe pipeline."""
        return self.shared.desired.kept(self.key)

    @property
    def keeps_base(self) -> bool:
        """Whether the base of the rule is to be the node's safe pipeline."""
        rule = self.rule
        return (
            self.can_set_safe
            and rule is not None
            and bool(rule.base)
            and rule.enforce.keep_base_without_controller
        )

    @property
    def installs_safe(self) -> bool:
        """Whether the pipeline below the ladder is to be the node's safe one: the base, but not
        what a trial has in force instead. Its lease falls back to the base."""
        return self.keeps_base and self.assigned is None

    def keeps_unwanted(self, now_us: int) -> bool:
        """Whether the node is to be told to forget the base that it keeps."""
        if self.kept is None or self.keeps_base or now_us < self.pause.base_until_us:
            return False
        return self.rule is None or not self.rule.enforce.dry_run

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
        """a rung was applied to a bearer that violates; RLC reports are there to verify it with"""
        rule, decision = self.rule, self.decision
        if not self.applies(on) or rule is None or on.view is None or decision is None:
            return False
        if decision.trigger == TRIAL:
            # The trial measures it, against more than one moment before.
            return False
        sojourn_us = decision.before.sojourn_us or 0.0
        return decision.trigger != BASE or sojourn_us > rule.objective.bound_ms * 1000.0

    def is_base(self, _: Occurrence) -> bool:
        """the change is to the base of the rule"""
        return self.decision is not None and self.decision.trigger == BASE

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

    def controlled(self, on: Occurrence) -> bool:
        """a pipeline of ours is in force, kept or on its way"""
        return self.desired is not None or self.keeps(on) or self.installs(on)

    def keeps(self, _: Occurrence) -> bool:
        """the node keeps a base of ours"""
        return self.kept is not None

    def base_unwanted(self, on: Occurrence) -> bool:
        """the node keeps a base that the rule does not want kept"""
        return self.keeps_unwanted(on.now_us)

    def base_found(self, on: Occurrence) -> bool:
        """the base of the rule is in force: kept, or under the lease of a former owner"""
        if not self.rung_found(on) or on.proposal is None or not self.may_reapply(on):
            return False
        same = self.digest_in_force == digest_of(on.proposal.choice.pipeline)
        return same and self.safe_in_force == self.installs_safe

    def matches(self, on: Occurrence) -> bool:
        """the desired pipeline is in force"""
        return on.divergence is Divergence.NONE

    def transient(self, _: Occurrence) -> bool:
        """another pipeline, in fewer than 3 reports in a row"""
        return self.diverged + 1 < DIVERGED_REPORTS

    def safe(self, on: Occurrence) -> bool:
        """the safe pipeline is in force"""
        return on.divergence is Divergence.SAFE

    def found(self, on: Occurrence) -> bool:
        """the desired pipeline is in force at another revision"""
        desired = self.desired
        if desired is None or desired.as_safe != on.safe_in_force:
            return False
        return on.digest == digest_of(desired.pipeline)

    def fell_back(self, on: Occurrence) -> bool:
        """the lease of a rung ended; the base is in force"""
        return on.divergence is Divergence.BASE and self.keeps_base

    def inherited(self, on: Occurrence) -> bool:
        """the pipeline of a former owner of the node is in force; the rule has a base"""
        based = self.rule is not None and bool(self.rule.base)
        return self.role is Role.OWNER and on.owner is not None and based and self.may_reapply(on)

    def may_reapply(self, _: Occurrence) -> bool:
        """a rule applies that is no dry run"""
        return self.rule is not None and not self.rule.enforce.dry_run

    def lost(self, on: Occurrence) -> bool:
        """the safe pipeline is in force; a rule applies that is no dry run"""
        return self.safe(on) and self.may_reapply(on)

    def held_back(self, on: Occurrence) -> bool:
        """the safe pipeline is in force although the desired one was accepted 4 times; waits"""
        in_vain = self.lost(on) and self.reapplied >= REAPPLIED_IN_VAIN
        return in_vain and on.now_us < self.reapply_at_us

    def late(self, on: Occurrence) -> bool:
        """of an older revision, for less than 1 s: collected before the change, delivered after"""
        if self.desired is None or on.revision >= self.desired.revision:
            return False
        since_us = on.collected_at_us if self.older_since_us is None else self.older_since_us
        return on.collected_at_us - since_us < _RESTARTED_AFTER_US

    def outdated(self, on: Occurrence) -> bool:
        """older than the revision that is known"""
        if self.transaction is not None:
            return on.revision < self.transaction.min_revision
        return self.desired is not None and on.revision <= self.desired.revision

    def unmatched(self, _: Occurrence) -> bool:
        """no rule matches the bearer any more"""
        return self.rule is None

    def idle(self, on: Occurrence) -> bool:
        """idle for as long as the rule allows, and not on its base"""
        based = self.rule is not None and bool(self.rule.base)
        on_base = based and self.desired is not None and self.desired.rung < 0
        return on.view is not None and not on_base and self.lease.idle(self.rule, on.now_us)

    def base_due(self, now_us: int) -> bool:
        """Whether the rule's base is to be looked at: it is not in force, or may have changed."""
        if self.rule is None or not self.rule.base or now_us < self.pause.base_until_us:
            return False
        if self.desired is not None:
            return self.base_unchecked and self.desired.rung < 0
        # Without a status report it is not known what is in force. A pipeline that no controller
        # installed stays; that of another one is replaced by the owner of the node, which is alone.
        inherited = self.role is Role.OWNER and self.owner_in_force is not None
        return self.revision is not None and (self.safe_in_force or inherited)

    def base_missing(self, on: Occurrence) -> bool:
        """the rule's base is due; the node supports none of it"""
        return on.proposal is not None and not self.rung_found(on)

    def renewal_due(self, on: Occurrence) -> bool:
        """a third of the lease has passed"""
        return self.rule is not None and on.now_us >= self.lease.renew_at_us

    def renew_at(self, at_us: int) -> None:
        """Renew the lease of what is desired then; a base that the node keeps has none."""
        desired = self.desired
        if desired is not None and not desired.as_safe:
            self.lease.renew_at_us = at_us
