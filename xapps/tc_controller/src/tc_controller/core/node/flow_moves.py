"""QoS flows of the UEs of a node on a second DRB: which are moved, verified, and moved back.

The mapping has no lease: it stays without a controller. The state document has the moves, so that a
later controller, or this one after a restart of the node, knows what they are and where the flows
came from.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tc_controller.core.act.outbox import Outbox
from tc_controller.core.act.reconcile import DesiredStore
from tc_controller.core.actions import Action, SaveDesired
from tc_controller.core.inputs import Accepted, BearerKey, Ie, Outcome, Refused
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.inventory import FlowView, label
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.policy.second_drb import SecondDrb
from tc_controller.core.report import records

#: Feature of a node that maps QoS flows to DRBs.
FEATURE: Final = "qos_flow_mapping"
_PERCENTILE: Final = 95.0
#: A return that was refused or not answered is tried again after this.
_RETRY_US: Final = 1_000_000
#: A flow stays for at most this multiple of the cool-down.
_MOST_COOL_DOWNS: Final = 64


class QosFlow(NamedTuple):
    """A QoS flow of a UE."""

    rnti: int
    qfi: int


class Phase(enum.Enum):
    """How far a move is."""

    SENT = "sent"
    VERIFYING = "verifying"
    KEPT = "kept"
    RETURNING = "returning"


@dataclass(slots=True)
class Move:
    """A move of a QoS flow to the second DRB."""

    id: str
    #: DRB that it comes from.
    home: int
    phase: Phase
    #: p95 of the sojourn on that DRB before, µs; ``None``: unknown, as after a restart.
    before_us: float | None = None
    #: Controller time of the end of the verification.
    verify_at_us: int = 0
    #: Controller time from which a return that failed is tried again.
    retry_us: int = 0

    def rests(self, now_us: int) -> bool:
        """Whether nothing of it is on its way."""
        return self.phase in (Phase.VERIFYING, Phase.KEPT) and now_us >= self.retry_us


@dataclass(slots=True)
class _Rest:
    """A flow that is not to be moved for a while."""

    failures: int = 0
    until_us: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What the node reports, by bearer; the dictionaries are the node's."""

    view: Callable[[BearerKey], BearerView | None]
    inventories: Mapping[BearerKey, FlowView]
    pipelines: Mapping[BearerKey, PipelineView]


