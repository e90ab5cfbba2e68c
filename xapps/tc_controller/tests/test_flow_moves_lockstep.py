"""QoS flows moved to a second DRB of the emulated gNB, on one virtual clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tc_controller.core.controller import Controller
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import parse_policy
from tc_evaluate import lockstep

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
RULES = "rules: [{name: r, base: [{template: low_latency, pacer: forecast}]}]"


def cell(f1_delay_us: int, *, drbs: int = 2) -> dict[str, Any]:
    """A CU so far from its DU; a download and a ping of QoS flows of their own. The radio changes
    each 20 ms, so what the CU knows of the RLC is old."""
    rlc = {"mode": "am", "limit_bytes": 10_000_000}
    every = [{"id": 1, "rlc": rlc}, {"id": 2, "priority": 1, "rlc": rlc}]
    radio = {"gauss_markov": {"mean_snr_db": 12, "std_dev_db": 6, "coherence_ms": 20}}
    return {
        "split": {"f1_delay_us": f1_delay_us, "core_delay_us": 1_000},
        "ues": [{"rnti": 0x4601, "channel": radio, "drbs": every[:drbs]}],
        "flows": [
            {"name": "bulk", "kind": "tcp", "qfi": 9},
            {"name": "ping", "kind": "ping", "interval_ms": 20, "qfi": 7, "start_s": 0.1},
        ],
    }


def policy(second: str = "nodes: ['*']") -> Policy:
    return parse_policy(f"version: 1\nsecond_drb: {{{second}}}\n{RULES}\n")


def lab(given: Policy, **scenario: Any) -> lockstep.Lockstep:
    world = gnb_lab.World(SCENARIO, overrides=scenario)
    return lockstep.Lockstep(world, Controller(given, owner="a"))


def median_rtt_us(running: lockstep.Lockstep, from_s: float, until_s: float) -> float:
    samples = running.world.rtt_samples_us("ping")
    rtts = sorted(rtt for at_us, rtt in samples if from_s * 1e6 <= at_us < until_s * 1e6)
    return float(rtts[len(rtts) // 2])


def test_the_ping_of_a_cu_far_away_no_longer_waits_for_the_download() -> None:
    running = lab(policy(), **cell(20_000))
    running.run(10)
    (moved,) = running.events("flow_move")
    assert (moved["qfi"], moved["bearer"]["drb"], moved["to_drb"]) == (7, 1, 2)
    (verified,) = running.events("flow_move_verified")
    assert verified["verdict"] == "kept"
    assert running.events("flow_move_back") == []
    alone = lab(policy("nodes: [other]"), **cell(20_000))
    alone.run(10)
    assert alone.events("flow_move") == []
    before, after = median_rtt_us(alone, 5, 10), median_rtt_us(running, 5, 10)
    assert after < before - 3_000, f"{before} to {after} us"


def test_a_ue_with_one_drb_keeps_its_flows() -> None:
    running = lab(policy(), **cell(20_000, drbs=1))
    running.run(3)
    assert running.events("flow_move") == []


def test_a_later_controller_finds_the_mapping_in_force() -> None:
    running = lab(policy(), **cell(20_000))
    running.run(5)
    state = running.controller.desired.document()
    assert len(state["flow_moves"]) == 1
    later = lockstep.Lockstep(running.world, Controller(policy(), owner="a", state=state))
    later.run(8)
    assert later.events("flow_move") == []
    (node,) = later.controller.nodes.values()
    assert len(node.flow_moves.moves) == 1
