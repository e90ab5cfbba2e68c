"""Decisions, their records in the decision log, and the counters behind the metrics.

Every record has ``event``, ``at_us`` and, where it belongs to a decision, ``id``. The events of a
decision are ``decided``, ``answered`` (several when it was retried), ``verified`` and, after
a rollback, ``rolled_back``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tc_controller.core.act.decision import Decision, Proposal, Skipped
from tc_controller.core.act.node_default import NodeDefault
from tc_controller.core.act.ownership import Role
from tc_controller.core.actions import WriteRecord
from tc_controller.core.inputs import Accepted, BearerKey, Outcome, Refused
from tc_controller.core.observe.bearer_view import Snapshot
from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import OfLadder, OfTrial, Slot
from tc_controller.core.verify.service import ServiceKey, ServiceTotals


@dataclass(slots=True)
class Counters:
    """Monotonic counts, read when metrics are scraped; keys are label values."""

    #: Violations that began, by rule.
    violations: Counter[str] = field(default_factory=Counter)
    #: Decisions by (trigger, template, result).
    decisions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    #: Verdicts of verifications.
    verdicts: Counter[str] = field(default_factory=Counter)
    #: Controls by (purpose, result); result is accepted, unanswered or the cause of a refusal.
    controls: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Reconciliations by what was done: adopted, by_default (as the node set the bearer up),
    #: base_kept, reapplied, inherited, foreign.
    reconciliations: Counter[str] = field(default_factory=Counter)
    #: What bearers get, by node, slice and rule; while the node is connected.
    service: defaultdict[ServiceKey, ServiceTotals] = field(
        default_factory=lambda: defaultdict(ServiceTotals), compare=False
    )
    #: Seconds of classes by (rule, class, compliance).
    class_compliance: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    #: Bearers that were removed.
    bearers_gone: int = 0
    #: Changes of the role at a node, by the new role.
    roles: Counter[str] = field(default_factory=Counter)
    #: Clocks of nodes that were set back.
    clock_resets: int = 0
    #: Reports and answers that were not used, by reason.
    ignored: Counter[str] = field(default_factory=Counter)

    def forget_node(self, node_id: str) -> None:
        """The node is gone."""
        for key in [key for key in self.service if key.node_id == node_id]:
            del self.service[key]


def decided(
    decision: Decision,
    rule: Rule,
    proposal: Proposal,
    *,
    expected_revision: int | None,
    as_safe: bool,
) -> WriteRecord:
    """The record of a new decision; ``proposal``: what it accepts."""
    objective, enforce = rule.objective, rule.enforce
    flows, skipped = proposal.view.flows, proposal.choice.skipped
    return WriteRecord(
        {
            "event": "decided",
            "id": decision.id,
            "at_us": decision.at_us,
            "bearer": decision.bearer.as_dict(),
            "trigger": decision.trigger,
            "follows": proposal.follows,
            "rule": rule.name,
            "objective": {
                "bound_ms": objective.bound_ms,
                "percentile": objective.percentile,
                "window_ms": objective.window_ms,
                "min_utilisation_ratio": rule.guard.min_utilisation_ratio,
            },
            "inputs": {
                **decision.before.as_dict(),
                "above_bound_for_us": proposal.over_for_us,
                "flows": None if flows is None else flows.summary(),
            },
            "rung": {
                **_place(decision.slot, rule),
                "template": decision.rung.template,
                "parameters": decision.rung.model_dump(exclude={"template", "when"}),
            },
            "skipped": _skipped(skipped),
            "transaction": {
                "expected_revision": expected_revision,
                "lease_ms": None if as_safe else enforce.lease_ms,
                "as_safe": as_safe,
                "pipeline": decision.pipeline,
            },
            "dry_run": enforce.dry_run,
            "reasons": [
                proposal.why,
                *(f"{item.template} skipped: {item.reason}" for item in skipped),
            ],
        }
    )


def _place(slot: Slot, rule: Rule) -> dict[str, Any]:
    """Where in the rule a pipeline is; what a trial compares the base with counts as behind it."""
    if isinstance(slot, OfTrial):
        return {"of": "base", "index": len(rule.compiled_base())}
    return {"of": "ladder" if isinstance(slot, OfLadder) else "base", "index": slot.index}


def answered(decision: Decision, now_us: int, outcome: Outcome, attempt: int) -> WriteRecord:
    """The record of an answer to a decision's transaction."""
    return WriteRecord(
        {
            "event": "answered",
            "id": decision.id,
            "at_us": now_us,
            "attempt": attempt,
            "outcome": outcome_dict(outcome),
            "detect_to_ack_us": now_us - decision.at_us,
        }
    )


def rolled_back(
    decision: Decision, now_us: int, to: str, outcome: Outcome, cool_down_ms: int
) -> WriteRecord:
    """The record of a rollback's answer."""
    return WriteRecord(
        {
            "event": "rolled_back",
            "id": decision.id,
            "at_us": now_us,
            "to": to,
            "outcome": outcome_dict(outcome),
            "cool_down_ms": cool_down_ms,
        }
    )


