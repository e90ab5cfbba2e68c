"""Which rule holds for a bearer."""

from __future__ import annotations

from tc_controller.core.inputs import BearerKey
from tc_controller.core.inventory import FlowView
from tc_controller.core.policy import Policy, Rule, Selector


def rule_for(policy: Policy, bearer: BearerKey, flows: FlowView | None) -> Rule | None:
    """The first rule that matches."""
    qfis = frozenset() if flows is None else flows.qfis()
    return next((rule for rule in policy.rules if _matches(policy, rule, bearer, qfis)), None)


def depends_on_flows(policy: Policy) -> bool:
    """Whether any selector looks at QFIs, which only the flow inventory tells."""
    selectors: list[Selector] = [rule.match for rule in policy.rules]
    selectors += policy.slices.values()
    return any(selector.qfis for selector in selectors)


def _matches(policy: Policy, rule: Rule, bearer: BearerKey, qfis: frozenset[int]) -> bool:
    if not _selects(rule.match, bearer, qfis):
        return False
    slices = rule.match.slices
    return not slices or any(_selects(policy.slices[name], bearer, qfis) for name in slices)


def _selects(selector: Selector, bearer: BearerKey, qfis: frozenset[int]) -> bool:
    return (
        (not selector.nodes or any(_like(name, bearer.node_id) for name in selector.nodes))
        and (not selector.rntis or bearer.rnti in selector.rntis)
        and (not selector.drbs or bearer.drb in selector.drbs)
        and (not selector.qfis or not qfis.isdisjoint(selector.qfis))
    )


def _like(pattern: str, name: str) -> bool:
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    return name == pattern
