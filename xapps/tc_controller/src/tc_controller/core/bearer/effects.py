"""What the transitions of a bearer under control do.

The docstring of an effect is what ``tc-controller states`` prints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tc_controller.core.act.decide import BASE, reasons
from tc_controller.core.act.outbox import OpenTransaction, Purpose
from tc_controller.core.act.reconcile import Desired, Divergence
from tc_controller.core.act.timers import NEVER
from tc_controller.core.actions import SaveDesired
from tc_controller.core.bearer.state import DIVERGED_REPORTS, BearerState, Occurrence
from tc_controller.core.inputs import Accepted, Refused
from tc_controller.core.observe.bearer_view import BearerView, Snapshot, snapshot
from tc_controller.core.policy.schema import Rule
from tc_controller.core.report import records
from tc_controller.core.report.records import Decision
from tc_controller.core.verify.verifier import Verdict, Verifier

#: Wait for a status report before a transaction is sent again without one.
_STATUS_WAIT_US = 500_000
#: Wait before a release that failed is sent again.
_RELEASE_AGAIN_US = 60_000_000
#: Causes of a refusal that another rung would meet as well.
_NOT_OF_THE_RUNG = ("stale_revision", "unknown_bearer")


class BearerEffects(BearerState):
    """Effects append what is to be done to ``on.out``."""

    # ------------------------------------------------------------ effects: decide

    def log_dry_run(self, on: Occurrence) -> None:
        """log the decision, send nothing, cool down"""
        decision = self._decide(on)
        if decision is not None:
            self._count_decision(decision, "dry_run")
            self.pause.cool_down(self.rule, on.now_us)
            if decision.trigger == BASE:
                # One record is enough: nothing will change before the rule does.
                self.pause.base_until_us = NEVER

    def apply_rung(self, on: Occurrence) -> None:
        """log the decision, send the rung's pipeline"""
        target, decision = self._proposed(on), self._decide(on)
        if target is None or decision is None:
            return
        self.decision, self.previous = decision, self.desired
        self._start(Purpose.APPLY, target, on)

    def _proposed(self, on: Occurrence) -> Desired | None:
        """What is proposed, not in force yet."""
        rule, choice = self.rule, None if on.proposal is None else on.proposal.choice
        if rule is None or choice is None or choice.rung is None or choice.pipeline is None:
            return None
        template, as_safe = choice.rung.template, choice.index < 0 and self.installs_safe
        return Desired(self.key, rule.name, choice.index, template, choice.pipeline, 0, as_safe)

    def back_off(self, on: Occurrence) -> None:
        """log once that no rung can be tried, wait longer each time"""
        # What a rung needs, a flow inventory for one, may be there soon.
        proposal, rule = on.proposal, self.rule
        if proposal is None or rule is None or not self.pause.back_off(rule, on.now_us):
            return
        before, skipped = _before(rule, proposal.view), proposal.choice.skipped
        on.out.append(records.no_rung(on.now_us, self.key, rule, before, skipped))
        self.shared.counters.decisions[(proposal.trigger, "none", "no_rung")] += 1

    def wait_for_base(self, on: Occurrence) -> None:
        """log that the node supports no base of the rule, try again later"""
        proposal, rule = on.proposal, self.rule
        if proposal is None or rule is None:
            return
        self.pause.base_until_us = on.now_us + rule.enforce.retry_failed_rung_ms * 1000
        before, skipped = _before(rule, proposal.view), proposal.choice.skipped
        on.out.append(records.no_rung(on.now_us, self.key, rule, before, skipped))
        self.shared.counters.decisions[(BASE, "none", "no_rung")] += 1

    def _decide(self, on: Occurrence) -> Decision | None:
        """Log the decision that is proposed."""
        rule, proposal = self.rule, on.proposal
        if rule is None or proposal is None:
            return None
        view, choice = proposal.view, proposal.choice
        if choice.rung is None or choice.pipeline is None:
            return None
        flows = view.flows
        decision = Decision(
            id=self.shared.next_decision_id(),
            bearer=self.key,
            at_us=on.now_us,
            trigger=proposal.trigger,
            index=choice.index,
            rung=choice.rung,
            pipeline=choice.pipeline,
            before=_before(rule, view),
            greedy={} if flows is None else {f.five_tuple: f.rate_kbps for f in flows.greedy},
        )
        on.out.append(
            records.decided(
                decision,
                rule,
                flows=flows,
                skipped=choice.skipped,
                expected_revision=self.revision,
                as_safe=choice.index < 0 and self.installs_safe,
                over_for_us=proposal.over_for_us,
                follows=proposal.follows,
                reasons=reasons(proposal.trigger, choice, rule, view, proposal.over_for_us),
            )
        )
        return decision

    # --------------------------------------------------------------- effects: act

    def settle(self, on: Occurrence) -> None:
        """store as desired what is in force now"""
        transaction, outcome = self.transaction, on.outcome
        if transaction is None or not isinstance(outcome, Accepted):
            return
        self.revision = outcome.revision
        self.diverged = 0
        self.older_since_us = None
        self.safe_in_force = transaction.target is None or transaction.as_safe
        self.transaction = None
        if transaction.undoes is not None:
            self.shared.desired.forget(self.key)
        self._desire(transaction.target, outcome.revision, on)
        if transaction.purpose is Purpose.APPLY:
            if self.decision is not None and self.rule is not None:
                self._count_decision(self.decision, "accepted")
        elif transaction.purpose is Purpose.ROLL_BACK:
            self._log_roll_back(transaction, on)
        elif transaction.purpose is Purpose.RELEASE:
            on.out.append(records.noted("released", on.now_us, self.key, revision=self.revision))

    def start_verification(self, on: Occurrence) -> None:
        """store as desired what is in force now, start to verify"""
        self.settle(on)
        decision, rule, view = self.decision, self.rule, on.view
        if decision is not None and rule is not None and view is not None:
            self.verifier = Verifier(rule, decision.before, decision.greedy, view, on.now_us)

    def await_status(self, on: Occurrence) -> None:
        """wait for a status report"""
        transaction, outcome = self.transaction, on.outcome
        if transaction is not None:
            transaction.attempt += 1
            transaction.min_revision = outcome.revision or 0 if isinstance(outcome, Refused) else 0
            transaction.status_until_us = on.now_us + _STATUS_WAIT_US

    def resend(self, on: Occurrence) -> None:
        """send the transaction again, for the reported revision"""
        self.revision = on.revision
        self._send(on)

    def resend_unreported(self, on: Occurrence) -> None:
        """send the transaction again, for the revision of the refusal or for any"""
        # It carries a whole pipeline: applied to any revision it does no harm.
        if self.transaction is not None:
            self.revision = self.transaction.min_revision or None
            self._send(on)

    def skip_rung(self, on: Occurrence) -> None:
        """skip the rung for a while, cool down"""
        outcome, decision = on.outcome, self.decision
        self.transaction = None
        self.pause.cool_down(self.rule, on.now_us)
        if decision is not None:
            self._count_decision(decision, records.result_name(outcome))
            if decision.trigger == BASE and not isinstance(outcome, Refused):
                # A lost answer is no evidence against the pipeline.
                self.pause.base_until_us = self.pause.until_us
            else:
                self.pause.skip(decision.index, self.rule, on.now_us)
            self.decision = None
        self.renew_at(on.now_us)
        if isinstance(outcome, Refused) and outcome.cause not in _NOT_OF_THE_RUNG:
            # Nothing changed, so there is no effect to wait for: the next rung may be tried.
            self.pause.until_us = on.now_us

    def abandon(self, on: Occurrence) -> None:
        """want the safe pipeline, which the end of the lease restores; cool down"""
        transaction = self.transaction
        self.transaction = None
        self.pause.cool_down(self.rule, on.now_us)
        if transaction is not None and transaction.undoes is not None:
            # A kept base has no lease that would end: it is released again later.
            retry_us = on.now_us + _RELEASE_AGAIN_US
            self.pause.base_until_us = max(self.pause.base_until_us, retry_us)
        if transaction is not None and transaction.purpose is Purpose.ROLL_BACK:
            self._log_roll_back(transaction, on)
        self._desire(None, 0, on)

    def roll_back(self, on: Occurrence) -> None:
        """skip the rung for a while, send the pipeline of before"""
        if self.decision is not None:
            self.pause.skip(self.decision.index, self.rule, on.now_us)
        to_safe = self.rule is None or self.rule.guard.rollback_to == "safe"
        target = None if to_safe else self.previous
        self._start(Purpose.ROLL_BACK, target or self.kept, on)

    def note_help(self, on: Occurrence) -> None:
        """if the objective is met, forget earlier failures of the rung"""
        if self.decision is not None and on.verdict is Verdict.SATISFIED:
            self.pause.helped(self.decision.index)

    def _start(
        self, purpose: Purpose, target: Desired | None, on: Occurrence, *, undoes: str | None = None
    ) -> None:
        self.transaction = OpenTransaction(purpose, target, undoes)
        self._send(on)

    def _send(self, on: Occurrence) -> None:
        transaction = self.transaction
        if transaction is None:
            return
        self.lease.stop()
        self.transactions_us.append(on.now_us)
        leased = transaction.target is not None and not transaction.as_safe
        on.out.append(
            self.shared.outbox.transaction(
                on.now_us,
                self.key,
                transaction.purpose,
                transaction.change,
                as_safe=transaction.as_safe,
                expected_revision=self.revision,
                lease_ms=self.rule.enforce.lease_ms if leased and self.rule is not None else None,
            )
        )

    def _desire(self, target: Desired | None, revision: int, on: Occurrence) -> None:
        """``target`` is in force at ``revision``; ``None``: the safe pipeline is to be."""
        self.lease.stop()
        if target is None:
            self.shared.desired.drop(self.key)
        else:
            self.shared.desired.put(replace(target, revision=revision))
            self.schedule_renewal(on)
        on.out.append(SaveDesired(self.shared.desired.document))

    def _log_roll_back(self, transaction: OpenTransaction, on: Occurrence) -> None:
        self.pause.cool_down(self.rule, on.now_us)
        if self.decision is None:
            return
        to = "safe" if transaction.pipeline is None else str(transaction.pipeline["name"])
        cool_ms = 0 if self.rule is None else self.rule.enforce.cool_down_ms
        on.out.append(records.rolled_back(self.decision, on.now_us, to, on.outcome, cool_ms))
        self._count_decision(self.decision, "rolled_back")
        self.decision = None

    # ---------------------------------------------------- effects: reconcile and keep

    def nothing(self, _: Occurrence) -> None:
        """nothing"""

    def record_revision(self, on: Occurrence) -> None:
        """record the revision"""
        self.diverged = 0
        self.older_since_us = None
        if on.divergence is Divergence.NONE:
            self.reapplied = 0
        self.revision = on.revision
        self.safe_in_force = on.safe_in_force
        self.name_in_force = on.in_force
        self.digest_in_force = on.digest
        self.owner_in_force = on.owner
        self.by_default = on.by_default

    def ignore_late(self, on: Occurrence) -> None:
        """ignore the report"""
        if self.older_since_us is None:
            self.older_since_us = on.collected_at_us

    def count_divergence(self, _: Occurrence) -> None:
        """count the report"""
        self.diverged += 1

    def expect_divergence(self, on: Occurrence) -> None:
        """take the next report of another pipeline as proof"""
        self.diverged = DIVERGED_REPORTS - 1
        self.schedule_renewal(on)

    def adopt(self, on: Occurrence) -> None:
        """log it, renew the lease"""
        self.record_revision(on)
        desired = self.desired
        if desired is not None and desired.revision != on.revision:
            self._desire(desired, on.revision, on)
        self._log_divergence("adopted", "adopted", on)
        self.renew_at(on.now_us)

    def keep_base(self, on: Occurrence) -> None:
        """log it, want the base that is in force"""
        kept, former = self.kept, self.desired
        if kept is None or former is None:
            return
        self.record_revision(on)
        self.shared.counters.reconciliations["base_kept"] += 1
        on.out.append(
            records.noted(
                *("base_kept", on.now_us, self.key),
                reason=on.reason,
                pipeline=kept.pipeline["name"],
                former=former.pipeline["name"],
                revision=on.revision,
            )
        )
        # The policy may want another base by now.
        self.base_unchecked = True
        self._desire(kept, on.revision, on)

    def adopt_base(self, on: Occurrence) -> None:
        """want the base, log it, renew the lease"""
        target = self._proposed(on)
        if target is None or self.revision is None:
            return
        on.in_force, on.revision, on.owner = target.template, self.revision, self.owner_in_force
        on.by_default = self.by_default
        self._desire(target, self.revision, on)
        kind = "adopted" if on.by_default is None else "by_default"
        self._log_divergence(kind, "adopted", on)
        self.renew_at(on.now_us)

    def reapply(self, on: Occurrence) -> None:
        """log it, send the base that the node is to keep, or the desired pipeline, again"""
        # A node that restarted has forgotten which base it was to keep.
        desired = self.kept or self.desired
        if desired is None:
            return
        self.record_revision(on)
        self.reapplied += 1
        if self.rule is not None:
            self.reapply_at_us = on.now_us + self.rule.enforce.retry_failed_rung_ms * 1000
        self.shared.counters.reconciliations["reapplied"] += 1
        name = desired.pipeline["name"]
        on.out.append(
            records.noted(
                "reapplied",
                on.now_us,
                self.key,
                reason=on.reason,
                pipeline=name,
                revision=self.revision,
            )
        )
        self._start(Purpose.REAPPLY, desired, on)

    def drop(self, on: Occurrence) -> None:
        """want the safe pipeline"""
        self.record_revision(on)
        self._desire(None, 0, on)

    def take_over(self, on: Occurrence) -> None:
        """log it, let the base replace the pipeline"""
        self.record_revision(on)
        self._log_divergence("inherited", "inherited", on)
        self._desire(None, 0, on)

    def give_way(self, on: Occurrence) -> None:
        """log it, leave the pipeline of the other controller in force, cool down"""
        # Two controllers that overrule each other would flap.
        self.record_revision(on)
        self._log_divergence("foreign", "foreign_pipeline", on)
        self._desire(None, 0, on)
        self.pause.cool_down(self.rule, on.now_us)

    def _log_divergence(self, kind: str, event: str, on: Occurrence) -> None:
        desired = self.desired
        if desired is None:
            return
        self.shared.counters.reconciliations[kind] += 1
        on.out.append(
            records.noted(
                event,
                on.now_us,
                self.key,
                desired=desired.pipeline["name"],
                desired_revision=desired.revision,
                in_force=on.in_force,
                owner=on.owner,
                revision=on.revision,
                **_of_default(on.by_default),
            )
        )

    def schedule_renewal(self, on: Occurrence) -> None:
        """schedule the next renewal"""
        desired = self.desired
        if desired is not None and not desired.as_safe:
            self.lease.schedule(self.rule, on.now_us)

    def renew(self, on: Occurrence) -> None:
        """send a lease renewal"""
        # Also while unconfirmed: the status report may come later than the lease ends, and the RAN
        # function refuses to renew another revision.
        desired, rule = self.desired, self.rule
        if desired is not None and rule is not None:
            self.lease.schedule(rule, on.now_us)
            lease_ms = rule.enforce.lease_ms
            revision = desired.revision
            on.out.append(self.shared.outbox.renewal(on.now_us, self.key, revision, lease_ms))

    def release_bearer(self, on: Occurrence) -> None:
        """send the initial pipeline"""
        self.lease.released()
        # The answer of a transaction that is on its way is not taken for that of this one.
        self.shared.outbox.forget(self.key)
        # Without a base that is kept, or may be by then, the safe pipeline is that one.
        sent = None if self.transaction is None else self.transaction.target
        base = sent if sent is not None and sent.as_safe else self.kept
        undoes = None if base is None else str(base.pipeline["name"])
        self._start(Purpose.RELEASE, None, on, undoes=undoes)

    def release_idle(self, on: Occurrence) -> None:
        """send the safe pipeline"""
        self.lease.released()
        self._start(Purpose.RELEASE, self.kept, on)

    # --------------------------------------------------------------- effects: end

    def stand_by(self, on: Occurrence) -> None:
        """expect no answers, want nothing"""
        transaction, decision = self.transaction, self.decision
        if transaction is not None and decision is not None and isinstance(on.outcome, Refused):
            on.out.append(records.answered(decision, on.now_us, on.outcome, transaction.attempt))
        self.shared.outbox.forget(self.key)
        self.transaction = self.decision = self.verifier = None
        self.pause.rule_changed(same_rungs=True)
        self.base_unchecked = True
        self._desire(None, 0, on)

    def forget(self, on: Occurrence) -> None:
        """expect no answers, want nothing"""
        self.shared.outbox.forget(self.key)
        self.shared.counters.bearers_gone += 1
        if self.shared.desired.forget(self.key):
            on.out.append(SaveDesired(self.shared.desired.document))

    def forget_and_log(self, on: Occurrence) -> None:
        """expect no answers, want nothing, log it"""
        self.forget(on)
        details = {} if self.decision is None else {"id": self.decision.id}
        on.out.append(records.noted("bearer_gone", on.now_us, self.key, **details))

    def _count_decision(self, decision: Decision, result: str) -> None:
        key = (decision.trigger, decision.rung.template, result)
        self.shared.counters.decisions[key] += 1


def _of_default(by_default: tuple[int, int, int] | None) -> dict[str, Any]:
    if by_default is None:
        return {}
    return {"by_default": dict(zip(("revision", "rule", "age_ms"), by_default, strict=True))}


def _before(rule: Rule, view: BearerView) -> Snapshot:
    since_us = view.at_us - rule.verify.window_ms * 1000
    return snapshot(view, since_us, rule.objective.percentile)