def no_rung(
    now_us: int, bearer: BearerKey, rule: Rule, before: Snapshot, skipped: tuple[Skipped, ...]
) -> WriteRecord:
    """The record of a violation for which no rung can be tried."""
    return WriteRecord(
        {
            "event": "no_rung",
            "at_us": now_us,
            "bearer": bearer.as_dict(),
            "rule": rule.name,
            "inputs": before.as_dict(),
            "skipped": _skipped(skipped),
        }
    )


def noted(event: str, now_us: int, bearer: BearerKey, **details: Any) -> WriteRecord:
    """The record of an event other than a decision: a lease lost, a bearer removed, …"""
    return WriteRecord({"event": event, "at_us": now_us, "bearer": bearer.as_dict(), **details})


def ownership(
    node_id: str, now_us: int, role: Role, former: Role, holder: str | None
) -> WriteRecord:
    """The record of a change of the role at a node; ``holder``: another controller."""
    return WriteRecord(
        {
            "event": "ownership",
            "at_us": now_us,
            "node": node_id,
            "role": role.label,
            "former": former.label,
            "holder": holder,
        }
    )


def node_default(
    node_id: str, now_us: int, what: str, default: NodeDefault, outcome: Outcome
) -> WriteRecord:
    """The record of a node default that was set, withdrawn or refused."""
    return of_node(
        "node_default",
        now_us,
        node_id,
        what=what,
        revision=default.revision,
        rules=[
            {
                "rule": each.rule,
                "match": each.match,
                "template": each.template,
                "lease_ms": each.lease_ms,
                "as_safe": each.as_safe,
            }
            for each in default.in_force or ()
        ],
        lease_ms=default.lease_ms if default.in_force else None,
        summary=default.summary(),
        outcome=outcome_dict(outcome),
    )


def flow_move(move_id: str, now_us: int, bearer: BearerKey, **details: Any) -> WriteRecord:
    """The record of a decision to map a QoS flow of ``bearer`` to the second DRB."""
    return noted("flow_move", now_us, bearer, id=move_id, **details)


def flow_move_answered(
    move_id: str, now_us: int, node_id: str, flow: tuple[int, int], outcome: Outcome
) -> WriteRecord:
    """The record of an answer to a mapping of a QoS flow (C-RNTI, QFI)."""
    rnti, qfi = flow
    details = {"id": move_id, "rnti": rnti, "qfi": qfi, "outcome": outcome_dict(outcome)}
    return of_node("flow_move_answered", now_us, node_id, **details)


def flow_move_verified(move_id: str, now_us: int, bearer: BearerKey, **details: Any) -> WriteRecord:
    """The record of what a move did: the p95 of the sojourn before and after, µs."""
    return noted("flow_move_verified", now_us, bearer, id=move_id, **details)


def flow_move_back(move_id: str, now_us: int, bearer: BearerKey, **details: Any) -> WriteRecord:
    """The record of a QoS flow that returns to the DRB it came from."""
    return noted("flow_move_back", now_us, bearer, id=move_id, **details)


def base_not_kept(node_id: str, now_us: int) -> WriteRecord:
    """The record of a node that cannot keep a base without a controller."""
    return WriteRecord(
        {
            "event": "base_not_kept",
            "at_us": now_us,
            "node": node_id,
            "reason": "the RAN function does not announce as_safe: without a controller, bases end "
            "with their leases",
        }
    )


def prediction_unknown(node_id: str, now_us: int, rule: str, reason: str) -> WriteRecord:
    """The record of a rule for which the forecasts of a node predict nothing."""
    return of_node("prediction_unknown", now_us, node_id, rule=rule, reason=reason)


def clock_set_back(node_id: str, now_us: int, by_us: int) -> WriteRecord:
    """The record of a node whose clock was set back by so much."""
    return of_node("clock_set_back", now_us, node_id, by_us=by_us)


def of_node(event: str, now_us: int, node_id: str, **details: Any) -> WriteRecord:
    """The record of an event of a node."""
    return WriteRecord({"event": event, "at_us": now_us, "node": node_id, **details})


def outcome_dict(outcome: Outcome) -> Mapping[str, Any]:
    """An outcome for the log."""
    if isinstance(outcome, Accepted):
        return {"accepted": {"revision": outcome.revision, "lease_ms": outcome.lease_ms}}
    if isinstance(outcome, Refused):
        return {
            "refused": {
                "cause": outcome.cause,
                "element": outcome.element,
                "detail": outcome.detail,
                "revision": outcome.revision,
            }
        }
    return {"unanswered": outcome.detail}


def result_name(outcome: Outcome) -> str:
    """An outcome as a label."""
    if isinstance(outcome, Accepted):
        return "accepted"
    return outcome.cause if isinstance(outcome, Refused) else "unanswered"


def _skipped(skipped: tuple[Skipped, ...]) -> list[dict[str, Any]]:
    return [
        {"index": item.index, "template": item.template, "reason": item.reason} for item in skipped
    ]
