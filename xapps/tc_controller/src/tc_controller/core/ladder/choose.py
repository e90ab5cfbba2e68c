"""Chooses the next rung of the ladder and composes its pipeline."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ric.sm import tc

from tc_controller.core.act.base import FAILED, lacks_l4s, unsupported
from tc_controller.core.act.decision import Choice, NoChoice, Skipped
from tc_controller.core.inputs import Flow, Ie, Pipeline
from tc_controller.core.observe.inventory import FlowView
from tc_controller.core.policy.rung import CHOSEN, FOR_L4S, Condition, Rung
from tc_controller.core.policy.slot import OfLadder


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a bearer when its next rung is chosen."""

    flows: FlowView | None
    drain_kbps: float | None
    #: E2SM-TC ``Capabilities`` of the node.
    capabilities: Ie | None


def choose(
    ladder: Sequence[Rung],
    current: int | None,
    in_force: Pipeline | None,
    failed: Collection[int],
    facts: Facts,
    *,
    climbing: bool = False,
) -> Choice | NoChoice:
    """The next rung.

    Args:
        current: index of the rung in force, ``None`` below the ladder.
        in_force: pipeline of that rung. If other flows are greedy now than when it was composed,
            the same rung is taken again for them.
        failed: rungs that were rolled back or refused recently.
        climbing: the rung in force did not meet the objective; it is not taken again.
    """
    skipped: list[Skipped] = []
    for index in range(0 if current is None else current, len(ladder)):
        rung = ladder[index]
        reason = _obstacle(index, rung, failed, facts)
        if reason is None:
            greedy = facts.flows.set_apart if facts.flows is not None else ()
            pipeline = compose(rung, greedy, facts.drain_kbps)
            if index == current and (
                climbing or not _made_for_other_flows(rung, in_force, pipeline)
            ):
                reason = "already in force"
            else:
                reason = unsupported(pipeline, facts.capabilities)
                if reason is None:
                    return Choice(OfLadder(index), rung, pipeline, tuple(skipped))
        skipped.append(Skipped(index, rung.template, reason))
    return NoChoice(tuple(skipped))


def _obstacle(index: int, rung: Rung, failed: Collection[int], facts: Facts) -> str | None:
    """Why the rung may not be tried."""
    if index in failed:
        return FAILED
    return _unmet(rung.when, facts.flows) or _lacks(rung, facts)


def _lacks(rung: Rung, facts: Facts) -> str | None:
    """The missing prerequisite of the template."""
    flows = facts.flows
    if rung.template in FOR_L4S:
        return lacks_l4s(rung, flows)
    if rung.greedy_share is not None and not facts.drain_kbps:
        return "the drain rate is not measured yet"
    if rung.template not in CHOSEN:
        return None
    if flows is None or not flows.greedy:
        return "no greedy flow in the inventory" if flows else "no flow inventory received yet"
    if flows.active <= len(flows.greedy):
        return "every flow is greedy: no other flow to protect"
    return None


def _unmet(when: Condition, flows: FlowView | None) -> str | None:
    """The part of the condition that does not hold."""
    conditional = when.model_dump(exclude_none=True)
    if not conditional:
        return None
    if flows is None:
        return "its condition needs a flow inventory; none received yet"
    known = {"active_flows": flows.active, "greedy_flows": len(flows.greedy)}
    for name, bound in conditional.items():
        if name == "ect1_traffic":
            if flows.ect1 != bound:
                return "ECT(1) traffic seen" if flows.ect1 else "no ECT(1) traffic seen"
            continue
        least, quantity = name.startswith("min_"), name[4:]
        count = known[quantity]
        if (count < bound) if least else (count > bound):
            required = f"at {'least' if least else 'most'} {bound}"
            return f"{count} {quantity.replace('_', ' ')}; required: {required}"
    return None


def _made_for_other_flows(rung: Rung, in_force: Pipeline | None, pipeline: Pipeline) -> bool:
    if in_force is None or rung.template not in CHOSEN:
        return False
    if in_force["name"] != pipeline["name"]:
        # The ladder changed while the transaction was on its way: the index is of the old one.
        return True
    old = {_key(item) for item in in_force["classifier"]["osi"]["filters"]}
    new = {_key(item) for item in pipeline["classifier"]["osi"]["filters"]}
    return not new <= old


def _key(item: Ie) -> str:
    return repr(sorted(item["match"].items()))


def compose(rung: Rung, greedy: Sequence[Flow] = (), drain_kbps: float | None = None) -> Pipeline:
    """The pipeline of a rung.

    Args:
        greedy: flows that `segregate_greedy` and `flow_slicing` separate.
        drain_kbps: measured drain rate, for `flow_slicing` by share.

    Raises:
        ValueError: what the template needs is missing; `choose` checks this first.
    """
    parameters = rung.parameters
    if rung.template in CHOSEN and not greedy:
        raise ValueError(f"{rung.template} needs at least one greedy flow")
    flows = [_five_tuple(flow) for flow in greedy]
    if rung.template == "segregate_greedy":
        parameters["greedy"] = flows
    elif rung.template == "flow_slicing":
        parameters["slices"] = [{"flows": flows, "shaper": _shaper(rung, drain_kbps)}]
    return tc.pipeline(rung.template, parameters)


def _shaper(rung: Rung, drain_kbps: float | None) -> dict[str, Any]:
    """Holds the greedy flows to the rate that is left to them (irazabal2024 §V-B1)."""
    rate_kbps = slice_rate_kbps(rung, drain_kbps)
    # At least two MTUs, or the bucket never holds a packet.
    burst_bytes = max(3_000, rate_kbps * rung.burst_ms // 8)
    return {"rate_kbps": rate_kbps, "burst_bytes": burst_bytes, "group": None}


def slice_rate_kbps(rung: Rung, drain_kbps: float | None) -> int:
    """Rate left to the greedy flows."""
    if rung.greedy_rate_kbps is not None:
        return rung.greedy_rate_kbps
    if rung.greedy_share is None or drain_kbps is None:
        raise ValueError("flow_slicing by share needs the measured drain rate")
    return max(1, int(rung.greedy_share * drain_kbps))


def _five_tuple(flow: Flow) -> dict[str, Any]:
    source, destination, source_port, destination_port, protocol = flow.five_tuple
    return {
        "source": source,
        "destination": destination,
        "source_port": source_port,
        "destination_port": destination_port,
        "protocol": protocol,
    }
