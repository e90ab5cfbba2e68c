"""What `make test-kube` reads from the gNB's reports."""

from __future__ import annotations

import json

from kube.observer import Sample, longest_without_s, sample


def report(at_us: int, *bearers: tuple[str, int]) -> str:
    """A line of `ric watch tc_v1`."""
    status = [
        {"name": name, "pacer": {"rlc_occupancy_bytes": occupancy}} for name, occupancy in bearers
    ]
    return json.dumps({"handled_at_us": at_us, "value": {"pipeline_status": status}})


def test_a_bearer_is_cured_with_a_pipeline_and_a_short_rlc_queue() -> None:
    bloated = sample(report(1_500_000, ("transparent", 8_000_000)))
    draining = sample(report(1_600_000, ("low_latency", 8_000_000)))
    cured = sample(report(1_700_000, ("low_latency", 20_000), ("low_latency", 0)))
    assert bloated is not None
    assert draining is not None
    assert cured is not None
    assert [each.in_force for each in (bloated, draining, cured)] == [False, True, True]
    assert [each.cured for each in (bloated, draining, cured)] == [False, False, True]
    assert bloated.at_s == 1.5


def test_logs_and_other_reports_are_no_samples() -> None:
    lines = ["", "not JSON", '{"event": "gateway lost"}', '{"value": 1, "handled_at_us": 2}']
    assert [sample(line) for line in lines] == [None] * 4


def test_the_longest_time_without_a_pipeline_is_found() -> None:
    names = [
        "low_latency",
        "transparent",
        "transparent",
        "low_latency",
        "transparent",
        "transparent",
    ]
    samples = [Sample(float(at), (name,), 0) for at, name in enumerate(names)]
    assert longest_without_s(samples) == 1
    assert longest_without_s([*samples, Sample(9.0, ("transparent",), 0)]) == 5
    assert longest_without_s(samples[:1]) == 0
    # Before the gNB has a bearer nothing is in force.
    assert not Sample(0.0, (), 0).in_force
