"""Pipelines with which a node sets up bearers to come (E2SM-TC v1 §7.7).

A new bearer would else have the node's own pipeline for a report, a decision and a control. The
rules of the policy that install a base are compiled to rules of the node; the controller then
finds the base in force on a new bearer and adopts it.

A rule selects bearers by more than a node knows when it sets one up. One that selects by RNTI or
QFI stays with the controller. So do the rules behind it if it installs no base: a bearer that it
selects would get one that the policy does not give it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tc_controller.core.act.base import choose_base
from tc_controller.core.act.decision import Choice
from tc_controller.core.act.timers import NEVER
from tc_controller.core.inputs import Accepted, Ie, Outcome, Refused
from tc_controller.core.policy.rung import Rung
from tc_controller.core.policy.schema import Policy, Rule
from tc_controller.core.policy.selectors import Selector, Slice
from tc_controller.core.policy.slot import OfBase

#: A refusal that names no rule, or one of a rule that was refused in all its pipelines.
_AGAIN_US: Final = 60_000_000
#: Longest lists of a rule (`maxMatches`).
_MOST_MATCHES: Final = 64
#: Selectors by what no node knows when it sets a bearer up.
_LATE: Final = ("rntis", "qfis")
_REFUSED_RULE: Final = re.compile(r"change\.set\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """What bearers of a rule of the policy are set up with."""

    #: Name of the rule of the policy.
    rule: str
    #: E2SM-TC ``BearerMatch``.
    match: Mapping[str, Any]
    #: Place in the base, and template; ``None``: the node's own pipeline.
    index: int | None = None
    template: str | None = None
    pipeline: Mapping[str, Any] | None = None
    lease_ms: int | None = None
    as_safe: bool = False

    def ie(self) -> dict[str, Any]:
        """The E2SM-TC ``DefaultRule``."""
        return {
            "match": self.match,
            "pipeline": self.pipeline,
            "lease_ms": self.lease_ms,
            "as_safe": self.as_safe,
        }

    def words(self) -> str:
        """Text for people: which bearers start with what."""
        given = [f"{name} {', '.join(map(str, each))}" for name, each in self.match.items() if each]
        bearers = "; ".join(given) or "every bearer"
        return f"{bearers}: {self.template or 'as the node sets it up'} (rule {self.rule})"


def compile_rules(
    policy: Policy,
    node_id: str,
    capabilities: Ie,
    failed: Mapping[str, set[int]],
    tried: Mapping[str, Rung],
) -> tuple[DefaultRule, ...]:
    """The rules for a node; none if it would set up every bearer with its own pipeline.

    Args:
        failed: places in the base of pipelines that the node refused, by rule.
        tried: pipelines that trials keep instead of the base, by rule.
    """
    support = capabilities["node_default"]
    known, most = frozenset(support["matches"]), int(support["max_rules"])
    compiled: list[DefaultRule] = []
    for rule in policy.rules:
        start = _start(rule, capabilities, failed.get(rule.name, set()), tried.get(rule.name))
        matches = _matches(policy, rule, node_id, known)
        if matches is None:
            if start is None:
                break
            continue
        compiled += (DefaultRule(rule.name, match, **(start or {})) for match in matches)
    del compiled[most:]
    while compiled and compiled[-1].pipeline is None:
        compiled.pop()
    return tuple(compiled)


def why_not_in_advance(policy: Policy, rule: Rule) -> str | None:
    """Why no node can set up the rule's bearers with its base, in words; ``None``: one that knows
    DRBs, 5QIs and slices can."""
    for each in policy.rules:
        matches = _selectors(policy, each)
        by = next((name for item in matches for name in _LATE if getattr(item, name)), None)
        if each is rule:
            return None if by is None else f"it selects by {by}"
        if by is not None and (each.enforce.dry_run or not each.base):
            return f"rule {each.name} before it installs no base and selects by {by}"
    return None


def _selectors(policy: Policy, rule: Rule) -> list[Selector]:
    return [rule.match, *(policy.slices[name] for name in rule.match.slices)]


def _start(
    rule: Rule, capabilities: Ie, failed: set[int], tried: Rung | None
) -> dict[str, Any] | None:
    """What the rule's bearers are set up with; ``None``: nothing of the controller's."""
    enforce = rule.enforce
    if enforce.dry_run or not rule.base:
        return None
    if tried is not None:
        pipeline = tried.pipeline()
        leased = {"lease_ms": enforce.lease_ms, "as_safe": False}
        return {"template": tried.template, "pipeline": pipeline, **leased}
    choice = choose_base(rule.compiled_base(), failed, None, capabilities)
    if not isinstance(choice, Choice) or not isinstance(choice.slot, OfBase):
        return None
    as_safe = bool(capabilities.get("as_safe")) and enforce.keep_base_without_controller
    return {
        "index": choice.slot.index,
        "template": choice.rung.template,
        "pipeline": choice.pipeline,
        "lease_ms": None if as_safe else enforce.lease_ms,
        "as_safe": as_safe,
    }


def _matches(
    policy: Policy, rule: Rule, node_id: str, known: frozenset[str]
) -> list[dict[str, list[Any]]] | None:
    """The ``BearerMatch`` of the rule, or of each of its slices; ``None`` if a node cannot tell
    the rule's bearers when it sets them up."""
    found: list[dict[str, list[Any]]] = []
    slices: Sequence[Slice | None] = [policy.slices[name] for name in rule.match.slices] or [None]
    for each in slices:
        selectors: list[Selector] = [rule.match] if each is None else [rule.match, each]
        if not all(selector.of_node(node_id) for selector in selectors):
            continue
        if any(getattr(selector, name) for selector in selectors for name in _LATE):
            return None
        drbs = _both([set(selector.drbs) for selector in selectors if selector.drbs])
        by_qi = [selector.five_qis for selector in selectors if selector.five_qis]
        s_nssai = None if each is None else each.s_nssai
        if drbs is not None and not drbs:
            continue
        lists: dict[str, list[Any]] = {
            "five_qi": list(by_qi[0]) if by_qi else [],
            "s_nssai": [] if s_nssai is None else [s_nssai.model_dump()],
            "drb": sorted(drbs or ()),
        }
        # One flow of both lists is not what two selectors ask for.
        if len(by_qi) > 1 or any(len(given) > _MOST_MATCHES for given in lists.values()):
            return None
        if "s_nssai" not in known:
            # Nor does it report slices, and the controller goes by the other selectors.
            lists["s_nssai"] = []
        if lists["five_qi"] and "five_qi" not in known:
            # Nor does it report 5QIs: no bearer of it is one of the rule's.
            continue
        if lists["drb"] and "drb" not in known:
            return None
        found.append({f"{kind}s": given for kind, given in lists.items()})
    return found


