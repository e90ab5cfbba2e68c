"""Reports that need no decision are given to the controller together, with the same results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tc_controller.core.controller import Controller
from tc_controller.core.policy.schema import Policy
from tc_controller.core.quiet import Quiet
from tc_controller.policy_file import load_policy, parse_policy
from tc_controller.policy_source import default_policy
from tc_evaluate.lockstep import Lockstep

gnb_lab = pytest.importorskip("gnb_lab")

CELL = {"rat": "nr", "n_prb": 24, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}}
STEADY = {"fixed_mcs": 10}
PAUSES = {"rate_series": {"period_ms": 400, "values_kbps": [12_000, 6_000, 0, 9_000, 20_000]}}


def scenario(channel: Mapping[str, Any], ues: int = 1, **split: int) -> dict[str, Any]:
    """A download, bursts and a ping for each of UEs that join and leave."""
    flows: list[dict[str, Any]] = []
    for rnti in range(1, ues + 1):
        flows += [
            {"name": f"bulk{rnti}", "kind": "tcp", "rnti": rnti},
            {"name": f"ping{rnti}", "kind": "ping", "interval_ms": 53, "rnti": rnti},
        ]
    own: list[dict[str, Any]] = [
        {"rnti": 1 + index, "channel": channel, "drbs": [{"id": 1}], "join_at_s": 0.7 * index}
        for index in range(ues)
    ]
    if ues > 1:
        own[0]["leave_at_s"] = 2.3
    cell = {**CELL, "n_prb": 24 * ues}
    return {"duration_s": 4, "cell": cell, "split": split, "ues": own, "flows": flows}


def ladder(*templates: str, reports: str = "{}") -> Policy:
    rungs = ", ".join(f"{{template: {name}}}" for name in templates)
    rule = f"{{name: r, ladder: [{rungs}]}}"
    return parse_policy(f"version: 1\nreports: {reports}\nrules: [{rule}]")


def trial() -> Policy:
    against = (
        "{against: {template: fq_codel}, share_of_time: 0.5, period_s: 0.5, wash_out_ms: 100, "
    )
    against += "max_duration_s: 60}"
    rule = f"{{name: r, base: [{{template: low_latency}}], trial: {against}}}"
    return parse_policy(f"version: 1\nrules: [{rule}]")


class OneByOne(Controller):
    """A controller that wants every report by itself."""

    def quiet(self, node_id: str) -> Quiet:
        return super().quiet(node_id)._replace(stop_above_us=-1)


class Counting(Controller):
    """A controller that counts what it is given together."""

    together = 0

    def on_quiet(self, node_id: str, now_us: Any, *reports: Any) -> Any:
        self.together += len(now_us)
        return super().on_quiet(node_id, now_us, *reports)


def outcome(controller: Controller, parts: dict[str, Any]) -> tuple[Any, ...]:
    """All that a run shows: decision log, counters, and what the traffic got."""
    lockstep = Lockstep(gnb_lab.World(parts), controller)
    lockstep.run(parts["duration_s"])
    world = lockstep.world
    pings = [world.rtt_samples_us(f["name"]) for f in world.flows() if f["kind"] == "ping"]
    return lockstep.records, controller.counters, world.summary(), pings


@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        pytest.param(load_policy(default_policy()), scenario(STEADY), id="base"),
        pytest.param(load_policy(default_policy()), scenario(PAUSES), id="base, pauses"),
        pytest.param(ladder("bdp_only", "fq_codel"), scenario(PAUSES), id="ladder, pauses"),
        pytest.param(
            ladder("segregate_greedy", "fq_codel"),
            scenario(STEADY, 3, f1_delay_us=4_000, e2_control_delay_us=300, e2_report_delay_us=700),
            id="ladder, split, UEs join and leave",
        ),
        pytest.param(
            load_policy(default_policy()), scenario(PAUSES, 3), id="base, UEs join and leave"
        ),
        pytest.param(
            ladder("fq_codel", reports="{mac_period_ms: null, kpm_period_ms: 50}"),
            scenario(PAUSES),
            id="ladder, PRBs by KPM",
        ),
        pytest.param(trial(), scenario(STEADY), id="trial"),
    ],
)
def test_reports_given_together_have_the_effect_of_reports_given_one_by_one(
    policy: Policy, parts: dict[str, Any]
) -> None:
    together = Counting(policy)
    alone = outcome(OneByOne(policy), parts)
    assert outcome(together, parts) == alone
    assert any(record["event"] == "decided" for record in alone[0])
    assert together.together > 2_000, "of 4000 reports"
