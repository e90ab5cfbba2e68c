"""The base as the node's safe pipeline: it stays without a controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tc_controller import cli
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import EventReport
from tc_controller.decision_log import DecisionLog
from tc_controller.policy_file import parse_policy
from tc_replicas import LEASE_S, Replicas
from tc_world import DRB, NODE, RNTI, World, bulk, ping

BASE = "base: [{template: low_latency}]"
CLIMBING = ("base: [{template: bdp_only}]", "ladder: [{template: fq_codel}]")
OFF = "enforce: {keep_base_without_controller: false}"
ABLE = {"as_safe": True}


def policy_text(*lines: str) -> str:
    return "version: 1\nrules:\n- name: r\n" + "".join(f"  {line}\n" for line in lines)


def core(*lines: str, **options: Any) -> Controller:
    return Controller(parse_policy(policy_text(*lines)), **options)


def on_its_rung(*lines: str) -> World:
    """A world whose bearer climbed from its base `bdp_only` to `fq_codel`."""
    world = World(core(*CLIMBING, *lines), bulk(), ping(), capabilities=ABLE)
    world.run_until("verified")
    assert world.tc.names() == ["bdp_only", "fq_codel"]
    return world


# ------------------------------------------------------------------------- install


def test_the_base_is_made_safe_and_needs_no_lease() -> None:
    world = World(core(BASE), bulk(), ping(), capabilities=ABLE)
    world.run(20_000)
    (sent,) = [control.message["transaction"] for _, control in world.sent]
    assert (sent["as_safe"], sent["lease_ms"]) == (True, None)
    assert world.tc.safe is not None
    assert world.tc.names() == ["low_latency"]


@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("wanted", [True, False])
def test_otherwise_it_has_a_lease_and_a_node_that_cannot_keep_it_is_logged_once(
    able: bool, wanted: bool
) -> None:
    world = World(core(BASE, "" if wanted else OFF), ping(), capabilities={"as_safe": able})
    world.run(3_000)
    kept = able and wanted
    assert bool(world.tc.renewals) != kept
    world.restart_node()
    world.run(1_000)
    assert (world.tc.safe is not None) == kept
    assert len(world.events("base_not_kept")) == int(wanted and not able)


def test_a_base_whose_answer_is_lost_is_found_in_the_status() -> None:
    world = World(core(BASE, control_timeout_us=50_000), ping(), capabilities=ABLE)
    world.answering = False
    world.run(100)
    world.answering = True
    world.run(1_000)
    assert world.tc.names() == ["low_latency"]
    assert world.controller.nodes[NODE].bases_kept() == 1


# ----------------------------------------------------------------------- fall back


@pytest.mark.parametrize("by_event", [True, False])
def test_a_rung_whose_lease_ends_falls_back_to_the_base_without_a_transaction(
    by_event: bool,
) -> None:
    world = on_its_rung()
    sent = len(world.sent)
    world.tc.expire(world.tc.lease_until_us or 0)
    if by_event:
        expired = {"lease_expired": {"revision": world.tc.revision}}
        events = [{"bearer": {"ue": {"rnti": RNTI}, "drb": DRB}, "kind": expired}]
        report = EventReport(NODE, world.now_us, events)
        world.do(world.controller.on_indication(world.now_us, report))
    world.sources = [ping()]
    world.run(500)
    kept = world.event("base_kept")
    assert (kept["pipeline"], kept["former"]) == ("bdp_only", "fq_codel")
    assert len(world.sent) == sent
    assert world.tc.names()[-1] == "bdp_only"
    # The ladder starts anew from the base.
    world.sources = [bulk(), ping()]
    world.run(3_000)
    assert world.tc.names()[-1] == "fq_codel"


def test_a_rollback_to_safe_and_an_idle_rung_return_to_the_base_at_once() -> None:
    slow = "ladder: [{template: flow_slicing, greedy_rate_kbps: 2000}]"
    guard = "guard: {rollback_to: safe}"
    world = World(core(CLIMBING[0], slow, guard), bulk(), ping(), capabilities=ABLE)
    assert world.run_until("rolled_back")["to"] == "bdp_only"
    world.run(1_000)
    assert world.tc.names() == ["bdp_only", "flow_slicing", "bdp_only"]

    world = on_its_rung("enforce: {release_idle_after_ms: 700}")
    world.sources = []
    world.run(3_000)
    assert world.tc.names() == ["bdp_only", "fq_codel", "bdp_only"]
    assert world.tc.in_safe


# ------------------------------------------------------------------------- restart


def test_a_controller_that_restarts_after_the_leases_ended_sends_nothing() -> None:
    world = on_its_rung()
    world.tc.expire(world.tc.lease_until_us or 0)
    world.sources = [ping()]
    for state, digest in ((world.saved, True), (None, True), (None, False)):
        again = World(core(*CLIMBING, state=state), ping(), capabilities=ABLE)
        again.tc = world.tc
        again.tc.digest = again.tc.digest if digest else None
        again.run(1_000)
        sent = [control for _, control in again.sent if "transaction" in control.message]
        # Without a state file it is the digest that tells which pipeline is in force.
        assert bool(sent) != digest
        assert again.controller.nodes[NODE].bases_kept() == 1
        assert world.tc.names()[-1] == "bdp_only"


def test_a_node_that_restarts_gets_its_base_back_and_not_its_rung() -> None:
    for announced in (True, False):
        world = on_its_rung()
        if announced:
            world.restart_node()
        else:
            world.tc.restart()
        world.sources = [ping()]
        world.run(2_000)
        assert world.tc.names()[-1] == "bdp_only"
        assert world.tc.in_safe


# ------------------------------------------------------------------------- release


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ((BASE, "match: {drbs: [9]}"), ["low_latency", "safe"]),
        (("ladder: []",), ["low_latency", "safe"]),
        ((BASE, OFF), ["low_latency", "safe", "low_latency"]),
        (("base: [{template: fq_codel}]",), ["low_latency", "fq_codel"]),
        ((BASE, "enforce: {dry_run: true}"), ["low_latency"]),
    ],
)
def test_a_policy_that_wants_no_base_kept_returns_the_initial_pipeline(
    lines: tuple[str, ...], names: list[str]
) -> None:
    world = World(core(BASE), ping(), capabilities=ABLE)
    world.run(100)
    world.do(world.controller.set_policy(world.now_us, parse_policy(policy_text(*lines))))
    world.run(1_000)
    assert world.tc.names() == names
    assert world.tc.in_safe == (lines != (BASE, OFF))
    assert (world.tc.safe is None) == ("safe" in names)


def test_a_policy_that_wants_the_base_kept_again_makes_it_safe() -> None:
    world = World(core(BASE, OFF), ping(), capabilities=ABLE)
    world.run(100)
    world.do(world.controller.set_policy(world.now_us, parse_policy(policy_text(BASE))))
    world.run(100)
    assert world.tc.names() == ["low_latency", "low_latency"]
    assert world.tc.in_safe


@pytest.mark.parametrize("rung", [True, False])
def test_a_stop_with_release_returns_to_the_initial_pipeline(rung: bool) -> None:
    world = World(core(BASE), ping(), capabilities=ABLE)
    world.run(100)
    if rung:
        world = on_its_rung()
    world.sources = [ping()]
    world.do(world.controller.release_all(world.now_us))
    world.run(1_000)
    assert world.tc.names()[-1] == "safe"
    assert world.tc.safe is None
    assert world.saved == {"version": 1, "desired": [], "kept": []}


def test_a_release_undoes_a_base_that_is_on_its_way() -> None:
    world = World(core(BASE), ping(), capabilities=ABLE)
    world.answer_delay_us = 5_000
    while not world.sent:
        world.step()
    world.do(world.controller.release_all(world.now_us))
    world.run(1_000)
    assert world.tc.names() == ["low_latency", "safe"]


def test_a_release_that_fails_is_sent_again() -> None:
    world = World(core(BASE, control_timeout_us=50_000), ping(), capabilities=ABLE)
    world.run(100)
    world.tc.refuse = lambda _: {"cause": "busy"}
    world.do(
        world.controller.set_policy(world.now_us, parse_policy(policy_text("match: {drbs: [9]}")))
    )
    world.run(1_000)
    world.tc.refuse = lambda _: None
    world.run(60_000)
    assert world.tc.names() == ["low_latency", "safe"]


# ------------------------------------------------------------------------- explain


def test_explain_and_check_say_what_stays_without_the_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(core(BASE), ping(), capabilities=ABLE)
    world.run(100)
    with DecisionLog(tmp_path / "log.jsonl") as log:
        for record in world.records:
            log.write(record)
    (decided,) = world.events("decided")
    assert cli.main(["explain", decided["id"], "--log", str(tmp_path / "log.jsonl")]) == 0
    assert "stays without the controller" in capsys.readouterr().out
    policy = tmp_path / "policy.yaml"
    for line, expected in (("", "the base stays on nodes"), (OFF, "the base ends after 6000 ms")):
        policy.write_text(policy_text(BASE, line))
        assert cli.main(["check", str(policy)]) == 0
        assert f"without the controller: {expected}" in capsys.readouterr().out


# ------------------------------------------------------------------ emulated gNB

BLOATED: dict[str, Any] = {"ues[0].channel": {"fixed_mcs": 10}}
REPORTS = "version: 1\nreports: {rlc_period_ms: 10}\n"


def replicas(*lines: str, overrides: dict[str, Any] | None = None) -> Replicas:
    text = REPORTS + policy_text(*lines).removeprefix("version: 1\n")
    return Replicas(parse_policy(text), BLOATED | (overrides or {}))


def orphaned_p95_ms(*lines: str) -> tuple[float, Replicas]:
    """p95 of the ping over the 30 s after the lease of a killed controller ended."""
    world = replicas(*lines)
    world.run(5)
    world.start("a")
    world.run(10)
    world.kill("a")
    world.run(LEASE_S + 32)
    from_s = 15 + LEASE_S + 1
    return world.ping_p95_ms(from_s, from_s + 30), world


def test_the_delay_stays_short_when_the_controller_dies() -> None:
    always = replicas(overrides={"ues[0].drbs[0].pipeline": {"template": "low_latency"}})
    always.run(15 + LEASE_S + 32)
    from_s = 15 + LEASE_S + 1
    best_ms = always.ping_p95_ms(from_s, from_s + 30)
    kept_ms, world = orphaned_p95_ms(BASE)
    assert world.transactions() == 1
    assert kept_ms <= 1.05 * best_ms + 0.5, (kept_ms, best_ms)
    ended_ms, world = orphaned_p95_ms(BASE, OFF)
    assert list(world.names.values()) == [["transparent", "low_latency", "transparent"]]
    assert ended_ms > 300


def test_a_controller_started_after_the_death_of_the_last_finds_the_base_in_force() -> None:
    world = replicas(BASE)
    world.start("a")
    world.run(3)
    world.kill("a")
    world.run(2 * LEASE_S)
    assert "a" in world.states
    for name in ("a", "b"):
        controller = world.start(name)
        world.run(2)
        assert world.transactions() == 1
        (node,) = controller.nodes.values()
        assert node.bases_kept() == 1
        world.kill(name)
        world.run(LEASE_S)
    assert list(world.names.values()) == [["transparent", "low_latency"]]


def test_a_new_owner_replaces_the_rung_of_a_dead_one_by_its_base() -> None:
    world = replicas("base: [{template: bdp_only}]", "ladder: [{template: fq_codel}]")
    world.start("a")
    world.run(5)
    (names,) = world.names.values()
    assert names == ["transparent", "bdp_only", "fq_codel"]
    # The standby's own policy has the base alone.
    world.policy = parse_policy(REPORTS + policy_text(BASE).removeprefix("version: 1\n"))
    world.start("b")
    world.run(1)
    world.kill("a")
    world.run(LEASE_S / 2 + 0.1)
    assert world.owners() == ["b"]
    assert names[3:] == ["low_latency"]
    replaced = [r for name, r in world.records if name == "b" and r["event"] == "decided"]
    assert [record["reasons"][0] for record in replaced] == [
        "the base pipeline of the rule is not in force: fq_codel of a is"
    ]
    world.run(LEASE_S)
    assert names[4:] == []


@pytest.mark.parametrize("line", ["", OFF])
def test_an_owner_renews_or_keeps_the_same_base_of_a_dead_one(line: str) -> None:
    world = replicas(BASE, line)
    world.start("a")
    world.run(2)
    world.start("b")
    world.kill("a")
    world.run(3 * LEASE_S)
    assert world.owners() == ["b"]
    assert world.transactions() == 1
    assert list(world.names.values()) == [["transparent", "low_latency"]]
    world._do("b", world.alive["b"].release_all(world.world.now_us))
    world.run(1)
    (status,) = world.statuses.values()
    assert (status.name, status.safe) == ("transparent", True)


def test_a_node_whose_initial_pipeline_is_the_base_is_sent_nothing() -> None:
    world = replicas(BASE, overrides={"ues[0].drbs[0].pipeline": {"template": "low_latency"}})
    world.start("a")
    world.run(2)
    assert world.transactions() == 0


def test_a_base_with_other_parameters_is_replaced() -> None:
    world = replicas(BASE)
    world.start("a")
    world.run(2)
    world.kill("a")
    other = "base: [{template: low_latency, bulk_bound_us: 200000}]"
    world.policy = parse_policy(REPORTS + policy_text(other).removeprefix("version: 1\n"))
    world.states.clear()
    world.start("b")
    world.run(LEASE_S)
    assert world.transactions() == 2
