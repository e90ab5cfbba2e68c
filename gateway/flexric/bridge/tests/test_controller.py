"""The unmodified controller on a v0 node behind the bridge."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import e2sm_tc
import yaml
from bridge_world import BridgeWorld
from lab_node import BULK, SCENARIO, LabNode

PROGRAM = Path(sys.executable).parent / "tc-controller"
POLICY = Path(__file__).parents[4] / "xapps" / "tc_controller" / "policies" / "flexric.yaml"


def ping_ms(lab: LabNode, since_us: int) -> float:
    """Mean round trip of pings since a point in virtual time."""
    return statistics.mean(
        rtt / 1000 for at, rtt in lab.world.rtt_samples_us("ping") if at > since_us
    )


async def test_a_bloated_bearer_is_relieved_through_the_bridge(world: BridgeWorld) -> None:
    scenario: dict[str, Any] = {**SCENARIO, "flows": [*SCENARIO["flows"], BULK]}
    lab = LabNode(world.ric, scenario)
    # The bulk flow fills the RLC before the controller starts.
    lab.world.step_until(4_000_000)
    bloated_ms = ping_ms(lab, 2_000_000)
    bridge = await world.start()
    world.spawn(lab.run())
    log = world.folder / "decisions.jsonl"
    controller = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        *("--gateway", bridge.address, "--metrics-listen", ""),
        # Independent of the machine's load.
        *("--gateway-control-timeout-s", "60"),
        *("--policy", str(POLICY), "--decision-log", str(log)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await world.until(lambda: _events(log, "verified"), "a verdict")
        settled_us = lab.world.now_us
        await world.until(lambda: lab.world.now_us > settled_us + 1_000_000, "a second more")
        relieved_ms = ping_ms(lab, settled_us)
    finally:
        controller.terminate()
        await controller.wait()
    assert any("accepted" in event["outcome"] for event in _events(log, "answered"))
    served = bridge.traffic.served[lab.node.id]
    assert served.function.in_force is not None
    assert served.function.in_force.state.name == "fq_codel"
    assert served.function.in_force.lease_ends_at_us is not None
    assert relieved_ms < bloated_ms / 3, (bloated_ms, relieved_ms)
    # 31 queues added, one changed, hash, pacer: the fewest controls in v0.
    # The classifier, and each queue.
    rung = yaml.safe_load(POLICY.read_text())["rules"][0]["ladder"][0]
    assert len(_sent_before(world, "PCR")) == 1 + rung["queues"]


def _sent_before(world: BridgeWorld, stage: str) -> list[bytes]:
    """Controls before the first of a stage."""
    stages = [e2sm_tc.decode("control", data, "v0")["type"] for _, data in world.ric.controls]
    return [data for _, data in world.ric.controls[: stages.index(stage)]]


def _events(log: Path, event: str) -> list[dict[str, Any]]:
    if not log.exists():
        return []
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line for line in lines if line["event"] == event]
