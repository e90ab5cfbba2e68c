"""Rows of the table that is the life of a bearer: a guard, an effect, the next state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer, Occurrence
from tc_controller.core.bearer.states import Event, State


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition, in words and as a function."""

    words: str
    holds: Callable[[Bearer, Occurrence], bool]


@dataclass(frozen=True, slots=True)
class Effect:
    """What is done, in words and as a function."""

    words: str
    run: Callable[[Bearer, Occurrence], list[Action]]


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table."""

    state: State
    event: Event
    #: ``None``: always.
    guard: Guard | None
    effect: Effect
    target: State
    #: Why the event is ignored; empty: it is not.
    ignored: str = ""
