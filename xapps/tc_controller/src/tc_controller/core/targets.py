"""Delay targets that come before the rules of the policy file.

A target replaces the bound of the rule that matches a bearer; base, ladder, guard and enforcement
stay those of the rule. A bearer that no rule matches has no target: the file says what is
controlled. Of several targets the one of the narrowest scope applies: a UE before the others, then
the more conditions, then the smaller bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy import Policy, Rule, Selector


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on the sojourn time of the bearers in a scope; conditions that are set must hold."""

    name: str
    bound_ms: float
    #: Node id and C-RNTI.
    ue: tuple[str, int] | None = None
    qfis: frozenset[int] | None = None
    #: Selectors of a slice, of which one must match.
    slices: tuple[Selector, ...] | None = None

    def selects(self, bearer: BearerKey, qfis: frozenset[int]) -> bool:
        """Whether the bearer, with these QoS flows seen in it, is in scope."""
        return (
            (self.ue is None or self.ue == (bearer.node_id, bearer.rnti))
            and (self.qfis is None or not self.qfis.isdisjoint(qfis))
            and (self.slices is None or any(each.selects(bearer, qfis) for each in self.slices))
        )

    def _order(self) -> tuple[bool, int, float, str]:
        conditions = sum(each is not None for each in (self.ue, self.qfis, self.slices))
        return self.ue is None, -conditions, self.bound_ms, self.name


class TargetedPolicy(Policy):
    """A policy with targets, narrowest first; made by `with_targets`."""

    targets: tuple[Target, ...] = ()

    def target_for(self, bearer: BearerKey, qfis: frozenset[int]) -> Target | None:
        """The target that applies to a bearer."""
        return next((each for each in self.targets if each.selects(bearer, qfis)), None)

    def rule_for(self, bearer: BearerKey, qfis: frozenset[int]) -> Rule | None:
        """The rule of the file, with the bound of the target that applies.

        Its name gets the suffix ``/a1``: one further label of the metrics, however many targets
        come and go.
        """
        rule = super().rule_for(bearer, qfis)
        target = None if rule is None else self.target_for(bearer, qfis)
        if rule is None or target is None:
            return rule
        objective = rule.objective.model_copy(update={"bound_ms": target.bound_ms})
        return rule.model_copy(update={"name": f"{rule.name}/a1", "objective": objective})

    @property
    def depends_on_flows(self) -> bool:
        """Whether a selector or target names QFIs."""
        return super().depends_on_flows or any(each.qfis is not None for each in self.targets)


def with_targets(policy: Policy, targets: tuple[Target, ...]) -> TargetedPolicy:
    """The policy of the file with these targets; the policy itself is valid already."""
    ordered = tuple(sorted(targets, key=Target._order))
    return TargetedPolicy.model_construct(None, **dict(policy), targets=ordered)
