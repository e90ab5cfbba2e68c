"""Turns reports, answers and time into events of a bearer, and runs the table of its life."""

from __future__ import annotations

from dataclasses import replace

from tc_controller.core.act.base import choose_base, choose_tried, why_base
from tc_controller.core.act.decision import BASE, TRIAL, Choice, Proposal
from tc_controller.core.act.outbox import Pending, Purpose
from tc_controller.core.act.reconcile import Divergence, compare, falls_back
from tc_controller.core.act.timers import NEVER
from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer, Occurrence
from tc_controller.core.bearer.effects import RECORD_REVISION
from tc_controller.core.bearer.lifecycle import Lifecycle
from tc_controller.core.bearer.states import FREE, Event, State
from tc_controller.core.bearer.transition import Transition
from tc_controller.core.inputs import Accepted, Outcome, Refused, Unanswered
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.in_force import InForce, shown_by
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import OfBase, OfTrial, Slot
from tc_controller.core.report import records

#: Causes of a refusal that say nothing about the pipeline.
_NOT_OF_THE_PIPELINE = ("stale_revision", "unknown_bearer", "not_owner")


class BearerEvents:
    """Runs the lives of bearers by one table; each event returns what is to be carried out."""

    def __init__(self, table: Lifecycle) -> None:
        self._table = table

    def fire(self, bearer: Bearer, event: Event, on: Occurrence) -> list[Action]:
        """Take the first transition whose guard holds."""
        return self._take(self._next(bearer, event, on), bearer, on)

    def _next(self, bearer: Bearer, event: Event, on: Occurrence) -> Transition:
        rows = self._table[bearer.state, event]
        return next(row for row in rows if row.guard is None or row.guard.holds(bearer, on))

    def _take(self, transition: Transition, bearer: Bearer, on: Occurrence) -> list[Action]:
        bearer.settled_on = None
        bearer.touch()
        actions = transition.effect.run(bearer, on)
        bearer.state = transition.target
        return actions

    def answered(
        self,
        bearer: Bearer,
        pending: Pending,
        outcome: Outcome,
        view: BearerView | None,
        now_us: int,
    ) -> list[Action]:
        """A control of the bearer was answered, or was not in time."""
        purpose, change = pending.purpose, bearer.change
        counters = bearer.shared.counters
        counters.controls[(purpose.value, records.result_name(outcome))] += 1
        on = Occurrence(now_us, view, outcome=outcome)
        if purpose is Purpose.RENEW:
            refused = isinstance(outcome, Refused)
            return self.fire(bearer, Event.RENEWAL_REFUSED if refused else Event.RENEWED, on)
        if isinstance(outcome, Accepted):
            change.refusal = None
        elif isinstance(outcome, Refused) and outcome.cause not in _NOT_OF_THE_PIPELINE:
            change.refusal = outcome
        actions: list[Action] = []
        transaction, decision = change.transaction, change.decision
        awaited = bearer.state is State.AWAITING_ANSWER and purpose is Purpose.APPLY
        if awaited and transaction is not None and decision is not None:
            actions.append(records.answered(decision, now_us, outcome, transaction.attempt))
        return actions + self.fire(bearer, _event_of(outcome), on)

    def status(
        self, bearer: Bearer, status: PipelineView, view: BearerView | None, now_us: int
    ) -> list[Action]:
        """A status report of the bearer's pipeline."""
        bearer.judged.packets.see(status)
        on = Occurrence(
            now_us,
            view,
            shown=shown_by(status),
            collected_at_us=status.collected_at_us,
            reason="safe_pipeline_in_force",
        )
        transaction = bearer.change.transaction
        if (
            bearer.state is State.AWAITING_STATUS
            and transaction is not None
            and transaction.took_effect(status, bearer.seen.revision)
        ):
            # The answer was lost, not the control.
            on.outcome = Accepted(status.revision, status.lease_left_ms)
            return self.fire(bearer, Event.TOOK_EFFECT, on)
        desired = bearer.desired
        if desired is not None:
            on.divergence = compare(desired, status)
            if status.safe and _falls_back(bearer, status.revision, status.name):
                on.divergence = Divergence.BASE
        transition = self._next(bearer, Event.STATUS, on)
        actions = self._take(transition, bearer, on)
        if transition.effect is RECORD_REVISION:
            bearer.settled_on = (status.revision, status.name, status.safe)
        return actions

    def lease_expired(self, bearer: Bearer, revision: int, now_us: int) -> list[Action]:
        """The RAN function returned to the safe pipeline at this revision."""
        shown = InForce(revision, safe=True)
        on = Occurrence(now_us, shown=shown, reason="lease_expired")
        kept = bearer.kept
        if kept is not None and _falls_back(bearer, revision, kept.pipeline["name"]):
            # The event names no pipeline; the lease can only have fallen back to this one.
            on.shown = replace(shown, name=kept.pipeline["name"])
            on.divergence = Divergence.BASE
        return self.fire(bearer, Event.LEASE_EXPIRED, on)

    def tick(self, bearer: Bearer, view: BearerView | None, now_us: int) -> list[Action]:
        """Time passed."""
        if bearer.state in (State.HOLDING, State.VERIFYING) and view is not None:
            bearer.lease.note_drained(bearer.rule, view.drained_bytes, now_us)
        on = Occurrence(now_us, view)
        if view is not None and bearer.state in FREE and bearer.base_due(now_us):
            on.proposal = _propose_base(bearer, view, now_us)
        return self.fire(bearer, Event.TIMER, on)

    def release(self, bearer: Bearer, now_us: int) -> list[Action]:
        """Return to the initial pipeline, at a stop."""
        bearer.pause.stop()
        return self.fire(bearer, Event.RELEASE, Occurrence(now_us))

    def disowned(self, bearer: Bearer, outcome: Outcome, now_us: int) -> list[Action]:
        """Another controller holds the node."""
        return self.fire(bearer, Event.DISOWNED, Occurrence(now_us, outcome=outcome))

    def removed(self, bearer: Bearer, now_us: int) -> list[Action]:
        """The bearer is gone, and with it what was desired for it."""
        return self.fire(bearer, Event.REMOVED, Occurrence(now_us))


