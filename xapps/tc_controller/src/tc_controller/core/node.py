"""One E2 node as the controller knows it: its windows and its bearers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.actions import Action
from tc_controller.core.bearer import BearerFlow, Shared
from tc_controller.core.detect import Detector
from tc_controller.core.history import DrainHistory
from tc_controller.core.inputs import BearerKey, Ie
from tc_controller.core.inventory import FlowView
from tc_controller.core.look import Look
from tc_controller.core.observe import RlcWindows
from tc_controller.core.pipeline_view import PipelineView
from tc_controller.core.policy import Policy
from tc_controller.core.predict import Predictor
from tc_controller.core.select import rule_for
from tc_controller.core.utilisation import PrbWindow


class Node:
    """Windows, views and bearer flows of one node."""

    def __init__(
        self, node_id: str, capabilities: Ie | None, policy: Policy, shared: Shared
    ) -> None:
        self.node_id = node_id
        self.capabilities = capabilities
        self._shared = shared
        self.flows: dict[BearerKey, BearerFlow] = {}
        self.inventories: dict[BearerKey, FlowView] = {}
        self.views: dict[BearerKey, PipelineView] = {}
        self._slots: dict[BearerKey, int] = {}
        self._policy = policy
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

    def look(self, key: BearerKey) -> Look | None:
        """The bearer as the windows show it; ``None`` while no RLC report names it."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        return Look(
            self.windows,
            self.history,
            self.prbs,
            slot,
            key.rnti,
            self.views.get(key),
            self.inventories.get(key),
        )

    def slot(self, key: BearerKey) -> int | None:
        """Slot of a bearer."""
        return self._slots.get(key)

    def admit(self, slot: int, now_us: int, out: list[Action]) -> None:
        """A bearer was named for the first time."""
        key = self.windows.keys[slot]
        if key is None:
            return
        self._slots[key] = slot
        self.history.born(slot)
        flow = self.flows.get(key)
        if flow is None:
            rule = rule_for(self._policy, key, self.inventories.get(key))
            flow = BearerFlow(key, rule, self._shared, self.capabilities)
            self.flows[key] = flow
        self.detector.watch(slot, None if flow.rule is None else flow.rule.objective)
        view = self.views.get(key)
        if view is not None:
            self.charge(key, view)
            flow.status(view, self.look(key), now_us, out)
        self.sync(flow, now_us)

    def charge(self, key: BearerKey, view: PipelineView) -> None:
        """Count what the pipeline costs an ungreedy flow into the bearer's sojourn."""
        slot = self._slots.get(key)
        if slot is not None:
            self.windows.pipeline_us[slot] = view.ungreedy_sojourn_us

    def sync(self, flow: BearerFlow, now_us: int) -> None:
        """To be called after anything happened to a bearer."""
        flow.schedule(now_us)
        slot = self._slots.get(flow.key)
        if slot is None:
            return
        if self.ready.size < self.windows.capacity:
            extra = self.windows.capacity - self.ready.size
            self.ready = np.pad(self.ready, (0, extra))
        self.ready[slot] = flow.ready(now_us)

    def remove(self, key: BearerKey, now_us: int, out: list[Action]) -> None:
        """A bearer is gone."""
        flow = self.flows.pop(key, None)
        if flow is not None:
            flow.gone(now_us, out)
        slot = self._slots.pop(key, None)
        if slot is not None:
            self.detector.watch(slot, None)
            self.ready[slot] = False
            self.windows.forget(key)
        self.views.pop(key, None)
        self.inventories.pop(key, None)
        self.predictor.forget(key)

    def govern(self, policy: Policy, now_us: int) -> None:
        """Another policy holds from now on."""
        old, self._policy = self._policy, policy
        if depth(policy) > self._depth or policy.reports.rlc_period_ms != old.reports.rlc_period_ms:
            # The windows begin anew; bearers find their slots with the next report.
            self._open_windows(policy)
        for flow in self.flows.values():
            self.assign(flow, now_us)

    def assign(self, flow: BearerFlow, now_us: int) -> None:
        """Give a bearer the rule that matches it now."""
        rule = rule_for(self._policy, flow.key, self.inventories.get(flow.key))
        if rule != flow.rule:
            flow.govern(rule)
            slot = self._slots.get(flow.key)
            if slot is not None:
                self.detector.watch(slot, None if rule is None else rule.objective)
        self.sync(flow, now_us)

    def watched(self) -> int:
        """Bearers that a rule holds for."""
        return sum(flow.rule is not None for flow in self.flows.values())


def depth(policy: Policy) -> int:
    """Reports the windows must hold."""
    longest_ms = max(max(rule.objective.window_ms, rule.verify.window_ms) for rule in policy.rules)
    # A quarter more, so that jitter of the reports does not cut a window short.
    return longest_ms * 5 // (policy.reports.rlc_period_ms * 4) + 2
