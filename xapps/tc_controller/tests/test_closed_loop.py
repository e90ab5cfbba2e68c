"""The core in a closed loop with a modelled node on virtual time."""

from __future__ import annotations

import itertools

import pytest
from ric.late_reports import SET_BACK_AFTER
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey, NodeUp, RlcReport
from tc_controller.policy_file import parse_policy
from tc_world import DRB, RNTI, Source, World, bulk, ping, rlc_message


def controller(ladder: str, rule: str = "", top: str = "", **options: object) -> Controller:
    text = f"version: 1\n{top}\nrules:\n- name: r\n  ladder: {ladder}\n"
    text += "".join(f"  {line}\n" for line in rule.splitlines())
    return Controller(parse_policy(text), **options)  # type: ignore[arg-type]


FQ = "[{template: fq_codel}]"


def verified() -> World:
    """A world in which the first decision was verified."""
    world = World(controller(FQ), bulk(), ping())
    world.run_until("verified")
    return world


BAD_FIRST = "[{template: flow_slicing, greedy_rate_kbps: 2000}, {template: fq_codel}]"


def test_decides_within_milliseconds_of_the_bound_being_crossed() -> None:
    world = World(controller(FQ), bulk(), ping())
    decided = world.run_until("decided")
    first_above = next(at for at, hol in enumerate(world.hol_us) if hol > 10_000)
    assert len(world.hol_us) - 1 - first_above <= 3
    assert decided["trigger"] == "violation"
    assert decided["rung"]["template"] == "fq_codel"
    assert decided["inputs"]["hol_us"] > 10_000


def test_bloat_collapses_and_the_change_is_verified() -> None:
    world = World(controller(FQ), bulk(), ping())
    world.run(3_000)
    verified = world.event("verified")
    assert verified["verdict"] == "satisfied"
    assert max(world.hol_us[-1_000:]) < 10_000
    assert world.tc.names() == ["fq_codel"]


def test_old_backlog_does_not_count_against_the_change() -> None:
    """Enabled with two seconds of RLC backlog, which only drains."""
    core = controller(FQ, acting=False)
    world = World(core, bulk(120_000), ping())
    world.run(1_000)
    bloated_us = world.hol_us[-1]
    core.enable()
    verified = world.run_until("verified")
    assert bloated_us > 500_000
    assert verified["verdict"] == "satisfied"
    settled_us = verified["settled_after_us"]
    assert settled_us >= bloated_us
    assert settled_us == pytest.approx(verified["expected_settle_us"], rel=0.2)
    assert not world.events("rolled_back")


def test_observes_without_acting_until_enabled() -> None:
    core = controller(FQ, acting=False)
    world = World(core, bulk(), ping())
    world.run(500)
    assert not world.sent and not world.events("decided", "no_rung")
    assert core.counters.violations["r"] == 1
    core.enable()
    world.run(5)
    assert world.tc.names() == ["fq_codel"]


def test_climbs_when_a_rung_does_no_harm_but_does_not_help() -> None:
    ladder = "[{template: bdp_only}, {template: fq_codel}]"
    guard = "guard: {sojourn_floor_ms: 60000}"
    world = World(controller(ladder, guard), bulk(), ping())
    world.run(4_000)
    assert world.tc.names() == ["bdp_only", "fq_codel"]
    first, second = world.events("verified")
    assert (first["verdict"], second["verdict"]) == ("insufficient", "satisfied")
    decided = world.events("decided")
    assert decided[1]["trigger"] == "climb"
    assert decided[1]["follows"] == decided[0]["id"]


def test_a_queue_that_is_moved_but_not_divided_is_no_harm_and_no_help() -> None:
    """The queue would have grown as much without control."""
    world = World(controller("[{template: bdp_only}]"), bulk(), ping())
    verified = world.run_until("verified")
    assert verified["verdict"] == "insufficient"
    assert verified["before"]["sojourn_growth"] > 0.2
    assert world.tc.names() == ["bdp_only"]


