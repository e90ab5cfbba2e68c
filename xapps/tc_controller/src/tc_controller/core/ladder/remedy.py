"""Tries the rungs of ladders on the bearers of a node: on a violation that is measured or forecast,
and again when a rung was verified not to suffice."""

from __future__ import annotations

from tc_controller.core.act.decision import Proposal
from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer, Occurrence, Shared
from tc_controller.core.bearer.states import FREE, Event, State
from tc_controller.core.inputs import BearerKey, ForecastReport
from tc_controller.core.ladder.choose import Facts, choose
from tc_controller.core.ladder.predict import Predictor
from tc_controller.core.ladder.verifier import Judgement, Verdict, Verifier, verified
from tc_controller.core.node.node import Node
from tc_controller.core.observe.bearer_view import BearerView, standing_us
from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import OfLadder
from tc_controller.core.report import records

#: Drain rate for a decision is measured over this.
_DRAIN_SPAN_US = 100_000
#: A violation attributed to a pause of the radio is checked again after this.
_PAUSE_US = 20_000


class LadderRemedy:
    """The ladders of the bearers of one node."""

    def __init__(self, node: Node, shared: Shared) -> None:
        self._node = node
        self._shared = shared
        self.restart()

    def restart(self) -> None:
        """The windows of the node begin anew."""
        self._predictor = Predictor()
        #: Slots whose bearer may be acted on.
        self._ready: set[int] = set()

    # -------------------------------------------------------------------- inputs

    def reported(self, now_us: int) -> list[Action]:
        """An RLC report was taken in."""
        node = self._node
        actions: list[Action] = []
        if not node.acts or not node.windows.any_violating:
            return []
        for slot in self._decidable():
            bearer = node.at(slot)
            if bearer is not None and not self._radio_pauses(bearer, now_us):
                over_us = node.windows.over_for_us(slot)
                actions += self._decide(bearer, now_us, "violation", over_us)
        return actions

    def forecast(self, report: ForecastReport, now_us: int) -> list[Action]:
        """Forecasts of bearers."""
        node = self._node
        actions: list[Action] = []
        if not node.acts:
            return []
        for forecast in report.forecasts:
            key = BearerKey(node.node_id, forecast.rnti, forecast.drb)
            bearer, view = node.bearers.get(key), node.view(key)
            if bearer is None or view is None or bearer.rule is None:
                continue
            unknown, is_new = self._predictor.unknown(bearer.rule, report.quantiles)
            if unknown is not None:
                self._shared.counters.ignored["forecast_quantile"] += 1
                if is_new:
                    name = bearer.rule.name
                    actions.append(records.prediction_unknown(node.node_id, now_us, name, unknown))
                continue
            if bearer.desired is not None:
                continue
            drain_kbps = view.drain_kbps(view.at_us - _DRAIN_SPAN_US)
            predicted = self._predictor.step(
                key, forecast, report.quantiles, bearer.rule.objective, drain_kbps
            )
            if predicted and _is_ready(bearer, now_us):
                self._predictor.forget(key)
                actions += self._decide(bearer, now_us, "predicted", 0)
        return actions

    def tick(self, bearer: Bearer, view: BearerView | None, now_us: int) -> list[Action]:
        """Time passed for a bearer."""
        verifier = bearer.verification
        if bearer.state is not State.VERIFYING or view is None:
            return []
        if not isinstance(verifier, Verifier):
            return []
        judgement = verifier.poll(view, now_us)
        if judgement is None:
            return []
        return self._judged(bearer, verifier, judgement, view, now_us)

    def sync(self, bearer: Bearer, slot: int, now_us: int) -> None:
        """Anything happened to the bearer of a slot."""
        if _is_ready(bearer, now_us):
            self._ready.add(slot)
        else:
            self._ready.discard(slot)

    def forget(self, key: BearerKey, slot: int | None) -> None:
        """A bearer is gone."""
        self._predictor.forget(key)
        if slot is not None:
            self._ready.discard(slot)

    # -------------------------------------------------------------------- decide

    def _decidable(self) -> list[int]:
        """Slots of the bearers that violate their objective and may be acted on."""
        return [slot for slot in self._node.windows.violating() if slot in self._ready]

    def _radio_pauses(self, bearer: Bearer, now_us: int) -> bool:
        """Whether a controlled bearer waits for the radio, not behind a queue.

        The bytes in front of an ungreedy packet would drain within the bound while the radio serves
        it, so under another pipeline it would wait as long.
        """
        view = self._node.view(bearer.key)
        if view is None or bearer.rule is None or bearer.desired is None:
            return False
        bound_us = bearer.rule.objective.bound_ms * 1000.0
        if standing_us(view.standing_bytes, view.serving_kbps) > bound_us:
            return False
        self._shared.counters.ignored["radio_pause"] += 1
        bearer.pause.extend(now_us + _PAUSE_US)
        self._node.sync(bearer, now_us)
        return True

    def _decide(self, bearer: Bearer, now_us: int, trigger: str, over_us: int) -> list[Action]:
        """The objective is violated or a forecast predicts it, and the bearer is ready."""
        node = self._node
        view = node.view(bearer.key)
        if view is None or not self._shared.outbox.admits(node.node_id, now_us):
            return []
        proposal = _propose(bearer, view, now_us, trigger, over_for_us=over_us)
        actions = node.events.fire(bearer, Event.VIOLATION, Occurrence(now_us, view, proposal))
        node.sync(bearer, now_us)
        return actions

    # -------------------------------------------------------------------- verify

    def _judged(
        self,
        bearer: Bearer,
        verifier: Verifier,
        judgement: Judgement,
        view: BearerView,
        now_us: int,
    ) -> list[Action]:
        decision, verdict = bearer.change.decision, judgement.verdict
        if decision is None:
            return []
        self._shared.counters.verdicts[verdict.value] += 1
        since_us = verifier.observing_since_us or 0
        record = verified(
            decision,
            now_us,
            judgement,
            settled_us=max(0, since_us - decision.before.at_us),
            expected_us=verifier.expected_settle_us(),
        )
        on = Occurrence(now_us, view, satisfied=verdict is Verdict.SATISFIED)
        event = Event.SATISFIED
        if verdict is Verdict.WORSE:
            event = Event.WORSE
        elif verdict is Verdict.INSUFFICIENT:
            event = Event.INSUFFICIENT
            on.proposal = _propose(bearer, view, now_us, "climb", follows=decision.id)
        return [record, *self._node.events.fire(bearer, event, on)]


