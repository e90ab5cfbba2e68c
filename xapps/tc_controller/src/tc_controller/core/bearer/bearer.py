"""One bearer under control: what is known of it and what is wanted for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tc_controller.core.act.change import Change
from tc_controller.core.act.decision import Proposal
from tc_controller.core.act.outbox import Outbox
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import Desired, DesiredStore, Divergence, Drift
from tc_controller.core.act.sharing import Replica
from tc_controller.core.act.timers import NEVER, HoldOff, LeaseTimer
from tc_controller.core.bearer.states import State
from tc_controller.core.inputs import BearerKey, Ie, Outcome, Unanswered
from tc_controller.core.mode import Mode
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.in_force import NOTHING_KNOWN, InForce
from tc_controller.core.policy.quality import DEFAULT, SHIPPED, Requirement
from tc_controller.core.policy.rung import Rung
from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import OfLadder
from tc_controller.core.report.records import Counters
from tc_controller.core.verify.judged import Judged
from tc_controller.core.verify.service import ServiceKey, ServiceTotals

_NO_ANSWER = Unanswered("no answer")


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
    mode: Mode = Mode.ACT
    #: Digests of the bases of the policy, which stay in force when a controller is gone.
    bases: frozenset[int] = frozenset()


@dataclass(slots=True)
class Occurrence:
    """An event of one bearer with what guards and effects need of it."""

    now_us: int
    view: BearerView | None = None
    proposal: Proposal | None = None
    outcome: Outcome = _NO_ANSWER
    #: Pipeline in force by a status report or an event; ``collected_at_us`` is the node's time.
    shown: InForce = NOTHING_KNOWN
    collected_at_us: int = 0
    divergence: Divergence = Divergence.NONE
    reason: str = ""
    #: A change that was verified met the objective.
    satisfied: bool = False


@dataclass(slots=True)
class Bearer:
    """One bearer."""

    key: BearerKey
    rule: Rule | None
    shared: Shared
    #: E2SM-TC ``Capabilities`` of the node; ``None``: it has no E2SM-TC.
    capabilities: Ie | None
    #: Role of this controller at the node.
    role: Role = Role.OBSERVER
    #: Name of its slice in the policy; "" for none.
    slice_name: str = ""
    #: What its traffic needs, by name.
    requirement: tuple[str, Requirement] = (DEFAULT, SHIPPED[DEFAULT])
    state: State = State.UNCONTROLLED
    #: The base may be another than the pipeline in force: a rule came or changed.
    base_unchecked: bool = True
    #: The pipeline that a trial has in force instead of the base; ``None``: the base.
    assigned: Rung | None = None
    #: The node has returned it to the initial pipeline since its rule last changed.
    returned: bool = False
    #: Nothing is due before this.
    wake_at_us: int = 0
    #: Revision, name and safety of the newest status, if it was as expected and nothing happened
    #: since.
    settled_on: tuple[int, str, bool] | None = None
    #: What measures the change in force while the state is `VERIFYING`.
    verification: object = None
    #: Where bearers are noted that are to be looked at with the next status.
    touched: set[BearerKey] = field(default_factory=set)
    seen: InForce = NOTHING_KNOWN
    change: Change = field(default_factory=Change)
    drift: Drift = field(default_factory=Drift)
    pause: HoldOff = field(default_factory=HoldOff)
    lease: LeaseTimer = field(default_factory=LeaseTimer)
    judged: Judged = field(default_factory=Judged)

    def __post_init__(self) -> None:
        if self.desired is not None:
            self.state = State.UNCONFIRMED
            # The age of the lease is not known.
            self.renew_at(0)

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
    def kept(self) -> Desired | None:
        """The base that this controller made the node's safe pipeline."""
        return self.shared.desired.kept(self.key)

    @property
    def keeps_base(self) -> bool:
        """Whether the base of the rule is to be the node's safe pipeline."""
        rule, capabilities = self.rule, self.capabilities
        return (
            capabilities is not None
            and bool(capabilities.get("as_safe"))
            and rule is not None
            and bool(rule.base)
            and rule.enforce.keep_base_without_controller
        )

    @property
    def installs_safe(self) -> bool:
        """Whether the pipeline below the ladder is to be the node's safe one: the base, but not
        what a trial has in force instead. Its lease falls back to the base."""
        return self.keeps_base and self.assigned is None

    @property
    def on_ladder(self) -> bool:
        """Whether a rung of the ladder is wanted in force."""
        return self.desired is not None and isinstance(self.desired.slot, OfLadder)

    def keeps_unwanted(self, now_us: int) -> bool:
        """Whether the node is to forget the base that it keeps."""
        if self.kept is None or self.keeps_base or now_us < self.pause.base_until_us:
            return False
        return self.may_release

    @property
    def may_release(self) -> bool:
        """Whether a pipeline that no rule wants is to be taken back: not in a dry run."""
        if self.rule is None:
            return self.shared.mode is not Mode.OBSERVE
        return not self.rule.enforce.dry_run

    def inherits_unwanted(self, now_us: int) -> bool:
        """Whether a pipeline of a former controller may be in force, and none is to be: off.

        The gNB's own pipeline may be equal to a base, so a bearer is returned once.
        """
        if self.shared.mode is not Mode.OFF or self.desired is not None or self.returned:
            return False
        # Where nodes have no lease, another controller may be there.
        leased = self.role is Role.OWNER and self.seen.owner is not None
        kept = self.role in (Role.OWNER, Role.UNLEASED) and self.seen.digest in self.shared.bases
        return (leased or kept) and now_us >= self.pause.base_until_us

    def base_due(self, now_us: int) -> bool:
        """Whether the rule's base is to be looked at: it is not in force, or may have changed."""
        if self.rule is None or not self.rule.base or now_us < self.pause.base_until_us:
            return False
        if self.desired is not None:
            return self.base_unchecked and not self.on_ladder
        # Without a status report it is not known what is in force. A pipeline that no controller
        # installed stays; that of another one is replaced by the owner of the node, which is alone.
        inherited = self.role is Role.OWNER and self.seen.owner is not None
        return self.seen.revision is not None and (self.seen.safe or inherited)

    def assign(self, rung: Rung | None) -> None:
        """Have the pipeline of a trial in force instead of the base; ``None``: the base."""
        self.assigned = rung
        self.base_unchecked = True
        self.wake_at_us = 0
        self.touch()

    def touch(self) -> None:
        """Look at the bearer with its next status: something happened to it."""
        self.touched.add(self.key)

    def quiet_until_us(self, *, acts: bool) -> int:
        """Controller time until which a status that repeats the last one changes nothing: a
        controller that does not act only notes what it shows."""
        if self.judged.meter is not None:
            return 0
        if not acts:
            return NEVER
        return 0 if self.settled_on is None else self.wake_at_us

    def renew_at(self, at_us: int) -> None:
        """Renew the lease of what is desired then; a base that the node keeps has none."""
        if self.desired is not None and not self.desired.as_safe:
            self.lease.renew_at_us = at_us
