"""Trials on the model of a node: what they switch, when they end, what survives."""

from __future__ import annotations

from typing import Any

import pytest
from tc_controller.core.act.kept_states import StateError
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import NodeUp
from tc_controller.core.trials.run import Phase, TrialRun
from tc_controller.policy_file import PolicyError, parse_policy
from tc_world import NODE, World, bulk, ping

SHORT = "share_of_time: 0.5, period_s: 0.5, wash_out_ms: 250, max_duration_s: 60"


def policy_text(trial: str, *, base: str = "low_latency", more: str = "") -> str:
    return (
        f"version: 1\nrules: [{{name: r, base: [{{template: {base}}}], trial: {{{trial}}}{more}}}]"
    )


def controller(
    against: str = "bdp_only", settings: str = SHORT, *, state: Any = None, **rule: str
) -> Controller:
    trial = f"against: {{template: {against}}}, {settings}"
    return Controller(parse_policy(policy_text(trial, **rule)), state=state)


def run_of(core: Controller) -> TrialRun:
    run = core.nodes[NODE].trials.runs["r"]
    assert isinstance(run, TrialRun)
    return run


def test_an_arm_that_hurts_ends_the_trial_as_soon_as_it_is_proven() -> None:
    world = World(controller(), bulk(), ping())
    result = world.run_until("trial_result")
    assert (result["reason"], result["kept"], result["blocks"]) == ("decided", "low_latency", 7)
    assert result["effect"]["sojourn_ms"]["high"] < 0.0
    assert "low_latency saved" in result["summary"]
    world.run(200)
    installed = len(world.tc.names())
    world.run(3_000)
    assert world.tc.names()[-1] == "low_latency"
    assert len(world.tc.names()) == installed
    assert world.events("decided")[2]["reasons"][0].startswith("the trial of the rule has")


def test_when_the_controller_dies_under_the_tried_pipeline_the_gnb_returns_to_the_base() -> None:
    core = controller(more=", enforce: {lease_ms: 1000}")
    world = World(core, bulk(), ping(), capabilities={"as_safe": True})
    world.run_until("trial_started")
    while world.tc.names()[-1] != "bdp_only":
        world.step()
    for _ in range(1_100):
        world.advance()
    assert world.tc.pipeline is not None
    assert world.tc.pipeline["name"] == "low_latency"
    # One that lives switches again, and the base is the safe pipeline each time.
    assert world.run_until("trial_result")["kept"] == "low_latency"
    world.run(100)
    assert world.status()["safe"]
    assert world.tc.pipeline["name"] == "low_latency"


def test_a_hard_bound_ends_it_at_once_and_returns_to_the_base() -> None:
    settings = SHORT.replace("period_s: 0.5", "period_s: 4") + ", stop: {max_sojourn_ms: 100}"
    world = World(controller(settings=settings), bulk(), ping())
    result = world.run_until("trial_result")
    assert result["reason"] == "harm"
    assert result["kept"] == "low_latency"
    assert "above the hard bound of 100 ms" in result["detail"]
    since_us = next(at for at, each in world.tc.applied if each and each["name"] == "bdp_only")
    # Half a second in which the queue grows to 100 ms, and a second of measurement.
    assert world.now_us - since_us < 2_500_000
    world.run(100)
    assert world.tc.names() == ["low_latency", "bdp_only", "low_latency"]


def test_a_ratio_to_the_base_is_a_hard_bound_as_well() -> None:
    settings = SHORT.replace("period_s: 0.5", "period_s: 2")
    settings += ", stop: {max_sojourn_ratio: 2, harm_ms: 60000}"
    more = ", guard: {sojourn_floor_ms: 100}"
    world = World(controller(settings=settings, more=more), bulk(), ping())
    result = world.run_until("trial_result")
    assert result["reason"] == "harm"
    assert "hard bound of 200 ms" in result["detail"]


def test_the_same_seed_switches_at_the_same_times_and_another_does_not() -> None:
    def switches(seed: int) -> list[tuple[int, str]]:
        world = World(controller(settings=f"{SHORT}, seed: {seed}"), ping())
        world.run(8_000)
        times = [at for at, _ in world.tc.applied]
        return list(zip(times, world.tc.names(), strict=True))

    assert switches(1) == switches(1)
    assert switches(1) != switches(2)


