"""The base pipeline of a rule: installed before anything is wrong, and kept."""

from __future__ import annotations

from typing import Any

import pytest
from ric.sm import tc
from tc_controller.core.bearer.bearer import Occurrence
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import PipelineReport
from tc_controller.core.ladder.lifecycle import NOTE_HELP
from tc_controller.core.policy.slot import OfLadder
from tc_controller.policy_file import PolicyError, parse_policy
from tc_controller.policy_source import default_policy
from tc_world import NODE, World, bulk, ping, statuses

#: Base of the default policy.
BASE = (
    "base: [{template: low_latency}, {template: low_latency, pacer: forecast},"
    " {template: low_latency, inelastic: null},"
    " {template: low_latency, inelastic: null, pacer: forecast},"
    " {template: fq_codel, codel: {target_us: 20000, interval_us: 400000}, pacer: just_in_time},"
    " {template: fq_codel, pacer: bdp5g}]"
)


def policy_text(*lines: str) -> str:
    return "version: 1\nrules:\n- name: r\n" + "".join(f"  {line}\n" for line in lines)


def controller(*lines: str, **options: Any) -> Controller:
    return Controller(parse_policy(policy_text(*lines)), **options)


def test_it_is_installed_with_the_first_status_report_and_once() -> None:
    world = World(controller(BASE), ping())
    decided = world.run_until("decided")
    assert world.now_us - 1_000_000 <= 20_000
    assert (decided["trigger"], decided["rung"]["of"]) == ("base", "base")
    assert decided["reasons"] == ["the base pipeline of the rule is not in force"]
    world.sources.append(bulk())
    world.run(5_000)
    assert world.tc.names() == ["low_latency"]
    assert not world.events("verified", "rolled_back", "no_rung")
    assert world.tc.renewals


def test_a_bloated_bearer_is_verified_but_its_base_is_never_rolled_back() -> None:
    core = controller(BASE, acting=False)
    world = World(core, bulk(), ping())
    world.run(1_000)
    core.enable()
    verified = world.run_until("verified")
    assert verified["verdict"] == "satisfied"

    # A radio that gets worse in the same moment looks like harm: PRBs and bytes fall.
    core = controller(BASE, acting=False)
    world = World(core, bulk(), ping())
    world.run(1_000)
    core.enable()
    world.run_until("answered")
    world.sources = [bulk(5_000), ping()]
    assert world.run_until("verified")["verdict"] == "worse"
    world.run(1_000)
    assert world.tc.names() == ["low_latency"]


