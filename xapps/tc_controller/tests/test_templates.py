"""Pipelines of the templates: their encoding, and the flows that they separate."""

from __future__ import annotations

from typing import Any

import e2sm_tc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.sm import tc
from tc_controller.core.act.decision import Choice, NoChoice
from tc_controller.core.act.outbox import Outbox, Purpose
from tc_controller.core.inputs import BearerKey, Flow, FlowInventory
from tc_controller.core.ladder.choose import Facts, choose, compose
from tc_controller.core.observe.inventory import FlowView, greedy_flows, label, read_inventory
from tc_controller.core.policy.schema import GreedyFlows, Policy
from tc_controller.core.policy.slot import OfLadder
from tc_world import Source, inventories

TEMPLATES: dict[str, dict[str, Any]] = {
    "bdp_only": {"drop": "head"},
    "fq_codel": {"queues": 64, "codel": {"target_us": 7000}},
    "segregate_greedy": {"scheduler": "strict_priority"},
    "flow_slicing": {"greedy_share": 0.5},
    "l4s": {"classic_target_us": 10_000},
    "fq_l4s": {"threshold_us": 1000},
    "low_latency": {"bulk_bound_us": 300_000},
}


def rungs(*items: dict[str, Any]) -> Any:
    policy = Policy.model_validate({"version": 1, "rules": [{"name": "r", "ladder": items}]})
    return policy.rules[0].ladder


def inventory(*records: dict[str, Any]) -> FlowInventory:
    bearer = BearerKey("n", 1, 1).ie()
    given = {"bearer": bearer, "active_flows": len(records), "window_ms": 1000, "flows": records}
    (found,) = inventories(given)
    return found  # type: ignore[no-any-return]


def flow(
    port: int,
    kbps: int,
    backlog: int = 0,
    address: str = "10.0.0.1",
    *,
    ecn: str = "not-ect",
    qfi: int | None = None,
) -> Flow:
    record = Source("flow", kbps, port, ecn=ecn).record(kbps, backlog, 0)
    to = "2001:db8::1" if ":" in address else "10.1.0.1"
    five_tuple = {**record["flow"], "source": address, "destination": to}
    return inventory({**record, "flow": five_tuple, "qfi": qfi}).flows[0]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("kind", ["e5g_bdp", "bdp5g", "drql", "just_in_time", "forecast", "none"])
def test_every_template_survives_the_codec(template: str, kind: str) -> None:
    parameters = {"template": template, "pacer": kind, **TEMPLATES[template]}
    (rung,) = rungs(parameters)
    greedy = [flow(443, 40_000), flow(80, 9_000, address="2001:db8::2")]
    pipeline = compose(rung, greedy, 40_000.0)
    outbox = Outbox("me", 1_000_000, 100)
    control = outbox.transaction(
        *(0, BearerKey("n", 1, 1), Purpose.APPLY, {"replace": pipeline}),
        as_safe=False,
        expected_revision=3,
        lease_ms=6000,
    )
    message = tc.encode("control", control.message)
    assert tc.decode("control", message)["transaction"]["change"]["replace"] == pipeline
    assert tc.decode("control-header", tc.encode("control-header", control.header)) == {
        "style": 1,
        "correlation_id": control.control_id,
    }


@pytest.mark.parametrize(
    ("bound", "bulk"),
    [
        ({}, {}),
        ({"target_us": 5_000, "ecn": False}, {"target_us": 5_000, "ecn": False}),
        ({"bulk_bound_us": 50_000}, {"max_target_us": 50_000, "bound_us": 50_000}),
        ({"bulk_bound_us": None}, {"bound_us": None}),
    ],
)
def test_sojourn_marks_l4s_and_keeps_the_queues_of_the_rest_short(
    bound: dict[str, int], bulk: dict[str, Any]
) -> None:
    (rung,) = rungs({"template": "low_latency", "queues": 8, **bound})
    pipeline = compose(rung)
    of = {(item["first"], item["count"]): item["discipline"] for item in pipeline["queues"]}
    classifier = pipeline["classifier"]["l4s_ecn"]
    assert classifier["ways"] == 8
    side = {name: of[tuple(classifier[name].values())] for name in ("l4s", "classic")}
    default = {
        "target_us": 15_000,
        "max_target_us": 100_000,
        "interval_us": 150_000,
        "ecn": True,
        "bound_us": 300_000,
    }
    assert side["classic"] == {"adaptive_codel": {**default, **bulk}}
    assert side["l4s"]["codel"]["l4s"]
    assert side["l4s"]["codel"]["ce_threshold_us"] is None
    assert pipeline["pacer"] == "just_in_time"