def _is_ready(bearer: Bearer, now_us: int) -> bool:
    """Whether a violation may be acted on now."""
    return (
        bearer.state in FREE
        and bearer.rule is not None
        and bearer.capabilities is not None
        and now_us >= bearer.pause.until_us
        and bool(bearer.rule.ladder)
        and bearer.assigned is None
        and (bearer.desired is not None or not bearer.base_due(now_us))
    )


def _propose(
    bearer: Bearer,
    view: BearerView,
    now_us: int,
    trigger: str,
    *,
    over_for_us: int = 0,
    follows: str | None = None,
) -> Proposal | None:
    """The next rung of the ladder; ``None`` without a rule."""
    rule, current = bearer.rule, bearer.desired
    if rule is None:
        return None
    slot = None if current is None else current.slot
    skipped = bearer.pause.skipped(now_us)
    choice = choose(
        rule.ladder,
        slot.index if isinstance(slot, OfLadder) else None,
        None if current is None else current.pipeline,
        {each.index for each in skipped if isinstance(each, OfLadder)},
        Facts(view.flows, view.drain_kbps(view.at_us - _DRAIN_SPAN_US), bearer.capabilities),
        climbing=trigger == "climb",
    )
    why = _why(trigger, rule, view, over_for_us)
    return Proposal(view, choice, trigger, why, over_for_us, follows)


def _why(trigger: str, rule: Rule, view: BearerView, over_for_us: int) -> str:
    """What leads to a rung, as a sentence."""
    bound = rule.objective.bound_ms
    if trigger == "violation":
        return (
            f"sojourn {view.sojourn_us / 1000:.1f} ms, above {bound:g} ms for "
            f"{over_for_us / 1000:g} ms (RLC mean {view.mean_us / 1000:.1f} ms)"
        )
    if trigger == "predicted":
        return f"the forecast sojourn exceeds {bound:g} ms"
    return f"sojourn still above {bound:g} ms under the previous rung"
