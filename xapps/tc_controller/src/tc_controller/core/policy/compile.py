"""Compiles the objectives of a rule to pipelines: the template `classes` out of each base.

| objective | pipeline |
|---|---|
| class | filters, a queue per flow and kind |
| share | weight of the class |
| guaranteed rate | priority within that rate |
| maximum rate | shaper of all queues of the class; CoDel in them, unless loss is bound |
| bound on the delay | BoDe at the bound, unless loss is bound |
| bound on the loss | FIFO |

A maximum rate of the rule is a shaper of the whole bearer. A guaranteed rate of the rule is not
enforced: which bearer the radio serves is the MAC's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ric.errors import TemplateParameterError
from ric.explain import PlacedError
from ric.sm import tc

from tc_controller.core.policy.classes import ClassObjective, TrafficClass
from tc_controller.core.policy.rung import Rung

#: The template that has classes.
CLASSES: Final = "classes"
#: Templates with a queue per flow by hash: within a class, flows are served as in these.
PER_FLOW: Final = ("low_latency", "fq_codel", "fq_l4s")
#: Parameters that `classes` has as well, with the same meaning.
_KEPT: Final = ("quantum_bytes", "threshold_us", "bulk_bound_us", "pacer", "buffer")
#: Parameters that `classes` cannot honour.
_LOST: Final = ("scheduler",)
_MAX_WEIGHT: Final = 255
#: Tolerance of a share; senders that follow a queue differ by more.
_TOLERANCE: Final = 0.02


def with_classes(
    base: Sequence[Rung], classes: Sequence[TrafficClass], maximum_mbps: float | None
) -> tuple[Rung, ...]:
    """The pipelines to install on the bearers of a rule: the first that the node supports.

    Without classes and a maximum rate it is the rule's base. Otherwise the base with classes comes
    first and the base as it is last: on a node that lacks what the classes need, flows are at
    least kept apart.

    Raises:
        PlacedError: no pipeline can be made of them; the place is within the rule.
    """
    if not classes and maximum_mbps is None:
        return tuple(base)
    if not base:
        raise PlacedError(("base",), "an empty list; expected a base that the classes are added to")
    compiled = (_compiled(*each, classes, maximum_mbps) for each in enumerate(base))
    return (*compiled, *base)


def _compiled(
    index: int, rung: Rung, classes: Sequence[TrafficClass], maximum_mbps: float | None
) -> Rung:
    given, place = rung.parameters, ("base", index)
    if rung.template not in PER_FLOW:
        problem = f"{rung.template} has no classes; expected one of {', '.join(PER_FLOW)}"
        raise PlacedError((*place, "template"), problem)
    for name in _LOST:
        if name in given:
            raise PlacedError((*place, name), "expected none in a rule with classes")
    schema = tc.template_schema(rung.template)["properties"]
    parameters: dict[str, Any] = {
        name: given.get(name, schema[name].get("default")) for name in _KEPT if name in schema
    }
    # Groups whose parameters have the same defaults in all templates.
    parameters["buffer"] = given.get("buffer", {})
    if "codel" in schema or maximum_mbps is not None:
        parameters["codel"] = given.get("codel", {})
    if "queues" in given:
        parameters["queues"] = given["queues"]
    if maximum_mbps is not None:
        parameters["maximum_kbps"] = _kbps(maximum_mbps)
    parameters["rest_weight"], *weights = shares(classes)
    parameters["classes"] = [
        _class(each, weight, shaped=maximum_mbps is not None)
        for each, weight in zip(classes, weights, strict=True)
    ]
    # The rest of what may be wrong depends on all classes together: their filters and queues.
    try:
        tc.pipeline(CLASSES, parameters)
    except TemplateParameterError as error:
        raise PlacedError((), f"{error.parameter}: {error.detail}") from None
    return Rung(template=CLASSES, **parameters)


def _class(each: TrafficClass, weight: int, *, shaped: bool) -> dict[str, Any]:
    objective = each.objective
    parameters: dict[str, Any] = {
        "matches": [match.ie() for match in each.match],
        "weight": weight,
    }
    if objective.guaranteed_mbps is not None:
        parameters["guaranteed_kbps"] = _kbps(objective.guaranteed_mbps)
    if objective.maximum_mbps is not None:
        parameters["maximum_kbps"] = _kbps(objective.maximum_mbps)
    return {**parameters, **_discipline(objective, shaped or objective.maximum_mbps is not None)}


def _discipline(objective: ClassObjective, shaped: bool) -> dict[str, Any]:
    if objective.loss_ratio is not None:
        return {"fifo": True}
    if objective.bound_ms is not None:
        return {"bound_us": max(1, round(objective.bound_ms * 1000))}
    # A shaped queue does not follow the radio: CoDel keeps it short and loses no rate.
    return {"codel": {}} if shaped else {}


def shares(classes: Sequence[TrafficClass]) -> list[int]:
    """Weights of the rest and of each class, 1 to 255: shares in their proportion."""
    given = [each.share for each in classes]
    named = sum(share for share in given if share is not None)
    # The rest divides what is left with the classes that have no share.
    left = max(0.0, 1.0 - named) / (1 + given.count(None))
    parts = [left, *(left if share is None else share for share in given)]
    # No weight is 0; and of a share that is small beside the largest the turn is a quantum.
    largest = max(parts)
    return _ratio([max(part / largest, 1 / _MAX_WEIGHT) for part in parts])


def _ratio(parts: Sequence[float]) -> list[int]:
    """The smallest weights in the proportion of the parts, which are at most 1.

    A turn is worth the weight in quanta: small weights keep the wait for the other classes short.
    """
    least = min(parts)
    for factor in range(1, _MAX_WEIGHT + 1):
        exact = [part / least * factor for part in parts]
        weights = [round(each) for each in exact]
        if max(weights) > _MAX_WEIGHT:
            break
        if all(
            abs(weight - each) <= _TOLERANCE * each
            for weight, each in zip(weights, exact, strict=True)
        ):
            return weights
    return [max(1, round(_MAX_WEIGHT * part)) for part in parts]


def _kbps(mbps: float) -> int:
    return max(1, round(mbps * 1000))
