"""Who controls a node: one lease per node, decided by its RAN function (E2SM-TC v1 §7.4).

Controllers need not know each other. Each asks a node for its lease; the one that holds it acts,
the others observe and ask again when the lease that the refusal names is over. Of several replicas
one is preferred for a node: it asks first, and another that owns the node lets its lease end from
time to time so that the preferred one, if it is there, takes it.
"""

from __future__ import annotations

import enum
from typing import Final

from tc_controller.core.act.timers import NEVER
from tc_controller.core.inputs import Accepted, Ie, Outcome, Refused
from tc_controller.core.policy.schema import Policy

#: An owner of n nodes waits n times this before it asks for another, so that controllers that
#: watch the same nodes share them.
_SPREAD_US: Final = 20_000
#: An owner that is not the preferred one lets its lease end after this time, and then after twice
#: as long each time that it gets the node back.
_FIRST_YIELD_US: Final = 30_000_000
_LAST_YIELD_US: Final = 600_000_000


class Role(enum.Enum):
    """What this controller is to a node."""

    OBSERVER = "observer", "It sends the node nothing: dry run, or no TC RAN function."
    CANDIDATE = "candidate", "It asks for the node's lease; nobody else is known to hold it."
    OWNER = "owner", "It holds the node's lease and controls its bearers."
    STANDBY = "standby", "Another holds the lease; this one observes and takes over when it ends."
    DUPLICATE = (
        "duplicate",
        "Another controller with this one's identity holds the lease; this one does not act.",
    )
    UNLEASED = "unleased", "The node has no lease: other controllers are not kept out."

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


def node_lease_us(policy: Policy) -> int:
    """Lease of a node: half the shortest lease of a pipeline, so that the next owner takes the node
    while pipelines have at least a sixth of their leases left."""
    return min(rule.enforce.lease_ms for rule in policy.rules) * 500


class Ownership:
    """The role at one node. Times are the controller's; ``owner`` is its identity."""

    def __init__(
        self,
        capabilities: Ie | None,
        policy: Policy,
        now_us: int,
        *,
        owner: str = "",
        preferred: bool = True,
    ) -> None:
        self.role = Role.OBSERVER
        self._owner = owner
        #: When the lease ends that somebody with this identity was first found to hold.
        self._own_lease_ends_us: int | None = None
        #: Identity of the owner, if that is another controller.
        self.holder: str | None = None
        #: Number of the present ownership at the node.
        self.term = 0
        #: It has held the node since another last did.
        self.acted = False
        self._controllable = capabilities is not None
        self._leased = capabilities is not None and bool(capabilities.get("node_lease"))
        #: Until when the lease lasts at least: from the sending of the request.
        self._until_us = 0
        self._ask_at_us = now_us
        self._preferred = preferred
        #: When the owner stops to renew its lease; for how long it renewed it before.
        self._yield_at_us = NEVER
        self._kept_us = 0
        self.set_policy(policy)

    def set_policy(self, policy: Policy) -> None:
        """Another policy is in force."""
        self._lease_us = node_lease_us(policy)
        sends = any(not rule.enforce.dry_run for rule in policy.rules)
        if not self._controllable or not sends:
            self.role, self.holder = Role.OBSERVER, None
        elif not self._leased:
            self.role = Role.UNLEASED
        elif self.role is Role.OBSERVER:
            self.role = Role.CANDIDATE

    @property
    def acts(self) -> bool:
        """Whether this controller decides about the node's bearers; in a dry run it logs only."""
        return self.role in (Role.OBSERVER, Role.OWNER, Role.UNLEASED)

    def _wait_us(self, owned: int) -> int:
        # Together at most a quarter of the lease: less than what pipelines have left then.
        # A standby asks at once: the preferred replica, if it is there, asks at the same time.
        first = self._preferred or self.role in (Role.STANDBY, Role.DUPLICATE)
        first_us = 0 if first else self._lease_us // 6
        return first_us + min(owned * _SPREAD_US, self._lease_us // 12)

    def rests(self, now_us: int) -> bool:
        """Whether this controller owns the node, and `due` has nothing to do yet."""
        return (
            self.role is Role.OWNER
            and now_us < self._ask_at_us
            and now_us < self._until_us
            and now_us < self._yield_at_us
        )

    def due_from_us(self) -> int:
        """Controller time before which `due` has nothing to do unless an answer comes."""
        if self.role in (Role.OBSERVER, Role.UNLEASED):
            return NEVER
        if self.role is not Role.OWNER:
            return 0
        return min(self._ask_at_us, self._until_us, self._yield_at_us)

    def due(self, owned: int, now_us: int) -> int | None:
        """Lease to ask for now, ms; ``None``: not now. ``owned``: nodes owned or asked for."""
        if self.role in (Role.OBSERVER, Role.UNLEASED):
            return None
        if self.role is Role.OWNER:
            if now_us >= self._until_us:
                # Answers were lost, or none was asked for: the node may be another's by now.
                self.role, self._yield_at_us = Role.CANDIDATE, NEVER
            elif now_us >= self._yield_at_us:
                self._ask_at_us = self._until_us
            wait_us = 0 if self.role is Role.OWNER else self._wait_us(owned)
        else:
            wait_us = self._wait_us(owned)
        if now_us < self._ask_at_us + wait_us:
            return None
        # Also the next attempt if this one is not answered.
        self._ask_at_us = now_us + self._lease_us // 3
        return max(1, self._lease_us // 1000)

    def answered(self, outcome: Outcome, sent_at_us: int, now_us: int) -> None:
        """A request for the lease was answered, or was not in time."""
        if self.role in (Role.OBSERVER, Role.UNLEASED):
            return
        if isinstance(outcome, Accepted) and outcome.lease_ms is not None:
            self._until_us = max(self._until_us, sent_at_us + outcome.lease_ms * 1000)
            if now_us < self._until_us:
                if self.role is not Role.OWNER and not self._preferred:
                    longer_us = min(2 * self._kept_us, _LAST_YIELD_US)
                    self._kept_us = max(_FIRST_YIELD_US, longer_us)
                    self._yield_at_us = now_us + self._kept_us
                self.role, self.holder, self.term = Role.OWNER, None, outcome.revision
                self._own_lease_ends_us = None
        elif isinstance(outcome, Refused):
            if outcome.cause == "not_owner":
                self.refused(outcome, now_us)
            elif outcome.cause in ("unsupported", "malformed"):
                self._leased, self.role = False, Role.UNLEASED

    def refused(self, outcome: Refused, now_us: int) -> None:
        """A control was refused because another holds the node."""
        self.role, self.holder, self._until_us = Role.STANDBY, outcome.holder, 0
        self._kept_us = 0
        self._ask_at_us = now_us + outcome.holder_left_ms * 1000
        if outcome.holder != self._owner:
            self._own_lease_ends_us = None
        elif self._own_lease_ends_us is None:
            # Of an earlier start of this controller, unless somebody renews it.
            self._own_lease_ends_us = self._ask_at_us
        elif now_us >= self._own_lease_ends_us:
            self.role = Role.DUPLICATE

    def lease_left_us(self, now_us: int) -> int | None:
        """What is left of the lease; ``None`` unless this controller holds it."""
        return max(0, self._until_us - now_us) if self.role is Role.OWNER else None

    def give_up(self) -> None:
        """The node is given up, at a stop."""
        self.role, self._until_us = Role.CANDIDATE, 0

    def detail(self) -> str:
        """The role in words."""
        return self.role.label if self.holder is None else f"{self.role.label} of {self.holder}"