def test_two_equal_pipelines_cost_no_transaction_and_show_no_difference() -> None:
    settings = SHORT.replace("max_duration_s: 60", "max_duration_s: 12")
    world = World(controller("low_latency", settings), bulk(20_000), ping())
    result = world.run_until("trial_result")
    assert result["reason"] == "max_duration"
    assert world.tc.names() == ["low_latency"]
    sojourn = result["effect"]["sojourn_ms"]
    assert sojourn["low"] <= 0.0 <= sojourn["high"]
    assert "no difference shown" in result["summary"]


def test_it_goes_on_after_a_restart_of_the_controller_and_discards_the_pair_under_way() -> None:
    world = World(controller(), bulk(), ping())
    world.run_until("trial_block")
    world.run_until("trial_block")
    world.run(700)
    before = world.events("trial_block")
    world.controller = controller(state=world.saved)
    world.do(world.controller.on_node_event(world.now_us, NodeUp(NODE, {})))
    result = world.run_until("trial_result")
    after = world.events("trial_block")[len(before) :]
    assert len({record["id"] for record in world.events("trial_block", "trial_result")}) == 1
    assert len(world.events("trial_started")) == 1
    assert after[0].get("void")
    assert [record["block"] for record in after] == list(range(2, 2 + len(after)))
    assert result["blocks"] == 7
    # One that ended does not begin again.
    world.controller = controller(state=world.saved)
    world.do(world.controller.on_node_event(world.now_us, NodeUp(NODE, {})))
    world.run(2_000)
    assert run_of(world.controller).phase is Phase.ENDED
    assert len(world.events("trial_started")) == 1


def test_another_trial_or_an_unusable_state_begins_anew() -> None:
    world = World(controller(), bulk(), ping())
    world.run_until("trial_block")
    saved = dict(world.saved or {})
    other = controller("fq_codel", state=saved)
    world.do(other.on_node_event(world.now_us, NodeUp(NODE, {})))
    assert run_of(other).phase is Phase.WAITING
    (trial,) = saved["trials"]
    damaged = controller(state={**saved, "trials": [{**trial, "results": 7}]})
    world.do(damaged.on_node_event(world.now_us, NodeUp(NODE, {})))
    assert run_of(damaged).phase is Phase.WAITING
    with pytest.raises(StateError, match=r"trials\[0\].rule: 3; expected a string"):
        controller(state={**saved, "trials": [{**trial, "rule": 3}]})


def test_while_the_controller_does_not_act_nothing_is_counted() -> None:
    world = World(controller(), bulk(), ping())
    world.run_until("trial_started")
    world.run(300)
    world.controller.acting = False
    world.run(2_100)
    world.controller.acting = True
    first = world.run_until("trial_block")
    assert first["void"] == "the controller was not there at its begin"
    assert "void" not in world.run_until("trial_block")


def test_a_bearer_on_a_rung_of_the_ladder_takes_no_part() -> None:
    core = controller("fq_codel", base="bdp_only", more=", ladder: [{template: low_latency}]")
    world = World(core, bulk(), ping())
    world.run(6_000)
    assert world.tc.names() == ["bdp_only", "low_latency"]
    assert {record["trigger"] for record in world.events("decided")} == {"base", "violation"}
    assert all("void" in record for record in world.events("trial_block"))


def test_a_bearer_that_violates_under_its_base_takes_no_part() -> None:
    world = World(controller("low_latency", base="bdp_only"), bulk(), ping())
    world.run(1_500)
    installed = len(world.tc.names())
    world.run(4_000)
    assert len(world.tc.names()) <= installed + 2
    assert world.tc.names()[-1] == "bdp_only"


def test_a_violation_under_the_tried_pipeline_climbs_no_ladder() -> None:
    more = ", ladder: [{template: fq_codel}]"
    settings = "share_of_time: 0.5, period_s: 1.5, wash_out_ms: 1000, max_duration_s: 60"
    world = World(controller(settings=settings, more=more), bulk(), ping())
    world.run_until("trial_result", 30_000)
    assert "fq_codel" not in world.tc.names()
    blockers = [record["blocker"] for record in world.events("compliance") if "blocker" in record]
    assert "a trial has another pipeline in force instead of the base: bdp_only" in blockers


def test_a_refused_switch_back_is_tried_again() -> None:
    world = World(controller(more=", enforce: {retry_failed_rung_ms: 500}"), ping())
    world.run_until("trial_started")
    while world.tc.names()[-1] != "bdp_only":
        world.step()
    world.tc.refuse = lambda message: {"cause": "busy"} if "transaction" in message else None
    world.run(700)
    world.tc.refuse = lambda _: None
    world.do(world.controller.set_policy(world.now_us, parse_policy(policy_text(_TRIAL_OVER))))
    world.run(2_000)
    assert world.tc.names()[-1] == "low_latency"


