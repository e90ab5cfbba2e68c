"""Objectives of classes in lockstep with the emulated gNB: what each class gets of a radio."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tc_controller.core.controller import Controller
from tc_controller.core.policy.quality import Score
from tc_controller.core.verify.compliance import Compliance
from tc_controller.policy_file import parse_policy
from tc_evaluate.lockstep import Lockstep

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"


def tcp(name: str, qfi: int, count: int = 1) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "tcp",
        "congestion_control": "cubic",
        "start_s": 0.5,
        "qfi": qfi,
        "count": count,
    }


def rates_mbps(classes: str, *flows: dict[str, Any], rule: str = "", **overrides: Any) -> Any:
    """Goodput of each flow by name from 5 s to 15 s; the lab carries about 40 Mbit/s."""
    base = "base: [{template: low_latency}]"
    text = f"version: 1\nrules: [{{name: r, {base}, classes: {classes}{rule}}}]"
    ping = {"name": "ping", "kind": "ping", "interval_ms": 100, "qfi": 9}
    world = gnb_lab.World(SCENARIO, overrides={"flows": [*flows, ping], **overrides})
    lab = Lockstep(world, Controller(parse_policy(text)))
    lab.run(5)
    before = goodput(world)
    lab.run(15)
    (decided,) = lab.events("decided")
    assert decided["rung"]["template"] == "classes"
    assert not lab.events("rolled_back")
    return {name: (at - before[name]) * 8 / 10e6 for name, at in goodput(world).items()}


def goodput(world: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for flow in world.flows():
        name = flow["name"].split("#")[0].split("[")[0]
        total[name] = total.get(name, 0) + int(flow["goodput_bytes"] or 0)
    return total


def test_a_guaranteed_class_has_its_rate_among_many_flows() -> None:
    one = "[{name: video, match: [{qfi: 5}], objective: {guaranteed_mbps: 20}%s}]"
    flows = [tcp("video", 5), tcp("bulk", 9, count=12)]
    # Its part by weight is its guarantee.
    even = rates_mbps(one % "", *flows)
    assert even["video"] >= 0.95 * 20
    # Even where its share is a tenth.
    least = rates_mbps(one % ", share: 0.1", *flows)
    assert least["video"] >= 0.95 * 20
    assert least["bulk"] >= 0.9 * (40 - 20) * 0.9


def test_a_class_does_not_exceed_its_maximum_and_the_rest_has_what_it_leaves() -> None:
    capped = "[{name: updates, match: [{qfi: 5}], objective: {maximum_mbps: 4}}]"
    rates = rates_mbps(capped, tcp("updates", 5, count=3), tcp("bulk", 9))
    assert 0.85 * 4 <= rates["updates"] <= 4
    assert rates["bulk"] >= 0.9 * (40 - 4)


def test_shares_hold_however_many_flows_a_class_has() -> None:
    shared = "[{name: a, match: [{qfi: 5}], share: 0.6}, {name: b, match: [{qfi: 6}], share: 0.2}]"
    rates = rates_mbps(shared, tcp("a", 5), tcp("b", 6, count=6), tcp("bulk", 9, count=3))
    total = rates["a"] + rates["b"] + rates["bulk"]
    assert rates["a"] / total == pytest.approx(0.6, abs=0.05)
    assert rates["b"] / total == pytest.approx(0.2, abs=0.05)


def test_guarantees_beyond_the_radio_shrink_alike() -> None:
    both = (
        "[{name: a, match: [{qfi: 5}], objective: {guaranteed_mbps: 60}}, "
        "{name: b, match: [{qfi: 6}], objective: {guaranteed_mbps: 20}}]"
    )
    rates = rates_mbps(both, tcp("a", 5), tcp("b", 6), tcp("bulk", 9))
    assert rates["a"] / rates["b"] == pytest.approx(3, rel=0.15)
    # What is promised to others leaves the rest a twentieth.
    assert rates["bulk"] / sum(rates.values()) == pytest.approx(0.05, abs=0.015)


def test_a_maximum_of_the_bearer_holds_all_classes_together() -> None:
    rates = rates_mbps(
        "[{name: a, match: [{qfi: 5}], share: 0.75}]",
        tcp("a", 5),
        tcp("bulk", 9),
        rule=", objective: {maximum_mbps: 12}",
    )
    assert 0.9 * 12 <= rates["a"] + rates["bulk"] <= 12
    assert rates["a"] / rates["bulk"] == pytest.approx(3, rel=0.15)


def compliance(text: str, *flows: dict[str, Any]) -> Lockstep:
    world = gnb_lab.World(SCENARIO, overrides={"flows": list(flows)})
    lab = Lockstep(world, Controller(parse_policy(f"version: 1\nrules: [{{name: r, {text}}}]")))
    lab.run(8)
    return lab


def test_guarantees_beyond_the_radio_are_infeasible_and_say_what_is_missing() -> None:
    lab = compliance(
        "base: [{template: low_latency}], classes: ["
        "{name: a, match: [{qfi: 5}], objective: {guaranteed_mbps: 60}}, "
        "{name: b, match: [{qfi: 6}], objective: {guaranteed_mbps: 10}}]",
        tcp("a", 5),
        tcp("b", 6),
    )
    seconds = lab.controller.counters.class_compliance
    assert seconds["r", "a", "infeasible"] >= 3
    records = [each for each in lab.events("compliance") if each["state"] == "infeasible"]
    of_class = next(each for each in records if each.get("class_name") == "a")
    of_bearer = next(each for each in records if "class_name" not in each)
    assert "needs 70.0 Mbit/s, radio gives" in of_class["reason"]
    assert of_bearer["reason"].startswith("class ")


def test_the_mac_is_named_where_it_gives_a_bearer_less_than_the_cell_carries() -> None:
    rntis = range(0x4601, 0x4601 + 8)
    drb = {"id": 1, "rlc": {"mode": "um"}}
    ues = [{"rnti": rnti, "channel": {"fixed_mcs": 20}, "drbs": [drb]} for rnti in rntis]
    flow = {**tcp("bulk", 9), "rnti": "each"}
    world = gnb_lab.World(SCENARIO, overrides={"ues": ues, "flows": [flow]})
    rule = "{name: r, base: [{template: low_latency}], objective: {guaranteed_mbps: 20}}"
    lab = Lockstep(world, Controller(parse_policy(f"version: 1\nrules: [{rule}]")))
    lab.run(6)
    (node,) = lab.controller.nodes.values()
    for bearer in node.bearers.values():
        assessment = bearer.judged.assessment
        assert assessment is not None
        assert assessment.state is Compliance.INFEASIBLE
        found = re.fullmatch(
            r"needs 20.0 Mbit/s; the MAC gives this UE (\d+)% of the cell, ([\d.]+) of about "
            r"([\d.]+) Mbit/s",
            assessment.reason,
        )
        assert found is not None, assessment.reason
        assert int(found[1]) == pytest.approx(100 / 8, abs=3)
        assert float(found[3]) > 2 * 20


REQUIREMENT = (
    "version: 1\nrequirements: {needed: {latency: [{percentile: 95, rop_ms: 25, cpup_ms: 80}], "
    "loss: {rop_ratio: 0.01, cpup_ratio: 0.05}, min_mbps: %d}}\n"
    "rules: [{name: r, requirement: needed, base: [%s]}]"
)


def served(
    min_mbps: int, *flows: dict[str, Any], base: str = "{template: low_latency}"
) -> tuple[Score, Lockstep]:
    """Quality of the bearer after 15 s."""
    ping = {"name": "ping", "kind": "ping", "interval_ms": 100, "qfi": 9}
    world = gnb_lab.World(SCENARIO, overrides={"flows": [*flows, ping]})
    lab = Lockstep(world, Controller(parse_policy(REQUIREMENT % (min_mbps, base))))
    lab.run(15)
    (totals,) = lab.controller.counters.service.values()
    requirement = lab.controller.policy.requirements["needed"]
    score = totals.quality(requirement, 15, world.now_us).score
    assert score is not None
    return score, lab


def test_a_stream_that_loses_packets_beside_downloads_is_no_good_outcome() -> None:
    game = {
        "name": "game",
        "kind": "udp_cbr",
        "rate_kbps": 8_000,
        "packet_bytes": 1_000,
        "qfi": 5,
        "start_s": 0.5,
    }
    fair = "{template: low_latency, inelastic: null}"
    score, lab = served(1, tcp("bulk", 9, count=8), game, base=fair)
    assert score == Score(0.0, "loss")
    violated = [each for each in lab.events("compliance") if each["state"] == "violated"]
    assert any("flows that do not back off dropped" in each["reason"] for each in violated)
    # By default it goes first.
    assert served(1, tcp("bulk", 9, count=8), game)[0].value == 100.0
    # The same without the stream: what an AQM drops of downloads is no loss.
    score, lab = served(1, tcp("bulk", 9, count=8))
    assert score.value == 100.0
    assert "violated" not in [each["state"] for each in lab.events("compliance")]


def test_the_rate_of_a_bearer_is_judged_by_what_waits_in_its_pipeline() -> None:
    # The lab carries about 40 Mbit/s; the sparse flows never wait.
    assert served(80, tcp("bulk", 9))[0] == Score(0.0, "throughput")
    assert served(10, tcp("bulk", 9))[0].value == 100.0


def test_a_bound_that_costs_a_download_its_rate_is_reported() -> None:
    def of(bound_ms: int) -> tuple[float, str]:
        lab = compliance(
            "base: [{template: low_latency}], classes: [{name: a, match: [{qfi: 5}], "
            f"objective: {{bound_ms: {bound_ms}}}}}]",
            tcp("a", 5),
        )
        (node,) = lab.controller.nodes.values()
        (bearer,) = node.bearers.values()
        return goodput(lab.world)["a"] * 8 / 8e6, bearer.judged.classes["a"].reason

    short_mbps, short = of(3)
    long_mbps, long = of(20)
    assert short_mbps < 0.5 * long_mbps
    assert short.endswith("the bound costs rate")
    assert "costs rate" not in long


def test_what_the_radio_carries_is_met() -> None:
    lab = compliance(
        "base: [{template: low_latency}], classes: ["
        "{name: a, match: [{qfi: 5}], objective: {guaranteed_mbps: 10}}, "
        "{name: b, match: [{qfi: 6}], share: 0.25}, "
        "{name: c, match: [{qfi: 7}], objective: {maximum_mbps: 3, loss_ratio: 0.05}}, "
        "{name: d, match: [{qfi: 8}], objective: {guaranteed_mbps: 1}}]",
        tcp("a", 5, count=2),
        tcp("b", 6),
        tcp("c", 7),
        tcp("bulk", 9),
    )
    last = {
        each["class_name"]: each["state"]
        for each in lab.events("compliance")
        if "class_name" in each
    }
    assert last == {"a": "met", "b": "met", "c": "met", "d": "idle"}