def repeats(bearer: Bearer, status: PipelineView, now_us: int) -> bool:
    """Whether `status` would change nothing: the last report said the same, nothing happened to
    the bearer since, and nothing is due."""
    return (
        bearer.settled_on is not None
        and now_us < bearer.wake_at_us
        and bearer.settled_on == (status.revision, status.name, status.safe)
    )


def observe_status(bearer: Bearer, status: PipelineView) -> None:
    """A status report while the controller only observes."""
    bearer.judged.packets.see(status)
    if bearer.desired is None:
        bearer.seen = shown_by(status)


def rule_changed(bearer: Bearer, rule: Rule | None) -> None:
    """Another rule, or none, holds from now on."""
    old, bearer.rule = bearer.rule, rule
    same_rungs = (
        old is not None
        and rule is not None
        and (old.compiled_base(), old.ladder) == (rule.compiled_base(), rule.ladder)
    )
    bearer.pause.rule_changed(same_rungs=same_rungs)
    bearer.base_unchecked, bearer.returned = True, False
    desired = bearer.desired
    if desired is not None and rule is not None:
        slot: Slot = OfBase()
        if old is not None and isinstance(desired.slot, OfTrial):
            slot = desired.slot
        elif not desired.as_safe:
            slot = rule.slot_of(desired.template)
        bearer.shared.desired.put(replace(desired, rule=rule.name, slot=slot))


def schedule(bearer: Bearer, now_us: int) -> None:
    """Set when `BearerEvents.tick` is next of use; to be called after anything happened."""
    state, pause = bearer.state, bearer.pause
    if state is State.AWAITING_ANSWER:
        bearer.wake_at_us = NEVER
    elif (
        state in (State.VERIFYING, State.AWAITING_STATUS)
        or (state in FREE and bearer.base_due(now_us))
        or bearer.keeps_unwanted(now_us)
        or bearer.inherits_unwanted(now_us)
        or _may_release(bearer)
    ):
        bearer.wake_at_us = 0
    else:
        waits = (pause.until_us, pause.base_until_us)
        bearer.wake_at_us = min([bearer.lease.renew_at_us, *(at for at in waits if at > now_us)])


def _may_release(bearer: Bearer) -> bool:
    """Whether a pipeline in force may have to be released."""
    rule = bearer.rule
    return bearer.desired is not None and (
        rule is None or rule.watch_only or rule.enforce.release_idle_after_ms is not None
    )


def _falls_back(bearer: Bearer, revision: int, name: str) -> bool:
    desired, kept = bearer.desired, bearer.kept
    return desired is not None and kept is not None and falls_back(desired, kept, revision, name)


def _propose_base(bearer: Bearer, view: BearerView, now_us: int) -> Proposal | None:
    """The base to install; ``None`` without capabilities, or if it is in force already."""
    rule, desired, assigned = bearer.rule, bearer.desired, bearer.assigned
    if rule is None or bearer.capabilities is None:
        return None
    returns = desired is not None and isinstance(desired.slot, OfTrial)
    trigger = BASE if assigned is None and not returns else TRIAL
    if trigger == TRIAL and not bearer.shared.outbox.admits(bearer.key.node_id, now_us):
        return None
    if assigned is None:
        skipped = bearer.pause.skipped(now_us)
        failed = {slot.index for slot in skipped if isinstance(slot, OfBase)}
        choice = choose_base(rule.compiled_base(), failed, view.flows, bearer.capabilities)
    else:
        choice = choose_tried(assigned)
    bearer.base_unchecked = False
    if desired is not None and (
        not isinstance(choice, Choice)
        or (choice.pipeline, bearer.installs_safe) == (desired.pipeline, desired.as_safe)
    ):
        return None
    why = why_base(view)
    if trigger == TRIAL and isinstance(choice, Choice):
        why = f"the trial of the rule has {choice.rung.template} in force now"
    return Proposal(view, choice, trigger, why)


def _event_of(outcome: Outcome) -> Event:
    if isinstance(outcome, Accepted):
        return Event.ACCEPTED
    if isinstance(outcome, Unanswered):
        return Event.UNANSWERED
    return Event.STALE if outcome.cause == "stale_revision" else Event.REFUSED
