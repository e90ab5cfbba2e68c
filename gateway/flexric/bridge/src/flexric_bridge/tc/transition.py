"""Transition of a v0 node to another pipeline, by controls that are undone if one is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Protocol

import e2sm_tc
from e2sm_tc import v0

from flexric_bridge.budget import BudgetSpent
from flexric_bridge.sdk import SdkError

_HEADER: Final = e2sm_tc.encode("control-header", {"dummy": 0}, "v0")


class Port(Protocol):
    """The bridge as the RAN function uses it."""

    def now_us(self) -> int:
        """Wall clock, µs since the Unix epoch."""
        ...

    async def admit(self, controls: int, *, safe: bool) -> None:
        """Wait until so many controls may be sent; raises `BudgetSpent` and `RateExceeded`."""
        ...

    async def controls(
        self, header: bytes, groups: Sequence[Sequence[bytes]], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        """Send v0 controls in order until one is not acknowledged, those of a group at once where
        possible. Returns which of those sent were acknowledged, and the failure of the first that
        was not. Raises `SdkError`, `SessionDown` and `BudgetSpent` where that is unknown, or none
        was sent."""
        ...

    def changed(self) -> None:
        """State that outlives the process has changed."""
        ...

    def publish(self, events: Sequence[Mapping[str, Any]]) -> None:
        """v1 events occurred."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """A transition that the node refused."""

    detail: str
    undone: bool
    """Whether the node has the pipeline from before; otherwise its reports decide."""


async def carry_out(
    port: Port, before: v0.State, groups: Sequence[Sequence[bytes]], *, safe: bool
) -> Failure | None:
    """Send the controls of a plan for `before`; if one is refused the others are undone. Raises as
    `Port.controls`, and `SdkError` where it is unknown whether a control took effect."""
    acknowledged, failure = await _send(port, groups, safe=safe)
    if failure is None:
        return None
    if failure.kind in ("timeout", "closed"):
        raise failure
    controls = list(chain.from_iterable(groups))
    first = acknowledged.index(False)
    refused = e2sm_tc.decode("control", controls[first], "v0")
    step = f"step {first + 1} of {len(controls)}, {refused['type']} {refused['act']}: {failure}"
    problem = await _undo(port, after(before, controls, acknowledged), before)
    if problem is not None:
        return Failure(f"{step}; undoing the steps before it failed as well: {problem}", False)
    return Failure(f"{step}; the steps before it were undone", True)


def after(before: v0.State, controls: Sequence[bytes], acknowledged: Sequence[bool]) -> v0.State:
    """The state of a node once those controls that have an answer were sent."""
    state = before
    for control, yes in zip(controls, acknowledged, strict=False):
        if yes:
            state = state.after(control)
    return state


async def _undo(port: Port, state: v0.State, before: v0.State) -> Exception | None:
    try:
        _, failure = await _send(port, state.controls_to(before), safe=True)
    except (v0.ControlError, SdkError, BudgetSpent) as error:
        return error
    return failure


async def _send(
    port: Port, groups: Sequence[Sequence[bytes]], *, safe: bool
) -> tuple[list[bool], SdkError | None]:
    if not groups:
        return [], None
    return await port.controls(_HEADER, groups, safe=safe)
