"""The life of one bearer under control, as a table: state × event → guard, effect, next state.

`tc_controller.core.bearer.control` runs this table and changes a bearer's state nowhere else;
``tc-controller states`` prints and draws it.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tc_controller.core.bearer.effects import BearerEffects
from tc_controller.core.bearer.state import Occurrence


class State(enum.Enum):
    """What is in force on the bearer, and what is awaited."""

    UNCONTROLLED = "uncontrolled", "No pipeline of this controller is in force."
    UNCONFIRMED = (
        "unconfirmed",
        "A pipeline is desired (from the state file, or from before the node restarted); no status "
        "report has shown yet what is in force.",
    )
    HOLDING = "holding", "A pipeline of this controller is in force; its lease is renewed."
    AWAITING_ANSWER = "awaiting answer", "A transaction was sent."
    AWAITING_STATUS = (
        "awaiting status",
        "A transaction was stale or not answered; the next status report gives the revision.",
    )
    VERIFYING = "verifying", "A change took effect; its benefit is measured."
    GONE = "gone", "The bearer was removed. Final."

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


class Event(enum.Enum):
    """What happens to a bearer."""

    VIOLATION = "violation", "The objective is violated, or a forecast predicts it."
    ACCEPTED = "accepted", "The RAN function accepted the transaction."
    TOOK_EFFECT = "took effect", "A status report shows that an unanswered transaction took effect."
    REFUSED = "refused", "The RAN function refused the transaction."
    STALE = "stale", "The RAN function refused the transaction: its expected revision is old."
    UNANSWERED = "unanswered", "The transaction was not answered in time."
    RENEWED = "renewed", "A lease renewal was accepted or not answered."
    RENEWAL_REFUSED = "renewal refused", "A lease renewal was refused: the revision is another."
    STATUS = "status", "A status report of the bearer's pipeline."
    LEASE_EXPIRED = "lease expired", "The RAN function reports that it returned to safe."
    SATISFIED = "satisfied", "Verdict: objective met, or too few reports for a verdict."
    INSUFFICIENT = "insufficient", "Verdict: no harm, but the objective is still violated."
    WORSE = "worse", "Verdict: the guard measured harm."
    TIMER = "timer", "Time passed: leases, idleness and waits are checked."
    RELEASE = (
        "release",
        "The controller stops and returns bearers to their initial pipelines.",
    )
    DISOWNED = "disowned", "Another controller holds the node."
    REMOVED = "removed", "The bearer is gone."

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


#: A condition, and what is done; `label` prints them.
GuardOf = Callable[[BearerEffects, Occurrence], bool]
EffectOf = Callable[[BearerEffects, Occurrence], None]


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table."""

    state: State
    event: Event
    #: ``None``: always.
    guard: GuardOf | None
    effect: EffectOf
    target: State
    #: Why the event is ignored; empty: it is not.
    ignored: str = ""


#: Guard, effect, next state; ``None`` as next state: the same.
_Row = tuple[GuardOf | None, EffectOf, State | None]

_B = BearerEffects
_OWN: Final = (State.UNCONFIRMED, State.HOLDING, State.VERIFYING)
_AWAITING: Final = (State.AWAITING_ANSWER, State.AWAITING_STATUS)
_SETTLED: Final = (State.UNCONTROLLED, *_OWN)
_VERDICTS: Final = (Event.SATISFIED, Event.INSUFFICIENT, Event.WORSE)


def _on(states: Iterable[State], events: Iterable[Event], *rows: _Row) -> list[Transition]:
    return [
        Transition(state, event, guard, effect, target or state)
        for state in states
        for event in events
        for guard, effect, target in rows
    ]


def _ignore(states: Iterable[State], events: Iterable[Event], why: str) -> list[Transition]:
    return [
        Transition(state, event, None, _B.nothing, state, why)
        for state in states
        for event in events
    ]


