"""Why no decision is taken about a bearer, were its objective violated."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import REAPPLIED_IN_VAIN
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.bearer.states import FREE
from tc_controller.core.mode import Mode
from tc_controller.core.policy.schema import Rule


class Blocker(enum.Enum):
    """A reason: its word in labels of metrics, and the sentence that page, dashboards and `explain`
    have for it."""

    NO_RULE = "no_rule", "no rule matches the bearer"
    NO_TC = "no_tc", "the node has no E2SM-TC v1"
    WATCH_ONLY = "watch_only", "watch only: the rule has neither base nor ladder"
    DRY_RUN = "dry_run", "dry run: decides, sends nothing"
    MODE_OFF = "mode_off", "switched off: bearers have the initial pipelines of their gNB"
    MODE_OBSERVE = "mode_observe", "mode observe: decides, sends nothing"
    OBSERVING = "observing", "observing: sends no control yet"
    STANDBY = "standby", "another controller owns the node"
    CANDIDATE = "candidate", "the controller asks for the node's lease"
    DUPLICATE = "duplicate", "another controller has this one's identity"
    IN_PROGRESS = "in_progress", "a transaction is in progress"
    NOT_APPLIED = "not_applied", "the node accepts pipelines and does not install them"
    REFUSED = "refused", "the node refused the last pipeline"
    BASE_DUE = "base_due", "the base pipeline is not in force yet"
    TRIAL = "trial", "a trial has another pipeline in force instead of the base"
    NO_LADDER = "no_ladder", "the rule has no ladder: its base is all it has"
    COOL_DOWN = "cool_down", "cool-down after a decision"

    def __init__(self, word: str, sentence: str) -> None:
        self.word = word
        self.sentence = sentence


class Blocked(NamedTuple):
    """A reason with what is particular to the bearer."""

    by: Blocker
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.by.sentence}: {self.detail}" if self.detail else self.by.sentence


OF_MODE: Final = {Mode.OFF: Blocker.MODE_OFF, Mode.OBSERVE: Blocker.MODE_OBSERVE}
_ROLES: Final = {
    Role.CANDIDATE: Blocker.CANDIDATE,
    Role.STANDBY: Blocker.STANDBY,
    Role.DUPLICATE: Blocker.DUPLICATE,
}


def blocked(bearer: Bearer, now_us: int) -> Blocked | None:
    """The reason; ``None``: a decision would be taken."""
    rule = bearer.rule
    if rule is None:
        return Blocked(Blocker.NO_RULE)
    if bearer.capabilities is None:
        return Blocked(Blocker.NO_TC)
    held = _passive(bearer, rule) or _waiting(bearer)
    return held or _missing(bearer, now_us) or _undecided(bearer, rule, now_us)


def _passive(bearer: Bearer, rule: Rule) -> Blocked | None:
    """Why nothing is ever sent as things are."""
    if bearer.shared.mode is not Mode.ACT:
        return Blocked(OF_MODE[bearer.shared.mode])
    if rule.watch_only:
        return Blocked(Blocker.WATCH_ONLY)
    if rule.enforce.dry_run:
        return Blocked(Blocker.DRY_RUN)
    return None if bearer.shared.acting else Blocked(Blocker.OBSERVING)


def _waiting(bearer: Bearer) -> Blocked | None:
    """Why others come first."""
    if bearer.role in _ROLES:
        return Blocked(_ROLES[bearer.role])
    state = bearer.state
    return None if state in FREE else Blocked(Blocker.IN_PROGRESS, state.label)


def _missing(bearer: Bearer, now_us: int) -> Blocked | None:
    """Why the pipeline of the rule is not in force; ``None``: it is, or there is none."""
    refusal = bearer.change.refusal
    if bearer.drift.reapplied >= REAPPLIED_IN_VAIN:
        return Blocked(Blocker.NOT_APPLIED, f"{bearer.seen.name} stays in force")
    if bearer.desired is None and refusal is not None:
        return Blocked(Blocker.REFUSED, refusal.cause)
    if bearer.desired is None and bearer.base_due(now_us):
        return Blocked(Blocker.BASE_DUE)
    return None


def _undecided(bearer: Bearer, rule: Rule, now_us: int) -> Blocked | None:
    """Why no rung of the ladder is tried now."""
    if bearer.assigned is not None:
        return Blocked(Blocker.TRIAL, bearer.assigned.template)
    if not rule.ladder:
        return Blocked(Blocker.NO_LADDER)
    if now_us < bearer.pause.until_us:
        left_s = (bearer.pause.until_us - now_us) / 1e6
        return Blocked(Blocker.COOL_DOWN, f"{left_s:.1f} s left")
    return None
