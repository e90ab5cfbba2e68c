"""The trials of a node, one per rule that has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer, Shared
from tc_controller.core.node.node import Node
from tc_controller.core.policy.rung import Rung
from tc_controller.core.policy.schema import Policy
from tc_controller.core.trials.run import Phase, TrialRun, digest

#: No trial.
_NONE: Final[Mapping[str, Rung]] = {}


class NodeTrials:
    """Keeps the trials of a policy; one whose pipelines, objective and settings another policy
    leaves as they are goes on."""

    def __init__(self, node: Node, policy: Policy, shared: Shared) -> None:
        self._node = node
        self._shared = shared
        #: Trials by the name of their rule.
        self.runs: dict[str, TrialRun] = {}
        self.set_policy(policy)

    def set_policy(self, policy: Policy) -> None:
        """Another policy is in force."""
        former, self.runs = self.runs, {}
        documents, own_id = self._shared.desired.trials, self._node.node_id
        for rule in policy.rules:
            if rule.trial is None or rule.enforce.dry_run:
                continue
            run = former.get(rule.name)
            if run is not None and run.digest == digest(rule):
                run.rule = rule
            else:
                document = documents.get((own_id, rule.name))
                run = TrialRun(own_id, rule, rule.trial, self._shared, document)
            self.runs[rule.name] = run
        for node_id, name in list(documents):
            if node_id == own_id and name not in self.runs:
                del documents[node_id, name]

    def kept_instead(self) -> Mapping[str, Rung]:
        """The pipelines that trials which have ended keep instead of the base, by rule."""
        if not self.runs:
            return _NONE
        runs = self.runs.items()
        return {name: run.trial.against for name, run in runs if run.keeps_tried}

    @property
    def active(self) -> bool:
        """Whether a trial has not ended: it measures at each tick."""
        return bool(self.runs) and any(run.phase is not Phase.ENDED for run in self.runs.values())

    def joined(self, bearer: Bearer, now_us: int) -> None:
        """The bearer is new, or another rule or policy holds."""
        run = None if bearer.rule is None else self.runs.get(bearer.rule.name)
        if run is not None:
            run.joined(bearer, now_us)
        elif bearer.assigned is not None:
            bearer.assign(None)

    def tick(self, now_us: int) -> list[Action]:
        """Time passed while the controller acts on the node."""
        actions: list[Action] = []
        for run in self.runs.values():
            actions += run.tick(now_us, self._node)
        return actions
