"""Which base a bearer gets: the first of its rule's that the node supports."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ric.sm import tc

from tc_controller.core.act.decision import Choice, NoChoice, Skipped
from tc_controller.core.inputs import Ie, Pipeline
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.inventory import FlowView
from tc_controller.core.policy.rung import FOR_L4S, Rung
from tc_controller.core.policy.slot import OfBase, OfTrial

#: Why a pipeline is not tried again at once.
FAILED = "rolled back or refused recently"


def choose_base(
    base: Sequence[Rung], failed: Collection[int], flows: FlowView | None, capabilities: Ie | None
) -> Choice | NoChoice:
    """The first of the rule's base pipelines that the node supports; ``failed``: places of those
    that it refused."""
    skipped: list[Skipped] = []
    for index, rung in enumerate(base):
        pipeline = rung.pipeline()
        obstacle = FAILED if index in failed else lacks_l4s(rung, flows)
        obstacle = obstacle or unsupported(pipeline, capabilities)
        if obstacle is None:
            return Choice(OfBase(index), rung, pipeline, tuple(skipped))
        skipped.append(Skipped(index, rung.template, obstacle))
    return NoChoice(tuple(skipped))


def choose_tried(tried: Rung) -> Choice:
    """The pipeline that a trial compares the base with."""
    return Choice(OfTrial(), tried, tried.pipeline())


def lacks_l4s(rung: Rung, flows: FlowView | None) -> str | None:
    """Why a template for L4S traffic would serve nothing."""
    if rung.template not in FOR_L4S or (flows is not None and flows.ect1):
        return None
    return "no ECT(1) traffic seen"


def unsupported(pipeline: Pipeline, capabilities: Ie | None) -> str | None:
    """The part of the pipeline that the RAN function does not support."""
    return None if capabilities is None else tc.unsupported(pipeline, capabilities)


def why_base(view: BearerView) -> str:
    """What leads to the base, as a sentence."""
    why, seen = "the base pipeline of the rule is not in force", view.pipeline
    if seen is not None and seen.owner is not None:
        why += f": {seen.name} of {seen.owner} is"
    return why
