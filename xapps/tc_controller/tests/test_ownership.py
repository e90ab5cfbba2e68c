"""Several controllers on one gNB: never two owners, and no bearer without a pipeline for long."""

from __future__ import annotations

import random

import pytest
from tc_controller.core.act.ownership import Ownership, Role
from tc_controller.core.act.sharing import Replica
from tc_controller.core.actions import Action, SendControl
from tc_controller.core.bearer.blocked import Blocked, Blocker, blocked
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Accepted, NodeUp, Refused
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import parse_policy
from tc_replicas import LEASE_S, Replicas

REPORTS = "version: 1\nreports: {rlc_period_ms: 10}\n"
BASE = parse_policy(REPORTS + "rules: [{name: r, base: [{template: low_latency}]}]\n")
LEASED = parse_policy(
    REPORTS + "rules: [{name: r, base: [{template: low_latency}], "
    "enforce: {keep_base_without_controller: false}}]\n"
)
LADDER = parse_policy(REPORTS + "rules: [{name: r, ladder: [{template: fq_codel}]}]\n")


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
    assert {blocked(bearer, 0) for bearer in node.bearers.values()} == {Blocked(Blocker.STANDBY)}
    replicas.kill("a")
    replicas.run(LEASE_S)
    assert replicas.owners() == ["b"]
    taken_s = next(at for at, owner in replicas.terms if owner == "b")
    assert taken_s - 2 <= LEASE_S / 2 + 0.1
    assert replicas.transactions() == 2, "the base is adopted"
    assert all(names == ["transparent", "low_latency"] for names in replicas.names.values())
    roles = [(name, r["role"]) for name, r in replicas.records if r["event"] == "ownership"]
    assert roles[:2] + roles[-1:] == [("a", "owner"), ("b", "standby"), ("b", "owner")]


def test_of_two_controllers_with_one_identity_one_acts_and_the_other_says_why() -> None:
    other_policy = parse_policy(REPORTS + "rules: [{name: r, base: [{template: fq_codel}]}]\n")
    replicas = Replicas(BASE)
    replicas.start("first", owner="a")
    replicas.policy = other_policy
    second = replicas.start("second", owner="a")
    replicas.run(150)
    assert replicas.owners() == ["first"]
    assert {name for _, name in replicas.controls} == {"first"}
    assert replicas.transactions() == 2
    (node,) = second.nodes.values()
    assert node.ownership.detail() == "duplicate of a"
    assert not node.ownership.acts
    reasons = {blocked(bearer, 0) for bearer in node.bearers.values()}
    assert reasons == {Blocked(Blocker.DUPLICATE)}
    roles = [r["role"] for name, r in replicas.records if r["event"] == "ownership"]
    assert roles == ["owner", "standby", "duplicate"]
    # The node is not left alone when the other one dies.
    replicas.kill("first")
    replicas.run(LEASE_S)
    assert replicas.owners() == ["second"]


def test_a_controller_that_restarts_under_its_identity_waits_for_its_former_lease() -> None:
    replicas = Replicas(BASE)
    replicas.start("a-0", owner="a")
    replicas.run(2)
    replicas.kill("a-0")
    restarted = replicas.start("a-1", owner="a")
    replicas.run(LEASE_S)
    (node,) = restarted.nodes.values()
    assert node.ownership.role is Role.OWNER
    assert "duplicate" not in [r.get("role") for _, r in replicas.records]
    assert replicas.transactions() == 2, "the base is adopted"


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
    assert replicas.transactions() == 2


def test_a_stop_hands_the_node_over_at_once() -> None:
    replicas = Replicas(BASE)
    leaving = replicas.start("a")
    replicas.run(1)
    replicas._do("a", leaving.give_up(replicas.world.now_us))
    replicas.start("b")
    assert replicas.owners() == ["b"]
    replicas.kill("a")
    replicas.run(1)
    assert replicas.transactions() == 2
    (node,) = replicas.alive["b"].nodes.values()
    assert node.bases_kept() == 2


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


