"""Conditions that the transitions of a bearer depend on."""

from __future__ import annotations

from typing import Final

from tc_controller.core.act.decision import BASE, Choice
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import (
    DIVERGED_REPORTS,
    REAPPLIED_IN_VAIN,
    Divergence,
    digest_of,
)
from tc_controller.core.bearer.bearer import Bearer, Occurrence
from tc_controller.core.bearer.transition import Guard

#: A lower revision in all reports for longer than a report can be late: the RAN function restarted
#: and counts anew.
_RESTARTED_AFTER_US: Final = 1_000_000


def _found(_: Bearer, on: Occurrence) -> bool:
    return on.proposal is not None and isinstance(on.proposal.choice, Choice)


def _dry_run(bearer: Bearer, on: Occurrence) -> bool:
    return _found(bearer, on) and bearer.rule is not None and bearer.rule.enforce.dry_run


def _replaces(bearer: Bearer, _: Occurrence) -> bool:
    return bearer.change.applies and bearer.desired is not None


def _installs(bearer: Bearer, _: Occurrence) -> bool:
    transaction = bearer.change.transaction
    return transaction is not None and transaction.target is not None


def _attempts_left(bearer: Bearer, _: Occurrence) -> bool:
    transaction = bearer.change.transaction
    retries = 0 if bearer.rule is None else bearer.rule.enforce.stale_retries
    return transaction is not None and transaction.attempt <= retries


def _status_overdue(bearer: Bearer, on: Occurrence) -> bool:
    transaction = bearer.change.transaction
    return transaction is not None and on.now_us >= transaction.status_until_us


def _keeps(bearer: Bearer, _: Occurrence) -> bool:
    return bearer.kept is not None


def _controlled(bearer: Bearer, on: Occurrence) -> bool:
    return bearer.desired is not None or _keeps(bearer, on) or _installs(bearer, on)


def _may_reapply(bearer: Bearer, _: Occurrence) -> bool:
    return bearer.rule is not None and not bearer.rule.enforce.dry_run


def _base_found(bearer: Bearer, on: Occurrence) -> bool:
    choice = None if on.proposal is None else on.proposal.choice
    if not isinstance(choice, Choice) or not _may_reapply(bearer, on):
        return False
    same = bearer.seen.digest == digest_of(choice.pipeline)
    return same and bearer.seen.safe == bearer.installs_safe


def _base_missing(bearer: Bearer, on: Occurrence) -> bool:
    return on.proposal is not None and not _found(bearer, on)


def _found_again(bearer: Bearer, on: Occurrence) -> bool:
    desired = bearer.desired
    if desired is None or desired.as_safe != on.shown.safe:
        return False
    return on.shown.digest == digest_of(desired.pipeline)


def _inherited(bearer: Bearer, on: Occurrence) -> bool:
    based = bearer.rule is not None and bool(bearer.rule.base)
    owned = bearer.role is Role.OWNER and on.shown.owner is not None
    return owned and based and _may_reapply(bearer, on)


def _lost(bearer: Bearer, on: Occurrence) -> bool:
    return on.divergence is Divergence.SAFE and _may_reapply(bearer, on)


def _held_back(bearer: Bearer, on: Occurrence) -> bool:
    in_vain = _lost(bearer, on) and bearer.drift.reapplied >= REAPPLIED_IN_VAIN
    return in_vain and on.now_us < bearer.drift.reapply_at_us


def _late(bearer: Bearer, on: Occurrence) -> bool:
    desired, older_since_us = bearer.desired, bearer.drift.older_since_us
    if desired is None or (on.shown.revision or 0) >= desired.revision:
        return False
    since_us = on.collected_at_us if older_since_us is None else older_since_us
    return on.collected_at_us - since_us < _RESTARTED_AFTER_US


def _outdated(bearer: Bearer, on: Occurrence) -> bool:
    transaction, desired, revision = bearer.change.transaction, bearer.desired, on.shown.revision
    if transaction is not None:
        return (revision or 0) < transaction.min_revision
    return desired is not None and (revision or 0) <= desired.revision


