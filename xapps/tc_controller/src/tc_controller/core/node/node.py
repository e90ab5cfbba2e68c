"""One E2 node: its windows and its bearers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rlc_windows import Report

from tc_controller.core.act.node_default import NodeDefault
from tc_controller.core.act.ownership import Ownership
from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer, Shared
from tc_controller.core.bearer.events import (
    BearerEvents,
    observe_status,
    rule_changed,
    schedule,
)
from tc_controller.core.bearer.lifecycle import Lifecycle
from tc_controller.core.inputs import (
    BearerKey,
    FlowInventory,
    Ie,
)
from tc_controller.core.node.faults import NodeFaults
from tc_controller.core.node.flow_moves import FlowMoves, Seen
from tc_controller.core.node.strategies import Remedy, Trials
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.inventory import FlowView
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.observe.pipeline_views import PipelineViews
from tc_controller.core.observe.prb_window import PrbWindow
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.schema import Policy, Rule
from tc_controller.core.policy.selectors import UNKNOWN, Carried
from tc_controller.core.verify.distribution import NO_SAMPLES, Counts
from tc_controller.core.verify.service import ServiceMeter


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside the bases of the rules on a node."""

    #: The lives of its bearers.
    lifecycle: Lifecycle
    remedy: Callable[[Node], Remedy]
    trials: Callable[[Node], Trials]


