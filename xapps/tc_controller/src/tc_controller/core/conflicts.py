"""What contradicts itself in a valid policy: rules and classes that get nothing, slices that
overlap, bounds that a base does not keep.

Found from the policy alone. Contradictions within one objective (a guaranteed rate above the
maximum, shares above 1) are errors of the policy file already.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from ric.sm import tc

from tc_controller.core.classes import FlowMatch, TrafficClass, networks, ports, protocol_number
from tc_controller.core.ladder import CHOSEN, Rung
from tc_controller.core.policy import Policy, Rule
from tc_controller.core.selectors import Selector

#: Parameters of disciplines that limit how long a packet waits.
_WAITS: Final = ("target_us", "bound_us")


class Severity(enum.Enum):
    """How bad a finding is."""

    #: A part of the policy has no effect.
    ERROR = "error"
    #: The policy does something that it may not be meant to.
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction."""

    severity: Severity
    #: Where in the policy, as ``rules[1].match``.
    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.place}: {self.problem}"


def findings(policy: Policy) -> list[Finding]:
    """All contradictions of a policy, in the order of its rules."""
    found: list[Finding] = []
    for position, rule in enumerate(policy.rules):
        place = f"rules[{position}]"
        earlier = policy.rules[:position]
        never = _never_reached(policy, rule, earlier)
        if never is not None:
            found.append(Finding(Severity.ERROR, f"{place}.match", never))
        else:
            found += _overlapping_slices(policy, rule, earlier, place)
        found += _classes(rule.classes, place)
        found += _bounds(rule, place)
        found += _trial(rule, place)
    return found


# ------------------------------------------------------------------------------------- rules

#: Bearers that all of these select.
_Scope = tuple[Selector, ...]


def _scopes(policy: Policy, rule: Rule) -> list[_Scope]:
    """The bearers of a rule are those of any of these."""
    match = rule.match
    if not match.slices:
        return [(match,)]
    return [(match, policy.slices[name]) for name in match.slices]


def _never_reached(policy: Policy, rule: Rule, earlier: Sequence[Rule]) -> str | None:
    used: list[str] = []
    for scope in _scopes(policy, rule):
        first = next(
            (
                each.name
                for each in earlier
                if any(_within(scope, outer) for outer in _scopes(policy, each))
            ),
            None,
        )
        if first is None:
            return None
        used.append(first)
    names = ", ".join(repr(name) for name in dict.fromkeys(used))
    return f"never reached: all its bearers belong to {names} before it"


def _within(inner: _Scope, outer: _Scope) -> bool:
    return all(any(_covers(wide, narrow) for narrow in inner) for wide in outer)


def _covers(wide: Selector, narrow: Selector) -> bool:
    """Whether every bearer that ``narrow`` selects is selected by ``wide``."""
    nodes = not wide.nodes or (
        bool(narrow.nodes)
        and all(any(_like(outer, inner) for outer in wide.nodes) for inner in narrow.nodes)
    )
    return (
        nodes
        and _contains(wide.rntis, narrow.rntis)
        and _contains(wide.drbs, narrow.drbs)
        and _contains(wide.qfis, narrow.qfis)
    )


def _contains(wide: tuple[int, ...], narrow: tuple[int, ...]) -> bool:
    return not wide or (bool(narrow) and set(narrow) <= set(wide))


def _like(outer: str, inner: str) -> bool:
    if outer.endswith("*"):
        return inner.removesuffix("*").startswith(outer[:-1])
    return outer == inner


def _overlapping_slices(
    policy: Policy, rule: Rule, earlier: Sequence[Rule], place: str
) -> Iterator[Finding]:
    for other in earlier:
        if (other.objective, other.classes) == (rule.objective, rule.classes):
            continue
        for ours, theirs in product(rule.match.slices, other.match.slices):
            scopes = (rule.match, policy.slices[ours]), (other.match, policy.slices[theirs])
            if ours != theirs and not any(_disjoint(*pair) for pair in product(*scopes)):
                problem = (
                    f"{ours!r} overlaps {theirs!r} of rule {other.name!r}, whose objective "
                    "differs; bearers in both have that one"
                )
                yield Finding(Severity.WARNING, f"{place}.match.slices", problem)


def _disjoint(one: Selector, other: Selector) -> bool:
    """Whether no bearer is selected by both. A bearer may carry any QoS flows at once."""
    nodes = bool(one.nodes and other.nodes) and not any(
        _like(a, b) or _like(b, a) for a, b in product(one.nodes, other.nodes)
    )
    lists = ((one.rntis, other.rntis), (one.drbs, other.drbs))
    return nodes or any(a and b and set(a).isdisjoint(b) for a, b in lists)


# ----------------------------------------------------------------------------------- classes


