"""Which v0 controls may be on the way at once.

Where the next leaves before the last is answered, it may find the last refused. So a control waits
for those that it needs: it joins those on the way if a node that took none of them could take it.
Whichever of them are refused then, what is left is a pipeline a node can run, and it is known from
the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flexric_bridge.tc import v0
from flexric_bridge.tc.v0 import Message, State


def stages(before: State, steps: Iterable[Message]) -> list[list[Message]]:
    """The controls of a plan for `before`, in order, cut where one has to wait."""
    cut: list[list[Message]] = []
    at_start = state = before
    for step in steps:
        if not cut or _removes(step) != _removes(cut[-1][-1]) or not _taken(at_start, step):
            at_start = state
            cut.append([])
        cut[-1].append(step)
        state = v0.apply(state, step)
    return cut


def after(before: State, steps: Sequence[Message], acknowledged: Sequence[bool]) -> State:
    """The pipeline when those were sent for which there is an answer."""
    state = before
    for step, yes in zip(steps, acknowledged, strict=False):
        if yes:
            state = v0.apply(state, step)
    return state


def _removes(step: Message) -> bool:
    """What other controls may have led packets away from waits for them, and they for it."""
    return (step["type"], step["act"]) in {("QUEUE", "DEL"), ("CLS", "DEL")}


def _taken(state: State, step: Message) -> bool:
    try:
        v0.apply(state, step)
    except v0.V0Error:
        return False
    return True