@pytest.mark.parametrize(
    ("unsupported", "installed", "tried"),
    [
        ({"just_in_time"}, ["low_latency"], [0, 1]),
        ({"just_in_time", "forecast"}, ["fq_codel"], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_without_its_pacer_the_next_of_the_list_is_taken(
    unsupported: set[str], installed: list[str], tried: list[int]
) -> None:
    def refuse(message: dict[str, Any]) -> dict[str, Any] | None:
        replaced = message.get("transaction", {}).get("change")
        if isinstance(replaced, dict):
            pacer = replaced["replace"]["pacer"]
            if (pacer if isinstance(pacer, str) else next(iter(pacer))) in unsupported:
                return {"cause": "unsupported"}
        return None

    world = World(controller(BASE), bulk(), ping())
    world.tc.refuse = refuse
    world.run(1_000)
    assert world.tc.names() == installed
    assert [record["rung"]["index"] for record in world.events("decided")] == tried


def test_a_node_without_the_scheduler_of_inelastic_flows_gets_the_base_without_it() -> None:
    def refuse(message: dict[str, Any]) -> dict[str, Any] | None:
        replaced = message.get("transaction", {}).get("change")
        unknown = isinstance(replaced, dict) and "inelastic_first" in str(replaced["replace"])
        return {"cause": "unsupported"} if unknown else None

    world = World(controller(BASE), bulk(), ping())
    world.tc.refuse = refuse
    world.run(1_000)
    assert world.tc.names() == ["low_latency"]
    assert [record["rung"]["index"] for record in world.events("decided")] == [0, 1, 2]


def test_the_default_policy_has_these_bases() -> None:
    policy = parse_policy(default_policy().read_text())
    assert policy.rules[0].base == controller(BASE).policy.rules[0].base


def test_an_answer_that_is_lost_does_not_speak_against_the_base() -> None:
    rule = "enforce: {cool_down_ms: 200, stale_retries: 0}"
    world = World(controller(BASE, rule, control_timeout_us=50_000), bulk(), ping())
    world.answering = False
    world.tc.refuse = lambda _: {"cause": "busy"}
    world.run(300)
    world.answering, world.tc.refuse = True, lambda _: None
    world.run(500)
    assert world.tc.names() == ["low_latency"]


def test_the_pipeline_of_another_controller_stays() -> None:
    world = World(controller(BASE), bulk(), ping())
    world.tc.install({**tc.pipeline("fq_codel", {}), "name": "theirs"}, 0)
    world.run(1_000)
    assert not world.sent
    world.tc.install(None, world.now_us)
    world.run(100)
    assert world.tc.names()[-1] == "low_latency"


def test_another_base_replaces_the_former_and_the_same_does_not() -> None:
    core = controller(BASE)
    world = World(core, ping())
    world.run(100)
    for base in (BASE, "base: [{template: fq_codel}]"):
        world.do(core.set_policy(world.now_us, parse_policy(policy_text(base, "ladder: []"))))
        world.run(100)
    assert world.tc.names() == ["low_latency", "fq_codel"]


def test_a_stop_returns_to_the_safe_pipeline_and_installs_nothing_more() -> None:
    core = controller(BASE)
    world = World(core, ping())
    world.run(100)
    world.do(core.release_all(world.now_us))
    world.run(1_000)
    assert world.tc.names() == ["low_latency", "safe"]


def test_a_dry_run_logs_it_once() -> None:
    world = World(controller(BASE, "enforce: {dry_run: true, cool_down_ms: 100}"), ping())
    world.run(2_000)
    assert world.event("decided")["dry_run"]
    assert not world.sent


def test_a_ladder_starts_from_the_base_and_rolls_back_to_it() -> None:
    ladder = "ladder: [{template: flow_slicing, greedy_rate_kbps: 2000}]"
    world = World(controller("base: [{template: bdp_only}]", ladder), bulk(), ping())
    rolled_back = world.run_until("rolled_back")
    assert rolled_back["to"] == "bdp_only"
    assert world.tc.names() == ["bdp_only", "flow_slicing", "bdp_only"]


def test_a_lease_that_ran_out_brings_it_back() -> None:
    world = World(controller(BASE), ping())
    world.run(100)
    world.tc.install(None, world.now_us)
    world.run(100)
    assert world.tc.names() == ["low_latency", "safe", "low_latency"]


def test_reports_of_an_older_revision_that_come_late_undo_nothing() -> None:
    world = World(controller(BASE), bulk(), ping())
    before = world.status()
    collected_us = world.now_us
    world.run_until("answered")
    for _ in range(20):
        report = PipelineReport(NODE, collected_us, statuses(before))
        world.do(world.controller.on_indication(world.now_us, report))
        collected_us += 10_000
    world.run(1_000)
    assert world.tc.names() == ["low_latency"]


def test_a_ran_function_that_restarted_unannounced_is_found() -> None:
    world = World(controller(BASE), bulk(), ping())
    world.run(200)
    world.tc.restart()
    world.run(900)
    assert world.tc.names() == ["low_latency"]
    world.run(400)
    assert world.tc.names() == ["low_latency", "low_latency"]


@pytest.mark.parametrize(("satisfied", "wait_s"), [(True, 60), (False, 120)])
def test_only_a_met_objective_makes_earlier_failures_forgotten(
    satisfied: bool, wait_s: int
) -> None:
    world = World(controller("ladder: [{template: fq_codel}]"), bulk(), ping())
    world.run_until("decided")
    (bearer,) = world.controller.nodes[NODE].bearers.values()
    rung = OfLadder(0)
    bearer.pause.skip(rung, bearer.rule, 0)
    NOTE_HELP.run(bearer, Occurrence(0, satisfied=satisfied))
    bearer.pause.skip(rung, bearer.rule, 0)
    assert bearer.pause.skipped(0) == {rung: wait_s * 1_000_000}


@pytest.mark.parametrize(
    ("base", "complaint"),
    [
        ("{template: segregate_greedy}", "base[0].template: segregate_greedy is for flows"),
        ("{template: fq_l4s, when: {ect1_traffic: true}}", "base[0].when: unknown key"),
    ],
)
def test_what_depends_on_traffic_is_no_base(base: str, complaint: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(policy_text(f"base: [{base}]"))
    assert complaint in str(error.value)