def _idle(bearer: Bearer, on: Occurrence) -> bool:
    based = bearer.rule is not None and bool(bearer.rule.base)
    on_base = based and bearer.desired is not None and not bearer.on_ladder
    return on.view is not None and not on_base and bearer.lease.idle(bearer.rule, on.now_us)


def _renewal_due(bearer: Bearer, on: Occurrence) -> bool:
    return _may_reapply(bearer, on) and on.now_us >= bearer.lease.renew_at_us


def _unwanted(bearer: Bearer, on: Occurrence) -> bool:
    watched_only = bearer.rule is None or bearer.rule.watch_only
    return watched_only and bearer.may_release and on.now_us >= bearer.pause.base_until_us


FOUND: Final = Guard("a rung can be tried", _found)
DRY_RUN: Final = Guard("a rung can be tried; the rule is a dry run", _dry_run)
APPLIES: Final = Guard("a rung was applied", lambda bearer, _: bearer.change.applies)
REPLACES: Final = Guard("a rung was applied; the pipeline before stays in force", _replaces)
INSTALLS: Final = Guard("the transaction installs a pipeline of ours", _installs)
ATTEMPTS_LEFT: Final = Guard("attempts are left", _attempts_left)
STATUS_OVERDUE: Final = Guard("no status report for 500 ms", _status_overdue)
CONTROLLED: Final = Guard("a pipeline of ours is in force, kept or on its way", _controlled)
KEEPS: Final = Guard("the node keeps a base of ours", _keeps)
BASE_UNWANTED: Final = Guard(
    "the node keeps a base that the rule does not want kept",
    lambda bearer, on: bearer.keeps_unwanted(on.now_us),
)
BASE_FOUND: Final = Guard(
    "the base of the rule is in force: kept, or under the lease of a former owner", _base_found
)
BASE_MISSING: Final = Guard("the rule's base is due; the node supports none of it", _base_missing)
IS_BASE: Final = Guard(
    "the change is to the base of the rule",
    lambda bearer, _: bearer.change.decision is not None and bearer.change.decision.trigger == BASE,
)
MATCHES: Final = Guard(
    "the desired pipeline is in force", lambda _, on: on.divergence is Divergence.NONE
)
TRANSIENT: Final = Guard(
    "another pipeline, in fewer than 3 reports in a row",
    lambda bearer, _: bearer.drift.diverged + 1 < DIVERGED_REPORTS,
)
SAFE: Final = Guard("the safe pipeline is in force", lambda _, on: on.divergence is Divergence.SAFE)
FOUND_AGAIN: Final = Guard("the desired pipeline is in force at another revision", _found_again)
FELL_BACK: Final = Guard(
    "the lease of a rung ended; the base is in force",
    lambda bearer, on: on.divergence is Divergence.BASE and bearer.keeps_base,
)
INHERITED: Final = Guard(
    "the pipeline of a former owner of the node is in force; the rule has a base", _inherited
)
MAY_REAPPLY: Final = Guard("a rule applies that is no dry run", _may_reapply)
LOST: Final = Guard("the safe pipeline is in force; a rule applies that is no dry run", _lost)
HELD_BACK: Final = Guard(
    "the safe pipeline is in force although the desired one was accepted 4 times; waits",
    _held_back,
)
LATE: Final = Guard(
    "of an older revision, for less than 1 s: collected before the change, delivered after", _late
)
OUTDATED: Final = Guard("older than the revision that is known", _outdated)
UNWANTED: Final = Guard(
    "no rule matches the bearer any more, or its rule installs nothing", _unwanted
)
INHERITED_UNWANTED: Final = Guard(
    "a pipeline of a former controller is in force; the mode is off",
    lambda bearer, on: bearer.inherits_unwanted(on.now_us),
)
IDLE: Final = Guard("idle for as long as the rule allows, and not on its base", _idle)
RENEWAL_DUE: Final = Guard("a third of the lease has passed", _renewal_due)