def test_a_replica_that_comes_later_gets_the_nodes_it_should_own() -> None:
    replicas = Replicas(BASE)
    index = next(i for i in range(2) if Replica(i, 2).prefers(replicas.node.id))
    preferred, other = Replica(index, 2), Replica(1 - index, 2)
    replicas.start("other", other)
    replicas.run(5)
    assert replicas.owners() == ["other"]
    replicas.start("preferred", preferred)
    replicas.run(40)
    assert replicas.owners() == ["preferred"]
    assert replicas.transactions() == 2, "the base is adopted"
    replicas.kill("preferred")
    replicas.run(LEASE_S)
    assert replicas.owners() == ["other"]
    replicas.start("preferred", preferred)
    replicas.run(40)
    assert replicas.owners() == ["preferred"]
    assert replicas.transactions() == 2
    assert replicas.longest_bare_s < 1


def test_a_standby_takes_over_as_fast_where_it_is_not_the_preferred_replica() -> None:
    replicas = Replicas(BASE)
    index = next(i for i in range(2) if Replica(i, 2).prefers(replicas.node.id))
    replicas.start("preferred", Replica(index, 2))
    replicas.start("other", Replica(1 - index, 2))
    # Just after a renewal: the lease of the dead owner lasts longest.
    replicas.run(2.05)
    replicas.kill("preferred")
    replicas.run(LEASE_S)
    taken_s = next(at for at, owner in replicas.terms if owner == "other")
    assert taken_s - 2.05 <= LEASE_S / 2 + 0.05


def test_a_node_without_its_preferred_replica_is_owned_but_for_moments() -> None:
    replicas = Replicas(LEASED)
    index = next(i for i in range(2) if not Replica(i, 2).prefers(replicas.node.id))
    replicas.start("other", Replica(index, 2))
    unowned_s = 0.0
    replicas.run(2)
    while replicas.now_s < 300:
        replicas.run(0.05)
        unowned_s += 0.05 * (not replicas.owners())
    assert 0 < unowned_s < 4
    assert replicas.longest_bare_s < 1
    assert replicas.transactions() == 2


def test_one_replica_is_preferred_for_a_node_and_each_for_its_share() -> None:
    nodes = [f"gnb-{number}" for number in range(1000)]
    for count in (1, 2, 5):
        owners = {node: [Replica(i, count).prefers(node) for i in range(count)] for node in nodes}
        assert all(sum(each) == 1 for each in owners.values())
        shares = [sum(each[index] for each in owners.values()) for index in range(count)]
        assert min(shares) > 0.8 * 1000 / count
    moved = [
        node for node in nodes if Replica(0, 2).prefers(node) and not Replica(0, 3).prefers(node)
    ]
    assert all(Replica(2, 3).prefers(node) for node in moved)


def test_a_node_is_watched_by_its_owner_and_its_standbys_alone() -> None:
    nodes = [f"gnb-{number}" for number in range(300)]
    for standbys in (0, 1, 9):
        replicas = [Replica(index, 4, standbys) for index in range(4)]
        for node in nodes:
            watching = [replica for replica in replicas if replica.watches(node)]
            assert len(watching) == min(4, standbys + 1)
            assert any(replica.prefers(node) for replica in watching)


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


@pytest.mark.parametrize("policy", [BASE, LEASED, LADDER], ids=["base", "leased", "ladder"])
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
        if kills % 8 == 0:
            # The other one dies as well, for longer than any lease lasts.
            (other,) = (name for name in names if name != victim)
            replicas.kill(other)
            replicas.run(2 * LEASE_S)
            replicas.start(other)
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
        assert replicas.longest_bare_s < 0.1, replicas.longest_bare_s
        assert all(names == ["transparent", "low_latency"] for names in replicas.names.values())
        assert replicas.transactions() == 2
    if policy is LEASED:
        assert len(replicas.controls) > 300
        # Only while both were dead, from the end of the lease on: renewed each third of it.
        assert replicas.longest_bare_s <= 2 * LEASE_S - LEASE_S * 2 / 3 + 0.1