def test_a_harmful_rung_is_rolled_back_and_skipped_after_the_cool_down() -> None:
    world = World(controller(BAD_FIRST, "enforce: {cool_down_ms: 1000}"), bulk(), ping())
    rolled_back = world.run_until("rolled_back")
    assert rolled_back["to"] == "safe"
    assert world.tc.names() == ["flow_slicing", "safe"]
    verified = world.event("verified")
    assert verified["verdict"] == "worse"
    assert verified["reasons"][0].startswith("PRB use fell to ")
    cooled_from_us = world.now_us
    again = world.run_until("decided")
    assert again["at_us"] - cooled_from_us >= 999_000
    assert again["rung"]["template"] == "fq_codel"
    assert again["skipped"][0]["reason"] == "rolled back or refused recently"


def test_rollback_from_a_higher_rung_returns_to_the_rung_before() -> None:
    ladder = "[{template: bdp_only}, {template: flow_slicing, greedy_rate_kbps: 2000}]"
    guard = "guard: {sojourn_floor_ms: 60000}"
    world = World(controller(ladder, guard), bulk(), ping())
    rolled_back = world.run_until("rolled_back")
    assert rolled_back["to"] == "bdp_only"
    assert world.tc.names() == ["bdp_only", "flow_slicing", "bdp_only"]
    world.run(10_000)
    assert world.tc.pipeline is not None, "the lease of the previous rung is renewed"


def test_less_use_because_the_download_ended_is_no_harm() -> None:
    world = World(controller(FQ), bulk(), ping())
    world.run_until("answered")
    world.sources = [ping()]
    verified = world.run_until("verified")
    assert verified["verdict"] == "satisfied"


def test_worse_channel_is_no_harm() -> None:
    """A third of the rate drains, but with as many PRBs."""
    world = World(controller(FQ), bulk(), ping())
    world.run_until("answered")
    world.link_kbps = 13_000
    verified = world.run_until("verified")
    assert verified["after"]["drain_kbps"] < 0.5 * 40_000
    assert verified["verdict"] == "satisfied"


def test_segregates_the_flow_that_fills_the_queue() -> None:
    world = World(controller("[{template: segregate_greedy}]"), ping(), bulk(port=8443))
    world.run(1_000)
    assert world.tc.pipeline is not None
    (filter_,) = world.tc.pipeline["classifier"]["osi"]["filters"]
    assert filter_["match"]["source_port"] == {"low": 8443, "high": 8443}
    assert filter_["match"]["protocol"] == 6
    assert world.event("verified")["verdict"] == "satisfied"


def test_a_radio_outage_does_not_change_the_pipeline() -> None:
    """An outage: the head of line ages, but few bytes are in front of an ungreedy packet."""
    ladder = "[{template: fq_codel}, {template: segregate_greedy}]"
    world = World(controller(ladder), bulk(), ping())
    world.run_until("verified")
    for _ in range(10):
        world.link_kbps = 0
        world.run(60)
        world.link_kbps = 40_000
        world.run(440)
    core = world.controller
    assert core.counters.violations["r"] > 5
    assert core.counters.ignored["radio_pause"] > 5
    assert world.tc.names() == ["fq_codel"]


def test_a_node_that_recalls_the_backlog_is_verified_at_once() -> None:
    """Bytes that the RLC has not begun to send return to the pipeline: no two seconds to drain."""
    core = controller(FQ, acting=False)
    world = World(core, bulk(120_000), ping())
    world.run(1_000)
    core.enable()
    world.run_until("answered")
    world.queues[1].put(world.rlc.take(world.rlc.bytes), world.now_us)
    verified = world.run_until("verified")
    assert verified["expected_settle_us"] > 1_000_000
    assert verified["settled_after_us"] < 500_000
    assert verified["verdict"] == "satisfied"


def test_a_new_greedy_flow_is_segregated_as_well() -> None:
    world = World(controller("[{template: segregate_greedy}]"), ping(), bulk(port=1))
    world.run_until("verified")
    world.sources.append(bulk(port=2))
    decided = world.run_until("decided")
    assert decided["rung"]["index"] == 0
    ports = {
        f["match"]["source_port"]["low"]
        for f in decided["transaction"]["pipeline"]["classifier"]["osi"]["filters"]
    }
    assert ports == {1, 2}