_RUNG: Final[_Row] = (_B.rung_found, _B.apply_rung, State.AWAITING_ANSWER)
_RETRY: Final[_Row] = (_B.attempts_left, _B.await_status, State.AWAITING_STATUS)
_FAILED: Final[tuple[_Row, ...]] = (
    (_B.replaces, _B.skip_rung, State.HOLDING),
    (_B.applies, _B.skip_rung, State.UNCONTROLLED),
    (None, _B.abandon, State.UNCONTROLLED),
)
_TRANSIENT: Final[_Row] = (_B.transient, _B.count_divergence, None)
_FELL_BACK: Final[_Row] = (_B.fell_back, _B.keep_base, State.HOLDING)
_LOST: Final[tuple[_Row, ...]] = (
    (_B.held_back, _B.nothing, None),
    (_B.lost, _B.reapply, State.AWAITING_ANSWER),
    (_B.safe, _B.drop, State.UNCONTROLLED),
    (_B.inherited, _B.take_over, State.UNCONTROLLED),
    (None, _B.give_way, State.UNCONTROLLED),
)
_LATE: Final[_Row] = (_B.late, _B.ignore_late, None)
_BASE: Final[tuple[_Row, ...]] = (
    (_B.dry_run, _B.log_dry_run, None),
    (_B.rung_found, _B.apply_rung, State.AWAITING_ANSWER),
)
_RELEASE: Final[_Row] = (None, _B.release_bearer, State.AWAITING_ANSWER)
_UNWANTED: Final[tuple[_Row, ...]] = (
    (_B.unmatched, _B.release_bearer, State.AWAITING_ANSWER),
    (_B.base_unwanted, _B.release_bearer, State.AWAITING_ANSWER),
    (_B.idle, _B.release_idle, State.AWAITING_ANSWER),
)
_RENEWAL: Final[tuple[_Row, ...]] = (
    (_B.renewal_due, _B.renew, None),
    (None, _B.nothing, None),
)

