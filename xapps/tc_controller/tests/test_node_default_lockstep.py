"""Bearers that attach while a controller runs, on the emulated gNB and one virtual clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ric.sm import TC_V1_OID, tc
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import load_policy, parse_policy
from tc_evaluate import lockstep

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
DEFAULT = load_policy(Path(__file__).parents[1] / "policies" / "default.yaml")
OTHER = 0x4701


def cell(**drb: Any) -> dict[str, Any]:
    """A second UE attaches after 2 s and downloads at once."""
    rlc = {"mode": "um", "limit_bytes": 10_000_000}
    drbs = [{"id": 1, "rlc": rlc, **drb}]
    ues = [
        {"rnti": 0x4601, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1, "rlc": rlc}]},
        {"rnti": OTHER, "channel": {"fixed_mcs": 10}, "drbs": drbs, "join_at_s": 2.0},
    ]
    span = {"rnti": OTHER, "start_s": 2.001}
    flows = [
        {"name": "bulk", "kind": "tcp", "hystart": False, **span},
        {"name": "ping", "kind": "ping", "interval_ms": 10, **span},
    ]
    return {"ues": ues, "flows": flows}


def lab(policy: Policy, **drb: Any) -> lockstep.Lockstep:
    return lockstep.Lockstep(
        gnb_lab.World(SCENARIO, overrides=cell(**drb)), Controller(policy, owner="a")
    )


def adopted(running: lockstep.Lockstep) -> list[dict[str, Any]]:
    return [each for each in running.events("adopted") if each["bearer"]["rnti"] == OTHER]


def test_a_bearer_that_attaches_has_its_base_and_is_adopted_without_a_transaction() -> None:
    running = lab(DEFAULT)
    running.run(5)
    # One for the bearer that was there before the controller.
    assert running.transactions == 1
    (record,) = adopted(running)
    assert record["by_default"]["revision"] == 1
    assert running.controller.counters.reconciliations["by_default"] == 1
    (node,) = running.controller.nodes.values()
    bearer = node.bearers[BearerKey(node.node_id, OTHER, 1)]
    assert bearer.desired is not None
    assert bearer.desired.as_safe
    assert bearer.kept is bearer.desired
    rtts = [rtt for _, rtt in running.world.rtt_samples_us("ping")]
    assert max(rtts) < 60_000, "none of its packets waited in the RLC"


def test_a_rule_that_wants_another_pipeline_replaces_it() -> None:
    rules = f"{{name: one, match: {{rntis: [{OTHER}]}}, base: [{{template: fq_codel}}]}}"
    policy = parse_policy(
        f"version: 1\nrules: [{rules}, {{name: rest, base: [{{template: low_latency}}]}}]\n"
    )
    running = lab(policy)
    running.run(5)
    assert running.transactions == 2
    assert not adopted(running)
    (node,) = running.controller.nodes.values()
    assert node.pipelines[BearerKey(node.node_id, OTHER, 1)].name == "fq_codel"


def test_5qis_and_slices_decide_before_the_first_packet_and_after_it_alike() -> None:
    policy = parse_policy(
        "version: 1\nslices: {gold: {s_nssai: {sst: 1, sd: 5}}}\n"
        "rules: [{name: calls, match: {five_qis: [1]}, base: [{template: bdp_only}]},"
        "{name: gold, match: {slices: [gold]}, base: [{template: fq_codel}]},"
        "{name: rest, base: [{template: low_latency}]}]\n"
    )
    for carried, name in (
        ({"five_qi": 1}, "bdp_only"),
        ({"five_qi": 9, "s_nssai": {"sst": 1, "sd": 5}}, "fq_codel"),
        ({"s_nssai": {"sst": 1}}, "low_latency"),
    ):
        running = lab(policy, **carried)
        running.run(4)
        assert len(adopted(running)) == 1, name
        (node,) = running.controller.nodes.values()
        bearer = node.bearers[BearerKey(node.node_id, OTHER, 1)]
        assert bearer.desired is not None
        assert bearer.desired.pipeline["name"] == name
        status = node.pipelines[bearer.key]
        assert status.by_default is not None
        assert status.revision == 2


def test_it_ends_with_the_controller_and_bearers_are_as_the_gnb_sets_them_up() -> None:
    rules = "[{name: r, base: [{template: low_latency}], enforce: {lease_ms: 600}}]"
    policy = parse_policy(f"version: 1\nrules: {rules}\n")

    def revision(*, until_s: float) -> int:
        running = lab(policy)
        running.run(until_s)
        running.world.step_until(2_010_000)
        (row,) = [row for row in running.world.bearers() if row["rnti"] == OTHER]
        return int(row["tc_revision"])

    assert revision(until_s=1.0) == 1, "its initial pipeline"
    assert revision(until_s=1.9) == 2, "for as long as its lease"


def test_a_stop_that_releases_leaves_no_node_default() -> None:
    running = lab(DEFAULT)
    running.run(1)
    running._do(running.controller.release_all(running.world.now_us))
    renew = {"owner": "a", "lease_ms": 1_000, "dry_run": True, "change": {"renew": 1}}
    answer = running.world.control(
        TC_V1_OID,
        tc.encode("control-header", {"style": 5, "correlation_id": 1}),
        tc.encode("control", {"node_default": renew}),
    )
    refused = tc.decode("control-outcome", answer)["refused"]
    assert (refused["cause"], refused["detail"]) == (
        "stale_revision",
        "1; no node default is in force",
    )