@pytest.mark.parametrize(("ecn", "expected"), [("ect1", "fq_l4s"), ("ect0", "fq_codel")])
def test_l4s_only_where_ect1_traffic_is_seen(ecn: str, expected: str) -> None:
    flow = Source("prague", 60_000, 443, ecn=ecn)
    world = World(controller("[{template: fq_l4s}, {template: fq_codel}]"), flow, ping())
    world.run(200)
    assert world.tc.names() == [expected]


def test_an_exhausted_ladder_is_logged_once_and_its_last_rung_kept() -> None:
    guard = "guard: {sojourn_floor_ms: 60000}"
    world = World(controller("[{template: bdp_only}]", guard), bulk(), ping())
    world.run(15_000)
    assert world.tc.names() == ["bdp_only"]
    (record,) = world.events("no_rung")
    assert record["skipped"] == [{"index": 0, "template": "bdp_only", "reason": "already in force"}]


def test_dry_run_sends_nothing_and_logs_the_decision() -> None:
    world = World(controller(FQ, "enforce: {dry_run: true}"), bulk(), ping())
    world.run(11_000)
    assert not world.sent
    decided = world.events("decided")
    assert 2 <= len(decided) <= 3, "one per cool-down"
    assert all(record["dry_run"] for record in decided)
    assert decided[0]["transaction"]["pipeline"]["name"] == "fq_codel"


def test_lease_is_renewed_each_third_of_it() -> None:
    world = World(controller(FQ, "enforce: {lease_ms: 3000}"), bulk(), ping())
    world.run(10_000)
    times = world.tc.renewals
    gaps = {later - earlier for earlier, later in itertools.pairwise(times)}
    assert len(times) >= 8
    assert all(abs(gap - 1_000_000) <= 10_000 for gap in gaps)
    assert world.tc.names() == ["fq_codel"]


def test_lost_answers_of_renewals_do_not_lose_the_lease() -> None:
    world = World(controller(FQ, "enforce: {lease_ms: 3000}"), bulk(), ping())
    world.run_until("verified")
    world.answering = False
    world.run(3_000)
    world.answering = True
    world.run(3_000)
    assert world.tc.names() == ["fq_codel"]


def test_the_pipeline_is_applied_again_after_the_lease_ended() -> None:
    world = verified()
    world.tc.install(None, world.now_us)
    reapplied = world.run_until("reapplied", 200)
    world.run(50)
    assert reapplied["reason"] == "safe_pipeline_in_force"
    assert world.tc.names() == ["fq_codel", "safe", "fq_codel"]


def test_another_controllers_pipeline_is_left_alone() -> None:
    world = World(controller(FQ, "enforce: {lease_ms: 600000}"), bulk(), ping())
    world.run_until("verified")
    theirs = {**(world.tc.pipeline or {}), "name": "theirs"}
    world.tc.install(theirs, world.now_us)
    record = world.run_until("foreign_pipeline", 200)
    world.run(4_000)
    assert record["in_force"] == "theirs"
    assert world.tc.names() == ["fq_codel", "theirs"]


def test_a_stale_transaction_is_sent_again_with_the_new_revision() -> None:
    world = World(controller(FQ), bulk(), ping())
    world.run(5)
    world.step()
    raced = [False]

    def race(message: dict[str, object]) -> None:
        if "transaction" in message and not raced[0]:
            raced[0] = True
            world.tc.revision += 5

    world.tc.refuse = race
    world.run(200)
    first, second = world.events("answered")
    assert first["outcome"]["refused"]["cause"] == "stale_revision"
    assert second["outcome"]["accepted"]["revision"] == world.tc.revision
    assert second["attempt"] == 2


def test_retries_of_a_stale_transaction_are_limited() -> None:
    world = World(controller(FQ, "enforce: {stale_retries: 2}"), bulk(), ping())
    world.tc.refuse = lambda m: {"cause": "stale_revision"} if "transaction" in m else None
    world.run(1_000)
    assert len(world.events("answered")) == 3
    assert world.controller.counters.decisions[("violation", "fq_codel", "stale_revision")] == 1


