"""Why no decision is taken about a bearer, were its objective violated."""

from __future__ import annotations

from typing import Final

from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import REAPPLIED_IN_VAIN
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.bearer.states import FREE
from tc_controller.core.mode import Mode
from tc_controller.core.policy.schema import Rule

#: Why no control is sent, whatever happens.
WATCH_ONLY: Final = "watch only: the rule has neither base nor ladder"
DRY_RUN: Final = "dry run: decides, sends nothing"
OBSERVING: Final = "observing: sends no control yet"
#: Of a mode other than to act, as a word and as a sentence.
OF_MODE: Final = {
    Mode.OFF: ("mode_off", "switched off: bearers have the initial pipelines of their gNB"),
    Mode.OBSERVE: ("mode_observe", "mode observe: decides, sends nothing"),
}


def blocked(bearer: Bearer, now_us: int) -> tuple[str, str] | None:
    """The reason as a word for metrics and as a sentence; ``None``: a decision would be taken."""
    rule = bearer.rule
    if rule is None:
        return "no_rule", "no rule matches the bearer"
    if bearer.capabilities is None:
        return "no_tc", "the node has no E2SM-TC v1"
    held = _passive(bearer, rule) or _waiting(bearer)
    return held or _missing(bearer, now_us) or _undecided(bearer, rule, now_us)


def blocker(bearer: Bearer, now_us: int) -> str | None:
    """The reason as a sentence."""
    reason = blocked(bearer, now_us)
    return None if reason is None else reason[1]


def _passive(bearer: Bearer, rule: Rule) -> tuple[str, str] | None:
    """Why nothing is ever sent as things are."""
    if bearer.shared.mode is not Mode.ACT:
        return OF_MODE[bearer.shared.mode]
    if rule.watch_only:
        return "watch_only", WATCH_ONLY
    if rule.enforce.dry_run:
        return "dry_run", DRY_RUN
    return None if bearer.shared.acting else ("observing", OBSERVING)


def _waiting(bearer: Bearer) -> tuple[str, str] | None:
    """Why others come first."""
    role, state = bearer.role, bearer.state
    if role in (Role.CANDIDATE, Role.STANDBY, Role.DUPLICATE):
        return role.label, f"{role.label}: {role.meaning}"
    if state not in FREE:
        return "in_progress", f"{state.label}: {state.meaning}"
    return None


def _missing(bearer: Bearer, now_us: int) -> tuple[str, str] | None:
    """Why the pipeline of the rule is not in force; ``None``: it is, or there is none."""
    refusal = bearer.change.refusal
    if bearer.drift.reapplied >= REAPPLIED_IN_VAIN:
        stays = f"the node accepts pipelines, but {bearer.seen.name} stays in force"
        return "not_applied", stays
    if bearer.desired is None and refusal is not None:
        return "refused", f"the node refused the last pipeline: {refusal.cause}"
    if bearer.desired is None and bearer.base_due(now_us):
        return "base_due", "the base pipeline is about to be installed"
    return None


def _undecided(bearer: Bearer, rule: Rule, now_us: int) -> tuple[str, str] | None:
    """Why no rung of the ladder is tried now."""
    if bearer.assigned is not None:
        template = bearer.assigned.template
        return "trial", f"a trial has {template} in force instead of the base"
    if not rule.ladder:
        return "no_ladder", "the rule has no ladder: its base is all it has"
    if now_us < bearer.pause.until_us:
        left_s = (bearer.pause.until_us - now_us) / 1e6
        return "cool_down", f"no decision for another {left_s:.1f} s"
    return None