#: A trial that is over before its first pair.
_TRIAL_OVER = "against: {template: fq_codel}, share_of_time: 0.01, period_s: 100"


def test_a_rule_without_its_trial_returns_to_the_base() -> None:
    world = World(controller(), ping())
    world.run_until("trial_started")
    while world.tc.names()[-1] != "bdp_only":
        world.step()
    world.run(50)
    text = "version: 1\nrules: [{name: r, base: [{template: low_latency}]}]"
    world.do(world.controller.set_policy(world.now_us, parse_policy(text)))
    world.run(200)
    assert world.tc.names()[-1] == "low_latency"
    world.do(world.controller.set_policy(world.now_us, parse_policy(text)))
    assert "trials" not in world.controller.desired.document()


def test_a_policy_that_changes_nothing_of_the_trial_leaves_it_running() -> None:
    world = World(controller(), bulk(), ping())
    world.run_until("trial_block")
    trial = f"against: {{template: bdp_only}}, {SHORT}"
    text = policy_text(trial, more=", enforce: {cool_down_ms: 1234}")
    world.do(world.controller.set_policy(world.now_us, parse_policy(text)))
    result = world.run_until("trial_result")
    assert result["blocks"] == 7
    assert len(world.events("trial_started")) == 1


def test_a_pair_in_which_the_windows_begin_anew_is_void() -> None:
    world = World(controller(), bulk(), ping())
    world.run_until("trial_block")
    world.run(350)
    trial = f"against: {{template: bdp_only}}, {SHORT}"
    text = policy_text(trial, more=", verify: {window_ms: 5000, max_window_ms: 6000}")
    world.do(world.controller.set_policy(world.now_us, parse_policy(text)))
    assert world.run_until("trial_block")["void"].startswith("no bearer had traffic")
    assert "void" not in world.run_until("trial_block")


def test_the_better_pipeline_stays_when_it_is_not_the_base() -> None:
    # A bound that bdp_only keeps by far: it is worse, but violates nothing.
    more = ", objective: {bound_ms: 60000}"
    core = controller("low_latency", base="bdp_only", more=more)
    world = World(core, bulk(41_000), ping())
    result = world.run_until("trial_result")
    assert (result["reason"], result["kept"]) == ("decided", "low_latency")
    assert "bdp_only added" in result["summary"]
    world.run(2_000)
    assert world.tc.names()[-1] == "low_latency"


def test_a_dry_run_has_no_trial() -> None:
    world = World(controller(more=", enforce: {dry_run: true}"), bulk(), ping())
    world.run(3_000)
    assert not world.events("trial_started")
    assert not world.sent


@pytest.mark.parametrize(
    ("trial", "complaint"),
    [
        (
            "against: initial, share_of_time: 0.5",
            "rules[0].trial.against: 'initial': expected a template; {template: transparent} is",
        ),
        ("against: {template: fq_codel}", "rules[0].trial: expected exactly one of share_of_time"),
        (
            "against: {template: segregate_greedy}, share_of_time: 0.5",
            "rules[0].trial.against.template: segregate_greedy is for flows selected",
        ),
        (
            "against: {template: fq_codel}, share_of_time: 0.5, wash_out_ms: 30000",
            "rules[0].trial.wash_out_ms: 30000; expected less than period_s, 30 s",
        ),
        (
            "against: {template: fq_codel}, share_of_time: 0.5, period_s: 1, wash_out_ms: 0",
            "rules[0].trial.max_duration_s: 86400 s; expected at most 2000 pairs",
        ),
        (
            "against: {template: fq_codel}, share_of_bearers: 0.5, stop: {confidence: 0.9999}",
            "rules[0].trial.stop.confidence: 0.9999; expected at most 0.9995 with share_of_bearers",
        ),
        (
            "against: {template: fq_codel}, share_of_time: 0.6",
            "rules[0].trial.share_of_time: 0.6 is out of range",
        ),
    ],
)
def test_a_trial_that_cannot_be_run_is_refused(trial: str, complaint: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(policy_text(trial))
    assert complaint in str(error.value)


def test_a_trial_needs_a_base() -> None:
    trial = "against: {template: fq_codel}, share_of_time: 0.5"
    with pytest.raises(PolicyError, match="base: an empty list"):
        parse_policy(f"version: 1\nrules: [{{name: r, trial: {{{trial}}}}}]")
