"""The life of one bearer under control: decide → act → verify → hold, climb or roll back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tc_controller.core import decision as records
from tc_controller.core.act import Outbox, Pending, Purpose
from tc_controller.core.actions import Action, SaveDesired
from tc_controller.core.counters import Counters
from tc_controller.core.decide import Choice, Facts, choose, reasons
from tc_controller.core.decision import Decision
from tc_controller.core.inputs import Accepted, BearerKey, Ie, Outcome, Refused, Unanswered
from tc_controller.core.look import Look, Snapshot, snapshot
from tc_controller.core.patience import Patience
from tc_controller.core.pipeline_view import PipelineView
from tc_controller.core.policy import Rule
from tc_controller.core.reconcile import Desired, DesiredStore, Divergence, compare
from tc_controller.core.task import Phase, Task
from tc_controller.core.tenure import NEVER, Tenure
from tc_controller.core.verify import Judgement, Verdict, Verifier

#: Drain rate for a decision is measured over this.
_DRAIN_SPAN_US = 100_000
#: Status reports in a row that must show another pipeline before it counts as lost: one may have
#: been on its way when ours took effect.
_DIVERGED_REPORTS = 3
#: How long a status report is waited for before a retry goes without.
_REREAD_US = 500_000


@dataclass(frozen=True, slots=True)
class Shared:
    """What the bearers of a controller share."""

    outbox: Outbox
    desired: DesiredStore
    counters: Counters
    next_decision_id: Callable[[], str]


class BearerFlow:
    """State of one bearer. Methods append what is to be done to ``out``."""

    def __init__(
        self, key: BearerKey, rule: Rule | None, shared: Shared, capabilities: Ie | None
    ) -> None:
        self.key = key
        self.rule = rule
        self._shared = shared
        self._capabilities = capabilities
        self.phase = Phase.WATCHING
        self.revision: int | None = None
        self.decision: Decision | None = None
        self._previous: Desired | None = None
        self._task: Task | None = None
        self._verifier: Verifier | None = None
        self._accepted_at_us = 0
        self._patience = Patience()
        self._tenure = Tenure()
        self._unreconciled = shared.desired.get(key) is not None
        if self._unreconciled:
            # How old the lease is nobody here knows.
            self._tenure.renew(0)
        self._diverged = 0
        #: Nothing happens at `tick` before this.
        self.wake_at_us = 0

    # ------------------------------------------------------------------- reading

    def ready(self, now_us: int) -> bool:
        """Whether a violation may be acted on now."""
        return (
            self.rule is not None
            and self._capabilities is not None
            and self.phase is Phase.WATCHING
            and now_us >= self._patience.until_us
            and not self._unreconciled
            and bool(self.rule.ladder)
        )

    @property
    def controlled(self) -> bool:
        """Whether a pipeline of ours is in force."""
        return self._shared.desired.get(self.key) is not None

    # ------------------------------------------------------------------ deciding

    def decide(
        self,
        look: Look,
        now_us: int,
        trigger: str,
        out: list[Action],
        *,
        over_for_us: int = 0,
        follows: str | None = None,
    ) -> None:
        """Take the next rung of the ladder."""
        rule = self.rule
        if rule is None:
            return
        current = self._shared.desired.get(self.key)
        facts = Facts(look.flows, look.drain_kbps(look.at_us - _DRAIN_SPAN_US), self._capabilities)
        choice = choose(
            rule.ladder,
            None if current is None or current.rung < 0 else current.rung,
            None if current is None else current.pipeline,
            self._patience.failed(now_us),
            facts,
        )
        if choice.rung is None or choice.pipeline is None:
            self._no_rung(rule, look, choice, now_us, out, trigger=trigger)
            return
        before = self._before(rule, look)
        greedy = (
            {}
            if look.flows is None
            else {flow.five_tuple: flow.rate_kbps for flow in look.flows.greedy}
        )
        decision = Decision(
            id=self._shared.next_decision_id(),
            bearer=self.key,
            at_us=now_us,
            trigger=trigger,
            index=choice.index,
            rung=choice.rung,
            pipeline=choice.pipeline,
            before=before,
            greedy=greedy,
        )
        out.append(
            records.decided(
                decision,
                rule,
                flows=look.flows,
                skipped=choice.skipped,
                expected_revision=self.revision,
                over_for_us=over_for_us,
                follows=follows,
                reasons=reasons(trigger, choice, rule, look, over_for_us),
            )
        )
        if rule.enforce.dry_run:
            self._shared.counters.decisions[(trigger, choice.rung.template, "dry_run")] += 1
            self._patience.cool(self.rule, now_us)
            return
        self.decision = decision
        self._previous = current
        target = Desired(
            self.key, rule.name, choice.index, choice.rung.template, choice.pipeline, 0
        )
        self._start(Purpose.APPLY, target, now_us, out)

    def _no_rung(
        self,
        rule: Rule,
        look: Look,
        choice: Choice,
        now_us: int,
        out: list[Action],
        *,
        trigger: str,
    ) -> None:
        """Nothing to take now. What a rung waits for, a flow inventory for one, may be there soon:
        look again, ever more rarely."""
        if self._patience.no_rung(rule, now_us):
            before = self._before(rule, look)
            out.append(records.no_rung(now_us, self.key, rule, before, choice.skipped))
            self._shared.counters.decisions[(trigger, "none", "no_rung")] += 1

    @staticmethod
    def _before(rule: Rule, look: Look) -> Snapshot:
        since_us = look.at_us - rule.verify.window_ms * 1000
        return snapshot(look, since_us, rule.objective.percentile)

    def wait(self, until_us: int) -> None:
        """No decision before this."""
        self._patience.wait(until_us)

    def violation_ended(self) -> None:
        """The bearer is within its objective again."""
        self._patience.violation_ended()

    # -------------------------------------------------------------------- acting

    def _start(
        self, purpose: Purpose, target: Desired | None, now_us: int, out: list[Action]
    ) -> None:
        self._task = Task(purpose, target)
        self._send(now_us, out)

    def _send(self, now_us: int, out: list[Action]) -> None:
        task = self._task
        if task is None:
            return
        lease_ms = None if self.rule is None else self.rule.enforce.lease_ms
        self.phase = Phase.WAITING
        self._tenure.pause()
        out.append(
            self._shared.outbox.transaction(
                now_us,
                self.key,
                task.purpose,
                task.pipeline,
                expected_revision=self.revision,
                lease_ms=lease_ms,
            )
        )

    def answered(
        self, pending: Pending, outcome: Outcome, look: Look | None, now_us: int, out: list[Action]
    ) -> None:
        """A control of this bearer was answered (or never will be)."""
        purpose = pending.purpose
        self._shared.counters.controls[(purpose.value, records.result_name(outcome))] += 1
        if purpose is Purpose.RENEW:
            self._renewed(outcome, now_us)
            return
        task = self._task
        if task is None or self.phase is not Phase.WAITING:
            return
        if purpose is Purpose.APPLY and self.decision is not None:
            out.append(records.answered(self.decision, now_us, outcome, task.attempt))
        if isinstance(outcome, Accepted):
            self._accepted(task, outcome, look, now_us, out)
        elif isinstance(outcome, Unanswered) or outcome.cause == "stale_revision":
            self._retry(task, outcome, now_us, out)
        else:
            self._refused(task, outcome, now_us, out)

    def _accepted(
        self, task: Task, outcome: Accepted, look: Look | None, now_us: int, out: list[Action]
    ) -> None:
        self.revision = outcome.revision
        self._accepted_at_us = now_us
        self._diverged = 0
        self._task = None
        self.phase = Phase.WATCHING
        self._want(task.target, outcome.revision, now_us, out)
        decision, rule = self.decision, self.rule
        if task.purpose is Purpose.APPLY and decision is not None and rule is not None:
            self._count_decision(decision, "accepted")
            if look is not None:
                self.phase = Phase.VERIFYING
                self._verifier = Verifier(rule, decision.before, decision.greedy, look, now_us)
        elif task.purpose is Purpose.ROLL_BACK:
            self._note_rollback(task, outcome, now_us, out)
        elif task.purpose is Purpose.RELEASE:
            out.append(records.noted("released", now_us, self.key, revision=outcome.revision))

    def _want(self, target: Desired | None, revision: int, now_us: int, out: list[Action]) -> None:
        """``target`` is in force at ``revision``."""
        if target is None:
            self._shared.desired.drop(self.key)
            self._tenure.pause()
        else:
            self._shared.desired.put(
                Desired(
                    self.key, target.rule, target.rung, target.template, target.pipeline, revision
                )
            )
            self._tenure.begin(self.rule, now_us)
        out.append(SaveDesired(self._shared.desired.document()))

    def _retry(self, task: Task, outcome: Outcome, now_us: int, out: list[Action]) -> None:
        retries = 0 if self.rule is None else self.rule.enforce.stale_retries
        if task.attempt > retries:
            self._give_up(task, outcome, now_us, out)
            return
        task.attempt += 1
        task.min_revision = outcome.revision or 0 if isinstance(outcome, Refused) else 0
        task.give_up_waiting_at_us = now_us + _REREAD_US
        self.phase = Phase.REREADING

    def _refused(self, task: Task, outcome: Refused, now_us: int, out: list[Action]) -> None:
        """The RAN function will not have it; asking again would not help."""
        self._give_up(task, outcome, now_us, out)
        if task.purpose is Purpose.APPLY and outcome.cause != "unknown_bearer":
            # The next rung may be tried at once: nothing changed, so nothing needs to cool.
            self._patience.end(now_us)

    def _give_up(self, task: Task, outcome: Outcome, now_us: int, out: list[Action]) -> None:
        self._task = None
        self.phase = Phase.WATCHING
        self._patience.cool(self.rule, now_us)
        if task.purpose is Purpose.APPLY and self.decision is not None:
            self._count_decision(self.decision, records.result_name(outcome))
            self._patience.fail(self.decision.index, self.rule, now_us)
            self.decision = None
            if self.controlled:
                self._tenure.renew(now_us)
            return
        if task.purpose is Purpose.ROLL_BACK:
            self._note_rollback(task, outcome, now_us, out)
        # Without renewal the lease brings the safe pipeline back.
        self._want(None, 0, now_us, out)

    def _renewed(self, outcome: Outcome, now_us: int) -> None:
        if self.phase is Phase.WAITING or not self.controlled:
            return
        if isinstance(outcome, Refused):
            # Not ours any more; the next status report says whose.
            self._unreconciled = True
        self._tenure.begin(self.rule, now_us)

    # ------------------------------------------------------------------- reports

    def watch(self, view: PipelineView) -> None:
        """A status report while only watching."""
        if not self.controlled:
            self.revision = view.revision

    def status(self, view: PipelineView, look: Look | None, now_us: int, out: list[Action]) -> None:
        """A status report of the bearer's pipeline."""
        if self.phase is Phase.REREADING:
            self._reread(view, look, now_us, out)
            return
        if self.phase is Phase.WAITING:
            return
        desired = self._shared.desired.get(self.key)
        if desired is None:
            self.revision = view.revision
            self._unreconciled = False
            return
        divergence = compare(desired, view)
        if divergence is Divergence.NONE:
            self._diverged = 0
            self.revision = view.revision
            if self._unreconciled:
                self._unreconciled = False
                self._shared.counters.reconciliations["adopted"] += 1
                out.append(self._note("adopted", now_us, desired, view))
                self._tenure.renew(now_us)
            return
        self._diverged += 1
        if self._unreconciled or self._diverged >= _DIVERGED_REPORTS:
            self._lost(divergence, desired, view, now_us, out)

    def lease_expired(self, revision: int, now_us: int, out: list[Action]) -> None:
        """An event says that the safe pipeline is back."""
        desired = self._shared.desired.get(self.key)
        if desired is None or self.phase in (Phase.WAITING, Phase.REREADING):
            return
        if revision > desired.revision:
            self.revision = revision
            self._reapply(desired, "lease_expired", now_us, out)

    def _lost(
        self,
        divergence: Divergence,
        desired: Desired,
        view: PipelineView,
        now_us: int,
        out: list[Action],
    ) -> None:
        self._unreconciled = False
        self._diverged = 0
        self._verifier = None
        self.phase = Phase.WATCHING
        self.revision = view.revision
        if divergence is Divergence.SAFE:
            self._reapply(desired, "safe_pipeline_in_force", now_us, out)
            return
        self._shared.counters.reconciliations["foreign"] += 1
        out.append(self._note("foreign_pipeline", now_us, desired, view))
        self._want(None, 0, now_us, out)
        self._patience.cool(self.rule, now_us)

    def _reapply(self, desired: Desired, reason: str, now_us: int, out: list[Action]) -> None:
        if self.rule is None or self.rule.enforce.dry_run:
            self._want(None, 0, now_us, out)
            return
        self._verifier = None
        self._shared.counters.reconciliations["reapplied"] += 1
        out.append(
            records.noted(
                "reapplied",
                now_us,
                self.key,
                reason=reason,
                pipeline=desired.pipeline["name"],
                revision=self.revision,
            )
        )
        self._start(Purpose.REAPPLY, desired, now_us, out)

    def _reread(
        self, view: PipelineView, look: Look | None, now_us: int, out: list[Action]
    ) -> None:
        task = self._task
        if task is None or view.revision < task.min_revision:
            return
        took_effect = task.took_effect(view, self.revision)
        self.revision = view.revision
        if took_effect:
            # The answer was lost, not the control.
            self._accepted(task, Accepted(view.revision, view.lease_left_ms), look, now_us, out)
            return
        self._send(now_us, out)

    # ---------------------------------------------------------------------- time

    def tick(self, look: Look | None, now_us: int, out: list[Action]) -> None:
        """Time passed."""
        if self.phase is Phase.REREADING:
            task = self._task
            if task is not None and now_us >= task.give_up_waiting_at_us:
                # Better unchecked than not at all: the transaction carries a whole pipeline.
                self.revision = task.min_revision or None
                self._send(now_us, out)
        elif self.phase is Phase.VERIFYING and look is not None and self._verifier is not None:
            judgement = self._verifier.poll(look, now_us)
            if judgement is not None:
                self._judged(judgement, look, now_us, out)
        if self.phase in (Phase.WATCHING, Phase.VERIFYING):
            self._keep(look, now_us, out)

    def _keep(self, look: Look | None, now_us: int, out: list[Action]) -> None:
        """Renew the lease, or release what is not needed any more."""
        desired = self._shared.desired.get(self.key)
        if desired is None:
            return
        rule = self.rule
        if not self._unreconciled and (rule is None or self._idle_too_long(rule, look, now_us)):
            self._tenure.released()
            self.release(now_us, out)
        elif rule is not None and now_us >= self._tenure.renew_at_us:
            # Also while what is in force has not been read: its report may come later than the
            # lease ends. The RAN function refuses the renewal of another revision.
            lease_ms = rule.enforce.lease_ms
            self._tenure.begin(rule, now_us)
            out.append(self._shared.outbox.renewal(now_us, self.key, desired.revision, lease_ms))

    def _idle_too_long(self, rule: Rule, look: Look | None, now_us: int) -> bool:
        return look is not None and self._tenure.idle_too_long(rule, look.drained_bytes, now_us)

    def release(self, now_us: int, out: list[Action]) -> None:
        """Return to the safe pipeline."""
        if self.controlled:
            self._verifier = None
            self._start(Purpose.RELEASE, None, now_us, out)

    def _judged(self, judgement: Judgement, look: Look, now_us: int, out: list[Action]) -> None:
        decision, verifier = self.decision, self._verifier
        if decision is None or verifier is None:
            return
        self._verifier = None
        self.phase = Phase.WATCHING
        self._shared.counters.verdicts[judgement.verdict.value] += 1
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
        if judgement.verdict is Verdict.WORSE:
            self._roll_back(decision, now_us, out)
        elif judgement.verdict is Verdict.INSUFFICIENT:
            self.decide(look, now_us, "climb", out, follows=decision.id)

    def _roll_back(self, decision: Decision, now_us: int, out: list[Action]) -> None:
        rule = self.rule
        self._patience.fail(decision.index, rule, now_us)
        to_safe = rule is None or rule.guard.rollback_to == "safe"
        self._start(Purpose.ROLL_BACK, None if to_safe else self._previous, now_us, out)

    def _note_rollback(self, task: Task, outcome: Outcome, now_us: int, out: list[Action]) -> None:
        self._patience.cool(self.rule, now_us)
        if self.decision is None:
            return
        to = "safe" if task.pipeline is None else str(task.pipeline["name"])
        cool_ms = 0 if self.rule is None else self.rule.enforce.cool_down_ms
        out.append(records.rolled_back(self.decision, now_us, to, outcome, cool_ms))
        self._count_decision(self.decision, "rolled_back")
        self.decision = None

    # --------------------------------------------------------------------- other

    def govern(self, rule: Rule | None) -> None:
        """Another rule (or none) holds from now on."""
        old, self.rule = self.rule, rule
        same_ladder = old is not None and rule is not None and old.ladder == rule.ladder
        self._patience.govern(same_ladder=same_ladder)
        desired = self._shared.desired.get(self.key)
        if desired is None or rule is None:
            return
        # The rung in force is found by its template; a template the new ladder lacks counts as
        # below it.
        index = next(
            (i for i, rung in enumerate(rule.ladder) if rung.template == desired.template), -1
        )
        self._shared.desired.put(
            Desired(
                self.key, rule.name, index, desired.template, desired.pipeline, desired.revision
            )
        )

    def gone(self, now_us: int, out: list[Action]) -> None:
        """The bearer is gone, and with it what was wanted of it."""
        self._shared.outbox.forget(self.key)
        self._shared.counters.bearers_gone += 1
        wanted = self._shared.desired.drop(self.key)
        if wanted or self.phase is not Phase.WATCHING:
            details = {} if self.decision is None else {"id": self.decision.id}
            out.append(records.noted("bearer_gone", now_us, self.key, **details))
        if wanted:
            out.append(SaveDesired(self._shared.desired.document()))

    def _count_decision(self, decision: Decision, result: str) -> None:
        key = (decision.trigger, decision.rung.template, result)
        self._shared.counters.decisions[key] += 1

    def schedule(self, now_us: int) -> None:
        """Set when `tick` is next of use; to be called after anything happened to the bearer."""
        if self.phase in (Phase.VERIFYING, Phase.REREADING) or self._must_look():
            self.wake_at_us = 0
        elif self.phase is Phase.WAITING:
            self.wake_at_us = NEVER
        elif self._patience.until_us > now_us:
            self.wake_at_us = min(self._tenure.renew_at_us, self._patience.until_us)
        else:
            self.wake_at_us = self._tenure.renew_at_us

    def _must_look(self) -> bool:
        """Whether a pipeline in force may have to be released."""
        rule = self.rule
        return self.controlled and (rule is None or rule.enforce.release_idle_after_ms is not None)

    def _note(self, event: str, now_us: int, desired: Desired, view: PipelineView) -> Action:
        return records.noted(
            event,
            now_us,
            self.key,
            desired=desired.pipeline["name"],
            desired_revision=desired.revision,
            in_force=view.name,
            revision=view.revision,
        )
