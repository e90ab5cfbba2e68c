"""The selected bearer: state, facts, classes, flows, decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.bearer.blocked import blocked
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.node.node import Node
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.policy.schema import Rule
from tc_controller.core.verify.compliance import Assessment, Compliance
from tc_controller.core.verify.kinds import Kind, Mean
from tc_controller.explain_state import COMPLIANCE_ADVICE
from tc_controller.live.decisions import DecisionStory
from tc_controller.live.rows import stale_status, state_of


def find(controller: Controller, name: str) -> BearerKey | None:
    """The bearer of this name, as rows have it; ``None``: it is gone."""
    node_id, _, rest = name.rpartition("/0x")
    rnti, _, drb = rest.partition("/drb")
    node = controller.nodes.get(node_id)
    try:
        key = BearerKey(node_id, int(rnti, 16), int(drb))
    except ValueError:
        return None
    return key if node is not None and key in node.bearers else None


def bearer_detail(
    controller: Controller, key: BearerKey, decisions: Sequence[DecisionStory], now_us: int
) -> dict[str, Any]:
    """State with reason, advice and blocker; facts as pairs of label and text; decisions."""
    node = controller.nodes[key.node_id]
    bearer = node.bearers[key]
    assessment = bearer.judged.assessment
    inventory = node.inventories.get(key)
    return {
        "id": str(key),
        "state": state_of(bearer),
        "since_us": None if assessment is None else assessment.since_us,
        "reason": _reason(bearer),
        "advice": None if assessment is None else COMPLIANCE_ADVICE.get(assessment.state.value),
        "blocker": _blocker(bearer, now_us),
        "stale": stale_status(node, key, controller.policy),
        "facts": _facts(node, bearer),
        "classes": [_class(name, each) for name, each in bearer.judged.classes.items()],
        "flows": None if inventory is None else inventory.summary(),
        "decisions": [{**story.as_dict(), "text": story.text} for story in decisions],
    }


def _reason(bearer: Bearer) -> str:
    if bearer.rule is None:
        return "No rule of the policy matches the bearer: it is not controlled."
    return (
        "not assessed yet" if bearer.judged.assessment is None else bearer.judged.assessment.reason
    )


def _blocker(bearer: Bearer, now_us: int) -> str | None:
    if bearer.judged.compliance is not Compliance.VIOLATED:
        return None
    held = blocked(bearer, now_us)
    return None if held is None else str(held)


def _class(name: str, assessment: Assessment) -> dict[str, Any]:
    return {"name": name, "state": assessment.state.value, "reason": assessment.reason}


def _facts(node: Node, bearer: Bearer) -> list[tuple[str, str]]:
    pipeline = node.pipelines.get(bearer.key)
    facts = [("Objective", "none" if bearer.rule is None else _objective(bearer.rule))]
    if bearer.slice_name:
        facts.append(("Slice", bearer.slice_name))
    if pipeline is not None:
        facts.append(("Pipeline in force", f"{pipeline.name}, revision {pipeline.revision}"))
        facts.append(("It stays", _stays(bearer, pipeline)))
        if pipeline.by_default is not None:
            revision, rule, age_ms = pipeline.by_default
            text = f"by the node default {revision}, rule {rule + 1}, {age_ms / 1000:.1f} s before"
            facts.append(("Set up", text))
    desired = bearer.desired
    wanted = "none: the gNB's own stays" if desired is None else desired.template
    facts.append(("Wanted by the policy", wanted))
    facts.append(("Control", f"{bearer.state.label}: {bearer.state.meaning}"))
    facts.append(("Owner of the node", f"{node.ownership.detail()}. {node.ownership.role.meaning}"))
    view = node.view(bearer.key)
    if view is not None:
        facts.append(
            ("Head of line", f"{view.hol_us / 1000:.1f} ms, mean {view.mean_us / 1000:.1f} ms")
        )
        queued = f"RLC {_size(view.occupancy_bytes)}"
        if pipeline is not None:
            queued += f"; pipeline {_size(pipeline.backlog_bytes)}"
            if pipeline.backlog_bytes > 0:
                queued += f", {_size(pipeline.ungreedy_backlog_bytes)} of it with sparse flows"
        facts.append(("Queued", queued))
    if bearer.judged.packets.by_kind:
        facts.append(("Delay of packets", _by_kind(bearer.judged.packets.by_kind)))
    if pipeline is not None:
        drops = f"{pipeline.dropped_packets} dropped, {pipeline.marked_packets} marked"
        facts.append(("Packets", f"{drops} since the pipeline's start"))
    facts.append(("Transactions in the last hour", str(len(bearer.change.sent_us))))
    return facts


def _objective(rule: Rule) -> str:
    objective = rule.objective
    text = f"p{objective.percentile:g} of the sojourn within {objective.bound_ms:g} ms"
    return f"{text} over {objective.window_ms} ms (rule {rule.name})"


def _stays(bearer: Bearer, pipeline: PipelineView) -> str:
    if pipeline.safe:
        kept = bearer.kept is not None
        return "without the controller" if kept else "as the gNB's own pipeline"
    owner = "" if pipeline.owner is None else f", installed by {pipeline.owner}"
    if pipeline.lease_left_ms is None:
        return f"without a lease{owner}"
    return f"under a lease, {pipeline.lease_left_ms / 1000:.1f} s left{owner}"


def _by_kind(means: Mapping[Kind, Mean]) -> str:
    parts = (
        f"{kind.value} {mean.mean_us / 1000:.1f} ms ({mean.count} packets)"
        for kind, mean in means.items()
    )
    return f"{', '.join(parts)} in the last second"


def _size(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.1f} MB"
    return f"{count / 1e3:.1f} kB" if count >= 1_000 else f"{count} bytes"
