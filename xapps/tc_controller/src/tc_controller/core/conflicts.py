"""What contradicts itself in a valid policy: rules and classes that get nothing, slices that
overlap, objectives that exclude each other, bounds that a base or the radio does not keep.

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

from tc_controller.core.policy.classes import (
    FlowMatch,
    TrafficClass,
    networks,
    ports,
    protocol_number,
)
from tc_controller.core.policy.quality import DEFAULT, SHIPPED
from tc_controller.core.policy.rung import CHOSEN, Rung
from tc_controller.core.policy.schema import Policy, Rule
from tc_controller.core.policy.selectors import Selector, Slice, SliceId
from tc_controller.core.trials.effect import least_pairs

_WITH_PORTS: Final = (None, 6, 17)
"""TCP and UDP, of which gNBs read ports; without a protocol those of any packet."""

#: Shortest slot of data, 120 kHz (TS 38.211 §4.2): a packet that waits for one waits longer than
#: any bound below.
_SLOT_MS: Final = 0.125
#: Time in which a packet gets a slot of the usual numerologies, unless it waits for a direction.
_LEAST_MS: Final = 1.0
#: Bound below which a download that has a class to itself loses more than a tenth of its rate.
_DOWNLOAD_MS: Final = 15.0
#: Parameters of disciplines that limit how long a packet waits.
_WAITS: Final = ("target_us", "bound_us")


class Severity(enum.Enum):
    """How bad a finding is."""

    #: A part of the policy has no effect.
    ERROR = "error"
    #: The policy does something that it may not be meant to.
    WARNING = "warning"
    #: What it does is meant, and better written otherwise.
    NOTICE = "notice"


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
        found += _promises(rule, place)
        found += _bounds(rule, place)
        found += _requirement(policy, rule, place)
        found += _ladder(rule, place)
        found += _trial(rule, place)
    found += _left_out(policy)
    return found + former_names(policy)


def former_names(policy: Policy) -> list[Finding]:
    """Templates that the policy gives by a former name."""
    return [
        renamed(f"rules[{position}].{place}.template", rung.former_name, rung.template)
        for position, rule in enumerate(policy.rules)
        for place, rung in _rungs(rule)
        if rung.former_name is not None
    ]


def renamed(place: str, former: str, now: str) -> Finding:
    """A template that is given by a former name."""
    return Finding(Severity.NOTICE, place, f"'{former}' is a former name; write {now}")


def _rungs(rule: Rule) -> Iterator[tuple[str, Rung]]:
    for name, rungs in (("base", rule.base), ("ladder", rule.ladder)):
        yield from ((f"{name}[{index}]", rung) for index, rung in enumerate(rungs))
    if rule.trial is not None:
        yield "trial.against", rule.trial.against


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
    nodes = (
        not wide.nodes
        or "*" in wide.nodes
        or (
            bool(narrow.nodes)
            and all(any(_like(outer, inner) for outer in wide.nodes) for inner in narrow.nodes)
        )
    )
    return (
        nodes
        and _contains(wide.rntis, narrow.rntis)
        and _contains(wide.drbs, narrow.drbs)
        and _contains(wide.qfis, narrow.qfis)
        and _contains(wide.five_qis, narrow.five_qis)
        and _slice_id(wide) in (None, _slice_id(narrow))
    )


def _slice_id(selector: Selector) -> SliceId | None:
    return selector.s_nssai if isinstance(selector, Slice) else None


def _contains(wide: tuple[int, ...], narrow: tuple[int, ...]) -> bool:
    return not wide or (bool(narrow) and set(narrow) <= set(wide))


def _like(outer: str, inner: str) -> bool:
    if outer.endswith("*"):
        return inner.removesuffix("*").startswith(outer[:-1])
    return outer == inner


def _left_out(policy: Policy) -> Iterator[Finding]:
    """Bearers and parts of the policy that no rule concerns."""
    everything = ((Selector(),),)
    if not any(_within(inner, outer) for inner in everything for outer in _all_scopes(policy)):
        problem = (
            "no rule matches every bearer: those that none matches have no pipeline and are not "
            "watched; expected a last rule without match"
        )
        yield Finding(Severity.WARNING, "rules", problem)
    named = {rule.requirement for rule in policy.rules}
    named |= {each.requirement for each in policy.slices.values()} | {DEFAULT}
    for name in policy.requirements:
        if name not in named:
            problem = "no rule and no slice names it"
            yield Finding(Severity.WARNING, f"requirements.{name}", problem)


def _all_scopes(policy: Policy) -> Iterator[_Scope]:
    for rule in policy.rules:
        yield from _scopes(policy, rule)


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
            if (portless := _ports_without_such(match)) is not None:
                yield Finding(Severity.ERROR, at, portless)
            for name, other in own:
                if _match_covers(other, match):
                    problem = f"its flows all belong to class {name!r} before it"
                    yield Finding(Severity.ERROR, at, problem)
                    break
                if name != each.name and _match_overlaps(other, match):
                    problem = f"flows that also match class {name!r} belong to that one"
                    yield Finding(Severity.WARNING, at, problem)
                    break
                if name != each.name and _marked_before(other, match):
                    problem = (
                        f"its packets with DSCP {other.dscp} belong to class {name!r} before it: "
                        "senders choose the DSCP, the core the QFI; expected the QFI first"
                    )
                    yield Finding(Severity.WARNING, at, problem)
                    break
            own.append((each.name, match))
        before = own


def _ports_without_such(match: FlowMatch) -> str | None:
    """What is wrong with ports of a protocol that has none, and counts as having port 0."""
    lowest = max(ports(match.source_port)[0], ports(match.destination_port)[0])
    if lowest == 0 or protocol_number(match) in _WITH_PORTS:
        return None
    return f"protocol {match.protocol} has no ports, so no packet matches; expected tcp or udp"


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
    return _compatible(one, other)


def _marked_before(one: FlowMatch, other: FlowMatch) -> bool:
    """Whether a match by DSCP takes packets of a later one by QFI."""
    by_dscp = one.dscp is not None and one.qfi is None
    return by_dscp and other.qfi is not None and other.dscp is None and _compatible(one, other)


def _compatible(one: FlowMatch, other: FlowMatch) -> bool:
    """Whether a packet may match both."""
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


# ---------------------------------------------------------------------------------- promises


def _promises(rule: Rule, place: str) -> Iterator[Finding]:
    """Objectives that have no effect beside others."""
    for index, each in enumerate(rule.classes):
        at, objective = f"{place}.classes[{index}]", each.objective
        if objective.loss_ratio is not None and objective.bound_ms is not None:
            problem = (
                f"{objective.bound_ms:g}; not enforced beside loss_ratio: packets that are late "
                "would have to be dropped; expected one of both"
            )
            yield Finding(Severity.WARNING, f"{at}.objective.bound_ms", problem)
        if objective.loss_ratio is not None and (
            objective.maximum_mbps is not None or rule.objective.maximum_mbps is not None
        ):
            problem = (
                f"{objective.loss_ratio:g}; without drops the queue in front of maximum_mbps grows "
                "until the buffer is full; expected none where a rate is limited"
            )
            yield Finding(Severity.WARNING, f"{at}.objective.loss_ratio", problem)
        if each.share is not None and objective.guaranteed_mbps is not None:
            problem = (
                f"{each.share:g}; beside guaranteed_mbps the class has the larger of both, and the "
                "share is not judged; expected one of both"
            )
            yield Finding(Severity.WARNING, f"{at}.share", problem)
    of_classes_mbps = sum(each.objective.guaranteed_mbps or 0.0 for each in rule.classes)
    guaranteed_mbps = rule.objective.guaranteed_mbps
    if guaranteed_mbps is not None and guaranteed_mbps < of_classes_mbps:
        problem = (
            f"{guaranteed_mbps:g}; expected at least what its classes are guaranteed together, "
            f"{of_classes_mbps:g}"
        )
        yield Finding(Severity.WARNING, f"{place}.objective.guaranteed_mbps", problem)


def _requirement(policy: Policy, rule: Rule, place: str) -> Iterator[Finding]:
    """Objectives that are met while the outcome is unusable by the requirement named."""
    named = (rule.requirement, *(policy.slices[name].requirement for name in rule.match.slices))
    # A rule's goes before its slices'.
    names = [name for name in named if name is not None][: 1 if rule.requirement else None]
    maximum_mbps, bound_ms = rule.objective.maximum_mbps, rule.objective.bound_ms
    for name in dict.fromkeys(names):
        needed = policy.requirements.get(name) or SHIPPED[name]
        if maximum_mbps is not None and maximum_mbps < (needed.min_mbps or 0.0):
            problem = f"{maximum_mbps:g}; requirement {name!r} needs at least {needed.min_mbps:g}"
            yield Finding(Severity.WARNING, f"{place}.objective.maximum_mbps", problem)
        for latency in needed.latency:
            if latency.percentile <= rule.objective.percentile and latency.cpup_ms < bound_ms:
                problem = (
                    f"{bound_ms:g}; by requirement {name!r} the outcome is unusable from "
                    f"{latency.cpup_ms:g} ms on"
                )
                yield Finding(Severity.WARNING, f"{place}.objective.bound_ms", problem)
                break


def _ladder(rule: Rule, place: str) -> Iterator[Finding]:
    """Rungs that change nothing."""
    seen: list[tuple[Any, str]] = [
        (each.model_dump(exclude={"when"}), f"base[{number}]")
        for number, each in enumerate(rule.base[:1])
    ]
    for index, rung in enumerate(rule.ladder):
        own = rung.model_dump(exclude={"when"})
        same = next((where for other, where in seen if other == own), None)
        if same is not None:
            problem = f"the same pipeline as of {same} before it"
            yield Finding(Severity.WARNING, f"{place}.ladder[{index}]", problem)
        seen.append((own, f"ladder[{index}]"))


# ------------------------------------------------------------------------------------ bounds


def _too_short(bound_ms: float, at: str) -> Iterator[Finding]:
    """Bounds that the radio cannot keep."""
    if bound_ms < _SLOT_MS:
        problem = (
            f"{bound_ms:g}; expected at least {_SLOT_MS:g}, the shortest slot of the radio: every "
            "packet that waits for one is late"
        )
        yield Finding(Severity.ERROR, at, problem)
    elif bound_ms < _LEAST_MS:
        problem = f"{bound_ms:g}; below {_LEAST_MS:g} most packets wait longer for their slot"
        yield Finding(Severity.WARNING, at, problem)


def _of_classes(rule: Rule, place: str) -> Iterator[Finding]:
    """Bounds below the queue that a download needs."""
    for index, each in enumerate(rule.classes):
        bound_ms, at = each.objective.bound_ms, f"{place}.classes[{index}].objective.bound_ms"
        if bound_ms is None:
            continue
        short = list(_too_short(bound_ms, at))
        yield from short
        if not short and bound_ms < _DOWNLOAD_MS and each.objective.loss_ratio is None:
            problem = (
                f"{bound_ms:g}; of flows that fill their queue, as downloads, the drops of a bound "
                f"below {_DOWNLOAD_MS:g} cost rate: the queue runs empty after each"
            )
            yield Finding(Severity.WARNING, at, problem)


def _bounds(rule: Rule, place: str) -> Iterator[Finding]:
    """Bases that keep flows in one queue whose standing delay is above the bound."""
    bound_ms = rule.objective.bound_ms
    yield from _too_short(bound_ms, f"{place}.objective.bound_ms")
    yield from _of_classes(rule, place)
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
    (pairs, cycle_us), least = trial.pairs(), least_pairs(trial.stop.confidence)
    if trial.share_of_time is not None and pairs < least:
        problem = (
            f"{trial.max_duration_s:g} s; it has {pairs} pairs of periods, and fewer than {least} "
            f"prove nothing at a confidence of {trial.stop.confidence:g}; expected at least "
            f"{least * cycle_us / 1e6:g} s"
        )
        yield Finding(Severity.ERROR, f"{place}.trial.max_duration_s", problem)
    against = trial.against
    own = against.pipeline()
    if any(own == rung.pipeline() for rung in rule.compiled_base()):
        problem = "the same pipeline as of the base: an A/A trial, whose effect is 0"
        yield Finding(Severity.WARNING, f"{place}.trial.against", problem)
    if rule.enforce.dry_run:
        problem = "a dry run sends nothing: the trial does not begin"
        yield Finding(Severity.WARNING, f"{place}.enforce.dry_run", problem)
