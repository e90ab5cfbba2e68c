"""One bearer under control: turns what happens into events of its `lifecycle`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from tc_controller.core.act.decide import (
    BASE,
    TRIAL,
    Facts,
    choose,
    choose_base,
    choose_tried,
    trial_index,
)
from tc_controller.core.act.outbox import Pending, Purpose
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import Divergence, compare, falls_back
from tc_controller.core.act.timers import NEVER
from tc_controller.core.actions import Action
from tc_controller.core.bearer.effects import BearerEffects
from tc_controller.core.bearer.lifecycle import BASED, DECIDING, LIFECYCLE, EffectOf, Event, State
from tc_controller.core.bearer.state import REAPPLIED_IN_VAIN, Occurrence, Proposal, Shared
from tc_controller.core.inputs import (
    Accepted,
    BearerKey,
    Ie,
    Outcome,
    PipelineStatus,
    Refused,
    Unanswered,
)
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.policy.ladder import Rung
from tc_controller.core.policy.schema import Rule
from tc_controller.core.report import records
from tc_controller.core.verify.class_compliance import assess_loss, meter_for, with_rates
from tc_controller.core.verify.compliance import PERIOD_US, Assessment, Compliance, assess, begun
from tc_controller.core.verify.distribution import MINUTES, Counts
from tc_controller.core.verify.service import quality_of
from tc_controller.core.verify.verifier import Judgement, Verdict, Verifier

#: Drain rate for a decision is measured over this.
_DRAIN_SPAN_US = 100_000
_HOUR_US = 3_600_000_000
#: Causes of a refusal that say nothing about the pipeline.
_NOT_OF_THE_PIPELINE = ("stale_revision", "unknown_bearer", "not_owner")

#: Why no control is sent, whatever happens.
WATCH_ONLY: Final = "watch only: the rule has neither base nor ladder"
DRY_RUN: Final = "dry run: decides, sends nothing"
OBSERVING: Final = "observing: sends no control yet"


class BearerControl(BearerEffects):
    """State of one bearer. Methods append what is to be done to ``out``."""

    def __init__(
        self, key: BearerKey, rule: Rule | None, shared: Shared, capabilities: Ie | None
    ) -> None:
        super().__init__(key, rule, shared)
        self.state = State.UNCONTROLLED
        #: `tick` does nothing before this.
        self.wake_at_us = 0
        self._capabilities = capabilities
        self.can_set_safe = capabilities is not None and bool(capabilities.get("as_safe"))
        #: Revision, name and safety of the newest status, if it was as expected and nothing
        #: happened since.
        self._settled_on: tuple[int, str, bool] | None = None
        if self.desired is not None:
            self.state = State.UNCONFIRMED
            # The age of the lease is not known.
            self.renew_at(0)

    def ready(self, now_us: int) -> bool:
        """Whether a violation may be acted on now."""
        return (
            self.state in DECIDING
            and self.rule is not None
            and self._capabilities is not None
            and now_us >= self.pause.until_us
            and bool(self.rule.ladder)
            and self.assigned is None
            and (self.desired is not None or not self.base_due(now_us))
        )

    # -------------------------------------------------------------------- events

    def violated(
        self,
        view: BearerView,
        now_us: int,
        trigger: str,
        out: list[Action],
        *,
        over_for_us: int = 0,
    ) -> None:
        """The objective is violated or a forecast predicts it; to be called while `ready`."""
        proposal = self._propose(view, now_us, trigger, over_for_us, None)
        self._fire(Event.VIOLATION, Occurrence(now_us, out, view, proposal))

    def answered(
        self,
        pending: Pending,
        outcome: Outcome,
        view: BearerView | None,
        now_us: int,
        out: list[Action],
    ) -> None:
        """A control of this bearer was answered, or was not in time."""
        purpose = pending.purpose
        self.shared.counters.controls[(purpose.value, records.result_name(outcome))] += 1
        occurrence = Occurrence(now_us, out, view, outcome=outcome)
        if purpose is Purpose.RENEW:
            refused = isinstance(outcome, Refused)
            self._fire(Event.RENEWAL_REFUSED if refused else Event.RENEWED, occurrence)
            return
        if isinstance(outcome, Accepted):
            self.refusal = None
        elif isinstance(outcome, Refused) and outcome.cause not in _NOT_OF_THE_PIPELINE:
            self.refusal = outcome
        transaction, decision = self.transaction, self.decision
        awaited = self.state is State.AWAITING_ANSWER and purpose is Purpose.APPLY
        if awaited and transaction is not None and decision is not None:
            out.append(records.answered(decision, now_us, outcome, transaction.attempt))
        self._fire(_event_of(outcome), occurrence)

    def status(
        self, status: PipelineView, view: BearerView | None, now_us: int, out: list[Action]
    ) -> None:
        """A status report of the bearer's pipeline."""
        self.packets.see(status)
        occurrence = Occurrence(
            now_us,
            out,
            view,
            revision=status.revision,
            collected_at_us=status.collected_at_us,
            safe_in_force=status.safe,
            digest=status.digest,
            owner=status.owner,
            by_default=status.by_default,
            in_force=status.name,
            reason="safe_pipeline_in_force",
        )
        transaction = self.transaction
        if (
            self.state is State.AWAITING_STATUS
            and transaction is not None
            and transaction.took_effect(status, self.revision)
        ):
            # The answer was lost, not the control.
            occurrence.outcome = Accepted(status.revision, status.lease_left_ms)
            self._fire(Event.TOOK_EFFECT, occurrence)
            return
        desired = self.desired
        if desired is not None:
            occurrence.divergence = compare(desired, status)
            if status.safe and self._falls_back(status.revision, status.name):
                occurrence.divergence = Divergence.BASE
        if self._fire(Event.STATUS, occurrence) is BearerEffects.record_revision:
            self._settled_on = (status.revision, status.name, status.safe)

    @property
    def settled(self) -> bool:
        """Whether the last status report was as expected, and nothing happened since."""
        return self._settled_on is not None

    def repeats(self, status: PipelineStatus, now_us: int) -> bool:
        """Whether `status` would change nothing: the last report said the same, nothing happened to
        the bearer since, and nothing is due."""
        return (
            self._settled_on is not None
            and now_us < self.wake_at_us
            and self._settled_on == (status.revision, status.name, status.safe)
        )

    def observe_status(self, status: PipelineView) -> None:
        """A status report while the controller only observes."""
        self.packets.see(status)
        if self.desired is None:
            self.revision = status.revision
            self.safe_in_force = status.safe
            self.name_in_force = status.name
            self.digest_in_force = status.digest
            self.owner_in_force = status.owner
            self.by_default = status.by_default

    def lease_expired(self, revision: int, now_us: int, out: list[Action]) -> None:
        """The RAN function returned to the safe pipeline at this revision."""
        on = Occurrence(now_us, out, revision=revision, safe_in_force=True, reason="lease_expired")
        kept = self.kept
        if kept is not None and self._falls_back(revision, kept.pipeline["name"]):
            # The event names no pipeline; the lease can only have fallen back to this one.
            on.in_force, on.divergence = kept.pipeline["name"], Divergence.BASE
        self._fire(Event.LEASE_EXPIRED, on)

    def _falls_back(self, revision: int, name: str) -> bool:
        desired, kept = self.desired, self.kept
        return (
            desired is not None and kept is not None and falls_back(desired, kept, revision, name)
        )

    def tick(self, view: BearerView | None, now_us: int, out: list[Action]) -> None:
        """Time passed."""
        verifier = self.verifier
        if self.state is State.VERIFYING and view is not None and verifier is not None:
            judgement = verifier.poll(view, now_us)
            if judgement is not None:
                self._judged(verifier, judgement, view, now_us, out)
        if self.state in (State.HOLDING, State.VERIFYING) and view is not None:
            self.lease.note_drained(self.rule, view.drained_bytes, now_us)
        occurrence = Occurrence(now_us, out, view)
        if view is not None and self.state in BASED and self.base_due(now_us):
            occurrence.proposal = self._propose_base(view, now_us)
        self._fire(Event.TIMER, occurrence)

    def release(self, now_us: int, out: list[Action]) -> None:
        """Return to the initial pipeline, at a stop."""
        self.pause.stop()
        self._fire(Event.RELEASE, Occurrence(now_us, out))

    def disowned(self, outcome: Outcome, now_us: int, out: list[Action]) -> None:
        """Another controller holds the node."""
        self._fire(Event.DISOWNED, Occurrence(now_us, out, outcome=outcome))

    def removed(self, now_us: int, out: list[Action]) -> None:
        """The bearer is gone, and with it what was desired for it."""
        self._fire(Event.REMOVED, Occurrence(now_us, out))

    def _judged(
        self,
        verifier: Verifier,
        judgement: Judgement,
        view: BearerView,
        now_us: int,
        out: list[Action],
    ) -> None:
        decision, verdict = self.decision, judgement.verdict
        if decision is None:
            return
        self.shared.counters.verdicts[verdict.value] += 1
        since_us = verifier.observing_since_us or 0
        out.append(
            records.verified(
                decision,
                now_us,
                judgement,
                settled_us=max(0, since_us - decision.before.at_us),
                expected_us=verifier.expected_settle_us(),
            )
        )
        occurrence = Occurrence(now_us, out, view, verdict=verdict)
        if verdict is Verdict.WORSE:
            self._fire(Event.WORSE, occurrence)
        elif verdict is Verdict.INSUFFICIENT:
            occurrence.proposal = self._propose(view, now_us, "climb", 0, decision.id)
            self._fire(Event.INSUFFICIENT, occurrence)
        else:
            self._fire(Event.SATISFIED, occurrence)

    def _propose(
        self, view: BearerView, now_us: int, trigger: str, over_for_us: int, follows: str | None
    ) -> Proposal | None:
        """The next rung of the ladder; ``None`` without a rule."""
        rule = self.rule
        if rule is None:
            return None
        current = self.desired
        choice = choose(
            rule.ladder,
            None if current is None or current.rung < 0 else current.rung,
            None if current is None else current.pipeline,
            self.pause.skipped(now_us),
            Facts(view.flows, view.drain_kbps(view.at_us - _DRAIN_SPAN_US), self._capabilities),
            climbing=trigger == "climb",
        )
        return Proposal(view, choice, trigger, over_for_us, follows)

    def _propose_base(self, view: BearerView, now_us: int) -> Proposal | None:
        """The base to install; ``None`` without capabilities, or if it is in force already."""
        rule, desired = self.rule, self.desired
        if rule is None or self._capabilities is None:
            return None
        returns = desired is not None and desired.rung == trial_index(rule)
        trigger = BASE if self.assigned is None and not returns else TRIAL
        if trigger == TRIAL and not self.shared.outbox.admits(self.key.node_id, now_us):
            return None
        if self.assigned is None:
            facts = Facts(view.flows, None, self._capabilities)
            choice = choose_base(rule.compiled_base(), self.pause.skipped(now_us), facts)
        else:
            choice = choose_tried(rule, self.assigned)
        self.base_unchecked = False
        if desired is not None and (
            choice.pipeline is None
            or (choice.pipeline, self.installs_safe) == (desired.pipeline, desired.as_safe)
        ):
            return None
        return Proposal(view, choice, trigger, 0, None)

    def assign(self, rung: Rung | None) -> None:
        """Have the pipeline of a trial in force instead of the base; ``None``: the base."""
        self.assigned = rung
        self.base_unchecked = True
        self.wake_at_us = 0

    def assess(
        self,
        view: BearerView | None,
        silent_for_us: int,
        now_us: int,
        out: list[Action],
        recent: Callable[[], Counts],
    ) -> None:
        """Set `assessment`; a change of state is logged with what holds a remedy up and with the
        quality by the bearer's ``recent`` sojourns."""
        while self.transactions_us and now_us - self.transactions_us[0] > _HOUR_US:
            self.transactions_us.popleft()
        if self.rule is None:
            self.assessment, self.delay_assessment, self.meter = None, None, None
            self._judge_classes({}, now_us, out)
            return
        service, delay_us = self.service, None
        if service is not None and view is not None and view.pipeline is not None:
            delay_us = self.packets.add(view.pipeline, view.flows, service, now_us, view.mean_us)
        delay, measured, classes = self._measured(view, self.rule, silent_for_us)
        self.delay_assessment = begun(delay, self.delay_assessment, now_us)
        if service is not None:
            saturated_kbps = None if view is None else self._saturated_kbps(view)
            service.observe(view, measured.state, now_us, delay_us, saturated_kbps)
        desired = self.desired
        in_force = None if desired is None else desired.pipeline
        rated = self.requirement[1].min_mbps is not None
        self.meter = meter_for(self.meter, in_force, self.rule, rate=rated)
        former, self.assessment = self.assessment, begun(measured, self.assessment, now_us)
        assessment = self.assessment
        if former is None or former.state is not assessment.state:
            blocker = self.blocker(now_us) if assessment.state is Compliance.VIOLATED else None
            quality = self._quality(recent())
            self._note_compliance(former, assessment, now_us, out, blocker=blocker, **quality)
        for name, each in classes.items():
            self.shared.counters.class_compliance[(self.rule.name, name, each.state.value)] += 1
        self._judge_classes(classes, now_us, out)

    def _judge_classes(
        self, classes: Mapping[str, Assessment], now_us: int, out: list[Action]
    ) -> None:
        """Set `class_assessments`; a change of state and a class that is no longer are logged."""
        formers, self.class_assessments = self.class_assessments, {}
        for name, each in classes.items():
            before = formers.get(name)
            now = self.class_assessments[name] = begun(each, before, now_us)
            if before is None or before.state is not now.state:
                self._note_compliance(before, now, now_us, out, class_name=name)
        out += [
            records.noted("class_gone", now_us, self.key, class_name=name)
            for name in formers
            if name not in classes
        ]

    def _measured(
        self, view: BearerView | None, rule: Rule, silent_for_us: int
    ) -> tuple[Assessment, Assessment, dict[str, Assessment]]:
        """The last second: of the bearer's delay, of the bearer, and of each class by name."""
        assessment = assess(view, rule.objective, silent_for_us)
        meter = self.meter
        found: list[Assessment | None] = []
        #: A packet that is lost has not come in time.
        late: list[Assessment] = []
        classes: dict[str, Assessment] = {}
        since_us = 0 if view is None else view.at_us - PERIOD_US

        def share_of_cell() -> float | None:
            return None if view is None else view.share_of_cell(since_us)

        if meter is not None:
            rate, classes = meter.assess(rule, self.packets, share_of_cell)
            found.append(rate)
        if view is not None and rule.objective.maximum_mbps is None:
            # Of the flows of no class; each class has its own.
            loss = self.packets.unresponsive_loss(
                lambda queue: meter is None or meter.class_of(queue) == 0
            )
            radio_mbps = (view.drain_kbps(since_us) or 0.0) / 1000
            if (lost := assess_loss(loss, rule.objective, radio_mbps)) is not None:
                late.append(lost)
        others = [each for each in (*found, *late) if each is not None]
        delay = with_rates(assessment, late, {})
        return delay, with_rates(assessment, others, classes), classes

    def _note_compliance(
        self,
        former: Assessment | None,
        now: Assessment,
        now_us: int,
        out: list[Action],
        **details: object,
    ) -> None:
        out.append(
            records.noted(
                "compliance",
                now_us,
                self.key,
                rule=None if self.rule is None else self.rule.name,
                state=now.state.value,
                since_us=now.since_us,
                former=None if former is None else former.state.value,
                reason=now.reason,
                **details,
            )
        )

    def _saturated_kbps(self, view: BearerView) -> float | None:
        """Drain rate of the last second if packets were queued all the time; ``None`` otherwise,
        or if the requirement has no rate."""
        if self.requirement[1].min_mbps is None:
            return None
        since_us = view.at_us - PERIOD_US
        # In the pipeline, whoever's packets they are, or in the RLC.
        asked = (self.meter is not None and self.meter.asked) or view.always_queued(since_us)
        return view.drain_kbps(since_us) if asked else None

    def _quality(self, recent: Counts) -> dict[str, object]:
        name, requirement = self.requirement
        quality = quality_of(requirement, recent)
        score = quality.score
        return {
            "segment_quality": {
                "requirement": name,
                "score": None if score is None else round(score.value, 1),
                "limit": None if score is None else score.limit,
                "samples": quality.samples,
                "window_s": MINUTES * 60,
            }
        }

    def blocker(self, now_us: int) -> str | None:
        """Why no decision is taken now, were the objective violated; ``None``: one would be."""
        blocked = self.blocked(now_us)
        return None if blocked is None else blocked[1]

    def blocked(self, now_us: int) -> tuple[str, str] | None:
        """The same as a word for metrics and as a sentence."""
        rule = self.rule
        if rule is None:
            return "no_rule", "no rule matches the bearer"
        if self._capabilities is None:
            return "no_tc", "the node has no E2SM-TC v1"
        held = self._passive(rule) or self._waiting()
        return held or self._missing(now_us) or self._undecided(rule, now_us)

    def _passive(self, rule: Rule) -> tuple[str, str] | None:
        """Why nothing is ever sent as things are."""
        if rule.watch_only:
            return "watch_only", WATCH_ONLY
        if rule.enforce.dry_run:
            return "dry_run", DRY_RUN
        return None if self.shared.acting else ("observing", OBSERVING)

    def _waiting(self) -> tuple[str, str] | None:
        """Why others come first."""
        if self.role in (Role.CANDIDATE, Role.STANDBY, Role.DUPLICATE):
            return self.role.label, f"{self.role.label}: {self.role.meaning}"
        if self.state not in DECIDING:
            return "in_progress", f"{self.state.label}: {self.state.meaning}"
        return None

    def _undecided(self, rule: Rule, now_us: int) -> tuple[str, str] | None:
        """Why no rung of the ladder is tried now."""
        if self.assigned is not None:
            template = self.assigned.template
            return "trial", f"a trial has {template} in force instead of the base"
        if not rule.ladder:
            return "no_ladder", "the rule has no ladder: its base is all it has"
        if now_us < self.pause.until_us:
            left_s = (self.pause.until_us - now_us) / 1e6
            return "cool_down", f"no decision for another {left_s:.1f} s"
        return None

    def _missing(self, now_us: int) -> tuple[str, str] | None:
        """Why the pipeline of the rule is not in force; ``None``: it is, or there is none."""
        if self.reapplied >= REAPPLIED_IN_VAIN:
            stays = f"the node accepts pipelines, but {self.name_in_force} stays in force"
            return "not_applied", stays
        if self.desired is None and self.refusal is not None:
            return "refused", f"the node refused the last pipeline: {self.refusal.cause}"
        if self.desired is None and self.base_due(now_us):
            return "base_due", "the base pipeline is about to be installed"
        return None

    # ------------------------------------------------- what is no event of the lifecycle

    def rule_changed(self, rule: Rule | None) -> None:
        """Another rule, or none, holds from now on."""
        old, self.rule = self.rule, rule
        same_rungs = (
            old is not None
            and rule is not None
            and (old.compiled_base(), old.ladder) == (rule.compiled_base(), rule.ladder)
        )
        self.pause.rule_changed(same_rungs=same_rungs)
        self.base_unchecked = True
        desired = self.desired
        if desired is None or rule is None:
            return
        # The rung in force is found by its template; a template the new ladder lacks counts as
        # below it.
        rungs = [] if desired.as_safe else [rung.template for rung in rule.ladder]
        index = rungs.index(desired.template) if desired.template in rungs else -1
        if old is not None and desired.rung == trial_index(old):
            index = trial_index(rule)
        self.shared.desired.put(replace(desired, rule=rule.name, rung=index))

    def hold_off(self, until_us: int) -> None:
        """Take no decision before this."""
        self.pause.extend(until_us)

    def violation_ended(self) -> None:
        """The bearer meets its objective again."""
        self.pause.violation_ended()

    def schedule(self, now_us: int) -> None:
        """Set when `tick` is next of use; to be called after anything happened to the bearer."""
        if self.state is State.AWAITING_ANSWER:
            self.wake_at_us = NEVER
        elif (
            self.state in (State.VERIFYING, State.AWAITING_STATUS)
            or (self.state in BASED and self.base_due(now_us))
            or self.keeps_unwanted(now_us)
            or self._may_release()
        ):
            self.wake_at_us = 0
        else:
            waits = (self.pause.until_us, self.pause.base_until_us)
            self.wake_at_us = min([self.lease.renew_at_us, *(at for at in waits if at > now_us)])

    def _may_release(self) -> bool:
        """Whether a pipeline in force may have to be released."""
        rule = self.rule
        return self.desired is not None and (
            rule is None or rule.enforce.release_idle_after_ms is not None
        )

    def _fire(self, event: Event, on: Occurrence) -> EffectOf | None:
        """Take the first transition whose guard holds; returns its effect."""
        self._settled_on = None
        for transition in LIFECYCLE[self.state, event]:
            if transition.guard is None or transition.guard(self, on):
                transition.effect(self, on)
                self.state = transition.target
                return transition.effect
        return None


def _event_of(outcome: Outcome) -> Event:
    if isinstance(outcome, Accepted):
        return Event.ACCEPTED
    if isinstance(outcome, Unanswered):
        return Event.UNANSWERED
    return Event.STALE if outcome.cause == "stale_revision" else Event.REFUSED
