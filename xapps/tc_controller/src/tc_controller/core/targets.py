"""Targets of delay and rate that come before the rules of the policy file.

A target replaces the bound of the rule that matches a bearer, and puts its QoS flows into classes
of their own with its rates; base, ladder, guard and enforcement stay those of the rule. Where the
rule's base cannot have classes, a target with rates changes nothing. A bearer that no rule matches
has no target: the file says what is controlled. Of several targets the one of the narrowest scope
applies: a UE before the others, then the more conditions, then the smaller bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ric.explain import PlacedError

from tc_controller.core.classes import ClassObjective, FlowMatch, TrafficClass
from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy import Policy, Rule
from tc_controller.core.selectors import Selector


@dataclass(frozen=True, slots=True)
class Target:
    """Objectives of the bearers in a scope; conditions that are set must hold."""

    name: str
    #: On the sojourn of the bearer; that of the rule if unset.
    bound_ms: float | None
    #: Node id and C-RNTI.
    ue: tuple[str, int] | None = None
    qfis: frozenset[int] | None = None
    #: Selectors of a slice, of which one must match.
    slices: tuple[Selector, ...] | None = None
    #: Rates of each QoS flow of `qfis`.
    rates: ClassObjective | None = None

    def selects(self, bearer: BearerKey, qfis: frozenset[int]) -> bool:
        """Whether the bearer, with these QoS flows seen in it, is in scope."""
        return (
            (self.ue is None or self.ue == (bearer.node_id, bearer.rnti))
            and (self.qfis is None or not self.qfis.isdisjoint(qfis))
            and (self.slices is None or any(each.selects(bearer, qfis) for each in self.slices))
        )

    def applied_to(self, rule: Rule) -> Rule | None:
        """The rule with this target, its name with the suffix ``/a1``; ``None`` if no pipeline
        can be made of them."""
        # What is promised over A1 is not tried out.
        update: dict[str, Any] = {"name": f"{rule.name}/a1", "trial": None}
        if self.bound_ms is not None:
            update["objective"] = rule.objective.model_copy(update={"bound_ms": self.bound_ms})
        if self.rates is not None:
            own = (
                TrafficClass(
                    name=f"a1-qfi-{qfi}", match=(FlowMatch(qfi=qfi),), objective=self.rates
                )
                for qfi in sorted(self.qfis or ())
            )
            update["classes"] = (*own, *rule.classes)
        applied = rule.model_copy(update=update)
        try:
            applied.compiled_base()
        except PlacedError:
            return None
        return applied

    def _order(self) -> tuple[bool, int, float, str]:
        conditions = sum(each is not None for each in (self.ue, self.qfis, self.slices))
        bound_ms = float("inf") if self.bound_ms is None else self.bound_ms
        return self.ue is None, -conditions, bound_ms, self.name


class TargetedPolicy(Policy):
    """A policy with targets, narrowest first; made by `with_targets`."""

    targets: tuple[Target, ...] = ()

    def target_for(self, bearer: BearerKey, qfis: frozenset[int]) -> Target | None:
        """The target that applies to a bearer."""
        return next((each for each in self.targets if each.selects(bearer, qfis)), None)

    def rule_for(self, bearer: BearerKey, qfis: frozenset[int]) -> Rule | None:
        """The rule of the file with the target that applies.

        Its name then has the suffix ``/a1``: one further label of the metrics, however many targets
        come and go.
        """
        rule = super().rule_for(bearer, qfis)
        target = None if rule is None else self.target_for(bearer, qfis)
        if rule is None or target is None:
            return rule
        return target.applied_to(rule) or rule

    @property
    def depends_on_flows(self) -> bool:
        """Whether a selector or target names QFIs."""
        return super().depends_on_flows or any(each.qfis is not None for each in self.targets)


def with_targets(policy: Policy, targets: tuple[Target, ...]) -> TargetedPolicy:
    """The policy of the file with these targets; the policy itself is valid already."""
    ordered = tuple(sorted(targets, key=Target._order))
    return TargetedPolicy.model_construct(None, **dict(policy), targets=ordered)
