"""A UE is handed over while a controller runs, on the emulated gNB and one virtual clock."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import load_policy, parse_policy
from tc_evaluate import lockstep

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
DEFAULT = load_policy(Path(__file__).parents[1] / "policies" / "default.yaml")
FIRST = 0x4601
"""C-RNTI of the UE; that of a target is the next that no UE had."""


def cells(values_db: list[int]) -> dict[str, Any]:
    """Two cells: the first of 15 dB, the second of `values_db`, a second each."""
    radio = {"snr_series": {"period_ms": 1_000, "values_db": [15]}}
    other = {"snr_series": {"period_ms": 1_000, "values_db": values_db, "at_end": "hold"}}
    ue = {
        "rnti": FIRST,
        "channel": radio,
        "neighbour_channels": [other],
        "drbs": [{"id": 1, "rlc": {"mode": "um", "limit_bytes": 10_000_000}}],
    }
    flows = [
        {"name": "bulk", "kind": "tcp", "hystart": False},
        {"name": "ping", "kind": "ping", "interval_ms": 10},
    ]
    return {"cells": [{}, {}], "ues": [ue], "flows": flows}


def lab(policy: Policy, values_db: list[int]) -> lockstep.Lockstep:
    world = gnb_lab.World(SCENARIO, overrides=cells(values_db))
    return lockstep.Lockstep(world, Controller(policy, owner="a"))


def revision(running: lockstep.Lockstep) -> tuple[int, int]:
    """C-RNTI of the bearer, and the revision of its pipeline."""
    (row,) = running.world.bearers()
    return int(row["rnti"]), int(row["tc_revision"])


def test_the_base_goes_with_the_ue_and_its_lease_is_renewed_under_the_new_name() -> None:
    rules = "[{name: r, base: [{template: low_latency}], enforce: {lease_ms: 2000}}]"
    running = lab(parse_policy(f"version: 1\nrules: {rules}\n"), [5, 5, 5, 25])
    running.run(3)
    before, base = revision(running)
    assert before == FIRST
    running.run(12)
    assert revision(running) == (FIRST + 1, base), "neither replaced nor given back to the safe one"
    assert running.transactions == 1
    (node,) = running.controller.nodes.values()
    (bearer,) = node.bearers.values()
    assert bearer.key == BearerKey(node.node_id, FIRST + 1, 1)
    assert bearer.desired is not None
    assert node.pipelines[bearer.key].name == "low_latency"


def test_a_ue_that_moves_to_and_fro_keeps_its_base_and_its_sparse_packets_go_first() -> None:
    running = lab(DEFAULT, [5, 25, 5, 25, 5, 25, 5, 25, 5])
    running.run(1)
    _, base = revision(running)
    running.run(12)
    moved, last = revision(running)
    assert moved - FIRST >= 7, "a handover for each change of the radio"
    assert last == base
    assert running.transactions == 1
    (node,) = running.controller.nodes.values()
    assert len(node.bearers) == 1, "bearers of former names are gone"
    # From 0.8 s after each change of the radio on, the UE is where it is best.
    settled = [
        rtt for at_us, rtt in running.world.rtt_samples_us("ping") if at_us % 10**6 > 800_000
    ]
    stays = lab(DEFAULT, [5])
    stays.run(5)
    still = [rtt for _, rtt in stays.world.rtt_samples_us("ping")]
    assert median(settled) < 1.5 * median(still)
