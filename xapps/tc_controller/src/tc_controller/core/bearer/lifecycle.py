"""The life of one bearer under control, as a table: state × event → guard, effect, next state.

`tc_controller.core.bearer.events` runs a table and changes a bearer's state nowhere else. This one
is that of a bearer with a base; rows for other pipelines stand before its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from tc_controller.core.bearer import effects, guards
from tc_controller.core.bearer.states import Event, State
from tc_controller.core.bearer.transition import Effect, Guard, Transition

#: Guard, effect, next state; ``None`` as next state: the same.
Row: TypeAlias = tuple[Guard | None, Effect, State | None]
#: The rows of a state and event, in the order in which their guards are tried.
Lifecycle: TypeAlias = Mapping[tuple[State, Event], tuple[Transition, ...]]

OWN: Final = (State.UNCONFIRMED, State.HOLDING)
AWAITING: Final = (State.AWAITING_ANSWER, State.AWAITING_STATUS)
SETTLED: Final = (State.UNCONTROLLED, *OWN)


def at(states: Iterable[State], events: Iterable[Event], *rows: Row) -> list[Transition]:
    """The rows for each of these states and events."""
    return [
        Transition(state, event, guard, effect, target or state)
        for state in states
        for event in events
        for guard, effect, target in rows
    ]


def ignore(states: Iterable[State], events: Iterable[Event], why: str) -> list[Transition]:
    """Rows of events that change nothing."""
    return [
        Transition(state, event, None, effects.NOTHING, state, why)
        for state in states
        for event in events
    ]


def by_state_and_event(transitions: Iterable[Transition]) -> Lifecycle:
    """A table from its rows."""
    grouped: dict[tuple[State, Event], list[Transition]] = defaultdict(list)
    for transition in transitions:
        grouped[transition.state, transition.event].append(transition)
    return {key: tuple(rows) for key, rows in grouped.items()}


_NOTHING: Final[Row] = (None, effects.NOTHING, None)
APPLY: Final[Row] = (guards.FOUND, effects.APPLY_RUNG, State.AWAITING_ANSWER)
_RETRY: Final[Row] = (guards.ATTEMPTS_LEFT, effects.AWAIT_STATUS, State.AWAITING_STATUS)
_FAILED: Final[tuple[Row, ...]] = (
    (guards.REPLACES, effects.SKIP_RUNG, State.HOLDING),
    (guards.APPLIES, effects.SKIP_RUNG, State.UNCONTROLLED),
    (None, effects.ABANDON, State.UNCONTROLLED),
)
_FELL_BACK: Final[Row] = (guards.FELL_BACK, effects.KEEP_BASE, State.HOLDING)
_LOST: Final[tuple[Row, ...]] = (
    (guards.HELD_BACK, effects.NOTHING, None),
    (guards.LOST, effects.REAPPLY, State.AWAITING_ANSWER),
    (guards.SAFE, effects.DROP, State.UNCONTROLLED),
    (guards.INHERITED, effects.TAKE_OVER, State.UNCONTROLLED),
    (None, effects.GIVE_WAY, State.UNCONTROLLED),
)
#: A status report while a pipeline of this controller is in force.
HELD: Final[tuple[Row, ...]] = (
    (guards.MATCHES, effects.RECORD_REVISION, None),
    _FELL_BACK,
    (guards.LATE, effects.IGNORE_LATE, None),
    (guards.TRANSIENT, effects.COUNT_DIVERGENCE, None),
    *_LOST,
)
#: The end of its lease.
EXPIRED: Final[tuple[Row, ...]] = (
    (guards.OUTDATED, effects.NOTHING, None),
    _FELL_BACK,
    (guards.MAY_REAPPLY, effects.REAPPLY, State.AWAITING_ANSWER),
    (None, effects.DROP, State.UNCONTROLLED),
)
RENEWED: Final[Row] = (None, effects.SCHEDULE_RENEWAL, None)
_BASE: Final[tuple[Row, ...]] = ((guards.DRY_RUN, effects.LOG_DRY_RUN, None), APPLY)
UNWANTED: Final[tuple[Row, ...]] = (
    (guards.UNWANTED, effects.RELEASE_BEARER, State.AWAITING_ANSWER),
    (guards.BASE_UNWANTED, effects.RELEASE_BEARER, State.AWAITING_ANSWER),
    (guards.IDLE, effects.RELEASE_IDLE, State.AWAITING_ANSWER),
)
RENEWAL: Final[tuple[Row, ...]] = ((guards.RENEWAL_DUE, effects.RENEW, None), _NOTHING)
RELEASE: Final[Row] = (None, effects.RELEASE_BEARER, State.AWAITING_ANSWER)
STAND_BY: Final[Row] = (None, effects.STAND_BY, State.UNCONTROLLED)
REMOVED: Final[Row] = (None, effects.FORGET_AND_LOG, State.GONE)

TRANSITIONS: Final[tuple[Transition, ...]] = (
    # Act.
    *(
        transition
        for state, event in (
            (State.AWAITING_ANSWER, Event.ACCEPTED),
            (State.AWAITING_STATUS, Event.TOOK_EFFECT),
        )
        for transition in at(
            (state,),
            (event,),
            (guards.INSTALLS, effects.SETTLE, State.HOLDING),
            (None, effects.SETTLE, State.UNCONTROLLED),
        )
    ),
    *at((State.AWAITING_ANSWER,), (Event.REFUSED,), *_FAILED),
    *at((State.AWAITING_ANSWER,), (Event.STALE, Event.UNANSWERED), _RETRY, *_FAILED),
    *ignore(
        (*SETTLED, State.AWAITING_STATUS),
        (Event.ACCEPTED, Event.REFUSED, Event.STALE, Event.UNANSWERED),
        "no answer is awaited",
    ),
    *ignore((*SETTLED, State.AWAITING_ANSWER), (Event.TOOK_EFFECT,), "no status is awaited"),
    # Reconcile.
    *at((State.UNCONTROLLED,), (Event.STATUS,), (None, effects.RECORD_REVISION, None)),
    *at(
        (State.UNCONFIRMED,),
        (Event.STATUS,),
        (guards.MATCHES, effects.ADOPT, State.HOLDING),
        (guards.FOUND_AGAIN, effects.ADOPT, State.HOLDING),
        _FELL_BACK,
        *_LOST,
    ),
    *at((State.HOLDING,), (Event.STATUS,), *HELD),
    *ignore((State.AWAITING_ANSWER,), (Event.STATUS,), "the answer gives the revision"),
    *at(
        (State.AWAITING_STATUS,),
        (Event.STATUS,),
        (guards.OUTDATED, effects.NOTHING, None),
        (None, effects.RESEND, State.AWAITING_ANSWER),
    ),
    *at(OWN, (Event.LEASE_EXPIRED,), *EXPIRED),
    *ignore((State.UNCONTROLLED,), (Event.LEASE_EXPIRED,), "no pipeline of ours was in force"),
    *ignore(AWAITING, (Event.LEASE_EXPIRED,), "a transaction is under way"),
    # Keep.
    *at(OWN, (Event.RENEWED,), RENEWED),
    *at(OWN, (Event.RENEWAL_REFUSED,), (None, effects.SCHEDULE_RENEWAL, State.UNCONFIRMED)),
    *ignore(
        (State.UNCONTROLLED, *AWAITING),
        (Event.RENEWED, Event.RENEWAL_REFUSED),
        "the lease is not renewed in this state",
    ),
    *at((State.UNCONFIRMED,), (Event.TIMER,), *RENEWAL),
    *at((State.HOLDING,), (Event.TIMER,), *UNWANTED, *_BASE, *RENEWAL),
    *at(
        (State.UNCONTROLLED,),
        (Event.TIMER,),
        (guards.BASE_FOUND, effects.ADOPT_BASE, State.HOLDING),
        (guards.BASE_UNWANTED, effects.RELEASE_BEARER, State.AWAITING_ANSWER),
        (guards.INHERITED_UNWANTED, effects.RELEASE_BEARER, State.AWAITING_ANSWER),
        *_BASE,
        (guards.BASE_MISSING, effects.WAIT_FOR_BASE, None),
        _NOTHING,
    ),
    *at(
        (State.AWAITING_STATUS,),
        (Event.TIMER,),
        (guards.STATUS_OVERDUE, effects.RESEND_UNREPORTED, State.AWAITING_ANSWER),
        _NOTHING,
    ),
    *ignore((State.AWAITING_ANSWER,), (Event.TIMER,), "the control has a time-out of its own"),
    # End.
    *at(OWN, (Event.RELEASE,), RELEASE),
    *at(
        AWAITING,
        (Event.RELEASE,),
        (guards.CONTROLLED, effects.RELEASE_BEARER, State.AWAITING_ANSWER),
        _NOTHING,
    ),
    *at(
        (State.UNCONTROLLED,),
        (Event.RELEASE,),
        (guards.KEEPS, effects.RELEASE_BEARER, State.AWAITING_ANSWER),
        _NOTHING,
    ),
    *at((*OWN, *AWAITING), (Event.DISOWNED,), STAND_BY),
    *ignore((State.UNCONTROLLED,), (Event.DISOWNED,), "no pipeline of ours is in force"),
    *at((State.UNCONTROLLED,), (Event.REMOVED,), (None, effects.FORGET, State.GONE)),
    *at((*OWN, *AWAITING), (Event.REMOVED,), REMOVED),
)