class Node:
    """Windows, reports and bearers of one node."""

    def __init__(
        self,
        node_id: str,
        capabilities: Ie | None,
        policy: Policy,
        shared: Shared,
        now_us: int,
        *,
        beside: Beside,
    ) -> None:
        self.node_id = node_id
        self.capabilities = capabilities
        self.ownership = Ownership(
            capabilities,
            policy,
            now_us,
            owner=shared.owner,
            preferred=shared.replica.prefers(node_id),
        )
        self._shared = shared
        self.bearers: dict[BearerKey, Bearer] = {}
        self.inventories: dict[BearerKey, FlowView] = {}
        self.pipelines = PipelineViews(node_id)
        #: What bearers carry, as the node reports it, where the policy asks for it.
        self.carried: dict[BearerKey, Carried] = {}
        self._slots: dict[BearerKey, int] = {}
        #: Keys of the bearers that RLC reports have, by C-RNTI and DRB.
        self._keys: dict[int, BearerKey] = {}
        self._policy = policy
        #: Controller time of the newest RLC report; ``None`` before the first.
        self.reported_at_us: int | None = None
        self.faults = NodeFaults(node_id, now_us)
        self.default = NodeDefault(node_id, capabilities, policy)
        self.flow_moves = FlowMoves(
            node_id,
            capabilities,
            Seen(self.view, self.inventories, self.pipelines),
            (shared.outbox, shared.desired, shared.next_decision_id),
            policy.second_drb,
        )
        self._open_windows(policy)
        self.events = BearerEvents(beside.lifecycle)
        self.remedy = beside.remedy(self)
        self.trials = beside.trials(self)

    @property
    def acts(self) -> bool:
        """Whether the controller decides about the node's bearers."""
        return self._shared.acting and self.ownership.acts

    def _open_windows(self, policy: Policy) -> None:
        period_ms = policy.reports.rlc_period_ms
        self._depth = depth(policy)
        self.windows = RlcWindows(
            self.node_id, self._depth, period_ms * 1000, gone_after=max(50, 200 // period_ms)
        )
        self.prbs = PrbWindow(self._depth * period_ms * 1000)
        self.service = ServiceMeter(self.windows, period_ms)
        self._slots.clear()

    def view(self, key: BearerKey) -> BearerView | None:
        """The present state of a bearer; ``None`` while no RLC report has it."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        return BearerView(
            self.windows,
            self.prbs,
            slot,
            key.rnti,
            self.pipelines.get(key),
            self.inventories.get(key),
        )

    def key(self, report: FlowInventory) -> BearerKey | None:
        """Bearer of a report; see `BearerKey.from_ie`."""
        rnti, drb = report.rnti, report.drb
        if rnti is None:
            return None
        key = self._keys.get(rnti << 8 | drb)
        return BearerKey(self.node_id, rnti, drb) if key is None else key

    def reported(self, found: Report, now_us: int) -> list[Action]:
        """Bearers came, went or exceed their bounds with the newest RLC report."""
        new, gone = found.new, found.gone
        if not (new or gone):
            self._note(found.began, found.ended)
            return []
        actions: list[Action] = []
        for code in gone:
            actions += self.remove(self.windows.key(code), now_us)
        for slot in new:
            actions += self.add(slot, now_us)
        self._note(*self.windows.judge())
        return actions

    def _note(self, began: Sequence[int], ended: Sequence[int]) -> None:
        """Violations of these slots began and ended."""
        for slot in began:
            bearer = self.at(slot)
            if bearer is not None and bearer.rule is not None:
                self._shared.counters.violations[bearer.rule.name] += 1
        for slot in ended:
            bearer = self.at(slot)
            if bearer is not None:
                bearer.pause.violation_ended()

    def at(self, slot: int) -> Bearer | None:
        """The bearer of a slot."""
        key = self.windows.key_at(slot)
        return None if key is None else self.bearers.get(key)

    def add(self, slot: int, now_us: int) -> list[Action]:
        """A report has a new bearer."""
        key = self.windows.key_at(slot)
        if key is None:
            return []
        self._slots[key] = slot
        self._keys[key.rnti << 8 | key.drb] = key
        bearer = self.bearers.get(key)
        if bearer is None:
            rule, role = self._rule(key), self.ownership.role
            bearer = Bearer(key, rule, self._shared, self.capabilities, role)
            bearer.touched = self.pipelines.touched
            self._count_with_others(bearer)
            self.bearers[key] = bearer
            self.trials.joined(bearer, now_us)
        self.windows.promise(slot, None if bearer.rule is None else bearer.rule.objective)
        self.service.assign(slot, bearer.service, new=True)
        pipeline = self.pipelines.get(key)
        actions: list[Action] = []
        if pipeline is not None:
            self.windows.set_pipeline_us(slot, pipeline.ungreedy_sojourn_us)
            if self.ownership.acts:
                actions += self.events.status(bearer, pipeline, self.view(key), now_us)
            else:
                observe_status(bearer, pipeline)
        self.sync(bearer, now_us)
        return actions

    def note_inventory(self, key: BearerKey, flows: FlowView) -> None:
        """Store the newest inventory; coming statuses are read with it."""
        self.inventories[key] = flows
        self.pipelines.use(key, flows.queues_of_ungreedy)

    def note_carried(self, key: BearerKey, status: PipelineView, now_us: int) -> None:
        """The first status of a bearer: rules may select it by what it carries."""
        five_qis, s_nssai = status.qos
        carried = self.carried[key] = Carried(frozenset(five_qis), s_nssai)
        bearer = self.bearers.get(key)
        if bearer is not None and carried != UNKNOWN:
            self.match_rule(bearer, now_us)

    def sync(self, bearer: Bearer, now_us: int) -> None:
        """Update its schedule; to be called after anything happened to a bearer."""
        schedule(bearer, now_us)
        bearer.touch()
        slot = self._slots.get(bearer.key)
        if slot is not None:
            self.remedy.sync(bearer, slot, now_us)

    def remove(self, key: BearerKey, now_us: int) -> list[Action]:
        """A bearer is gone."""
        bearer = self.bearers.pop(key, None)
        actions: list[Action] = [] if bearer is None else self.events.removed(bearer, now_us)
        self._keys.pop(key.rnti << 8 | key.drb, None)
        slot = self._slots.pop(key, None)
        if slot is not None:
            self.service.assign(slot, None)
            self.windows.forget(key)
        actions += self.flow_moves.gone(key)
        self.pipelines.forget(key)
        self.inventories.pop(key, None)
        self.carried.pop(key, None)
        self.remedy.forget(key, slot)
        return actions

    def set_policy(self, policy: Policy, now_us: int) -> None:
        """Another policy is in force."""
        old, self._policy = self._policy, policy
        self.ownership.set_policy(policy)
        self.trials.set_policy(policy)
        self.default.set_policy(policy)
        self.flow_moves.set_policy(policy.second_drb)
        self.carried.clear()
        if depth(policy) > self._depth or policy.reports.rlc_period_ms != old.reports.rlc_period_ms:
            # The windows begin anew; bearers find their slots with the next report.
            self._open_windows(policy)
            self.remedy.restart()
        for bearer in self.bearers.values():
            self.match_rule(bearer, now_us)
            self.trials.joined(bearer, now_us)

    def match_rule(self, bearer: Bearer, now_us: int) -> None:
        """Set the rule that matches the bearer now."""
        rule, slot = self._rule(bearer.key), self._slots.get(bearer.key)
        if rule != bearer.rule:
            rule_changed(bearer, rule)
            self.trials.joined(bearer, now_us)
            if slot is not None:
                self.windows.promise(slot, None if rule is None else rule.objective)
        self._count_with_others(bearer)
        if slot is not None:
            self.service.assign(slot, bearer.service)
        self.sync(bearer, now_us)

    def _count_with_others(self, bearer: Bearer) -> None:
        """Set slice and requirement of a bearer."""
        if bearer.rule is not None:
            key = bearer.key
            qfis, carried = self._qfis(key), self.carried.get(key, UNKNOWN)
            bearer.slice_name = self._policy.slice_of(key, qfis, bearer.rule, carried)
            bearer.requirement = self._policy.requirement_of(bearer.rule, bearer.slice_name)

    def recent_sojourns(self, key: BearerKey, now_us: int) -> Counts:
        """Sampled sojourns of a bearer over the last 15 minutes, by bucket."""
        slot = self._slots.get(key)
        return NO_SAMPLES if slot is None else self.service.recent(slot, now_us)

    def slot_of(self, key: BearerKey) -> int | None:
        """Column of a bearer in the arrays; ``None`` while no RLC report has it."""
        return self._slots.get(key)

    def _rule(self, key: BearerKey) -> Rule | None:
        return self._policy.rule_for(key, self._qfis(key), self.carried.get(key, UNKNOWN))

    def _qfis(self, key: BearerKey) -> frozenset[int]:
        flows = self.inventories.get(key)
        return frozenset() if flows is None else flows.qfis()

    def bases_kept(self) -> int:
        """Bearers whose base stays without the controller."""
        bearers = self.bearers.values()
        return sum(bearer.desired is not None and bearer.kept is not None for bearer in bearers)

    def watched(self) -> int:
        """Bearers matched by a rule."""
        return sum(bearer.rule is not None for bearer in self.bearers.values())


def held_us(policy: Policy) -> int:
    """Longest span that is asked for of the windows."""
    rules = policy.rules
    return 1000 * max(max(rule.objective.window_ms, rule.verify.window_ms) for rule in rules)


def depth(policy: Policy) -> int:
    """Reports the windows must hold."""
    # A quarter more, so that jitter of the reports does not cut a window short.
    return held_us(policy) * 5 // (policy.reports.rlc_period_ms * 4000) + 2
