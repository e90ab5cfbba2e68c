"""Nodes and bearers as the page lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from tc_controller.core.act.ownership import Role
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.bearer.blocked import OF_MODE, Blocker
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.node.node import Node
from tc_controller.core.policy.schema import Policy
from tc_controller.core.verify.compliance import Compliance

Row = dict[str, Any]

#: State of a bearer that no rule matches, beside those of `Compliance`.
NO_RULE: Final = "no_rule"
ACTING: Final = "acting"
WATCH_ONLY: Final = "watch only: no rule has a pipeline"
#: A pipeline status older than this, or than five periods of it, is stale.
_STALE_US: Final = 1_000_000
_LOST_REPORTS: Final = 5
#: Roles of a controller that acts at the node.
_OWN: Final = (Role.OWNER, Role.UNLEASED)
#: States whose reason says no more than the state and the figures of the row.
_PLAIN: Final = (Compliance.MET, Compliance.AT_RISK, Compliance.IDLE)


def state_of(bearer: Bearer) -> str:
    """State of a bearer: a value of `Compliance`, or `NO_RULE`."""
    if bearer.rule is None:
        return NO_RULE
    return (
        Compliance.NO_DATA.value
        if bearer.judged.compliance is None
        else bearer.judged.compliance.value
    )


def bearer_row(node: Node, bearer: Bearer, policy: Policy, rank: int) -> Row:
    """One bearer; the values that change each second are apart, in `History`."""
    key, rule, assessment = bearer.key, bearer.rule, bearer.judged.assessment
    pipeline = node.pipelines.get(key)
    explained = assessment is not None and assessment.state not in _PLAIN
    return {
        "id": str(key),
        "node": key.node_id,
        "rnti": f"0x{key.rnti:04x}",
        "drb": key.drb,
        "rank": rank,
        "state": state_of(bearer),
        "since_us": None if assessment is None else assessment.since_us,
        "reason": assessment.reason if explained and assessment is not None else None,
        "slice": bearer.slice_name,
        "rule": None if rule is None else rule.name,
        "bound_ms": None if rule is None else rule.objective.bound_ms,
        "pipeline": None if pipeline is None else pipeline.name,
        "revision": None if pipeline is None else pipeline.revision,
        "stale": stale_status(node, key, policy),
    }


def stale_status(node: Node, key: BearerKey, policy: Policy) -> str | None:
    """Age of a pipeline status that is too old to rely on, in words; ``None``: it is fresh, or the
    node has no E2SM-TC."""
    if node.capabilities is None:
        return None
    pipeline = node.pipelines.get(key)
    if pipeline is None:
        return "no pipeline status received"
    age_us = node.windows.newest_us() - pipeline.collected_at_us
    if age_us <= max(_STALE_US, _LOST_REPORTS * policy.reports.pipeline_period_ms * 1000):
        return None
    return f"pipeline status is {age_us / 1e6:.0f} s old"


def node_row(node: Node) -> Row:
    """One node with the states of its bearers and its faults with the first step."""
    ownership = node.ownership
    states = Counter(map(state_of, node.bearers.values()))
    return {
        "id": node.node_id,
        "role": ownership.detail(),
        "meaning": ownership.role.meaning,
        "owned": ownership.role in _OWN,
        "bearers": len(node.bearers),
        "states": dict(states),
        "reported_at_us": node.reported_at_us,
        "pipelines": _pipelines(node),
        "gone_since_us": None,
        "faults": [
            {
                "sentence": fault.sentence,
                "reason": finding.reason,
                "bearers": finding.bearers,
                "since_us": finding.since_us,
                "advice": fault.advice,
            }
            for fault, finding in node.faults.present.items()
        ],
        "trials": [
            f"Trial {run.phase.value}: {run.summary()}" for run in node.trials.runs.values()
        ],
    }


def _pipelines(node: Node) -> str:
    if node.capabilities is None:
        return "no E2SM-TC v1"
    if not node.default.supported:
        return "E2SM-TC v1, without a node default"
    return f"E2SM-TC v1; bearers to come: {node.default.summary()}"


def gone_row(node_id: str, since_us: int) -> Row:
    """A node that has disconnected."""
    return {
        "id": node_id,
        "role": "disconnected",
        "meaning": "Check the gNB and its E2 agent.",
        "owned": False,
        "bearers": 0,
        "states": {},
        "reported_at_us": None,
        "pipelines": None,
        "gone_since_us": since_us,
        "faults": [],
        "trials": [],
    }


def controller_row(controller: Controller, policy: Mapping[str, int]) -> Row:
    """The controller itself; ``policy``: reloads by result."""
    rules = controller.policy.rules
    mode = ACTING if controller.acting else Blocker.OBSERVING.sentence
    if not controller.policy.acts:
        dry = any(rule.enforce.dry_run and not rule.watch_only for rule in rules)
        mode = Blocker.DRY_RUN.sentence if dry else WATCH_ONLY
    if controller.mode in OF_MODE:
        mode = OF_MODE[controller.mode].sentence
    return {
        "identity": controller.owner,
        "mode": mode,
        "acts": mode == ACTING,
        "rules": [rule.name for rule in rules],
        "refused_policies": policy.get("refused", 0),
    }