def test_sojourn_is_passed_over_where_the_mac_does_not_ask() -> None:
    (rung,) = rungs({"template": "low_latency"})
    facts = Facts(None, None, {"pacers": ["none", "bdp5g"], "max_queues": 4096})
    (skipped,) = choose([rung], None, None, (), facts).skipped
    assert skipped.reason.startswith("pacer.just_in_time: just_in_time is not available; expected")


def test_fq_codel_takes_turns_where_a_node_has_no_deficits() -> None:
    (rung,) = rungs({"template": "fq_codel", "queues": 8, "scheduler": "round_robin"})
    known = {"schedulers": ["round_robin", "strict_priority"], "max_queues": 8}
    choice = choose([rung], None, None, (), Facts(None, None, known))
    assert isinstance(choice, Choice)
    assert choice.pipeline["scheduler"] == "round_robin"


@pytest.mark.parametrize("kind", ["dql", "dyn_rlc", "forecast"])
def test_pacers_with_parameters_survive_the_codec(kind: str) -> None:
    (rung,) = rungs({"template": "bdp_only", "pacer": kind})
    pipeline = compose(rung)
    assert tc.decode("pipeline", tc.encode("pipeline", pipeline)) == pipeline
    assert list(pipeline["pacer"]) == [kind]


def test_renewals_and_releases_survive_the_codec() -> None:
    outbox = Outbox("me", 1_000_000, 100)
    bearer = BearerKey("n", 0x4601, 2)
    renewal = outbox.renewal(0, bearer, 7, 6000)
    assert tc.decode("control", tc.encode("control", renewal.message)) == renewal.message
    for change, as_safe in (
        ("safe", False),
        ("initial", False),
        ({"replace": tc.pipeline("low_latency", {})}, True),
    ):
        sent = outbox.transaction(
            *(0, bearer, Purpose.RELEASE, change),
            as_safe=as_safe,
            expected_revision=7,
            lease_ms=None,
        )
        assert tc.decode("control", tc.encode("control", sent.message)) == sent.message


def test_the_shaper_of_a_slice_leaves_the_requested_share() -> None:
    (rung,) = rungs({"template": "flow_slicing", "greedy_share": 0.25})
    ungreedy, greedy = compose(rung, [flow(1, 1)], 40_000.0)["queues"]
    assert ungreedy["shaper"] is None
    assert greedy["shaper"]["rate_kbps"] == 10_000
    assert greedy["shaper"]["burst_bytes"] == 12_500


@pytest.mark.parametrize("template", ["segregate_greedy", "flow_slicing"])
def test_nothing_is_segregated_without_greedy_flows(template: str) -> None:
    (rung,) = rungs({"template": template, **TEMPLATES[template]})
    with pytest.raises(ValueError, match="greedy flow"):
        compose(rung)


# --------------------------------------------------------------- greedy selection


def ports(flows: tuple[Flow, ...]) -> set[int]:
    return {item.five_tuple[2] for item in flows}


def test_equal_downloads_are_all_greedy_and_what_asks_for_less_is_sparse() -> None:
    equal = [flow(port, 5_000 + 400 * port) for port in range(8)]
    assert ports(greedy_flows(equal, GreedyFlows())) == set(range(8))
    film, call, ping = flow(8, 3_000), flow(9, 64), flow(10, 8)
    assert ports(greedy_flows([flow(1, 30_000), film, call, ping], GreedyFlows())) == {1}


def test_a_flow_that_backed_off_still_owns_the_backlog_it_built() -> None:
    flows = [flow(1, 30_000, 0), flow(2, 2_000, 900_000), flow(3, 64)]
    assert ports(greedy_flows(flows, GreedyFlows())) == {1, 2}


def test_a_greedy_flow_stays_so_for_the_dwell_time() -> None:
    rule, view = GreedyFlows(dwell_ms=1_000), None
    seen = []
    for at_ms, second_kbps in ((0, 20_000), (100, 10), (900, 10), (1_100, 10)):
        first = Source("first", 0, 443).record(30_000, 0, 1)
        second = Source("second", 0, 2).record(second_kbps, 0, 1)
        view = read_inventory(at_ms * 1000, inventory(first, second), rule, view)
        seen.append(len(view.greedy))
    assert seen == [2, 2, 2, 1]