def _both(sets: list[set[int]]) -> set[int] | None:
    """What is in all of them; ``None`` for none."""
    return set.intersection(*sets) if sets else None


class NodeDefault:
    """The node default at one node that this controller owns."""

    def __init__(self, node_id: str, capabilities: Ie | None, policy: Policy) -> None:
        self._node_id = node_id
        self._capabilities = capabilities or {}
        self._failed: defaultdict[str, set[int]] = defaultdict(set)
        self._stopped = False
        #: What is wanted; the rules in force and their revision, as far as is known: ``None``
        #: after an answer was lost, or while another may own the node.
        self.wanted: tuple[DefaultRule, ...] = ()
        self.in_force: tuple[DefaultRule, ...] | None = ()
        self.revision = 0
        self._sent: tuple[DefaultRule, ...] | None = None
        self._awaiting = False
        self._due_us = 0
        self._tried: dict[str, Rung] = {}
        self.set_policy(policy)

    @property
    def supported(self) -> bool:
        """Whether the node has a node default."""
        return bool(self._capabilities.get("node_default"))

    def set_policy(self, policy: Policy) -> None:
        """Another policy is in force."""
        self._policy = policy
        self._failed.clear()
        self._compile()

    def set_tried(self, tried: Mapping[str, Rung]) -> None:
        """Trials keep these pipelines instead of the base, by rule."""
        if tried != self._tried:
            self._tried = dict(tried)
            self._compile()

    def _compile(self) -> None:
        if not self.supported or self._stopped:
            self.wanted = ()
        else:
            self.wanted = compile_rules(
                self._policy, self._node_id, self._capabilities, self._failed, self._tried
            )
        if self.wanted != self.in_force:
            self._due_us = 0

    def stop(self) -> None:
        """Want none any more: the controller stops and returns bearers to what they had."""
        self._stopped = True
        self._compile()

    def lost(self) -> None:
        """Another controller may own the node."""
        if self.in_force != ():
            self.in_force = None
        self._awaiting, self._sent, self._due_us = False, None, 0

    def summary(self) -> str:
        """What bearers to come are set up with, in words."""
        if self.in_force is None:
            return "not known: no answer yet, or a refusal"
        if not self.in_force:
            return "none: bearers start as the node sets them up"
        return "; ".join(each.words() for each in self.in_force)

    @property
    def lease_ms(self) -> int:
        """Lease of the node default: the shortest of the rules that it is made of."""
        rules = {each.rule for each in self.wanted}
        leases = [rule.enforce.lease_ms for rule in self._policy.rules if rule.name in rules]
        return min(leases, default=1)

    def due_from_us(self) -> int:
        """Controller time before which `due` has nothing to send."""
        idle = self._awaiting or (not self.wanted and self.in_force == ())
        return NEVER if idle else self._due_us

    def due(self, now_us: int) -> Any:
        """The E2SM-TC ``NodeDefaultChange`` to send now; ``None``: nothing."""
        if now_us < self.due_from_us():
            return None
        self._awaiting, self._sent = True, self.wanted
        if not self.wanted:
            return "withdraw"
        if self.wanted == self.in_force:
            return {"renew": self.revision}
        return {"set": [rule.ie() for rule in self.wanted]}

    def answered(self, outcome: Outcome, now_us: int) -> str | None:
        """A change was answered, or was not in time; what became of it if that is worth noting:
        set, withdrawn, refused."""
        sent, former = self._sent, self.in_force
        self._awaiting, self._sent = False, None
        if sent is None:
            return None
        self._due_us = now_us + self.lease_ms * 1000 // 3
        if isinstance(outcome, Accepted):
            self.in_force, self.revision = sent, outcome.revision
            if sent != self.wanted:
                self._due_us = 0
            if sent == former:
                return None
            return "set" if sent else "withdrawn"
        self.in_force = None
        if not isinstance(outcome, Refused):
            return None
        if outcome.cause == "stale_revision":
            # The node has another, or none after its end: this one is set again.
            self._due_us = now_us
            return None
        self._refused(outcome, sent, now_us)
        return "refused"

    def _refused(self, outcome: Refused, sent: Sequence[DefaultRule], now_us: int) -> None:
        """Do without what the node does not take."""
        self._due_us = now_us + _AGAIN_US
        named = _REFUSED_RULE.search(outcome.element)
        if named is None or int(named[1]) >= len(sent):
            return
        rule = sent[int(named[1])]
        if rule.index is not None:
            self._failed[rule.rule].add(rule.index)
        self._compile()
        if self.wanted != sent:
            self._due_us = now_us