def test_after_a_refused_rung_the_next_is_tried_at_once() -> None:
    ladder = "[{template: segregate_greedy}, {template: fq_codel}]"

    def refuse(message: dict[str, object]) -> dict[str, object] | None:
        if "osi" in str(message):
            return {"cause": "unsupported", "element": "classifier", "detail": "no OSI classifier"}
        return None

    world = World(controller(ladder), bulk(), ping())
    world.tc.refuse = refuse
    world.run(100)
    refused, accepted = world.events("answered")
    assert refused["outcome"]["refused"]["detail"] == "no OSI classifier"
    assert accepted["at_us"] - refused["at_us"] < 5_000
    assert world.tc.names() == ["fq_codel"]


def test_rungs_beyond_the_declared_capabilities_are_skipped() -> None:
    capabilities = {"classifiers": ["round_robin"], "queues": ["fifo"], "pacers": ["bdp5g"]}
    world = World(
        controller("[{template: fq_codel}, {template: bdp_only}]"),
        bulk(),
        ping(),
        capabilities=capabilities,
    )
    decided = world.run_until("decided")
    assert decided["rung"]["template"] == "bdp_only"
    assert decided["skipped"][0]["reason"] == (
        "queues[0].discipline.codel: codel is not available; expected one of fifo"
    )


def test_a_lost_answer_is_recovered_from_the_status() -> None:
    world = World(controller(FQ), bulk(), ping())
    world.answering = False
    world.run(1_500)
    world.answering = True
    world.run(3_000)
    assert world.tc.names() == ["fq_codel"], "not sent twice"
    assert world.event("verified")["verdict"] == "satisfied"


def test_a_bearer_removed_while_a_control_is_in_flight() -> None:
    world = World(controller(FQ), bulk(), ping())
    world.answer_delay_us = 400_000
    world.run_until("decided")
    world.rlc_message = rlc_message  # type: ignore[method-assign]
    world.run(600)
    assert world.event("bearer_gone")["id"] == world.event("decided")["id"]
    assert world.controller.counters.ignored["late_answer"] == 1
    assert len(world.controller.desired) == 0


def test_the_desired_pipeline_is_applied_again_after_a_node_restart() -> None:
    world = verified()
    world.restart_node()
    world.run(30)
    assert world.tc.names() == ["fq_codel"]
    assert len(world.events("reapplied")) == 1


def test_a_restarted_controller_adopts_the_pipeline_in_force() -> None:
    world = verified()
    world.controller = controller(FQ, state=world.saved)
    world.controller.on_node_event(world.now_us, NodeUp("gnb-1", {}))
    world.run(10_000)
    assert world.event("adopted")["in_force"] == "fq_codel"
    assert world.tc.names() == ["fq_codel"], "in force, and its lease renewed"


def test_the_lease_is_renewed_while_no_pipeline_report_arrives() -> None:
    """After a disconnect each subscription is renewed at its own time."""
    world = verified()
    world.reports_pipelines = False
    world.do(world.controller.on_node_event(world.now_us, NodeUp("gnb-1", {})))
    world.run(10_000)
    assert world.tc.names() == ["fq_codel"]
    world.reports_pipelines = True
    world.run(10)
    assert world.event("adopted")["in_force"] == "fq_codel"


HOUR_US = 3_600_000_000


def test_a_node_whose_clock_was_set_back_is_controlled_on() -> None:
    world = World(controller(FQ), bulk(), ping(), start_us=2 * HOUR_US)
    world.run_until("verified")
    world.node_clock_us = -HOUR_US
    world.run(2_000)
    counters = world.controller.counters
    assert counters.clock_resets == 1
    assert counters.ignored["late_report"] == SET_BACK_AFTER
    assert world.event("clock_set_back")["node"] == "gnb-1"
    assert HOUR_US - 100_000 < world.event("clock_set_back")["by_us"] < HOUR_US
    assert world.event("adopted")["in_force"] == "fq_codel"
    view = world.controller.nodes["gnb-1"].view(BearerKey("gnb-1", RNTI, DRB))
    assert view is not None and view.at_us == world.now_us - HOUR_US
    # Its leases are renewed, and what it does now is decided on.
    world.run(10_000)
    assert world.tc.names() == ["fq_codel"]
    world.tc.restart()
    world.run(1_000)
    assert world.tc.names()[-1] == "fq_codel"


