"""Objectives of classes: what is refused, and what each becomes in the RAN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ric.e2 import Node, RanFunction
from ric.sm import tc
from tc_controller.core.policy.classes import FlowMatch
from tc_controller.core.policy.compile import CLASSES
from tc_controller.core.policy.schema import Rule
from tc_controller.policy_file import PolicyError, parse_policy
from tc_controller.subscriptions import capabilities

ROOT = Path(__file__).parents[3]
BASE = "base: [{template: low_latency}]"


def rule(text: str) -> Rule:
    return parse_policy(f"version: 1\nrules: [{{name: r, {text}}}]", "p.yaml").rules[0]


def classes(*each: str, base: str = BASE) -> Rule:
    return rule(f"{base}, classes: [{', '.join(each)}]")


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("classes: [{name: a, match: [{qfi: 1}]}]", "base: an empty list; expected a base"),
        (
            f"{BASE}, ladder: [{{template: fq_codel}}], "
            "classes: [{name: a, match: [{qfi: 1}]}]",
            "ladder: its rungs would replace the pipeline of the objectives; expected no ladder",
        ),
        (
            "base: [{template: bdp_only}], classes: [{name: a, match: [{qfi: 1}]}]",
            "base[0].template: bdp_only has no classes; expected one of low_latency, fq_codel, "
            "fq_l4s",
        ),
        (
            "base: [{template: fq_codel, scheduler: round_robin}], "
            "classes: [{name: a, match: [{qfi: 1}]}]",
            "base[0].scheduler: expected none in a rule with classes",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: []}}]",
            "classes[0].match: an empty list; expected at least one match",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{}}]}}]",
            "classes[0].match[0]: no field; expected at least one",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{source: 10.0.0.1/8}}]}}]",
            "classes[0].match[0].source: '10.0.0.1/8': 10.0.0.1/8 has host bits set; expected ",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{source: 10.0.0.1, destination: '::1'}}]}}]",
            "classes[0].match[0].destination: '::1'; expected a prefix of the source's IP version",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{source_port: [9, 8]}}]}}]",
            "classes[0].match[0].source_port: 9 to 8; expected the lower port first",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{qfi: 1}}], "
            "objective: {guaranteed_mbps: 5, maximum_mbps: 4}}]",
            "classes[0].objective.guaranteed_mbps: 5; expected at most maximum_mbps, 4",
        ),
        (
            f"{BASE}, objective: {{guaranteed_mbps: 5, maximum_mbps: 4}}",
            "objective.guaranteed_mbps: 5; expected at most maximum_mbps, 4",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{qfi: 1}}], share: 0.6}}, "
            "{name: b, match: [{qfi: 2}], share: 0.5}]",
            "classes: shares add up to 1.1; expected at most 1",
        ),
        (
            f"{BASE}, classes: [{{name: a, match: [{{qfi: 1}}]}}, "
            "{name: a, match: [{qfi: 2}]}]",
            "classes[1].name: 'a'; names of classes must differ",
        ),
        (
            f"{BASE}, objective: {{maximum_mbps: 9}}, "
            "classes: [{name: a, match: [{qfi: 1}], objective: {maximum_mbps: 4}}]",
            "classes[0].objective.maximum_mbps: a queue has one shaper; expected none beside ",
        ),
        (
            f"{BASE}, objective: {{maximum_mbps: 9}}, "
            "classes: [{name: a, match: [{qfi: 1}], objective: {guaranteed_mbps: 10}}]",
            "classes: guaranteed rates add up to 10; expected at most objective.maximum_mbps, 9",
        ),
    ],
)
def test_objectives_that_no_pipeline_keeps_name_the_place(text: str, expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        rule(text)
    (problem,) = caught.value.problems
    assert problem.startswith(f"p.yaml: rules[0].{expected}")


# --------------------------------------------------------------------------------- compilation


def test_a_rule_without_objectives_of_rate_or_class_keeps_its_base() -> None:
    plain = rule("base: [{template: low_latency}, {template: fq_codel, pacer: bdp5g}]")
    assert plain.compiled_base() == plain.base


def test_the_base_is_last_for_nodes_that_lack_what_classes_need() -> None:
    both = classes(
        "{name: a, match: [{qfi: 1}], objective: {guaranteed_mbps: 5}}",
        base="base: [{template: low_latency}, {template: fq_codel, pacer: bdp5g}]",
    )
    rungs = both.compiled_base()
    assert [rung.template for rung in rungs] == [CLASSES, CLASSES, "low_latency", "fq_codel"]
    first, second = (tc.pipeline(CLASSES, rung.parameters) for rung in rungs[:2])
    assert (first["pacer"], second["pacer"]) == ("just_in_time", "bdp5g")
    # All flows without an objective of delay or loss are served as under the base.
    for pipeline, base in ((first, "low_latency"), (second, "fq_codel")):
        discipline = tc.pipeline(base, {})["queues"][0]["discipline"]
        assert [queues["discipline"] for queues in pipeline["queues"][::2]] == [discipline] * 2


def test_shares_become_weights_in_their_proportion() -> None:
    shared = classes(
        "{name: a, match: [{qfi: 1}], share: 0.5}",
        "{name: b, match: [{qfi: 2}], share: 0.25}",
        "{name: c, match: [{qfi: 3}]}",
    )
    pipeline = tc.pipeline(CLASSES, shared.compiled_base()[0].parameters)
    weights = [each["weight"] for each in pipeline["scheduler"]["weighted"]["weights"]]
    # The rest and c divide what a and b leave.
    assert weights == [1, 4, 2, 1]


def test_a_bound_on_loss_takes_the_dropping_disciplines_away() -> None:
    kinds = classes(
        "{name: a, match: [{qfi: 1}], objective: {bound_ms: 20}}",
        "{name: b, match: [{qfi: 2}], objective: {bound_ms: 20, loss_ratio: 0.01}}",
        "{name: c, match: [{qfi: 3}], objective: {maximum_mbps: 3}}",
        "{name: d, match: [{qfi: 4}], objective: {maximum_mbps: 3, loss_ratio: 0.01}}",
    )
    pipeline = tc.pipeline(CLASSES, kinds.compiled_base()[0].parameters)
    disciplines = [next(iter(queues["discipline"])) for queues in pipeline["queues"][2::2]]
    assert disciplines == ["bode", "fifo", "codel", "fifo"]


@pytest.fixture(scope="session")
def node_capabilities() -> dict[str, Any]:
    """What the TC function of the emulated gNB declares."""
    gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")
    world = gnb_lab.World(ROOT / "lab" / "scenarios" / "default.yaml")
    functions = tuple(
        RanFunction(number, oid, definition=definition)
        for number, (oid, definition) in enumerate(world.ran_functions.items())
    )
    declared = capabilities(Node(world.node_id, ran_functions=functions))
    assert declared is not None
    return dict(declared)


fields: dict[str, st.SearchStrategy[Any]] = {
    "qfi": st.none() | st.integers(0, 63),
    "dscp": st.none() | st.integers(0, 63),
    "protocol": st.none() | st.sampled_from(["tcp", "udp", "icmp", "icmpv6"]) | st.integers(0, 255),
    "source": st.none() | st.ip_addresses().map(str),
    "source_port": st.none()
    | st.integers(0, 65_535)
    | st.lists(st.integers(0, 65_535), min_size=2, max_size=2).map(sorted),
}
matches = st.fixed_dictionaries(fields).filter(
    lambda match: any(value is not None for value in match.values())
)
rates = st.none() | st.floats(0.001, 100_000.0)


@st.composite
def class_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    count = draw(st.integers(1, 12))
    drawn = []
    for number in range(count):
        guaranteed, maximum = draw(rates), draw(rates)
        if guaranteed is not None and maximum is not None:
            guaranteed, maximum = sorted((guaranteed, maximum))
        objective = {
            "guaranteed_mbps": guaranteed,
            "maximum_mbps": maximum,
            "bound_ms": draw(st.none() | st.floats(0.001, 10_000.0)),
            "loss_ratio": draw(st.none() | st.floats(0.001, 1.0)),
        }
        drawn.append(
            {
                "name": f"class {number}",
                "match": draw(st.lists(matches, min_size=1, max_size=4)),
                "objective": objective,
                "share": draw(st.none() | st.floats(0.001, 1.0 / count)),
            }
        )
    return drawn


@settings(max_examples=150, deadline=None)
@given(class_lists(), st.sampled_from(["low_latency", "fq_codel", "fq_l4s"]))
def test_every_valid_rule_compiles_to_a_pipeline_that_the_ran_function_takes(
    node_capabilities: dict[str, Any], drawn: list[dict[str, Any]], template: str
) -> None:
    compiled = Rule.model_validate(
        {"name": "r", "base": [{"template": template}], "classes": drawn}
    ).compiled_base()
    pipeline = tc.pipeline(CLASSES, compiled[0].parameters)
    assert tc.unsupported(pipeline, node_capabilities) is None
    assert tc.decode("pipeline", tc.encode("pipeline", pipeline)) == pipeline


def test_a_match_is_a_filter_of_the_service_model() -> None:
    match = FlowMatch(protocol="tcp", source="10.0.0.0/8", destination_port=(80, 90), qfi=3)
    assert match.ie() == {
        "source": {"v4": {"address": "10.0.0.0", "length": 8}},
        "destination_port": {"low": 80, "high": 90},
        "protocol": 6,
        "qfi": 3,
    }