def test_slow_flows_with_little_queued_are_never_greedy() -> None:
    assert greedy_flows([flow(1, 500, 3_000), flow(2, 40)], GreedyFlows()) == ()


def test_a_stalled_flow_is_greedy_by_what_it_has_queued() -> None:
    """Its timeouts make it slow, but flows queued behind it wait."""
    (greedy,) = greedy_flows([flow(1, 200, 2_000_000), flow(2, 64, 172)], GreedyFlows())
    assert greedy.five_tuple[2] == 1


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=40))
def test_the_fastest_flow_is_never_sparse_and_no_sparse_flow_is_faster_than_a_greedy_one(
    loads: list[tuple[int, int]],
) -> None:
    flows = [flow(port, kbps, backlog) for port, (kbps, backlog) in enumerate(loads)]
    rule = GreedyFlows(min_rate_kbps=0, min_backlog_bytes=10**9)
    greedy = ports(greedy_flows(flows, rule))
    sparse = [item.rate_kbps for item in flows if item.five_tuple[2] not in greedy]
    rates = [item.rate_kbps for item in flows if item.five_tuple[2] in greedy]
    assert bool(rates) == bool(flows)
    assert max(sparse, default=0) <= min(rates, default=0)


def test_the_view_of_an_inventory_sums_up_its_flows() -> None:
    seen = flow(443, 30_000, 5, "2001:db8::2", ecn="ect1", qfi=9)
    found = FlowView(1, 1, [seen], {}, 4)
    assert found.ect1
    assert found.qfis() == {9}
    assert label(found.flows[0]) == "tcp [2001:db8::2]:443 > [2001:db8::1]:5000"


# ------------------------------------------------------------------------ ladder


def view(*flows: Flow) -> FlowView:
    greedy = greedy_flows(flows, GreedyFlows())
    return FlowView(0, len(flows), flows, {flow.five_tuple: 1 for flow in greedy}, 4)


def test_conditions_skip_rungs_with_a_reason() -> None:
    ladder = rungs(
        {"template": "bdp_only", "when": {"max_active_flows": 1}},
        {"template": "fq_l4s"},
        {"template": "segregate_greedy"},
        {"template": "flow_slicing", "greedy_share": 0.5},
        {"template": "fq_codel", "when": {"min_greedy_flows": 2}},
        {"template": "fq_codel"},
    )
    facts = Facts(view(flow(1, 500), flow(2, 400)), None, None)
    choice = choose(ladder, None, None, set(), facts)
    assert isinstance(choice, Choice)
    assert choice.slot == OfLadder(5)
    assert [item.reason for item in choice.skipped] == [
        "2 active flows; required: at most 1",
        "no ECT(1) traffic seen",
        "no greedy flow in the inventory",
        "the drain rate is not measured yet",
        "0 greedy flows; required: at least 2",
    ]


def test_without_inventory_nothing_is_assumed_of_flows() -> None:
    ladder = rungs(
        {"template": "bdp_only", "when": {"max_active_flows": 1}},
        {"template": "segregate_greedy"},
        {"template": "fq_l4s"},
    )
    choice = choose(ladder, None, None, set(), Facts(None, 1.0, None))
    assert isinstance(choice, NoChoice)
    assert [item.reason for item in choice.skipped] == [
        "its condition needs a flow inventory; none received yet",
        "no flow inventory received yet",
        "no ECT(1) traffic seen",
    ]


def test_segregating_every_flow_is_skipped() -> None:
    (rung,) = rungs({"template": "segregate_greedy"})
    choice = choose([rung], None, None, set(), Facts(view(flow(1, 40_000)), 1.0, None))
    assert choice.skipped[0].reason.startswith("every flow is greedy")


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_queues_beyond_the_capacity_are_not_sent(queues: int, capacity: int) -> None:
    ladder = rungs({"template": "fq_codel", "queues": queues})
    choice = choose(ladder, None, None, set(), Facts(None, None, {"max_queues": capacity}))
    assert isinstance(choice, Choice) == (queues <= capacity)


def test_the_bounds_of_greedy_flows_are_those_of_the_gnb_unless_a_policy_has_others() -> None:
    rule = GreedyFlows()
    bounds = (rule.fair_share_ratio, rule.min_rate_kbps, rule.min_backlog_bytes)
    assert bounds == e2sm_tc.greedy_defaults()
