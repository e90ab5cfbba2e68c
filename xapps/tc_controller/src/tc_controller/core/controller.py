"""The controller's pure core: reports in, actions out. No clock, no I/O, no log.

``now_us`` is the caller's clock, wall or virtual; it must not go back. The same core runs behind
an E2 gateway (`tc_controller.app`) and in lockstep with a simulated gNB (the tests).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from rlc_windows import Report

from tc_controller.core.act.outbox import Outbox, Pending, Purpose
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.reconcile import DesiredStore, digest_of
from tc_controller.core.act.sharing import ALONE, Replica
from tc_controller.core.act.timers import NEVER
from tc_controller.core.actions import Action, SaveDesired
from tc_controller.core.bearer.assess import assess
from tc_controller.core.bearer.bearer import Shared
from tc_controller.core.bearer.events import observe_status, repeats
from tc_controller.core.inputs import (
    BearerKey,
    EventReport,
    FlowReport,
    ForecastReport,
    Indication,
    KpmReport,
    MacReport,
    NodeEvent,
    NodeUp,
    Outcome,
    PipelineReport,
    Refused,
    RlcReport,
    Unanswered,
)
from tc_controller.core.ladder.lifecycle import LIFECYCLE
from tc_controller.core.ladder.remedy import LadderRemedy
from tc_controller.core.mode import Mode
from tc_controller.core.node.faults import Way
from tc_controller.core.node.node import Beside, Node, held_us
from tc_controller.core.observe.inventory import read_inventory
from tc_controller.core.policy.schema import Policy
from tc_controller.core.report import records
from tc_controller.core.report.records import Counters
from tc_controller.core.trials.node import NodeTrials
from tc_controller.core.verify.compliance import PERIOD_US
from tc_controller.core.verify.service import SAMPLE_US

#: Period at which renewals, verifications and time-outs are checked.
TICK_US: Final = 5_000
#: Desired pipelines of bearers that did not return are dropped this long after their node did.
_RECLAIM_US = 60_000_000


class Controller:
    """Watches bearers, decides, and returns what to send.

    Args:
        policy: objectives and ladders.
        owner: identity of this controller among those that watch the same nodes.
        replica: its number among replicas that share the nodes.
        id_prefix: prefix of decision ids; should differ from start to start.
        acting: False: only observe, until `enable`.
        state: document of an earlier `SaveDesired`.
        mode: what it does with the policy.
        control_timeout_us: after this a control counts as unanswered.

    Raises:
        StateError: ``state`` has another shape.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        owner: str = "tc-controller",
        replica: Replica = ALONE,
        id_prefix: str = "d",
        acting: bool = True,
        state: object | None = None,
        mode: Mode = Mode.ACT,
        control_timeout_us: int = 1_000_000,
    ) -> None:
        #: The policy as it was given, and as it is in force in the present mode.
        self._given_policy = policy
        self.policy = policy = mode.applied(policy)
        self.counters = Counters()
        self.desired = DesiredStore()
        if state is not None:
            self.desired.load(state)
        self._id_prefix = id_prefix
        self._decisions = 0
        self.owner = owner
        self._stopping = False
        self._outbox = Outbox(owner, control_timeout_us, policy.max_controls_per_s)
        self._shared = Shared(
            self._outbox, self.desired, self.counters, self._next_id, replica, owner, acting, mode
        )
        self._shared.bases = _bases(self._given_policy)
        self.nodes: dict[str, Node] = {}
        self._reclaim_at_us: dict[str, int] = {}
        self._ticked_at_us = 0
        #: Before this a tick has nothing to do, unless an input is more than a repetition.
        self._rests_until_us = 0
        self._assessed_at_us: int | None = None
        self._sample_at_us = 0
        self._rematch = policy.depends_on_flows
        self._carried = policy.depends_on_carried
        self._unkept: set[str] = set()
        #: Whether the E2 gateway is connected; set by the shell.
        self.gateway_connected = True

    @property
    def acting(self) -> bool:
        """Whether it does more than observe; the policy may still have nothing to do."""
        return self._shared.acting

    @acting.setter
    def acting(self, acting: bool) -> None:
        self._shared.acting = acting
        self._rests_until_us = 0

    @property
    def mode(self) -> Mode:
        """What it does with its policy."""
        return self._shared.mode

    def _next_id(self) -> str:
        self._decisions += 1
        return f"{self._id_prefix}-{self._decisions}"

    # -------------------------------------------------------------------- inputs

    def on_indication(self, now_us: int, indication: Indication) -> list[Action]:
        """Handle a report; ``now_us`` is when its handling began."""
        node = self.nodes.get(indication.node_id)
        if node is None:
            self.counters.ignored["unknown_node"] += 1
            return []
        actions: list[Action] = []
        if isinstance(indication, RlcReport):
            found = node.windows.take(indication.collected_at_us, indication.message)
            if found is None:
                # As nearly always: no bearer came or went, and none violates its objective.
                node.reported_at_us = now_us
            else:
                self._rests_until_us = 0
                actions = self._rlc(node, indication, found, now_us)
        else:
            actions = self._handle(node, indication, now_us)
        return actions + self._tick_if_due(now_us)

    def turn_from_us(self) -> int:
        """Time before which no tick has anything to do, as long as `quietly` and the windows of the
        nodes, which a shell may give RLC reports itself, answer `None`; it then calls `on_quiet`
        before anything else."""
        return max(self._ticked_at_us + TICK_US, self._rests_until_us)

    def quietly(self, now_us: int, indication: Indication) -> list[Action] | None:
        """Handle a report that is not of the RLC, of a node that is there, before `turn_from_us`.

        Returns ``None`` if there is nothing to do and `turn_from_us` is as it was; otherwise what
        is to be given to `after`.
        """
        rests_until_us = self._rests_until_us
        actions = self._handle(self.nodes[indication.node_id], indication, now_us)
        return actions if actions or self._rests_until_us != rests_until_us else None

    def on_quiet(self, node_id: str, times_us: Sequence[int], reported_at_us: int | None) -> None:
        """Reports of a node were answered with ``None``: when each was handled, in order, all
        before `turn_from_us`, and when the last of the RLC was."""
        node = self.nodes.get(node_id)
        if node is not None and reported_at_us is not None:
            node.reported_at_us = reported_at_us
        for now_us in times_us:
            if now_us - self._ticked_at_us >= TICK_US:
                self._ticked_at_us = now_us

    def on_taken(self, now_us: int, report: RlcReport, found: Report) -> list[Action]:
        """Handle a report that the windows of its node have taken, as `on_indication` does;
        ``found``: what they answered."""
        self._rests_until_us = 0
        return self.after(now_us, self._rlc(self.nodes[report.node_id], report, found, now_us))

    def after(self, now_us: int, actions: list[Action]) -> list[Action]:
        """What `quietly` answered, and what is due behind it."""
        return actions + self._tick_if_due(now_us)

    def _tick_if_due(self, now_us: int) -> list[Action]:
        if now_us - self._ticked_at_us < TICK_US:
            return []
        if now_us >= self._rests_until_us:
            return self.on_tick(now_us)
        self._ticked_at_us = now_us
        return []

    def _handle(self, node: Node, indication: Indication, now_us: int) -> list[Action]:
        if isinstance(indication, PipelineReport):
            return self._pipelines(node, indication, now_us)
        if isinstance(indication, FlowReport):
            return self._inventories(node, indication, now_us)
        if isinstance(indication, EventReport):
            self._rests_until_us = 0
            return self._events(node, indication, now_us)
        if isinstance(indication, ForecastReport):
            self._rests_until_us = 0
            return node.remedy.forecast(indication, now_us)
        if isinstance(indication, MacReport):
            node.prbs.mac(indication)
        elif isinstance(indication, KpmReport) and self.policy.reports.mac_period_ms is None:
            node.prbs.kpm(indication)
        return []

    def on_tick(self, now_us: int) -> list[Action]:
        """Time passed; to be called at least every `TICK_US` while no reports arrive."""
        actions: list[Action] = []
        self._ticked_at_us, self._rests_until_us = now_us, 0
        for pending in self._outbox.overdue(now_us):
            actions += self._answer(pending, Unanswered("no answer in time"), now_us)
        if self._assessed_at_us is None:
            self._assessed_at_us = now_us
        if now_us >= self._sample_at_us:
            self._sample(now_us)
        if now_us - self._assessed_at_us >= PERIOD_US:
            actions += self._assess(now_us)
        if not self.acting:
            return actions
        actions += self._own(now_us)
        wake_at_us = NEVER
        for node in self.nodes.values():
            if node.ownership.acts:
                wake_at_us = min(wake_at_us, self._tick_node(node, now_us, actions))
        if self._reclaim_at_us:
            actions += self._reclaim(now_us)
        if not (actions or self._outbox.in_flight()):
            self._rests_until_us = self._next_due_us(wake_at_us)
        return actions

    def _tick_node(self, node: Node, now_us: int, actions: list[Action]) -> int:
        """Trials and bearers that are due; returns when the next bearer is, 0 after anything."""
        woken, wake_at_us = node.trials.active, NEVER
        if woken:
            actions += node.trials.tick(now_us)
        for bearer in node.bearers.values():
            if now_us >= bearer.wake_at_us:
                woken = True
                view = node.view(bearer.key)
                actions += node.remedy.tick(bearer, view, now_us)
                actions += node.events.tick(bearer, view, now_us)
                node.sync(bearer, now_us)
            elif bearer.wake_at_us < wake_at_us:
                wake_at_us = bearer.wake_at_us
        return 0 if woken else wake_at_us

    def _next_due_us(self, wake_at_us: int) -> int:
        """When a tick has something to do, by the clock alone. ``wake_at_us``: the earliest of all
        bearers."""
        due_us = min(wake_at_us, self._sample_at_us, *self._reclaim_at_us.values())
        if self._assessed_at_us is not None:
            due_us = min(due_us, self._assessed_at_us + PERIOD_US)
        if self._stopping:
            return due_us
        for node in self.nodes.values():
            due_us = min(due_us, node.ownership.due_from_us())
            if node.ownership.role is Role.OWNER:
                due_us = min(due_us, node.default.due_from_us())
        return due_us

    def on_control_answer(self, now_us: int, control_id: int, outcome: Outcome) -> list[Action]:
        """A control was answered."""
        self._rests_until_us = 0
        return self._answer(self._outbox.take(control_id), outcome, now_us)

    def on_node_event(self, now_us: int, event: NodeEvent) -> list[Action]:
        """A node connected or disconnected. After a restart its counters restart, and its pipelines
        are read before controls are sent."""
        node, actions = self.nodes.pop(event.node_id, None), []
        self._rests_until_us = 0
        if node is not None:
            self._outbox.forget_node(event.node_id)
            actions += node.faults.end(now_us)
        if not isinstance(event, NodeUp):
            self.counters.forget_node(event.node_id)
            return actions
        self.nodes[event.node_id] = Node(
            event.node_id,
            event.capabilities,
            self.policy,
            self._shared,
            now_us,
            beside=self._beside(),
        )
        self._reclaim_at_us[event.node_id] = now_us + _RECLAIM_US
        # A controller that was killed could not log that its faults ended.
        actions += [records.of_node("node_up", now_us, event.node_id), *self._note_unkept(now_us)]
        return actions + (self._own(now_us) if self.acting else [])

    def _beside(self) -> Beside:
        """The ladder and the trials of the policy, for those of its rules that have them."""
        policy, shared = self.policy, self._shared
        return Beside(
            lifecycle=LIFECYCLE,
            remedy=lambda node: LadderRemedy(node, shared),
            trials=lambda node: NodeTrials(node, policy, shared),
        )

    def set_policy(self, now_us: int, policy: Policy) -> list[Action]:
        """Another policy is given."""
        self._given_policy = policy
        return self._put_in_force(now_us)

    def set_mode(self, now_us: int, mode: Mode) -> list[Action]:
        """Do otherwise with the policy from now on; see `Mode` for what happens to bearers."""
        self._shared.mode = mode
        if mode is Mode.OFF:
            # A controller that waits before it acts has nothing to wait for.
            self.enable()
        return self._put_in_force(now_us)

    def _put_in_force(self, now_us: int) -> list[Action]:
        self.policy = policy = self.mode.applied(self._given_policy)
        self._outbox.per_second = policy.max_controls_per_s
        self._rematch = policy.depends_on_flows
        self._carried = policy.depends_on_carried
        actions: list[Action] = []
        self._shared.bases = _bases(self._given_policy)
        for node in self.nodes.values():
            former = node.ownership.role
            node.set_policy(policy, now_us)
            actions += self._role_changed(node, former, now_us)
        return actions + self._note_unkept(now_us) + self.on_tick(now_us)

    def enable(self) -> None:
        """Begin to act on violations."""
        self.acting = True

    def release_all(self, now_us: int) -> list[Action]:
        """Return all bearers to their initial pipelines, those to come too, at a stop."""
        actions: list[Action] = []
        self._rests_until_us = 0
        for node in self.nodes.values():
            if not node.ownership.acts:
                continue
            node.default.stop()
            actions += self._set_default(node, now_us)
            actions += node.flow_moves.release(now_us)
            for bearer in node.bearers.values():
                actions += node.events.release(bearer, now_us)
                node.sync(bearer, now_us)
        return actions

    def give_up(self, now_us: int) -> list[Action]:
        """Give all nodes up, at a stop: another controller may take them at once."""
        self._stopping, self._rests_until_us = True, 0
        actions: list[Action] = []
        for node in self.nodes.values():
            if node.ownership.role is Role.OWNER:
                node.ownership.give_up()
                actions += self._role_changed(node, Role.OWNER, now_us)
                actions.append(self._outbox.node_lease(now_us, node.node_id, None))
        return actions

    @property
    def controls_in_flight(self) -> int:
        """Controls not answered yet."""
        return self._outbox.in_flight()

    # ------------------------------------------------------------------- reports

    def _rlc(self, node: Node, report: RlcReport, found: Report, now_us: int) -> list[Action]:
        if found.late:
            self.counters.ignored["late_report"] += 1
            if node.windows.shows_clock_set_back(report.collected_at_us):
                return self._clock_set_back(node, report.collected_at_us, now_us)
            return []
        actions = node.reported(found, now_us)
        node.reported_at_us = now_us
        return actions + node.remedy.reported(now_us)

    def _clock_set_back(self, node: Node, at_us: int, now_us: int) -> list[Action]:
        """All times of the node that are kept are ahead of it: it begins anew, as if restarted."""
        self.counters.clock_resets += 1
        by_us = node.windows.newest_us() - at_us
        record = records.clock_set_back(node.node_id, now_us, by_us)
        return [record, *self.on_node_event(now_us, NodeUp(node.node_id, node.capabilities))]

    def _pipelines(self, node: Node, report: PipelineReport, now_us: int) -> list[Action]:
        node.faults.status_at_us = now_us
        at_us, pipelines = report.collected_at_us, node.pipelines
        acts = node.acts
        rows = pipelines.take(at_us, report.statuses, node.windows, now_us, acts=acts)
        actions: list[Action] = []
        quiet_until_us: dict[int, int] = {}
        for row in rows:
            key, quiet_until_us[row] = pipelines.row_keys[row], 0
            if key is None:
                self.counters.ignored["bearer_without_rnti"] += 1
                continue
            pipeline = pipelines.at(row)
            if self._carried and key not in node.carried:
                node.note_carried(key, pipeline, now_us)
            bearer = node.bearers.get(key)
            if bearer is None:
                continue
            meter = bearer.judged.meter
            if meter is not None:
                meter.add(at_us, pipeline.queues)
            if not acts:
                observe_status(bearer, pipeline)
            elif not repeats(bearer, pipeline, now_us):
                actions += node.events.status(bearer, pipeline, node.view(key), now_us)
                node.sync(bearer, now_us)
            quiet_until_us[row] = bearer.quiet_until_us(acts=acts)
            pipelines.touched.discard(key)
        if rows:
            self._rests_until_us = 0
            pipelines.looked(quiet_until_us)
        return actions

    def _inventories(self, node: Node, report: FlowReport, now_us: int) -> list[Action]:
        moves = node.flow_moves if node.acts and node.flow_moves.active else None
        actions: list[Action] = []
        for inventory in report.inventories:
            key = node.key(inventory)
            if key is None:
                self.counters.ignored["bearer_without_rnti"] += 1
                continue
            old = node.inventories.get(key)
            view = read_inventory(report.collected_at_us, inventory, self.policy.greedy, old)
            node.note_inventory(key, view)
            if self._rematch and (old is None or old.qfis() != view.qfis()):
                bearer = node.bearers.get(key)
                if bearer is not None:
                    node.match_rule(bearer, now_us)
                    self._rests_until_us = 0
            if moves is not None:
                actions += moves.inventory(key, now_us)
                self._rests_until_us = 0
        return actions

    def _events(self, node: Node, report: EventReport, now_us: int) -> list[Action]:
        actions: list[Action] = []
        for event in report.events:
            key = BearerKey.from_ie(node.node_id, event["bearer"])
            bearer = None if key is None else node.bearers.get(key)
            if key is None or bearer is None:
                continue
            kind = event["kind"]
            if kind == "bearer_removed":
                actions += node.remove(key, now_us)
            elif isinstance(kind, dict) and "lease_expired" in kind and node.acts:
                revision = int(kind["lease_expired"]["revision"])
                actions += node.events.lease_expired(bearer, revision, now_us)
                node.sync(bearer, now_us)
        return actions

    # --------------------------------------------------------------------- inner

    def _answer(self, pending: Pending | None, outcome: Outcome, now_us: int) -> list[Action]:
        if pending is None:
            self.counters.ignored["late_answer"] += 1
            return []
        node, key = self.nodes.get(pending.node_id), pending.bearer
        bearer = None if node is None or key is None else node.bearers.get(key)
        if node is None or (key is not None and bearer is None):
            self.counters.ignored["late_answer"] += 1
            return []
        node.faults.answered(outcome)
        former, actions = node.ownership.role, []
        if key is None or bearer is None:
            name = pending.purpose.value, records.result_name(outcome)
            self.counters.controls[name] += 1
            if pending.purpose is Purpose.DEFAULT:
                actions += self._default_answered(node, outcome, now_us)
            elif pending.purpose is Purpose.MOVE:
                if isinstance(outcome, Refused) and outcome.cause == "not_owner":
                    node.ownership.refused(outcome, now_us)
                actions += node.flow_moves.answered(pending.control_id, outcome, now_us)
            elif not self._stopping:
                node.ownership.answered(outcome, pending.sent_at_us, now_us)
        elif isinstance(outcome, Refused) and outcome.cause == "not_owner":
            self.counters.controls[(pending.purpose.value, outcome.cause)] += 1
            node.ownership.refused(outcome, now_us)
            actions += node.events.disowned(bearer, outcome, now_us)
        else:
            actions += node.events.answered(bearer, pending, outcome, node.view(key), now_us)
            node.sync(bearer, now_us)
        return actions + self._role_changed(node, former, now_us)

    def _own(self, now_us: int) -> list[Action]:
        """Ask for the nodes that are to be asked for, and renew the leases of those owned."""
        if self._stopping:
            return []
        owned: int | None = None
        actions: list[Action] = []
        for node in self.nodes.values():
            ownership = node.ownership
            if not ownership.rests(now_us):
                owned = self._owned() if owned is None else owned
                former = ownership.role
                lease_ms = ownership.due(owned, now_us)
                actions += self._role_changed(node, former, now_us)
                if lease_ms is not None:
                    owned += ownership.role is not Role.OWNER
                    actions.append(self._outbox.node_lease(now_us, node.node_id, lease_ms))
            actions += self._set_default(node, now_us)
        return actions

    def _set_default(self, node: Node, now_us: int) -> list[Action]:
        """Set, renew or withdraw what an own node sets up bearers with, if that is due."""
        default = node.default
        if node.ownership.role is not Role.OWNER:
            return []
        default.set_tried(node.trials.kept_instead())
        change = default.due(now_us)
        if change is None:
            return []
        lease_ms = None if change == "withdraw" else default.lease_ms
        return [self._outbox.node_default(now_us, node.node_id, change, lease_ms)]

    def _default_answered(self, node: Node, outcome: Outcome, now_us: int) -> list[Action]:
        if isinstance(outcome, Refused) and outcome.cause == "not_owner":
            node.default.lost()
            node.ownership.refused(outcome, now_us)
            return []
        what = node.default.answered(outcome, now_us)
        if what is None:
            return []
        return [records.node_default(node.node_id, now_us, what, node.default, outcome)]

    def _owned(self) -> int:
        return sum(node.ownership.role is Role.OWNER for node in self.nodes.values())

    def _role_changed(self, node: Node, former: Role, now_us: int) -> list[Action]:
        ownership = node.ownership
        role, holder = ownership.role, ownership.holder
        if role is former:
            return []
        self.counters.roles[role.label] += 1
        actions: list[Action] = [records.ownership(node.node_id, now_us, role, former, holder)]
        # One that has not acted yet keeps what its state file wants: it may still be in force.
        lost = role is Role.STANDBY and ownership.acted
        if role is not Role.OWNER:
            node.default.lost()
            node.flow_moves.lost()
        for bearer in node.bearers.values():
            bearer.role = role
            if lost:
                held = Unanswered("another controller holds the node")
                actions += node.events.disowned(bearer, held, now_us)
            node.sync(bearer, now_us)
        ownership.acted = role is Role.OWNER or (ownership.acted and not lost)
        return actions

    def _note_unkept(self, now_us: int) -> list[Action]:
        """Log once a node that cannot keep the bases that the policy wants kept."""
        wanted = any(r.base and r.enforce.keep_base_without_controller for r in self.policy.rules)
        actions: list[Action] = []
        for node in self.nodes.values() if wanted else ():
            unable = node.capabilities is not None and not node.capabilities.get("as_safe")
            if unable and node.node_id not in self._unkept:
                self._unkept.add(node.node_id)
                actions.append(records.base_not_kept(node.node_id, now_us))
        return actions

    def _sample(self, now_us: int) -> None:
        self._sample_at_us = now_us + min(SAMPLE_US, held_us(self.policy))
        for node in self.nodes.values():
            node.service.sample(now_us)

    def _assess(self, now_us: int) -> list[Action]:
        self._assessed_at_us = now_us
        actions: list[Action] = []
        for node in self.nodes.values():
            heard_us = now_us if node.reported_at_us is None else node.reported_at_us
            for key, bearer in node.bearers.items():
                recent = partial(node.recent_sojourns, key, now_us)
                actions += assess(bearer, node.view(key), now_us - heard_us, now_us, recent)
            reports = self.policy.reports
            status_us = reports.pipeline_period_ms * 1000
            way = Way(
                self.gateway_connected,
                reports.rlc_period_ms * 1000,
                None if node.capabilities is None else status_us,
            )
            if node.reported_at_us is not None:
                node.faults.reported_at_us = node.reported_at_us
            views = ((bearer, node.view(key)) for key, bearer in node.bearers.items())
            actions += node.faults.assess(views, way, now_us)
        if self.desired.states.due(now_us):
            actions.append(SaveDesired(self.desired.document))
        return actions

    def _reclaim(self, now_us: int) -> list[Action]:
        """Drop desired pipelines of bearers that did not return with their node."""
        actions: list[Action] = []
        for node_id, at_us in list(self._reclaim_at_us.items()):
            if now_us < at_us:
                continue
            del self._reclaim_at_us[node_id]
            node = self.nodes.get(node_id)
            if node is None:
                continue
            for bearer in self.desired.of_node(node_id):
                if bearer not in node.bearers:
                    self.desired.forget(bearer)
                    actions.append(records.noted("bearer_gone", now_us, bearer))
                    actions.append(SaveDesired(self.desired.document))
        return actions


def _bases(policy: Policy) -> frozenset[int]:
    """Digests of the pipelines that the policy makes the nodes keep."""
    rungs = (rung for rule in policy.rules for rung in rule.compiled_base())
    return frozenset(digest_of(rung.pipeline()) for rung in rungs)
