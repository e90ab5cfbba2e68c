"""A choice among the pipelines of a rule, and the decision that it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tc_controller.core.inputs import BearerKey, FlowId, Pipeline
from tc_controller.core.observe.bearer_view import BearerView, Snapshot
from tc_controller.core.policy.rung import Rung
from tc_controller.core.policy.slot import Slot

#: Triggers of decisions that no violation led to.
BASE: Final = "base"
TRIAL: Final = "trial"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A pipeline that was not taken."""

    #: Its place in the base or in the ladder.
    index: int
    template: str
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The pipeline to take."""

    slot: Slot
    rung: Rung
    pipeline: Pipeline
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class NoChoice:
    """No pipeline can be taken."""

    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A decision to be taken."""

    view: BearerView
    choice: Choice | NoChoice
    trigger: str
    #: What led to it, as a sentence.
    why: str
    over_for_us: int = 0
    #: Id of the decision before.
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision to change a bearer's pipeline."""

    id: str
    bearer: BearerKey
    #: Controller time at which handling of the triggering report began.
    at_us: int
    #: base, trial, violation, predicted or climb.
    trigger: str
    slot: Slot
    rung: Rung
    pipeline: Pipeline
    before: Snapshot
    #: Greedy flows at the decision and their rates, kbit/s.
    greedy: dict[FlowId, int]
