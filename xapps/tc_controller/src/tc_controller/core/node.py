"""One E2 node: its windows and its bearers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.actions import Action
from tc_controller.core.bearer import BearerControl
from tc_controller.core.bearer_state import Shared
from tc_controller.core.bearer_view import BearerView
from tc_controller.core.detect import Detector, Predictor
from tc_controller.core.drain_history import DrainHistory
from tc_controller.core.inputs import BearerKey, FlowInventory, Ie, PipelineStatus
from tc_controller.core.inventory import FlowView
from tc_controller.core.node_trials import NodeTrials
from tc_controller.core.ownership import Ownership
from tc_controller.core.pipeline_view import PipelineView
from tc_controller.core.policy import Policy, Rule
from tc_controller.core.prb_window import PrbWindow
from tc_controller.core.rlc_windows import RlcWindows


class Node:
    """Windows, reports and bearers of one node."""

    def __init__(
        self, node_id: str, capabilities: Ie | None, policy: Policy, shared: Shared, now_us: int
    ) -> None:
        self.node_id = node_id
        self.capabilities = capabilities
        self.ownership = Ownership(capabilities, policy, now_us)
        self._shared = shared
        self.bearers: dict[BearerKey, BearerControl] = {}
        self.inventories: dict[BearerKey, FlowView] = {}
        self.pipelines: dict[BearerKey, PipelineView] = {}
        self._slots: dict[BearerKey, int] = {}
        #: Of the bearers that RLC reports have, by C-RNTI and DRB.
        self._keys: dict[int, BearerKey] = {}
        self._policy = policy
        #: Controller time of the newest RLC report; ``None`` before the first.
        self.reported_at_us: int | None = None
        self.trials = NodeTrials(node_id, policy, shared)
        self._open_windows(policy)

    def _open_windows(self, policy: Policy) -> None:
        period_ms = policy.reports.rlc_period_ms
        self._depth = depth(policy)
        self.windows = RlcWindows(self.node_id, self._depth, gone_after=max(50, 200 // period_ms))
        self.detector = Detector(self.windows, period_ms * 1000)
        self.history = DrainHistory(self.windows)
        self.prbs = PrbWindow(self._depth * period_ms * 1000)
        self.predictor = Predictor()
        #: Slots whose bearer may be acted on.
        self.ready: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._slots.clear()

    def view(self, key: BearerKey) -> BearerView | None:
        """The present state of a bearer; ``None`` while no RLC report has it."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        return BearerView(
            self.windows,
            self.history,
            self.prbs,
            slot,
            key.rnti,
            self.pipelines.get(key),
            self.inventories.get(key),
        )

    def key(self, report: PipelineStatus | FlowInventory) -> BearerKey | None:
        """Bearer of a report; see `BearerKey.from_ie`."""
        rnti, drb = report.rnti, report.drb
        if rnti is None:
            return None
        key = self._keys.get(rnti << 8 | drb)
        return BearerKey(self.node_id, rnti, drb) if key is None else key

    def add(self, slot: int, now_us: int, out: list[Action]) -> None:
        """A report has a new bearer."""
        key = self.windows.keys[slot]
        if key is None:
            return
        self._slots[key] = slot
        self._keys[key.rnti << 8 | key.drb] = key
        self.history.born(slot)
        bearer = self.bearers.get(key)
        if bearer is None:
            bearer = BearerControl(key, self._rule(key), self._shared, self.capabilities)
            bearer.role = self.ownership.role
            self.bearers[key] = bearer
            self.trials.joined(bearer, now_us)
        self.detector.watch(slot, None if bearer.rule is None else bearer.rule.objective)
        pipeline = self.pipelines.get(key)
        if pipeline is not None:
            self.note_pipeline(key, pipeline)
            if self.ownership.acts:
                bearer.status(pipeline, self.view(key), now_us, out)
            else:
                bearer.observe_status(pipeline)
        self.sync(bearer, now_us)

    def note_pipeline(self, key: BearerKey, pipeline: PipelineView) -> None:
        """Store the newest status; what an ungreedy flow waits in it is part of its sojourn."""
        self.pipelines[key] = pipeline
        slot = self._slots.get(key)
        if slot is not None:
            self.windows.pipeline_us[slot] = pipeline.ungreedy_sojourn_us

    def sync(self, bearer: BearerControl, now_us: int) -> None:
        """Update schedule and readiness; to be called after anything happened to a bearer."""
        bearer.schedule(now_us)
        slot = self._slots.get(bearer.key)
        if slot is None:
            return
        if self.ready.size < self.windows.capacity:
            extra = self.windows.capacity - self.ready.size
            self.ready = np.pad(self.ready, (0, extra))
        self.ready[slot] = bearer.ready(now_us)

    def remove(self, key: BearerKey, now_us: int, out: list[Action]) -> None:
        """A bearer is gone."""
        bearer = self.bearers.pop(key, None)
        if bearer is not None:
            bearer.removed(now_us, out)
        self._keys.pop(key.rnti << 8 | key.drb, None)
        slot = self._slots.pop(key, None)
        if slot is not None:
            self.detector.watch(slot, None)
            self.ready[slot] = False
            self.windows.forget(key)
        self.pipelines.pop(key, None)
        self.inventories.pop(key, None)
        self.predictor.forget(key)

    def set_policy(self, policy: Policy, now_us: int) -> None:
        """Another policy is in force."""
        old, self._policy = self._policy, policy
        self.ownership.set_policy(policy)
        self.trials.set_policy(policy)
        if depth(policy) > self._depth or policy.reports.rlc_period_ms != old.reports.rlc_period_ms:
            # The windows begin anew; bearers find their slots with the next report.
            self._open_windows(policy)
        for bearer in self.bearers.values():
            self.match_rule(bearer, now_us)
            self.trials.joined(bearer, now_us)

    def match_rule(self, bearer: BearerControl, now_us: int) -> None:
        """Set the rule that matches the bearer now."""
        rule = self._rule(bearer.key)
        if rule != bearer.rule:
            bearer.rule_changed(rule)
            self.trials.joined(bearer, now_us)
            slot = self._slots.get(bearer.key)
            if slot is not None:
                self.detector.watch(slot, None if rule is None else rule.objective)
        self.sync(bearer, now_us)

    def _rule(self, key: BearerKey) -> Rule | None:
        flows = self.inventories.get(key)
        return self._policy.rule_for(key, frozenset() if flows is None else flows.qfis())

    def bases_kept(self) -> int:
        """Bearers whose base stays without the controller."""
        bearers = self.bearers.values()
        return sum(bearer.desired is not None and bearer.kept is not None for bearer in bearers)

    def watched(self) -> int:
        """Bearers matched by a rule."""
        return sum(bearer.rule is not None for bearer in self.bearers.values())


def depth(policy: Policy) -> int:
    """Reports the windows must hold."""
    longest_ms = max(max(rule.objective.window_ms, rule.verify.window_ms) for rule in policy.rules)
    # A quarter more, so that jitter of the reports does not cut a window short.
    return longest_ms * 5 // (policy.reports.rlc_period_ms * 4) + 2
