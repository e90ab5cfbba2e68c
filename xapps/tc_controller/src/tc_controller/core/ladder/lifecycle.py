"""The life of a bearer whose rule has a ladder: rows before those of a bearer with a base.

A violation leads to a rung; so does the base on a bearer that violates its objective. The benefit
of the change is measured while its state is `VERIFYING`, in which it is held as in `HOLDING`.
"""

from __future__ import annotations

from typing import Final

from tc_controller.core.act.decision import BASE, TRIAL
from tc_controller.core.act.outbox import Purpose
from tc_controller.core.actions import Action
from tc_controller.core.bearer import effects, guards
from tc_controller.core.bearer.bearer import Bearer, Occurrence
from tc_controller.core.bearer.lifecycle import (
    APPLY,
    AWAITING,
    EXPIRED,
    HELD,
    RELEASE,
    REMOVED,
    RENEWAL,
    RENEWED,
    STAND_BY,
    UNWANTED,
    at,
    by_state_and_event,
    ignore,
)
from tc_controller.core.bearer.lifecycle import (
    TRANSITIONS as OF_BASE,
)
from tc_controller.core.bearer.states import Event, State
from tc_controller.core.bearer.transition import Effect, Guard, Transition
from tc_controller.core.ladder.verifier import Verifier


def _is_verifiable(bearer: Bearer, on: Occurrence) -> bool:
    rule, decision = bearer.rule, bearer.change.decision
    if not bearer.change.applies or rule is None or on.view is None or decision is None:
        return False
    if decision.trigger == TRIAL:
        # The trial measures it, against more than one moment before.
        return False
    sojourn_us = decision.before.sojourn_us or 0.0
    return decision.trigger != BASE or sojourn_us > rule.objective.bound_ms * 1000.0


def _start_verification(bearer: Bearer, on: Occurrence) -> list[Action]:
    actions = effects.settle(bearer, on)
    decision, rule, view = bearer.change.decision, bearer.rule, on.view
    if decision is not None and rule is not None and view is not None:
        bearer.verification = Verifier(rule, decision.before, decision.greedy, view, on.now_us)
    return actions


def _back_off(bearer: Bearer, on: Occurrence) -> list[Action]:
    # What a rung needs, a flow inventory for one, may be there soon.
    rule = bearer.rule
    if on.proposal is None or rule is None or not bearer.pause.back_off(rule, on.now_us):
        return []
    return effects.log_no_choice(bearer, on)


def _note_help(bearer: Bearer, on: Occurrence) -> list[Action]:
    if bearer.change.decision is not None and on.satisfied:
        bearer.pause.helped(bearer.change.decision.slot)
    return []


def _roll_back(bearer: Bearer, on: Occurrence) -> list[Action]:
    change, rule = bearer.change, bearer.rule
    if change.decision is not None:
        bearer.pause.skip(change.decision.slot, rule, on.now_us)
    to_safe = rule is None or rule.guard.rollback_to == "safe"
    target = None if to_safe else change.previous
    return effects.start(bearer, on, Purpose.ROLL_BACK, target or bearer.kept)


VERIFIABLE: Final = Guard(
    "a rung was applied to a bearer that violates; RLC reports are there to verify it with",
    _is_verifiable,
)
START_VERIFICATION: Final = Effect(
    "store as desired what is in force now, start to verify", _start_verification
)
BACK_OFF: Final = Effect("log once that no rung can be tried, wait longer each time", _back_off)
NOTE_HELP: Final = Effect(
    "if the objective is met, forget earlier failures of the rung", _note_help
)
ROLL_BACK: Final = Effect("skip the rung for a while, send the pipeline of before", _roll_back)

_VERDICTS: Final = (Event.SATISFIED, Event.INSUFFICIENT, Event.WORSE)
_VERIFYING: Final = (State.VERIFYING,)

_ROWS: Final[tuple[Transition, ...]] = (
    # Decide.
    *at(
        (State.UNCONTROLLED, State.HOLDING),
        (Event.VIOLATION,),
        (guards.DRY_RUN, effects.LOG_DRY_RUN, None),
        APPLY,
        (None, BACK_OFF, None),
    ),
    *ignore((State.UNCONFIRMED,), (Event.VIOLATION,), "what is in force is not known yet"),
    *ignore((State.VERIFYING, *AWAITING), (Event.VIOLATION,), "a change is under way"),
    # Verify.
    *(
        Transition(state, event, VERIFIABLE, START_VERIFICATION, State.VERIFYING)
        for state, event in (
            (State.AWAITING_ANSWER, Event.ACCEPTED),
            (State.AWAITING_STATUS, Event.TOOK_EFFECT),
        )
    ),
    *at(_VERIFYING, (Event.SATISFIED,), (None, NOTE_HELP, State.HOLDING)),
    *at(
        _VERIFYING,
        (Event.INSUFFICIENT,),
        (guards.DRY_RUN, effects.LOG_DRY_RUN, State.HOLDING),
        APPLY,
        (None, BACK_OFF, State.HOLDING),
    ),
    *at(
        _VERIFYING,
        (Event.WORSE,),
        (guards.IS_BASE, effects.NOTHING, State.HOLDING),
        (None, ROLL_BACK, State.AWAITING_ANSWER),
    ),
    *ignore(
        (State.UNCONTROLLED, State.UNCONFIRMED, State.HOLDING, *AWAITING),
        _VERDICTS,
        "nothing is being verified",
    ),
    # Hold meanwhile.
    *ignore(
        _VERIFYING,
        (Event.ACCEPTED, Event.REFUSED, Event.STALE, Event.UNANSWERED),
        "no answer is awaited",
    ),
    *ignore(_VERIFYING, (Event.TOOK_EFFECT,), "no status is awaited"),
    *at(_VERIFYING, (Event.STATUS,), *HELD),
    *at(_VERIFYING, (Event.LEASE_EXPIRED,), *EXPIRED),
    *at(_VERIFYING, (Event.RENEWED,), RENEWED),
    *at(_VERIFYING, (Event.RENEWAL_REFUSED,), (None, effects.EXPECT_DIVERGENCE, None)),
    *at(_VERIFYING, (Event.TIMER,), *UNWANTED, *RENEWAL),
    *at(_VERIFYING, (Event.RELEASE,), RELEASE),
    *at(_VERIFYING, (Event.DISOWNED,), STAND_BY),
    *at(_VERIFYING, (Event.REMOVED,), REMOVED),
)

TRANSITIONS: Final[tuple[Transition, ...]] = (*_ROWS, *OF_BASE)
LIFECYCLE: Final = by_state_and_event(TRANSITIONS)