class FlowMoves:
    """The moves at one node."""

    def __init__(
        self,
        node_id: str,
        capabilities: Ie | None,
        seen: Seen,
        shared: tuple[Outbox, DesiredStore, Callable[[], str]],
        policy: SecondDrb | None,
    ) -> None:
        self._node_id = node_id
        self._supported = FEATURE in ((capabilities or {}).get("features") or ())
        self._seen = seen
        self._outbox, self._desired, self._next_id = shared
        self._policy: SecondDrb | None = None
        self.moves: dict[QosFlow, Move] = {}
        self._in_flight: dict[int, QosFlow] = {}
        #: Node time since which a flow is to be moved.
        self._since_us: dict[QosFlow, int] = {}
        self._rests: dict[QosFlow, _Rest] = {}
        for (node, rnti, qfi), (move_id, home) in self._desired.flow_moves.items():
            if node == node_id:
                self.moves[QosFlow(rnti, qfi)] = Move(move_id, home, Phase.KEPT)
        self.set_policy(policy)

    @property
    def active(self) -> bool:
        """Whether flows may be moved, or are."""
        return self._supported and (self._policy is not None or bool(self.moves))

    def set_policy(self, policy: SecondDrb | None) -> None:
        """Another policy is in force."""
        self._policy = policy if policy is not None and policy.of_node(self._node_id) else None
        self._since_us.clear()
        self._rests.clear()

    # ------------------------------------------------------------------- reports

    def inventory(self, key: BearerKey, now_us: int) -> list[Action]:
        """A newer inventory of a bearer."""
        policy = self._policy
        flows, mapped = self._seen.inventories.get(key), self._mapped(key)
        if flows is None or mapped is None:
            return []
        if policy is None:
            return self._back_home(key, mapped[1], now_us)
        if key.drb == policy.drb:
            return self._second(key, flows, mapped[1], now_us)
        target = key._replace(drb=policy.drb)
        if self._mapped(target) is None:
            return []
        return self._first(key, target, flows, mapped, now_us)

    def _mapped(self, key: BearerKey) -> tuple[int, list[int]] | None:
        pipeline = self._seen.pipelines.get(key)
        return None if pipeline is None else pipeline.qos_flows

    def _first(
        self,
        key: BearerKey,
        target: BearerKey,
        flows: FlowView,
        mapped: tuple[int, list[int]],
        now_us: int,
    ) -> list[Action]:
        """A bearer that flows may leave."""
        policy = self._policy
        actions: list[Action] = []
        if policy is None:
            return actions
        revision, qfis = mapped
        harmless = harmless_qfis(flows)
        for qfi in qfis:
            flow = QosFlow(key.rnti, qfi)
            move = self.moves.get(flow)
            if move is not None and not (move.phase is Phase.KEPT and move.rests(now_us)):
                continue
            if qfi not in harmless:
                self._since_us.pop(flow, None)
                continue
            since_us = self._since_us.setdefault(flow, flows.collected_at_us)
            confirmed = flows.collected_at_us - since_us >= policy.confirm_ms * 1000
            rest = self._rests.get(flow)
            if rest is not None and now_us < rest.until_us:
                continue
            if move is not None:
                why = "the node has it on the first DRB again: it restarted, or another mapped it"
            elif confirmed and _greedy_others(flows, qfi):
                why = (
                    f"sparse or inelastic for {policy.confirm_ms} ms beside "
                    f"{len(_greedy_others(flows, qfi))} greedy flows on DRB {key.drb}"
                )
            else:
                continue
            if self._outbox.admits(self._node_id, now_us):
                actions += self._decide(flow, key, target, (revision, why), now_us)
                break
        return actions

    def _decide(
        self,
        flow: QosFlow,
        key: BearerKey,
        target: BearerKey,
        given: tuple[int, str],
        now_us: int,
    ) -> list[Action]:
        policy, (revision, why) = self._policy, given
        if policy is None:
            return []
        before_us = self._p95_us(key, policy.confirm_ms)
        move = Move(self._next_id(), key.drb, Phase.SENT, before_us)
        inventory = self._seen.inventories[key]
        record = records.flow_move(
            move.id,
            now_us,
            key,
            qfi=flow.qfi,
            to_drb=target.drb,
            why=why,
            flows=[label(each) for each in inventory.flows if each.qfi == flow.qfi][:5],
            before_us=_rounded(before_us),
            expected_revision=revision,
            dry_run=policy.dry_run,
        )
        if policy.dry_run:
            self._rest(flow, now_us)
            return [record]
        self.moves[flow] = move
        return [record, self._send(flow, target, revision, now_us), self._save()]

    def _second(
        self, key: BearerKey, flows: FlowView, qfis: Iterable[int], now_us: int
    ) -> list[Action]:
        """The second DRB of a UE."""
        actions: list[Action] = []
        greedy = {each.qfi for each in flows.greedy if each.inelastic != "admitted"}
        for qfi in qfis:
            flow = QosFlow(key.rnti, qfi)
            move = self.moves.get(flow)
            if move is None or not move.rests(now_us):
                continue
            if qfi in greedy:
                why = "a flow of it became greedy: it would be served before all others"
                actions += self._return(flow, move, key, why, now_us)
            elif move.phase is Phase.VERIFYING and now_us >= move.verify_at_us:
                actions += self._verify(flow, move, key, now_us)
        return actions

    def _verify(self, flow: QosFlow, move: Move, key: BearerKey, now_us: int) -> list[Action]:
        policy = self._policy
        if policy is None:
            return []
        after_us, before_us = self._p95_us(key, policy.verify_ms), move.before_us
        bound_us = policy.sojourn_floor_ms * 1000.0
        if before_us is not None:
            bound_us = max(bound_us, before_us * policy.max_sojourn_ratio)
        harm = after_us is not None and after_us > bound_us
        record = records.flow_move_verified(
            move.id,
            now_us,
            key,
            verdict="harm" if harm else "kept",
            before_us=_rounded(before_us),
            after_us=_rounded(after_us),
            bound_us=_rounded(bound_us),
        )
        if harm:
            why = "the sojourn on the second DRB exceeds that on the first before"
            return [record, *self._return(flow, move, key, why, now_us)]
        move.phase = Phase.KEPT
        self._rests.pop(flow, None)
        return [record]

    def _back_home(self, key: BearerKey, qfis: Iterable[int], now_us: int) -> list[Action]:
        """The policy has no second DRB any more."""
        actions: list[Action] = []
        for qfi in qfis:
            flow = QosFlow(key.rnti, qfi)
            move = self.moves.get(flow)
            if move is None or not move.rests(now_us):
                continue
            if move.home == key.drb:
                actions += self._forget([flow])
            else:
                actions += self._return(flow, move, key, "the policy moves no flows", now_us)
        return actions

    def _return(
        self, flow: QosFlow, move: Move, key: BearerKey, why: str, now_us: int
    ) -> list[Action]:
        move.phase = Phase.RETURNING
        self._rest(flow, now_us)
        record = records.flow_move_back(move.id, now_us, key, to_drb=move.home, why=why)
        home = key._replace(drb=move.home)
        return [record, self._send(flow, home, None, now_us)]

    def release(self, now_us: int) -> list[Action]:
        """Return all flows to where they came from, at a stop."""
        actions: list[Action] = []
        for flow, move in self.moves.items():
            if move.phase is not Phase.RETURNING:
                # By the home DRB alone: which DRB has it now does not matter.
                home = BearerKey(self._node_id, flow.rnti, move.home)
                actions += self._return(flow, move, home, "the controller stops", now_us)
        return actions

    def gone(self, key: BearerKey) -> list[Action]:
        """A bearer is gone: moves from and to it ended with it."""
        policy = self._policy
        ended = [
            flow
            for flow, move in self.moves.items()
            if flow.rnti == key.rnti
            and (key.drb == move.home or (policy is not None and key.drb == policy.drb))
        ]
        for flow in [flow for flow in self._since_us if flow.rnti == key.rnti]:
            del self._since_us[flow]
        return self._forget(ended) if ended else []

    # ------------------------------------------------------------------- answers

    def answered(self, control_id: int, outcome: Outcome, now_us: int) -> list[Action]:
        """A mapping was answered, or was not in time."""
        flow = self._in_flight.pop(control_id, None)
        move = None if flow is None else self.moves.get(flow)
        if flow is None or move is None:
            return []
        back = move.phase is Phase.RETURNING
        record = records.flow_move_answered(move.id, now_us, self._node_id, flow, outcome)
        if isinstance(outcome, Accepted):
            if back:
                return [record, *self._forget([flow])]
            policy = self._policy
            move.phase = Phase.VERIFYING
            move.verify_at_us = now_us + (0 if policy is None else policy.verify_ms * 1000)
            return [record]
        if back or not isinstance(outcome, Refused):
            # The next reports show which DRB has it: the move is kept, or sent again.
            move.phase, move.retry_us = Phase.KEPT, now_us + _RETRY_US
            return [record]
        if outcome.cause != "stale_revision":
            self._rest(flow, now_us)
        return [record, *self._forget([flow])]

    def lost(self) -> None:
        """Another controller may own the node: it has the mapping that it finds."""
        self._in_flight.clear()
        for move in self.moves.values():
            move.phase = Phase.KEPT

    # --------------------------------------------------------------------- inner

    def _send(self, flow: QosFlow, bearer: BearerKey, revision: int | None, now_us: int) -> Action:
        control = self._outbox.qos_flow(now_us, bearer, flow.qfi, revision)
        self._in_flight[control.control_id] = flow
        return control

    def _rest(self, flow: QosFlow, now_us: int) -> None:
        policy = self._policy
        rest = self._rests.setdefault(flow, _Rest())
        rest.failures += 1
        times = min(_MOST_COOL_DOWNS, 2 ** (rest.failures - 1))
        rest.until_us = now_us + (0 if policy is None else policy.cool_down_ms * 1000 * times)
        self._since_us.pop(flow, None)

    def _forget(self, flows: Iterable[QosFlow]) -> list[Action]:
        for flow in flows:
            self.moves.pop(flow, None)
        return [self._save()]

    def _save(self) -> Action:
        self._desired.set_flow_moves(
            self._node_id,
            {(flow.rnti, flow.qfi): (move.id, move.home) for flow, move in self.moves.items()},
        )
        return SaveDesired(self._desired.document)

    def _p95_us(self, key: BearerKey, span_ms: int) -> float | None:
        view = self._seen.view(key)
        if view is None:
            return None
        return view.sojourn_percentile(view.at_us - span_ms * 1000, _PERCENTILE)


def harmless_qfis(flows: FlowView) -> frozenset[int]:
    """QFIs of an inventory whose flows are all sparse, or admitted as inelastic."""
    seen: dict[int, bool] = {}
    for flow in flows.reported:
        if flow.qfi is not None:
            fits = flow.inelastic == "admitted" or flow.five_tuple not in flows.greedy_until_us
            seen[flow.qfi] = seen.get(flow.qfi, True) and fits
    return frozenset(qfi for qfi, fits in seen.items() if fits)


def _greedy_others(flows: FlowView, qfi: int) -> list[Any]:
    return [each for each in flows.greedy if each.qfi != qfi and each.inelastic != "admitted"]


def _rounded(value_us: float | None) -> int | None:
    return None if value_us is None else round(value_us)
