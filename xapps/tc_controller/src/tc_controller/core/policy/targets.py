"""Targets of delay and rate that come before the rules of the policy file.

A target replaces the bound of the rule that matches a bearer, and puts its QoS flows into classes
of their own with its rates; base, ladder, guard and enforcement stay those of the rule. A bearer
that no rule matches has no target: the file says what is controlled. Several targets of a bearer
merge into one pipeline: each attribute, the bound of the bearer and either rate of a QoS flow, is
that of the target of the narrowest scope that has it: a UE before the others, then the more
conditions, then the smaller bound. A target with rates for which no pipeline can be made, as where
the rule's base cannot have classes, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from pydantic import PrivateAttr, ValidationError
from ric.explain import PlacedError

from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.classes import ClassObjective, FlowMatch, TrafficClass
from tc_controller.core.policy.schema import Policy, Rule
from tc_controller.core.policy.selectors import UNKNOWN, Carried, Selector

#: What a target sets: the name in the rule's or the class's objective, and the QoS flow, ``None``
#: for the bearer.
Attribute = tuple[str, int | None]
BOUND: Final = "bound_ms"
#: Targets of which a pipeline is tried one by one, where all together give none.
_TRIED: Final = 64
#: Merged rules that are kept.
_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """Objectives of the bearers in a scope; conditions that are set must hold."""

    name: str
    #: Bound on the sojourn of the bearer; that of the rule if unset.
    bound_ms: float | None
    #: Node id and C-RNTI.
    ue: tuple[str, int] | None = None
    qfis: frozenset[int] | None = None
    #: Selectors of a slice, of which one must match.
    slices: tuple[Selector, ...] | None = None
    #: Rates of each QoS flow of `qfis`.
    rates: ClassObjective | None = None

    def selects(self, bearer: BearerKey, qfis: frozenset[int], carried: Carried = UNKNOWN) -> bool:
        """Whether the bearer, with these QoS flows seen in it and reported of it, is in scope."""
        slices = self.slices
        return (
            (self.ue is None or self.ue == (bearer.node_id, bearer.rnti))
            and (self.qfis is None or not self.qfis.isdisjoint(qfis))
            and (slices is None or any(each.selects(bearer, qfis, carried) for each in slices))
        )

    def value(self, attribute: Attribute) -> float | None:
        """What it wants an attribute to be; ``None``: nothing."""
        name, qfi = attribute
        if qfi is None:
            return self.bound_ms
        rates = self.rates if qfi in (self.qfis or ()) else None
        of_flow: float | None = getattr(rates, name, None)
        return of_flow

    def attributes(self) -> Iterator[Attribute]:
        """What it sets."""
        if self.bound_ms is not None:
            yield BOUND, None
        if self.rates is not None:
            given = self.rates.model_dump(exclude_none=True)
            yield from ((name, qfi) for qfi in sorted(self.qfis or ()) for name in given)

    def order(self) -> tuple[bool, int, float, str]:
        """The narrowest scope first."""
        conditions = sum(each is not None for each in (self.ue, self.qfis, self.slices))
        bound_ms = float("inf") if self.bound_ms is None else self.bound_ms
        return self.ue is None, -conditions, bound_ms, self.name


@dataclass(frozen=True, slots=True)
class Merged:
    """A rule with the targets of a bearer."""

    #: Its name has the suffix ``/a1`` if a target changes it.
    rule: Rule
    #: Which target sets an attribute.
    set_by: Mapping[Attribute, Target]
    #: Those of which no pipeline can be made here.
    impossible: tuple[Target, ...] = ()

    def has(self, target: Target) -> bool:
        """Whether all that the target wants is in the rule, set by it or by one that wants the
        same."""
        setters = ((each, self.set_by.get(each)) for each in target.attributes())
        return all(
            setter is not None and setter.value(each) == target.value(each)
            for each, setter in setters
        )


def class_name(qfi: int) -> str:
    """Name of the class of a QoS flow with rates of its own."""
    return f"a1-qfi-{qfi}"


def _merge(rule: Rule, targets: Iterable[Target]) -> Merged:
    """The rule with all targets, narrowest first, of which a pipeline can be made."""
    wanted = [each for each in targets if next(each.attributes(), None) is not None]
    made = _applied(rule, wanted)
    if made is not None:
        return made
    # One that no pipeline can be made of takes no other's place.
    kept = [each for each in wanted if each.rates is None]
    made = _applied(rule, kept) or Merged(rule, {})
    for each in wanted[:_TRIED]:
        if each.rates is None:
            continue
        further = sorted([*kept, each], key=Target.order)
        if (found := _applied(rule, further)) is not None:
            kept, made = further, found
    return replace(made, impossible=tuple(each for each in wanted if each not in kept))


def _applied(rule: Rule, targets: Sequence[Target]) -> Merged | None:
    """The rule with these targets, narrowest first; ``None`` if no pipeline can be made of it."""
    set_by: dict[Attribute, Target] = {}
    for target in targets:
        for attribute in target.attributes():
            set_by.setdefault(attribute, target)
    if not set_by:
        return Merged(rule, {})
    # What is promised over A1 is not tried out.
    update: dict[str, Any] = {"name": f"{rule.name}/a1", "trial": None}
    rates: dict[int, dict[str, float]] = {}
    for (name, qfi), target in set_by.items():
        if qfi is None:
            bound_ms = {"bound_ms": target.bound_ms}
            update["objective"] = rule.objective.model_copy(update=bound_ms)
        else:
            rates.setdefault(qfi, {})[name] = getattr(target.rates, name)
    try:
        own = (
            TrafficClass(
                name=class_name(qfi),
                match=(FlowMatch(qfi=qfi),),
                objective=ClassObjective.model_validate(given),
            )
            for qfi, given in sorted(rates.items())
        )
        applied = rule.model_copy(update={**update, "classes": (*own, *rule.classes)})
        applied.compiled_base()
    except (PlacedError, ValidationError):
        return None
    return Merged(applied, set_by)


class TargetedPolicy(Policy):
    """A policy with targets, narrowest first; made by `with_targets`."""

    targets: tuple[Target, ...] = ()
    #: Merged rules by rule and targets: many bearers share one, and templates take time to compile.
    _merged: dict[tuple[str, ...], Merged] = PrivateAttr(default_factory=dict)

    def with_rules(self, rules: tuple[Rule, ...]) -> Self:
        """The same targets before other rules."""
        changed = super().with_rules(rules)
        changed._merged = {}
        return changed

    def merged_for(
        self, bearer: BearerKey, qfis: frozenset[int], carried: Carried = UNKNOWN
    ) -> Merged | None:
        """The rule of the file with the targets of a bearer; ``None`` if no rule matches."""
        rule = super().rule_for(bearer, qfis, carried)
        if rule is None:
            return None
        selecting = [each for each in self.targets if each.selects(bearer, qfis, carried)]
        if not selecting:
            return Merged(rule, {})
        key = rule.name, *(each.name for each in selecting)
        if key not in self._merged:
            if len(self._merged) >= _KEPT:
                self._merged.clear()
            self._merged[key] = _merge(rule, selecting)
        return self._merged[key]

    def rule_for(
        self, bearer: BearerKey, qfis: frozenset[int], carried: Carried = UNKNOWN
    ) -> Rule | None:
        """The rule of the file with the targets of a bearer.

        Its name then has the suffix ``/a1``: one further label of the metrics, however many targets
        come and go.
        """
        merged = self.merged_for(bearer, qfis, carried)
        return None if merged is None else merged.rule

    @property
    def depends_on_flows(self) -> bool:
        """Whether a selector or target names QFIs."""
        return super().depends_on_flows or any(each.qfis is not None for each in self.targets)


def with_targets(policy: Policy, targets: tuple[Target, ...]) -> TargetedPolicy:
    """The policy of the file with these targets; the policy itself is valid already."""
    ordered = tuple(sorted(targets, key=Target.order))
    return TargetedPolicy.model_construct(None, **dict(policy), targets=ordered)
