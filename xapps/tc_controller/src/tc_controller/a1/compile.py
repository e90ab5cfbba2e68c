"""Compiles policy instances to targets and says how each is enforced. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from tc_controller.a1.identities import Identities
from tc_controller.a1.types import (
    QosObjectives,
    QosTarget,
    SliceScope,
    SliceSlaObjectives,
    SliceSlaTarget,
    Statement,
    UeLevelObjectives,
    UeLevelTarget,
)
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.controller import Controller
from tc_controller.core.policy.classes import ClassObjective
from tc_controller.core.policy.compile import CLASSES
from tc_controller.core.policy.schema import Policy
from tc_controller.core.policy.selectors import Selector
from tc_controller.core.policy.targets import Target, TargetedPolicy, class_name


@dataclass(frozen=True, slots=True)
class Status:
    """Enforcement of an instance; ``reason`` is a value of A1TD clause 7.1.2.2."""

    enforced: bool
    reason: str | None = None
    detail: str = ""
    #: Further words that change with each measurement: no change of the status.
    figures: str = field(default="", compare=False)

    def document(self) -> dict[str, str]:
        """The PolicyStatusObject."""
        document = {"enforceStatus": "ENFORCED" if self.enforced else "NOT_ENFORCED"}
        if self.reason is not None:
            detail = f"{self.detail}; {self.figures}" if self.figures else self.detail
            document |= {"enforceReason": self.reason, "detail": detail}
        return document


def _out_of_scope(detail: str) -> Status:
    return Status(False, "SCOPE_NOT_APPLICABLE", detail)


#: Bit rates are in bit/s (TS 38.413 clause 9.3.1.4).
_BPS_PER_MBPS = 1e6


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What of a statement can be enforced, and the names of what cannot."""

    bound_ms: float | None
    rates: ClassObjective | None
    others: list[str]


def _wanted(statement: Statement) -> _Wanted:
    objectives: QosObjectives | UeLevelObjectives | SliceSlaObjectives
    rates = None
    if isinstance(statement, QosTarget):
        objectives, name, ms = statement.qosObjectives, "pdb", 1.0
    elif isinstance(statement, UeLevelTarget):
        objectives, name, ms = statement.ueLevelObjectives, "dlPacketDelay", 0.1
    else:
        objectives, name, ms = statement.sliceSlaObjectives, "maxDlPacketDelayPerUe", 1.0
    given = objectives.model_dump(exclude_none=True)
    delay = given.pop(name, None)
    if isinstance(statement, QosTarget):
        rates = _rates(given)
    return _Wanted(None if delay is None else delay * ms, rates, sorted(given))


def _rates(given: dict[str, float]) -> ClassObjective | None:
    """Takes the bit rates from the attributes unless no shaper has them."""
    names = {"gfbr": "guaranteed_mbps", "mfbr": "maximum_mbps"}
    mbps = {names[key]: value / _BPS_PER_MBPS for key, value in given.items() if key in names}
    try:
        rates = ClassObjective.model_validate(mbps)
    except ValidationError:
        return None
    for key in names:
        given.pop(key, None)
    return rates if mbps else None


def _slices(wanted: SliceScope, policy: Policy) -> tuple[Selector, ...]:
    sd = None if wanted.sd is None else int(wanted.sd, 16)
    return tuple(
        each
        for each in policy.slices.values()
        if each.s_nssai is not None and (each.s_nssai.sst, each.s_nssai.sd) == (wanted.sst, sd)
    )


