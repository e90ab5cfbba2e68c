"""Several controllers on one gNB: never two owners, and no bearer without a pipeline for long."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ric.e2 import Node, RanFunction
from ric.sm import TC_V1_OID, tc
from tc_controller.core.actions import Action, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Accepted, NodeUp, PipelineStatus, Refused, parse_outcome
from tc_controller.core.ownership import Ownership, Role
from tc_controller.core.policy import Policy
from tc_controller.policy_file import parse_policy
from tc_controller.reports import report_of
from tc_controller.subscriptions import capabilities, wanted

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "gnb" / "scenarios" / "default.yaml"
STEP_US = 5_000
LEASE_S = 6.0
REPORTS = "version: 1\nreports: {rlc_period_ms: 10}\n"
BASE = parse_policy(REPORTS + "rules: [{name: r, base: [{template: sojourn}]}]\n")
LADDER = parse_policy(REPORTS + "rules: [{name: r, ladder: [{template: fq_codel}]}]\n")


class Replicas:
    """Controllers on one emulated gNB and one virtual clock; each may be killed and started."""

    def __init__(self, policy: Policy, bearers: int = 2) -> None:
        self.policy = policy
        channel, drbs = {"fixed_mcs": 10}, [{"id": 1, "rlc": {"mode": "um"}}]
        ues = [{"rnti": 0x4601 + n, "channel": channel, "drbs": drbs} for n in range(bearers)]
        flows = [{"name": "ping", "kind": "ping", "rnti": "each", "interval_ms": 20}]
        self.world = gnb_lab.World(SCENARIO, overrides={"ues": ues, "flows": flows})
        world = self.world
        self.node = Node(
            world.node_id,
            ran_functions=tuple(
                RanFunction(number, oid, definition=definition)
                for number, (oid, definition) in enumerate(world.ran_functions.items())
            ),
        )
        for item in wanted(self.node, policy.reports):
            world.subscribe(
                item.oid,
                event_trigger=item.trigger,
                action_definitions=item.actions,
                kpm_measurements=item.measurements,
            )
        self.alive: dict[str, Controller] = {}
        self.cut_off: set[str] = set()
        self.records: list[tuple[str, dict[str, Any]]] = []
        #: Accepted bearer controls and node leases: (s, owner).
        self.controls: list[tuple[float, str]] = []
        self.terms: list[tuple[float, str]] = []
        #: Longest time in a row, s, for which a bearer had the initial pipeline.
        self.longest_bare_s = 0.0
        self._bare_since: dict[int, int] = {}
        self.statuses: dict[int, PipelineStatus] = {}

    @property
    def now_s(self) -> float:
        return float(self.world.now_us) / 1e6

    def start(self, name: str) -> Controller:
        controller = self.alive[name] = Controller(self.policy, owner=name, id_prefix=name)
        event = NodeUp(self.node.id, capabilities(self.node))
        self._do(name, controller.on_node_event(self.world.now_us, event))
        return controller

    def kill(self, name: str) -> None:
        """As ``kill -9``."""
        del self.alive[name]

    def owners(self) -> list[str]:
        return [n for n, c in self.alive.items() if self._role(c) is Role.OWNER]

    def run(self, seconds: float) -> None:
        until_us = self.world.now_us + round(seconds * 1e6)
        while self.world.now_us < until_us:
            indications = self.world.step_until(min(until_us, self.world.now_us + STEP_US))
            for indication in indications:
                report = report_of(
                    SimpleNamespace(  # type: ignore[arg-type]
                        node_id=self.node.id,
                        oid=indication.ran_function_oid,
                        message=indication.message,
                        kpm=indication.kpm,
                        collected_at_us=indication.collected_at_us,
                    )
                )
                for status in getattr(report, "statuses", ()):
                    self._seen(status)
                for name, controller in list(self.alive.items()):
                    if name not in self.cut_off:
                        self._do(name, controller.on_indication(self.world.now_us, report))
            for name, controller in list(self.alive.items()):
                self._do(name, controller.on_tick(self.world.now_us))
            assert len(self.owners()) <= 1, self.owners()

    def _seen(self, status: PipelineStatus) -> None:
        rnti = status.rnti
        assert rnti is not None
        self.statuses[rnti] = status
        if status.name == "transparent":
            since_us = self._bare_since.setdefault(rnti, self.world.now_us)
            self.longest_bare_s = max(self.longest_bare_s, (self.world.now_us - since_us) / 1e6)
        else:
            self._bare_since.pop(rnti, None)

    @staticmethod
    def _role(controller: Controller) -> Role:
        (node,) = controller.nodes.values()
        return node.ownership.role

    def _do(self, name: str, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, WriteRecord):
                self.records.append((name, dict(action.record)))
            elif isinstance(action, SendControl) and name not in self.cut_off:
                answer = self.world.control(
                    TC_V1_OID,
                    tc.encode("control-header", action.header),
                    tc.encode("control", action.message),
                )
                outcome = parse_outcome(tc.decode("control-outcome", answer))
                if isinstance(outcome, Accepted):
                    kept = self.terms if "node_lease" in action.message else self.controls
                    kept.append((self.now_s, name))
                now_us = self.world.now_us
                self._do(
                    name, self.alive[name].on_control_answer(now_us, action.control_id, outcome)
                )


def test_a_standby_observes_and_takes_over_within_a_lease() -> None:
    replicas = Replicas(BASE)
    replicas.start("a")
    standby = replicas.start("b")
    replicas.run(2)
    assert replicas.owners() == ["a"]
    assert {owner for _, owner in replicas.controls} == {"a"}
    (node,) = standby.nodes.values()
    assert node.ownership.detail() == "standby of a"
    assert node.watched() == 2
    assert all("standby" in (bearer.blocker(0) or "") for bearer in node.bearers.values())
    replicas.kill("a")
    replicas.run(LEASE_S)
    assert replicas.owners() == ["b"]
    taken_s = next(at for at, owner in replicas.terms if owner == "b")
    assert taken_s - 2 <= LEASE_S / 2 + 0.1
    assert all(status.owner == "b" for status in replicas.statuses.values())
    assert replicas.longest_bare_s < 0.1, "the pipelines were renewed or replaced before they ended"
    roles = [(name, r["role"]) for name, r in replicas.records if r["event"] == "ownership"]
    assert roles[:2] + roles[-1:] == [("a", "owner"), ("b", "standby"), ("b", "owner")]


def test_a_controller_that_was_cut_off_stands_by_when_it_returns() -> None:
    replicas = Replicas(BASE)
    lost = replicas.start("a")
    replicas.start("b")
    replicas.run(2)
    replicas.cut_off.add("a")
    replicas.run(LEASE_S)
    assert replicas.owners() == ["b"]
    replicas.cut_off.clear()
    replicas.run(2)
    (node,) = lost.nodes.values()
    assert node.ownership.detail() == "standby of b"
    assert len(lost.desired) == 0
    assert {owner for at, owner in replicas.controls if at > 6} == {"b"}


def test_a_stop_hands_the_node_over_at_once() -> None:
    replicas = Replicas(BASE)
    leaving = replicas.start("a")
    replicas.run(1)
    replicas._do("a", leaving.give_up(replicas.world.now_us))
    replicas.start("b")
    assert replicas.owners() == ["b"]
    replicas.kill("a")
    replicas.run(1)
    assert all(status.owner == "b" for status in replicas.statuses.values())


def test_nodes_are_shared_by_controllers_that_start_together() -> None:
    taken: dict[str, str] = {}
    controllers = [
        Controller(BASE, owner=name, id_prefix=name, control_timeout_us=1_000_000)
        for name in ("a", "b")
    ]

    def do(controller: Controller, actions: list[Action], now_us: int) -> None:
        for action in actions:
            if isinstance(action, SendControl):
                holder = taken.setdefault(action.node_id, controller.owner)
                outcome = (
                    Accepted(1, 3_000)
                    if holder == controller.owner
                    else Refused("not_owner", "owner", "", None, holder, 3_000)
                )
                do(
                    controller,
                    controller.on_control_answer(now_us, action.control_id, outcome),
                    now_us,
                )

    for number in range(12):
        for controller in controllers:
            event = NodeUp(f"n{number}", {"node_lease": True})
            do(controller, controller.on_node_event(0, event), 0)
    for now_us in range(0, 1_000_000, 5_000):
        for controller in controllers:
            do(controller, controller.on_tick(now_us), now_us)
    shares = [list(taken.values()).count(name) for name in ("a", "b")]
    assert sum(shares) == 12
    assert min(shares) >= 4, shares


def test_a_dry_run_asks_for_no_node_and_a_node_without_leases_is_controlled() -> None:
    dry = parse_policy("version: 1\nrules: [{name: r, enforce: {dry_run: true}}]\n")
    assert Ownership({"node_lease": True}, dry, 0).role is Role.OBSERVER
    plain = Ownership({"queues": ["fifo"]}, BASE, 0)
    assert (plain.role, plain.acts, plain.due(0, 0)) == (Role.UNLEASED, True, None)


def test_an_owner_whose_renewals_are_lost_stops_acting_before_its_lease_ends() -> None:
    ownership = Ownership({"node_lease": True}, BASE, 0)
    assert ownership.due(0, 0) == 3_000
    ownership.answered(Accepted(1, 3_000), 0, 40_000)
    assert ownership.role is Role.OWNER
    asked = [at_us for at_us in range(0, 4_000_000, 5_000) if ownership.due(0, at_us)]
    assert asked[:3] == [1_000_000, 2_000_000, 3_000_000]
    assert ownership.detail() == "candidate"
    assert not ownership.acts


@pytest.mark.parametrize("policy", [BASE, LADDER], ids=["base", "ladder"])
def test_controllers_killed_at_random_for_ten_minutes(policy: Policy) -> None:
    seed = 22
    rng = random.Random(seed)
    replicas = Replicas(policy)
    names = ["a-0", "b-0"]
    for name in names:
        replicas.start(name)
    kills = 0
    while replicas.now_s < 600:
        replicas.run(rng.uniform(0.5, 20))
        # Mostly the owner: killing a standby changes nothing.
        owners = replicas.owners()
        victim = owners[0] if owners and rng.random() < 0.8 else rng.choice(names)
        replicas.kill(victim)
        kills += 1
        replicas.run(rng.uniform(0.05, 10))
        names.remove(victim)
        names.append(f"{victim[0]}-{kills}")
        replicas.start(names[-1])
    assert kills > 30
    # Whoever's control was accepted held the node then.
    holder, terms = "", iter([*replicas.terms, (float("inf"), "")])
    at_s, owner = next(terms)
    for control_s, sender in replicas.controls:
        while at_s <= control_s:
            holder = owner
            at_s, owner = next(terms)
        assert sender == holder, control_s
    assert len({owner for _, owner in replicas.terms}) > 15
    if policy is BASE:
        # As one of the two always lives, the next owner renews before pipelines end.
        assert replicas.longest_bare_s < 0.1, replicas.longest_bare_s