TRANSITIONS: Final[tuple[Transition, ...]] = (
    # Decide.
    *_on(
        (State.UNCONTROLLED, State.HOLDING),
        (Event.VIOLATION,),
        (_B.dry_run, _B.log_dry_run, None),
        _RUNG,
        (None, _B.back_off, None),
    ),
    *_ignore((State.UNCONFIRMED,), (Event.VIOLATION,), "what is in force is not known yet"),
    *_ignore((State.VERIFYING, *_AWAITING), (Event.VIOLATION,), "a change is under way"),
    # Act.
    *(
        transition
        for state, event in (
            (State.AWAITING_ANSWER, Event.ACCEPTED),
            (State.AWAITING_STATUS, Event.TOOK_EFFECT),
        )
        for transition in _on(
            (state,),
            (event,),
            (_B.verifiable, _B.start_verification, State.VERIFYING),
            (_B.installs, _B.settle, State.HOLDING),
            (None, _B.settle, State.UNCONTROLLED),
        )
    ),
    *_on((State.AWAITING_ANSWER,), (Event.REFUSED,), *_FAILED),
    *_on((State.AWAITING_ANSWER,), (Event.STALE, Event.UNANSWERED), _RETRY, *_FAILED),
    *_ignore(
        (*_SETTLED, State.AWAITING_STATUS),
        (Event.ACCEPTED, Event.REFUSED, Event.STALE, Event.UNANSWERED),
        "no answer is awaited",
    ),
    *_ignore((*_SETTLED, State.AWAITING_ANSWER), (Event.TOOK_EFFECT,), "no status is awaited"),
    # Verify.
    *_on((State.VERIFYING,), (Event.SATISFIED,), (None, _B.note_help, State.HOLDING)),
    *_on(
        (State.VERIFYING,),
        (Event.INSUFFICIENT,),
        (_B.dry_run, _B.log_dry_run, State.HOLDING),
        _RUNG,
        (None, _B.back_off, State.HOLDING),
    ),
    *_on(
        (State.VERIFYING,),
        (Event.WORSE,),
        (_B.is_base, _B.nothing, State.HOLDING),
        (None, _B.roll_back, State.AWAITING_ANSWER),
    ),
    *_ignore(
        (State.UNCONTROLLED, State.UNCONFIRMED, State.HOLDING, *_AWAITING),
        _VERDICTS,
        "nothing is being verified",
    ),
    # Reconcile.
    *_on((State.UNCONTROLLED,), (Event.STATUS,), (None, _B.record_revision, None)),
    *_on(
        (State.UNCONFIRMED,),
        (Event.STATUS,),
        (_B.matches, _B.adopt, State.HOLDING),
        (_B.found, _B.adopt, State.HOLDING),
        _FELL_BACK,
        *_LOST,
    ),
    *_on(
        (State.HOLDING, State.VERIFYING),
        (Event.STATUS,),
        (_B.matches, _B.record_revision, None),
        _FELL_BACK,
        _LATE,
        _TRANSIENT,
        *_LOST,
    ),
    *_ignore((State.AWAITING_ANSWER,), (Event.STATUS,), "the answer gives the revision"),
    *_on(
        (State.AWAITING_STATUS,),
        (Event.STATUS,),
        (_B.outdated, _B.nothing, None),
        (None, _B.resend, State.AWAITING_ANSWER),
    ),
    *_on(
        _OWN,
        (Event.LEASE_EXPIRED,),
        (_B.outdated, _B.nothing, None),
        _FELL_BACK,
        (_B.may_reapply, _B.reapply, State.AWAITING_ANSWER),
        (None, _B.drop, State.UNCONTROLLED),
    ),
    *_ignore((State.UNCONTROLLED,), (Event.LEASE_EXPIRED,), "no pipeline of ours was in force"),
    *_ignore(_AWAITING, (Event.LEASE_EXPIRED,), "a transaction is under way"),
    # Keep.
    *_on(_OWN, (Event.RENEWED,), (None, _B.schedule_renewal, None)),
    *_on(
        (State.UNCONFIRMED, State.HOLDING),
        (Event.RENEWAL_REFUSED,),
        (None, _B.schedule_renewal, State.UNCONFIRMED),
    ),
    *_on((State.VERIFYING,), (Event.RENEWAL_REFUSED,), (None, _B.expect_divergence, None)),
    *_ignore(
        (State.UNCONTROLLED, *_AWAITING),
        (Event.RENEWED, Event.RENEWAL_REFUSED),
        "the lease is not renewed in this state",
    ),
    *_on((State.UNCONFIRMED,), (Event.TIMER,), *_RENEWAL),
    *_on((State.HOLDING, State.VERIFYING), (Event.TIMER,), *_UNWANTED),
    *_on((State.HOLDING,), (Event.TIMER,), *_BASE),
    *_on((State.HOLDING, State.VERIFYING), (Event.TIMER,), *_RENEWAL),
    *_on(
        (State.UNCONTROLLED,),
        (Event.TIMER,),
        (_B.base_found, _B.adopt_base, State.HOLDING),
        (_B.base_unwanted, _B.release_bearer, State.AWAITING_ANSWER),
        *_BASE,
        (_B.base_missing, _B.wait_for_base, None),
        (None, _B.nothing, None),
    ),
    *_on(
        (State.AWAITING_STATUS,),
        (Event.TIMER,),
        (_B.status_overdue, _B.resend_unreported, State.AWAITING_ANSWER),
        (None, _B.nothing, None),
    ),
    *_ignore((State.AWAITING_ANSWER,), (Event.TIMER,), "the control has a time-out of its own"),
    # End.
    *_on(_OWN, (Event.RELEASE,), _RELEASE),
    *_on(
        _AWAITING,
        (Event.RELEASE,),
        (_B.controlled, _B.release_bearer, State.AWAITING_ANSWER),
        (None, _B.nothing, None),
    ),
    *_on(
        (State.UNCONTROLLED,),
        (Event.RELEASE,),
        (_B.keeps, _B.release_bearer, State.AWAITING_ANSWER),
        (None, _B.nothing, None),
    ),
    *_on((*_OWN, *_AWAITING), (Event.DISOWNED,), (None, _B.stand_by, State.UNCONTROLLED)),
    *_ignore((State.UNCONTROLLED,), (Event.DISOWNED,), "no pipeline of ours is in force"),
    *_on((State.UNCONTROLLED,), (Event.REMOVED,), (None, _B.forget, State.GONE)),
    *_on((*_OWN, *_AWAITING), (Event.REMOVED,), (None, _B.forget_and_log, State.GONE)),
)


def _by_state_and_event() -> Mapping[tuple[State, Event], tuple[Transition, ...]]:
    grouped: dict[tuple[State, Event], list[Transition]] = defaultdict(list)
    for transition in TRANSITIONS:
        grouped[transition.state, transition.event].append(transition)
    return {key: tuple(rows) for key, rows in grouped.items()}


#: The rows of a state and event, in the order in which their guards are tried.
LIFECYCLE: Final = _by_state_and_event()
#: States in which a violation leads to a decision.
DECIDING: Final = frozenset(
    transition.state
    for transition in TRANSITIONS
    if transition.event is Event.VIOLATION and transition.effect is _B.apply_rung
)
#: States in which the base of the rule may be installed.
BASED: Final = frozenset(
    transition.state
    for transition in TRANSITIONS
    if transition.event is Event.TIMER and transition.effect is _B.apply_rung
)
