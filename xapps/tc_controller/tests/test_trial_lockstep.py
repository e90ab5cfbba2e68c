"""Trials on the emulated gNB: what the sentence says is what static pipelines give."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tc_controller.core.actions import SendControl
from tc_controller.core.controller import Controller
from tc_controller.policy_file import parse_policy
from tc_evaluate.lockstep import Lockstep
from tc_evaluate.scenario_files import read_scenarios
from tc_replicas import LEASE_S, Replicas

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

ROOT = Path(__file__).parents[3]
SCENARIO = ROOT / "lab" / "scenarios" / "default.yaml"
SITUATIONS = ROOT / "benchmarks" / "situations.yaml"


OVERLOAD = [
    {"name": "bulk", "kind": "udp_cbr", "rate_kbps": 80_000, "packet_bytes": 1_500},
    {"name": "ping", "kind": "ping"},
]
"""The queue stands as soon as a pipeline lets it: no window grows anew in each period."""


def lab(
    trial: str,
    base: str = "low_latency",
    head: str = "",
    scenario: Path | Mapping[str, Any] = SCENARIO,
    **overrides: Any,
) -> Lockstep:
    rule = f"{{name: r, base: [{{template: {base}}}]{trial}}}"
    policy = parse_policy(f"version: 1\n{head}rules: [{rule}]")
    return Lockstep(gnb_lab.World(scenario, overrides=overrides), Controller(policy))


def static_p95_ms(template: str) -> float:
    """Ping under one pipeline alone, once its queue stands."""
    world = lab("", base=template, flows=OVERLOAD)
    world.run(40)
    samples = world.world.rtt_samples_us("ping")
    return float(np.percentile([rtt for at, rtt in samples if at >= 10e6], 95)) / 1000


def test_the_effect_has_the_sign_and_size_of_the_difference_of_static_pipelines() -> None:
    trial = (
        ", trial: {against: {template: transparent}, share_of_time: 0.5, period_s: 6, "
        "wash_out_ms: 3000, max_duration_s: 144, stop: {harm_ms: 60000}}"
    )
    world = lab(trial, flows=OVERLOAD)
    world.run(146)
    (result,) = world.events("trial_result")
    sojourn, rate = result["effect"]["sojourn_ms"], result["effect"]["rate_ratio"]
    assert (result["reason"], result["kept"], result["blocks"]) == (
        "max_duration",
        "low_latency",
        12,
    )
    # Round trips of the ping differ by what its packets wait.
    saved_ms = static_p95_ms("transparent") - static_p95_ms("low_latency")
    assert sojourn["low"] <= sojourn["estimate"] <= sojourn["high"] < 0.0
    assert sojourn["estimate"] == pytest.approx(-saved_ms, rel=0.02)
    assert rate["low"] <= rate["estimate"] <= rate["high"]
    assert abs(rate["estimate"]) < 0.05
    assert "low_latency saved" in result["summary"]
    # One transaction per change of the pipeline and the first base; none is verified.
    assert world.transactions <= 25
    assert not world.events("verified") and not world.events("reapplied")


def test_on_a_radio_that_hides_a_loss_of_rate_the_base_stays_however_short_the_sojourn() -> None:
    trial = (
        ", objective: {bound_ms: 60000}, trial: {against: {template: low_latency, "
        "bulk_bound_us: 20000}, share_of_time: 0.5, period_s: 6, wash_out_ms: 2000, "
        "max_duration_s: 144, stop: {max_sojourn_ms: 60000}}"
    )
    named = {each.name: each.content for each in read_scenarios([SITUATIONS])}
    # The downlink is tried: acknowledgements do not wait for scheduling requests.
    uplink: dict[str, Any] = {"cell.uplink.preschedule_us": 20_000}
    world = lab(trial, base="transparent", scenario=named["radio_pedestrian"], **uplink)
    world.run(147)
    (result,) = world.events("trial_result")
    assert result["effect"]["sojourn_ms"]["low"] > 10.0
    assert result["effect"]["rate_ratio"]["high"] > 0.05
    assert (result["reason"], result["kept"]) == ("max_duration", "transparent")
    assert result["detail"].endswith("low_latency may lose more than 5.0% of the rate")


def test_in_a_trial_of_bearers_a_hash_decides_and_few_bearers_suffer() -> None:
    channel, drbs = {"fixed_mcs": 20}, [{"id": 1, "rlc": {"mode": "um"}}]
    ues = [{"rnti": 0x4601 + n, "channel": channel, "drbs": drbs} for n in range(8)]
    flows = [
        {"name": "bulk", "kind": "tcp", "congestion_control": "cubic", "rnti": "each"},
        {"name": "ping", "kind": "ping", "rnti": "each", "interval_ms": 20},
    ]
    trial = (
        ", trial: {against: {template: transparent}, share_of_bearers: 0.4, seed: 3, "
        "period_s: 4, wash_out_ms: 2000, max_duration_s: 60, stop: {max_sojourn_ms: 30000}}"
    )
    world = lab(trial, head="max_controls_per_s: 10\n", ues=ues, flows=flows)
    sent_us: list[int] = []
    do = world._do

    def noted(actions: Any) -> None:
        actions = list(actions)
        controls = [each for each in actions if isinstance(each, SendControl)]
        sent_us.extend(world.world.now_us for each in controls if "transaction" in each.message)
        do(actions)

    world._do = noted  # type: ignore[method-assign]
    world.run(25)
    tried = [r["bearer"]["rnti"] for r in world.events("decided") if r["trigger"] == "trial"]
    assert 1 <= len(tried) <= 6
    assert len(set(tried)) == len(tried)
    # Ten transactions a second: switches wait for each other.
    switched_us = sent_us[8:]
    assert all(b - a >= 90_000 for a, b in pairwise(switched_us))
    assert world.events("trial_block")
    world.run(62)
    (result,) = world.events("trial_result")
    assert result["kept"] == "low_latency"
    assert result["effect"]["sojourn_ms"]["estimate"] < 0.0


def test_a_standby_has_no_trial_and_the_next_owner_begins_its_own() -> None:
    trial = (
        "against: {template: fq_codel}, share_of_time: 0.5, period_s: 4, wash_out_ms: 500, "
        "max_duration_s: 600"
    )
    rule = f"{{name: r, base: [{{template: low_latency}}], trial: {{{trial}}}}}"
    lab = Replicas(parse_policy(f"version: 1\nreports: {{rlc_period_ms: 10}}\nrules: [{rule}]"))
    lab.start("a")
    lab.run(1)
    lab.start("b")
    lab.run(17)
    assert {name for name, record in lab.records if record["event"] == "trial_started"} == {"a"}
    while next(iter(lab.statuses.values())).name != "fq_codel":
        lab.run(0.5)
    lab.kill("a")
    lab.run(LEASE_S)
    assert lab.owners() == ["b"]
    lab.start("a")
    lab.run(20)
    blocks = [(name, record) for name, record in lab.records if record["event"] == "trial_block"]
    taken_over = next(at for at, name in lab.terms if name == "b")
    assert {name for name, record in blocks if record["at_us"] > taken_over * 1e6} == {"b"}
    assert any(name == "b" and "void" not in record for name, record in blocks)
    assert lab.longest_bare_s < 1.0
