"""What a NOC reads of a controller: who suffers, where, how much, and what holds a remedy up."""

from __future__ import annotations

import asyncio

import pytest
from ric.testing.virtual_time import EPOCH_US
from tc_controller.settings import MetricsSettings
from tc_ric import Lab, in_lab
from tc_world import DRB, NODE, RNTI

WATCHED = """
version: 1
slices: {eMBB: {nodes: [gnb-*], requirement: web}}
rules: [{name: calls, ladder: [], objective: {bound_ms: 50}}]
"""
KEY = {"node": NODE, "slice": "eMBB", "rule": "calls"}
BEARER = (str(DRB), NODE, "calls", "eMBB", str(RNTI))
"""Values of the labels drb, node, rule, slice, ue."""


@in_lab
async def test_a_bloated_bearer_shows_in_every_family(lab: Lab) -> None:
    lab.write_policy(WATCHED)
    lab.add_node()
    lab.start()
    await asyncio.sleep(8)
    assert lab.metric("bearers_watched", **KEY) == lab.metric("bearers_violating", **KEY) == 1
    assert lab.metric("compliance_seconds_total", **KEY, state="violated") >= 5
    within = lab.metric("sojourn_seconds_bucket", **KEY, le="0.05")
    sampled = lab.metric("sojourn_seconds_count", **KEY)
    assert sampled == pytest.approx(800, abs=60), "one sample each 10 ms"
    assert within < 0.1 * sampled
    assert lab.metric("bound_seconds", rule="calls") == 0.05
    assert lab.metric("objective_ratio", rule="calls") == 0.95
    seconds = lab.metric("rlc_sdu_delay_dl_seconds_count", **KEY)
    assert lab.metric("rlc_sdu_delay_dl_seconds_sum", **KEY) / seconds > 0.5
    assert lab.series("sojourn_controller_node_fault") == {("none", NODE): 1.0}

    score = "sojourn_qoo_segment_score"
    assert set(lab.series(score).values()) == {0.0}
    assert {each[-1] for each in lab.series(score)} == {"5m", "15m"}
    limits = lab.series("sojourn_qoo_segment_limit_info")
    assert limits == {("p95", NODE, "web", "calls", "eMBB"): 1.0}
    record = lab.records("compliance")[-1]
    assert record["segment_quality"]["requirement"] == "web"

    assert lab.metric("acting") == 0
    rank = lab.series("sojourn_bearer_sojourn_15m_seconds")
    assert rank[BEARER] > 0.5
    (since,) = lab.series("sojourn_bearer_state_since_timestamp_seconds").items()
    assert {"violated", "watch_only"} <= set(since[0])
    assert EPOCH_US / 1e6 < since[1] < EPOCH_US / 1e6 + 3
    assert lab.series("sojourn_bearer_sent_bytes_total")[BEARER] > 1e6
    queued = lab.series("sojourn_bearer_queued_bytes")
    assert queued[str(DRB), NODE, "rlc", "calls", "eMBB", str(RNTI)] > 1e5


@in_lab
async def test_the_pipeline_in_force_shows_with_its_lease_and_owner(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(3)
    key = {"node": NODE, "slice": "", "rule": "r"}
    assert lab.metric("pipeline_bearers", **key, template="fq_codel") == 1
    assert lab.metric("node_owner", node=NODE) == 1
    assert 0 < lab.metric("lease_remaining_seconds", node=NODE) <= 6
    assert lab.metric("transactions_per_bearer_hour", node=NODE) == 1
    (revision,) = lab.series("sojourn_bearer_pipeline_revision").items()
    assert "fq_codel" in revision[0]
    assert revision[1] == lab.model.tc.revision


@in_lab
async def test_too_few_samples_are_counted_and_give_no_score(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(2)
    (samples,) = lab.series("sojourn_qoo_segment_samples").values()
    assert 100 < samples < 1000
    assert not lab.series("sojourn_qoo_segment_score")


@in_lab
async def test_no_bearer_has_series_of_its_own_if_none_are_wanted(lab: Lab) -> None:
    lab.add_node()
    lab.start(metrics=MetricsSettings(top_bearers=0))
    await asyncio.sleep(2)
    assert not lab.series("sojourn_bearer_sojourn_seconds")


@in_lab
async def test_a_node_that_left_has_no_series(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(2)
    lab.ric.remove_node(NODE)
    await asyncio.sleep(1)
    of_node = [
        sample.name
        for family in lab.registry.collect()
        for sample in family.samples
        if sample.labels.get("node") == NODE and not sample.name.startswith("sojourn_e2_")
    ]
    assert not of_node
