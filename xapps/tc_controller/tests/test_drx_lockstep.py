"""A UE in discontinuous reception: packets wait until it listens, and no pipeline helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tc_controller.core.controller import Controller
from tc_controller.core.verify.compliance import Compliance
from tc_controller.policy_file import parse_policy
from tc_evaluate.lockstep import Lockstep

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
DRX = {"long_cycle_ms": 320, "on_duration_ms": 10, "inactivity_ms": 20}
EACH_50_MS = {"name": "sparse", "kind": "udp_cbr", "rate_kbps": 16, "packet_bytes": 100}
BULK = {"name": "bulk", "kind": "tcp", "qfi": 9, "hystart": False}
POLICY = (
    "version: 1\nrules: [{name: r, base: [{template: %s}], objective: {bound_ms: 100}, ladder: []}]"
)


def lab(base: str, *flows: dict[str, Any], drx: dict[str, int] | None = None) -> Lockstep:
    overrides: dict[str, Any] = {"flows": list(flows)}
    if drx is not None:
        overrides["ues[0].drx"] = drx
    return Lockstep(
        gnb_lab.World(SCENARIO, overrides=overrides), Controller(parse_policy(POLICY % base))
    )


def seconds(of: Lockstep) -> dict[Compliance, int]:
    (totals,) = of.controller.counters.service.values()
    return dict(totals.compliance)


@pytest.mark.parametrize("base", ["transparent", "low_latency"])
def test_the_wait_for_the_next_on_duration_is_no_violation(base: str) -> None:
    """Six packets may wait together: what they take once the UE listens is short."""
    asleep = lab(base, EACH_50_MS, drx=DRX)
    asleep.run(20)
    found = seconds(asleep)
    assert found.get(Compliance.VIOLATED, 0) == 0
    assert found.get(Compliance.AT_RISK, 0) == 0
    assert found[Compliance.RADIO_STALLED] >= 15
    reasons = {record["reason"] for record in asleep.events("compliance")}
    assert any("the radio pauses" in reason for reason in reasons), reasons
    assert not asleep.controller.counters.violations
    awake = lab(base, EACH_50_MS)
    awake.run(20)
    assert set(seconds(awake)) <= {Compliance.MET, Compliance.NO_DATA, Compliance.IDLE}


def test_a_queue_behind_a_download_is_a_violation_with_drx_as_without() -> None:
    found = []
    for drx in (None, DRX):
        bloated = lab("transparent", EACH_50_MS, BULK, drx=drx)
        bloated.run(20)
        found.append(seconds(bloated).get(Compliance.VIOLATED, 0))
    assert found[0] >= 10
    assert found[1] >= found[0] - 2
