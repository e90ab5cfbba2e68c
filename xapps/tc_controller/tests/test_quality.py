"""Quality of Outcome: the draft's arithmetic, what is needed for a score, mistakes in a policy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tc_controller.core.policy.quality import SHIPPED, Requirement, Score, score
from tc_controller.core.verify.distribution import BUCKETS, EDGES_US
from tc_controller.core.verify.service import quality_of
from tc_controller.policy_file import PolicyError, parse_policy

DRAFT = Requirement.model_validate(
    {
        "latency": [
            {"percentile": 99, "rop_ms": 200, "cpup_ms": 500},
            {"percentile": 99.9, "rop_ms": 300, "cpup_ms": 600},
        ],
        "loss": {"rop_ratio": 0.01, "cpup_ratio": 0.05},
        "min_mbps": 4,
    }
)
"""The worked example of draft-ietf-ippm-qoo-11."""


def only(**parts: object) -> Requirement:
    """The example without loss and rate, or with other parts."""
    return DRAFT.model_copy(update={"loss": None, "min_mbps": None, **parts})


def test_the_worked_example_of_the_draft_scores_50() -> None:
    measured = {99: 350_000.0, 99.9: 375_000.0}
    assert score(DRAFT, measured, 0.02, 28.0) == Score(50.0, "p99")
    assert score(only(latency=DRAFT.latency[1:]), measured, None, None) == Score(75.0, "p99.9")
    best = {99: 1.0, 99.9: 1.0}
    assert score(only(loss=DRAFT.loss), best, 0.02, None).value == pytest.approx(75.0)
    assert score(only(min_mbps=4.0), best, None, 28.0).value == 100.0


def test_the_worst_part_names_itself() -> None:
    best = {99: 1.0, 99.9: 1.0}
    assert score(DRAFT, best, 0.05, 28.0) == Score(0.0, "loss")
    assert score(DRAFT, best, 0.0, 3.9) == Score(0.0, "throughput")


def test_what_is_not_known_is_not_judged() -> None:
    assert score(DRAFT, {99: 1.0, 99.9: 1.0}, None, None).value == 100.0


@given(
    first=st.floats(0, 1e7),
    second=st.floats(0, 1e7),
    name=st.sampled_from(sorted(SHIPPED)),
)
def test_a_score_is_within_its_range_and_falls_with_the_delay(
    first: float, second: float, name: str
) -> None:
    each = SHIPPED[name]
    low, high = (
        score(each, dict.fromkeys((r.percentile for r in each.latency), at), None, None).value
        for at in sorted((first, second))
    )
    assert 0.0 <= high <= low <= 100.0


def test_too_few_samples_give_no_score() -> None:
    counts = np.zeros(BUCKETS, np.int64)
    counts[0] = SHIPPED["interactive"].least_samples - 1
    assert quality_of(SHIPPED["interactive"], counts).score is None
    assert quality_of(SHIPPED["interactive"], counts).samples == 999
    counts[0] += 1
    assert quality_of(SHIPPED["interactive"], counts).score == Score(100.0, "p95")


def test_delays_beyond_all_buckets_are_unacceptable() -> None:
    counts = np.zeros(BUCKETS, np.int64)
    counts[-1] = 5_000
    found = quality_of(SHIPPED["streaming"], counts).score
    assert found is not None
    assert found.value == 0.0


def test_the_points_of_the_shipped_profiles_are_bucket_edges() -> None:
    edges_ms = set((EDGES_US / 1000).tolist())
    points = {
        point
        for each in SHIPPED.values()
        for latency in each.latency
        for point in (latency.rop_ms, latency.cpup_ms)
    }
    assert {10, 20, 25, 30, 50, 80, 100, 120, 150} <= points & edges_ms


POLICY = """
version: 1
slices: {calls: {rntis: [1], requirement: conference}, games: {rntis: [2]}}
requirements:
  metaverse: {latency: [{percentile: 99, rop_ms: 5, cpup_ms: 20}]}
rules:
- {name: sliced, match: {slices: [calls]}}
- {name: named, match: {rntis: [2]}, requirement: metaverse}
- {name: rest}
"""


def test_a_rule_goes_before_its_slice_and_the_slice_before_the_default() -> None:
    policy = parse_policy(POLICY)
    sliced, named, rest = policy.rules
    assert policy.requirement_of(sliced, "calls") == ("conference", SHIPPED["conference"])
    assert policy.requirement_of(named, "games")[0] == "metaverse"
    assert policy.requirement_of(named, "games")[1].latency[0].cpup_ms == 20
    assert policy.requirement_of(rest, "")[0] == "interactive"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "requirement: metaverse",
            "requirement: metavers",
            "rules[1].requirement is 'metavers'; expected one of conference, gaming, interactive",
        ),
        (
            "requirement: conference",
            "requirement: confrence",
            "slices.calls.requirement is 'confrence'",
        ),
        ("rop_ms: 5", "rop_ms: 20", "rop_ms: 20; expected less than cpup_ms, 20"),
        ("[{percentile: 99, rop_ms: 5, cpup_ms: 20}]", "[]", "expected at least one percentile"),
    ],
)
def test_mistakes_in_requirements_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(POLICY.replace(old, new))
    assert message in str(caught.value)
