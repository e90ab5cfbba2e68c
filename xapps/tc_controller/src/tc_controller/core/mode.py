"""The mode of a controller: whether it sends nothing, returns bearers, or acts."""

from __future__ import annotations

import enum
from typing import Final

from tc_controller.core.policy.schema import Policy, Rule


class Mode(enum.StrEnum):
    """What the controller does with its policy."""

    OFF = "off"
    OBSERVE = "observe"
    ACT = "act"

    @property
    def meaning(self) -> str:
        """What it does, and what happens to calls in progress."""
        return _MEANINGS[self]

    def applied(self, policy: Policy) -> Policy:
        """The policy that is in force in this mode; its rules keep their objectives."""
        if self is Mode.ACT:
            return policy
        change = _dry if self is Mode.OBSERVE else _without_pipelines
        second = policy.second_drb
        if second is not None:
            dry = second.model_copy(update={"dry_run": True})
            second = dry if self is Mode.OBSERVE else None
        applied = policy.with_rules(tuple(map(change, policy.rules)))
        return applied.model_copy(update={"second_drb": second})


def _dry(rule: Rule) -> Rule:
    return rule.model_copy(update={"enforce": rule.enforce.model_copy(update={"dry_run": True})})


def _without_pipelines(rule: Rule) -> Rule:
    # Also of a dry run, which may have been none before: what is in force is to be released.
    enforce = rule.enforce.model_copy(update={"dry_run": False})
    objective = rule.objective.model_copy(update={"maximum_mbps": None})
    return rule.model_copy(
        update={
            "base": (),
            "ladder": (),
            "classes": (),
            "trial": None,
            "enforce": enforce,
            "objective": objective,
        }
    )


_MEANINGS: Final = {
    Mode.OFF: "every bearer returns to the initial pipeline of its gNB at once and loses no packet;"
    " bearers to come keep it; of what is sent the node leases alone remain, so that no other "
    "controller takes the nodes",
    Mode.OBSERVE: "decides and logs, sends nothing; calls keep the base that is in force; a rung of"
    " the ladder ends with its lease, and bearers to come start with the gNB's own pipeline",
    Mode.ACT: "keeps bearers within the objectives of the policy",
}