def compiled(
    name: str, statement: Statement, policy: Policy, identities: Identities
) -> Target | Status:
    """The target of an instance, or why there is none. An instance is enforced whole or not."""
    wanted = _wanted(statement)
    if wanted.others or (wanted.bound_ms is None and wanted.rates is None):
        return Status(
            False,
            "STATEMENT_NOT_APPLICABLE",
            f"cannot be measured or enforced: {', '.join(wanted.others) or 'an empty statement'}",
        )
    scope = statement.scope
    ue = qfis = slices = None
    if not isinstance(statement, SliceSlaTarget):
        for key in ("groupId", "cellId"):
            if getattr(scope, key) is not None:
                return _out_of_scope(f"{key}: not known here")
        identifier, qos = statement.scope.ueId, statement.scope.qosId
        if identifier is not None and (ue := identities.ue(identifier)) is None:
            return _out_of_scope("ueId: not in the identity file")
        if qos is not None:
            known = () if qos.five_qi is None else identities.qfis_of_5qi.get(qos.five_qi, ())
            if not known:
                return _out_of_scope("qosId: the identity file has no QFIs for it")
            qfis = frozenset(known)
    if scope.sliceId is not None:
        slices = _slices(scope.sliceId, policy)
        if not slices:
            return _out_of_scope("sliceId: no slice of the policy file has this s_nssai")
    return Target(name, wanted.bound_ms, ue, qfis, slices, wanted.rates)


@dataclass(slots=True)
class _Tally:
    """Bearers in the scope of an instance."""

    in_scope: int = 0
    #: All that the instance wants is in their rule.
    governed: int = 0
    #: And in the pipeline.
    controlled: int = 0
    #: Attributes that are missed, and the newest sentence about one.
    missed: set[str] = field(default_factory=set)
    reason: str = ""

    def judged(self) -> Status:
        if self.in_scope == 0:
            return _out_of_scope("no watched bearer is in scope")
        if self.governed == 0:
            return Status(False, "OTHER_REASON", "other policies apply to all bearers in scope")
        if self.controlled < self.governed:
            missing = f"{self.governed - self.controlled} of {self.governed} bearers in scope"
            return Status(False, "OTHER_REASON", f"{missing} have no pipeline for it")
        if self.missed:
            detail = f"not met: {', '.join(sorted(self.missed))}"
            return Status(False, "OTHER_REASON", detail, self.reason)
        return Status(True)


def statuses(
    results: Mapping[str, Target | Status], controller: Controller, policy: TargetedPolicy
) -> dict[str, Status]:
    """How each instance is enforced now, by one pass over the bearers."""
    targets = {name: each for name, each in results.items() if isinstance(each, Target)}
    tallies = {name: _Tally() for name in targets}
    for bearer, qfis in _watched(controller) if targets else ():
        merged = policy.merged_for(bearer.key, qfis)
        template = None if bearer.desired is None else bearer.desired.template
        for name, target in targets.items():
            if not target.selects(bearer.key, qfis):
                continue
            tally = tallies[name]
            tally.in_scope += 1
            if merged is None:
                continue
            if target in merged.impossible:
                tally.governed += 1
                continue
            if not merged.has(target):
                continue
            tally.governed += 1
            # The base without classes, where the node has nothing better.
            if template is None or (target.rates is not None and template != CLASSES):
                continue
            tally.controlled += 1
            for missed, reason in _missed(bearer, target):
                tally.missed.add(missed)
                tally.reason = f"{bearer.key}: {reason}"
    return {
        name: each if isinstance(each, Status) else tallies[name].judged()
        for name, each in results.items()
    }


def _missed(bearer: Bearer, target: Target) -> Iterator[tuple[str, str]]:
    """What a bearer misses for longer than the hysteresis of its compliance, with the reason."""
    delay = bearer.judged.delay
    if target.bound_ms is not None and delay is not None and delay.missed:
        yield "delay", delay.reason
    if target.rates is None:
        return
    for qfi in sorted(target.qfis or ()):
        of_class = bearer.judged.classes.get(class_name(qfi))
        if of_class is not None and of_class.missed:
            yield f"rate of QFI {qfi}", of_class.reason


def _watched(controller: Controller) -> Iterator[tuple[Bearer, frozenset[int]]]:
    for node in list(controller.nodes.values()):
        for key, bearer in node.bearers.items():
            if bearer.rule is not None:
                flows = node.inventories.get(key)
                yield bearer, frozenset() if flows is None else flows.qfis()