def _classes(classes: Sequence[TrafficClass], place: str) -> Iterator[Finding]:
    before: list[tuple[str, FlowMatch]] = []
    for index, each in enumerate(classes):
        own = list(before)
        for number, match in enumerate(each.match):
            at = f"{place}.classes[{index}].match[{number}]"
            for name, other in own:
                if _match_covers(other, match):
                    problem = f"its flows all belong to class {name!r} before it"
                    yield Finding(Severity.ERROR, at, problem)
                    break
                if name != each.name and _match_overlaps(other, match):
                    problem = f"flows that also match class {name!r} belong to that one"
                    yield Finding(Severity.WARNING, at, problem)
                    break
            own.append((each.name, match))
        before = own


def _match_covers(wide: FlowMatch, narrow: FlowMatch) -> bool:
    """Whether every packet that ``narrow`` matches is matched by ``wide``."""
    for outer, inner in zip(networks(wide), networks(narrow), strict=True):
        if outer is not None and (inner is None or not _subnet(inner, outer)):
            return False
    for outer_ports, inner_ports in _port_pairs(wide, narrow):
        if not outer_ports[0] <= inner_ports[0] <= inner_ports[1] <= outer_ports[1]:
            return False
    return all(a is None or a == b for a, b in _numbers(wide, narrow))


def _match_overlaps(one: FlowMatch, other: FlowMatch) -> bool:
    """Whether a packet may match both by a field that both name. Of matches on different fields,
    as a QFI and a port, the order decides, which is what it is for."""
    if not one.model_fields_set & other.model_fields_set:
        return False
    for a, b in zip(networks(one), networks(other), strict=True):
        if a is not None and b is not None and not (_subnet(a, b) or _subnet(b, a)):
            return False
    # Source and destination of a packet are of one IP version.
    versions = {each.version for match in (one, other) for each in networks(match) if each}
    if len(versions) > 1:
        return False
    for a_ports, b_ports in _port_pairs(one, other):
        if a_ports[1] < b_ports[0] or b_ports[1] < a_ports[0]:
            return False
    return all(a is None or b is None or a == b for a, b in _numbers(one, other))


def _subnet(inner: Any, outer: Any) -> bool:
    return inner.version == outer.version and bool(inner.subnet_of(outer))


def _port_pairs(
    one: FlowMatch, other: FlowMatch
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    yield ports(one.source_port), ports(other.source_port)
    yield ports(one.destination_port), ports(other.destination_port)


def _numbers(one: FlowMatch, other: FlowMatch) -> Iterator[tuple[int | None, int | None]]:
    yield protocol_number(one), protocol_number(other)
    yield one.dscp, other.dscp
    yield one.qfi, other.qfi


# ------------------------------------------------------------------------------------ bounds


def _bounds(rule: Rule, place: str) -> Iterator[Finding]:
    """Bases that keep flows in one queue whose standing delay is above the bound."""
    bound_ms = rule.objective.bound_ms
    for index, rung in enumerate(rule.base):
        wait_us = _shared_wait_us(rung)
        if wait_us is None or wait_us <= bound_ms * 1000:
            continue
        how = "any time" if wait_us == float("inf") else f"{wait_us / 1000:g} ms"
        problem = (
            f"{bound_ms:g}; expected at least what base[{index}] keeps: {rung.template} lets a "
            f"packet wait {how} in a queue that flows share"
        )
        yield Finding(Severity.WARNING, f"{place}.objective.bound_ms", problem)


def _shared_wait_us(rung: Rung) -> float | None:
    """The standing delay that a template accepts in a queue that flows share, µs; ``None`` if each
    flow has its own. The flows that some templates set apart depend on the inventory."""
    if rung.template in CHOSEN:
        return None
    waits = [
        _wait_us(queues["discipline"])
        for queues in tc.pipeline(rung.template, rung.parameters)["queues"]
        if queues["count"] == 1 or "dual_pi2" in queues["discipline"]
    ]
    return max(waits, default=None)


def _wait_us(discipline: dict[str, dict[str, Any]]) -> float:
    (parameters,) = discipline.values()
    return next((parameters[name] for name in _WAITS if name in parameters), float("inf"))


# ------------------------------------------------------------------------------------ trials


def _trial(rule: Rule, place: str) -> Iterator[Finding]:
    """Trials that can decide nothing."""
    trial = rule.trial
    if trial is None:
        return
    too_short = trial.too_short()
    if too_short is not None:
        yield Finding(Severity.ERROR, f"{place}.trial.max_duration_s", too_short)
    against = trial.against
    own = tc.pipeline(against.template, against.parameters)
    if any(own == _pipeline(rung) for rung in rule.compiled_base()):
        problem = "the same pipeline as of the base: an A/A trial, whose effect is 0"
        yield Finding(Severity.WARNING, f"{place}.trial.against", problem)
    if rule.enforce.dry_run:
        problem = "a dry run sends nothing: the trial does not begin"
        yield Finding(Severity.WARNING, f"{place}.enforce.dry_run", problem)


def _pipeline(rung: Rung) -> Any:
    return tc.pipeline(rung.template, rung.parameters)