def test_a_violation_after_a_clock_was_set_back_is_acted_on() -> None:
    world = World(controller(FQ), ping(), start_us=2 * HOUR_US)
    world.run(500)
    world.node_clock_us = -HOUR_US
    world.run(SET_BACK_AFTER + 1)
    world.sources = [bulk(), ping()]
    assert world.run_until("decided", 2_000)["trigger"] == "violation"


def test_a_report_of_the_far_future_is_followed_by_others_after_a_while() -> None:
    world = World(controller(FQ), ping())
    world.run(500)
    far = RlcReport("gnb-1", world.now_us + HOUR_US, world.rlc_message())
    world.do(world.controller.on_indication(world.now_us, far))
    world.run(SET_BACK_AFTER + 10)
    assert world.controller.counters.clock_resets == 1
    assert world.controller.nodes["gnb-1"].windows.newest_us() == world.now_us


@pytest.mark.parametrize("by_us", [0, 700, 5_000])
def test_doubled_and_late_reports_among_those_in_time_are_no_clock_that_was_set_back(
    by_us: int,
) -> None:
    world = World(controller(FQ), ping())
    for _ in range(2_000):
        world.step()
        late = RlcReport("gnb-1", world.now_us - by_us, world.rlc_message())
        world.do(world.controller.on_indication(world.now_us, late))
    assert world.controller.counters.ignored["late_report"] == 2_000
    assert world.controller.counters.clock_resets == 0
    assert not world.events("clock_set_back")


def test_a_backlog_that_arrives_in_reverse_is_no_clock_that_was_set_back() -> None:
    world = World(controller(FQ), ping())
    world.run(200)
    message, newest_us = world.rlc_message(), world.now_us
    for late in range(200):
        report = RlcReport("gnb-1", newest_us - 100 - 1_000 * late, message)
        world.do(world.controller.on_indication(newest_us, report))
    assert world.controller.counters.clock_resets == 0


def test_release_returns_every_bearer_to_its_safe_pipeline() -> None:
    world = verified()
    world.do(world.controller.release_all(world.now_us))
    world.step()
    assert world.tc.names() == ["fq_codel", "safe"]
    assert world.saved == {"version": 1, "desired": [], "kept": []}


def test_an_idle_bearer_is_released_after_the_time_of_the_policy() -> None:
    world = World(controller(FQ, "enforce: {release_idle_after_ms: 2000}"), bulk(), ping())
    world.run_until("verified")
    world.sources = []
    world.run(2_500)
    assert world.tc.names() == ["fq_codel", "safe"]


def test_a_rule_that_ends_releases_its_bearers() -> None:
    world = verified()
    other = parse_policy("version: 1\nrules: [{name: o, match: {drbs: [9]}, ladder: []}]")
    world.do(world.controller.set_policy(world.now_us, other))
    world.run(5)
    assert world.tc.names() == ["fq_codel", "safe"]


def test_a_policy_reload_takes_effect_on_the_next_report() -> None:
    world = World(controller(FQ, "objective: {bound_ms: 5000}"), bulk(), ping())
    world.run(300)
    assert not world.sent
    tighter = parse_policy("version: 1\nrules: [{name: r, ladder: [{template: fq_codel}]}]")
    world.do(world.controller.set_policy(world.now_us, tighter))
    world.run(5)
    assert world.tc.names() == ["fq_codel"]


def test_a_node_without_tc_function_is_watched_only() -> None:
    core = controller(FQ)
    world = World(core, bulk(), ping())
    core.on_node_event(world.now_us, NodeUp("gnb-1", None))
    world.run(500)
    assert not world.sent
    assert core.counters.violations["r"] == 1
