"""What the transitions of a bearer do: each effect changes the bearer and returns what is to be
carried out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tc_controller.core.act.decision import BASE, Choice, Decision, NoChoice
from tc_controller.core.act.outbox import OpenTransaction, Purpose
from tc_controller.core.act.reconcile import DIVERGED_REPORTS, Desired, Divergence
from tc_controller.core.act.timers import NEVER
from tc_controller.core.actions import Action, SaveDesired
from tc_controller.core.bearer.bearer import Bearer, Occurrence
from tc_controller.core.bearer.transition import Effect
from tc_controller.core.inputs import Accepted, Refused
from tc_controller.core.mode import Mode
from tc_controller.core.observe.bearer_view import BearerView, Snapshot, snapshot
from tc_controller.core.observe.in_force import InForce
from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import OfLadder
from tc_controller.core.report import records

#: Wait for a status report before a transaction is sent again without one.
_STATUS_WAIT_US: Final = 500_000
#: Wait before a release that failed is sent again.
_RELEASE_AGAIN_US: Final = 60_000_000
#: Causes of a refusal that another rung would meet as well.
_NOT_OF_THE_RUNG: Final = ("stale_revision", "unknown_bearer")


# ---------------------------------------------------------------------------- decide


def _log_dry_run(bearer: Bearer, on: Occurrence) -> list[Action]:
    decision, actions = _decide(bearer, on)
    if decision is not None:
        count(bearer, decision, "dry_run")
        bearer.pause.cool_down(bearer.rule, on.now_us)
        if decision.trigger == BASE:
            # One record is enough: nothing will change before the rule does.
            bearer.pause.base_until_us = NEVER
    return actions


def _apply_rung(bearer: Bearer, on: Occurrence) -> list[Action]:
    decision, actions = _decide(bearer, on)
    target = _proposed(bearer, on)
    if target is None or decision is None:
        return actions
    bearer.change.decision, bearer.change.previous = decision, bearer.desired
    return [*actions, *start(bearer, on, Purpose.APPLY, target)]


def _wait_for_base(bearer: Bearer, on: Occurrence) -> list[Action]:
    rule = bearer.rule
    if rule is not None:
        bearer.pause.base_until_us = on.now_us + rule.enforce.retry_failed_rung_ms * 1000
    return log_no_choice(bearer, on)


def log_no_choice(bearer: Bearer, on: Occurrence) -> list[Action]:
    """Log and count that none of the pipelines that were proposed can be taken."""
    proposal, rule = on.proposal, bearer.rule
    if proposal is None or rule is None or isinstance(proposal.choice, Choice):
        return []
    bearer.shared.counters.decisions[(proposal.trigger, "none", "no_rung")] += 1
    before, skipped = _before(rule, proposal.view), proposal.choice.skipped
    return [records.no_rung(on.now_us, bearer.key, rule, before, skipped)]


def _proposed(bearer: Bearer, on: Occurrence) -> Desired | None:
    """What is proposed, not in force yet."""
    rule, choice = bearer.rule, None if on.proposal is None else on.proposal.choice
    if rule is None or not isinstance(choice, Choice):
        return None
    as_safe = _as_safe(bearer, choice)
    template = choice.rung.template
    return Desired(bearer.key, rule.name, choice.slot, template, choice.pipeline, 0, as_safe)


def _as_safe(bearer: Bearer, choice: Choice) -> bool:
    return not isinstance(choice.slot, OfLadder) and bearer.installs_safe


def _decide(bearer: Bearer, on: Occurrence) -> tuple[Decision | None, list[Action]]:
    """The decision that is proposed, and its record."""
    rule, proposal = bearer.rule, on.proposal
    if rule is None or proposal is None or isinstance(proposal.choice, NoChoice):
        return None, []
    view, choice = proposal.view, proposal.choice
    flows = view.flows
    decision = Decision(
        id=bearer.shared.next_decision_id(),
        bearer=bearer.key,
        at_us=on.now_us,
        trigger=proposal.trigger,
        slot=choice.slot,
        rung=choice.rung,
        pipeline=choice.pipeline,
        before=_before(rule, view),
        greedy={} if flows is None else {f.five_tuple: f.rate_kbps for f in flows.greedy},
    )
    record = records.decided(
        decision,
        rule,
        proposal,
        expected_revision=bearer.seen.revision,
        as_safe=_as_safe(bearer, choice),
    )
    return decision, [record]


# ------------------------------------------------------------------------------- act


def settle(bearer: Bearer, on: Occurrence) -> list[Action]:
    """Store as desired what is in force now."""
    transaction, outcome = bearer.change.transaction, on.outcome
    if transaction is None or not isinstance(outcome, Accepted):
        return []
    safe = transaction.target is None or transaction.as_safe
    bearer.seen = replace(bearer.seen, revision=outcome.revision, safe=safe)
    bearer.returned = transaction.target is None
    bearer.drift.diverged, bearer.drift.older_since_us = 0, None
    bearer.change.transaction = None
    if transaction.undoes is not None:
        bearer.shared.desired.forget(bearer.key)
    actions = _desire(bearer, transaction.target, outcome.revision, on)
    decision = bearer.change.decision
    if transaction.purpose is Purpose.APPLY:
        if decision is not None and bearer.rule is not None:
            count(bearer, decision, "accepted")
    elif transaction.purpose is Purpose.ROLL_BACK:
        actions += _log_roll_back(bearer, transaction, on)
    elif transaction.purpose is Purpose.RELEASE:
        revision = outcome.revision
        actions.append(records.noted("released", on.now_us, bearer.key, revision=revision))
    return actions


def _await_status(bearer: Bearer, on: Occurrence) -> list[Action]:
    transaction, outcome = bearer.change.transaction, on.outcome
    if transaction is not None:
        transaction.attempt += 1
        transaction.min_revision = outcome.revision or 0 if isinstance(outcome, Refused) else 0
        transaction.status_until_us = on.now_us + _STATUS_WAIT_US
    return []


def _resend(bearer: Bearer, on: Occurrence) -> list[Action]:
    bearer.seen = replace(bearer.seen, revision=on.shown.revision)
    return _send(bearer, on)


def _resend_unreported(bearer: Bearer, on: Occurrence) -> list[Action]:
    # It carries a whole pipeline: applied to any revision it does no harm.
    transaction = bearer.change.transaction
    if transaction is None:
        return []
    bearer.seen = replace(bearer.seen, revision=transaction.min_revision or None)
    return _send(bearer, on)


def _skip_rung(bearer: Bearer, on: Occurrence) -> list[Action]:
    outcome, decision = on.outcome, bearer.change.decision
    bearer.change.transaction = None
    bearer.pause.cool_down(bearer.rule, on.now_us)
    if decision is not None:
        count(bearer, decision, records.result_name(outcome))
        if decision.trigger == BASE and not isinstance(outcome, Refused):
            # A lost answer is no evidence against the pipeline.
            bearer.pause.base_until_us = bearer.pause.until_us
        else:
            bearer.pause.skip(decision.slot, bearer.rule, on.now_us)
        bearer.change.decision = None
    bearer.renew_at(on.now_us)
    if isinstance(outcome, Refused) and outcome.cause not in _NOT_OF_THE_RUNG:
        # Nothing changed, so there is no effect to wait for: the next rung may be tried.
        bearer.pause.until_us = on.now_us
    return []


def _abandon(bearer: Bearer, on: Occurrence) -> list[Action]:
    transaction = bearer.change.transaction
    bearer.change.transaction = None
    bearer.pause.cool_down(bearer.rule, on.now_us)
    if transaction is not None and transaction.undoes is not None:
        # A kept base has no lease that would end: it is released again later.
        retry_us = on.now_us + _RELEASE_AGAIN_US
        bearer.pause.base_until_us = max(bearer.pause.base_until_us, retry_us)
    actions: list[Action] = []
    if transaction is not None and transaction.purpose is Purpose.ROLL_BACK:
        actions += _log_roll_back(bearer, transaction, on)
    return actions + _desire(bearer, None, 0, on)


def start(
    bearer: Bearer,
    on: Occurrence,
    purpose: Purpose,
    target: Desired | None,
    *,
    undoes: str | None = None,
) -> list[Action]:
    """Send a transaction; see `OpenTransaction`."""
    bearer.change.transaction = OpenTransaction(purpose, target, undoes)
    return _send(bearer, on)


def _send(bearer: Bearer, on: Occurrence) -> list[Action]:
    transaction, rule = bearer.change.transaction, bearer.rule
    if transaction is None:
        return []
    bearer.lease.stop()
    bearer.change.sent_us.append(on.now_us)
    leased = transaction.target is not None and not transaction.as_safe
    control = bearer.shared.outbox.transaction(
        on.now_us,
        bearer.key,
        transaction.purpose,
        transaction.change,
        as_safe=transaction.as_safe,
        expected_revision=bearer.seen.revision,
        lease_ms=rule.enforce.lease_ms if leased and rule is not None else None,
    )
    return [control]


def _desire(bearer: Bearer, target: Desired | None, revision: int, on: Occurrence) -> list[Action]:
    """``target`` is in force at ``revision``; ``None``: the safe pipeline is to be."""
    desired = bearer.shared.desired
    bearer.lease.stop()
    if target is None:
        desired.drop(bearer.key)
    else:
        desired.put(replace(target, revision=revision))
        _schedule_renewal(bearer, on)
    return [SaveDesired(desired.document)]


def _log_roll_back(bearer: Bearer, transaction: OpenTransaction, on: Occurrence) -> list[Action]:
    rule, decision = bearer.rule, bearer.change.decision
    bearer.pause.cool_down(rule, on.now_us)
    if decision is None:
        return []
    to = "safe" if transaction.pipeline is None else str(transaction.pipeline["name"])
    cool_ms = 0 if rule is None else rule.enforce.cool_down_ms
    count(bearer, decision, "rolled_back")
    bearer.change.decision = None
    return [records.rolled_back(decision, on.now_us, to, on.outcome, cool_ms)]


# ---------------------------------------------------------------- reconcile and keep


def _nothing(_: Bearer, __: Occurrence) -> list[Action]:
    return []


def _record_revision(bearer: Bearer, on: Occurrence) -> list[Action]:
    drift = bearer.drift
    drift.diverged, drift.older_since_us = 0, None
    if on.divergence is Divergence.NONE:
        drift.reapplied = 0
    bearer.seen = on.shown
    return []


def _ignore_late(bearer: Bearer, on: Occurrence) -> list[Action]:
    if bearer.drift.older_since_us is None:
        bearer.drift.older_since_us = on.collected_at_us
    return []


def _count_divergence(bearer: Bearer, _: Occurrence) -> list[Action]:
    bearer.drift.diverged += 1
    return []


def _expect_divergence(bearer: Bearer, on: Occurrence) -> list[Action]:
    bearer.drift.diverged = DIVERGED_REPORTS - 1
    return _schedule_renewal(bearer, on)


def _adopt(bearer: Bearer, on: Occurrence) -> list[Action]:
    _record_revision(bearer, on)
    desired, revision, actions = bearer.desired, on.shown.revision or 0, []
    if desired is not None and desired.revision != revision:
        actions += _desire(bearer, desired, revision, on)
    actions += _log_divergence(bearer, "adopted", "adopted", on.now_us, on.shown)
    bearer.renew_at(on.now_us)
    return actions


def _keep_base(bearer: Bearer, on: Occurrence) -> list[Action]:
    kept, former = bearer.kept, bearer.desired
    if kept is None or former is None:
        return []
    _record_revision(bearer, on)
    bearer.shared.counters.reconciliations["base_kept"] += 1
    record = records.noted(
        "base_kept",
        on.now_us,
        bearer.key,
        reason=on.reason,
        pipeline=kept.pipeline["name"],
        former=former.pipeline["name"],
        revision=on.shown.revision,
    )
    # The policy may want another base by now.
    bearer.base_unchecked = True
    return [record, *_desire(bearer, kept, on.shown.revision or 0, on)]


def _adopt_base(bearer: Bearer, on: Occurrence) -> list[Action]:
    target, seen = _proposed(bearer, on), bearer.seen
    if target is None or seen.revision is None:
        return []
    actions = _desire(bearer, target, seen.revision, on)
    kind = "adopted" if seen.by_default is None else "by_default"
    shown = replace(seen, name=target.template)
    actions += _log_divergence(bearer, kind, "adopted", on.now_us, shown)
    bearer.renew_at(on.now_us)
    return actions


def _reapply(bearer: Bearer, on: Occurrence) -> list[Action]:
    # A node that restarted has forgotten which base it was to keep.
    desired, rule, drift = bearer.kept or bearer.desired, bearer.rule, bearer.drift
    if desired is None:
        return []
    _record_revision(bearer, on)
    drift.reapplied += 1
    if rule is not None:
        drift.reapply_at_us = on.now_us + rule.enforce.retry_failed_rung_ms * 1000
    bearer.shared.counters.reconciliations["reapplied"] += 1
    record = records.noted(
        "reapplied",
        on.now_us,
        bearer.key,
        reason=on.reason,
        pipeline=desired.pipeline["name"],
        revision=bearer.seen.revision,
    )
    return [record, *start(bearer, on, Purpose.REAPPLY, desired)]


def _drop(bearer: Bearer, on: Occurrence) -> list[Action]:
    _record_revision(bearer, on)
    return _desire(bearer, None, 0, on)


def _take_over(bearer: Bearer, on: Occurrence) -> list[Action]:
    _record_revision(bearer, on)
    actions = _log_divergence(bearer, "inherited", "inherited", on.now_us, on.shown)
    return actions + _desire(bearer, None, 0, on)


def _give_way(bearer: Bearer, on: Occurrence) -> list[Action]:
    # Two controllers that overrule each other would flap.
    _record_revision(bearer, on)
    actions = _log_divergence(bearer, "foreign", "foreign_pipeline", on.now_us, on.shown)
    actions += _desire(bearer, None, 0, on)
    bearer.pause.cool_down(bearer.rule, on.now_us)
    return actions


def _log_divergence(
    bearer: Bearer, kind: str, event: str, now_us: int, shown: InForce
) -> list[Action]:
    desired = bearer.desired
    if desired is None:
        return []
    bearer.shared.counters.reconciliations[kind] += 1
    record = records.noted(
        event,
        now_us,
        bearer.key,
        desired=desired.pipeline["name"],
        desired_revision=desired.revision,
        in_force=shown.name,
        owner=shown.owner,
        revision=shown.revision,
        **_of_default(shown.by_default),
    )
    return [record]


def _schedule_renewal(bearer: Bearer, on: Occurrence) -> list[Action]:
    if bearer.desired is not None and not bearer.desired.as_safe:
        bearer.lease.schedule(bearer.rule, on.now_us)
    return []


def _renew(bearer: Bearer, on: Occurrence) -> list[Action]:
    # Also while unconfirmed: the status report may come later than the lease ends, and the RAN
    # function refuses to renew another revision.
    desired, rule = bearer.desired, bearer.rule
    if desired is None or rule is None:
        return []
    bearer.lease.schedule(rule, on.now_us)
    lease_ms = rule.enforce.lease_ms
    return [bearer.shared.outbox.renewal(on.now_us, bearer.key, desired.revision, lease_ms)]


def _release_bearer(bearer: Bearer, on: Occurrence) -> list[Action]:
    bearer.lease.released()
    # The answer of a transaction that is on its way is not taken for that of this one.
    bearer.shared.outbox.forget(bearer.key)
    # Without a base that is kept, or may be by then, the safe pipeline is that one.
    transaction = bearer.change.transaction
    sent = None if transaction is None else transaction.target
    base = sent if sent is not None and sent.as_safe else bearer.kept
    undoes = None if base is None else str(base.pipeline["name"])
    if undoes is None and bearer.shared.mode is Mode.OFF:
        # A base of a former controller may be below what is in force.
        undoes = bearer.seen.name
    return start(bearer, on, Purpose.RELEASE, None, undoes=undoes)


def _release_idle(bearer: Bearer, on: Occurrence) -> list[Action]:
    bearer.lease.released()
    return start(bearer, on, Purpose.RELEASE, bearer.kept)


# ------------------------------------------------------------------------------- end


def _stand_by(bearer: Bearer, on: Occurrence) -> list[Action]:
    change, actions = bearer.change, []
    transaction, decision, outcome = change.transaction, change.decision, on.outcome
    if transaction is not None and decision is not None and isinstance(outcome, Refused):
        actions.append(records.answered(decision, on.now_us, outcome, transaction.attempt))
    bearer.shared.outbox.forget(bearer.key)
    change.transaction = change.decision = bearer.verification = None
    bearer.pause.rule_changed(same_rungs=True)
    bearer.base_unchecked = True
    return [*actions, *_desire(bearer, None, 0, on)]


def _forget(bearer: Bearer, _: Occurrence) -> list[Action]:
    bearer.shared.outbox.forget(bearer.key)
    bearer.shared.counters.bearers_gone += 1
    desired = bearer.shared.desired
    return [SaveDesired(desired.document)] if desired.forget(bearer.key) else []


def _forget_and_log(bearer: Bearer, on: Occurrence) -> list[Action]:
    actions, decision = _forget(bearer, on), bearer.change.decision
    details = {} if decision is None else {"id": decision.id}
    return [*actions, records.noted("bearer_gone", on.now_us, bearer.key, **details)]


def count(bearer: Bearer, decision: Decision, result: str) -> None:
    """Count a decision by what became of it."""
    key = (decision.trigger, decision.rung.template, result)
    bearer.shared.counters.decisions[key] += 1


def _of_default(by_default: tuple[int, int, int] | None) -> dict[str, Any]:
    if by_default is None:
        return {}
    return {"by_default": dict(zip(("revision", "rule", "age_ms"), by_default, strict=True))}


def _before(rule: Rule, view: BearerView) -> Snapshot:
    since_us = view.at_us - rule.verify.window_ms * 1000
    return snapshot(view, since_us, rule.objective.percentile)


LOG_DRY_RUN: Final = Effect("log the decision, send nothing, cool down", _log_dry_run)
APPLY_RUNG: Final = Effect("log the decision, send the rung's pipeline", _apply_rung)
WAIT_FOR_BASE: Final = Effect(
    "log that the node supports no base of the rule, try again later", _wait_for_base
)
SETTLE: Final = Effect("store as desired what is in force now", settle)
AWAIT_STATUS: Final = Effect("wait for a status report", _await_status)
RESEND: Final = Effect("send the transaction again, for the reported revision", _resend)
RESEND_UNREPORTED: Final = Effect(
    "send the transaction again, for the revision of the refusal or for any", _resend_unreported
)
SKIP_RUNG: Final = Effect("skip the rung for a while, cool down", _skip_rung)
ABANDON: Final = Effect(
    "want the safe pipeline, which the end of the lease restores; cool down", _abandon
)
NOTHING: Final = Effect("nothing", _nothing)
RECORD_REVISION: Final = Effect("record the revision", _record_revision)
IGNORE_LATE: Final = Effect("ignore the report", _ignore_late)
COUNT_DIVERGENCE: Final = Effect("count the report", _count_divergence)
EXPECT_DIVERGENCE: Final = Effect(
    "take the next report of another pipeline as proof", _expect_divergence
)
ADOPT: Final = Effect("log it, renew the lease", _adopt)
KEEP_BASE: Final = Effect("log it, want the base that is in force", _keep_base)
ADOPT_BASE: Final = Effect("want the base, log it, renew the lease", _adopt_base)
REAPPLY: Final = Effect(
    "log it, send the base that the node is to keep, or the desired pipeline, again", _reapply
)
DROP: Final = Effect("want the safe pipeline", _drop)
TAKE_OVER: Final = Effect("log it, let the base replace the pipeline", _take_over)
GIVE_WAY: Final = Effect(
    "log it, leave the pipeline of the other controller in force, cool down", _give_way
)
SCHEDULE_RENEWAL: Final = Effect("schedule the next renewal", _schedule_renewal)
RENEW: Final = Effect("send a lease renewal", _renew)
RELEASE_BEARER: Final = Effect("send the initial pipeline", _release_bearer)
RELEASE_IDLE: Final = Effect("send the safe pipeline", _release_idle)
STAND_BY: Final = Effect("expect no answers, want nothing", _stand_by)
FORGET: Final = Effect("expect no answers, want nothing", _forget)
FORGET_AND_LOG: Final = Effect("expect no answers, want nothing, log it", _forget_and_log)
