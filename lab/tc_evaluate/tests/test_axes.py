"""How arms are compared on several axes: regret, the Pareto front, what each axis is made of."""

from __future__ import annotations

from typing import Any

import pytest
from tc_evaluate.axes import AXES, Regret, front, measures, regret, shared_axes

BY_NAME = {axis.name: axis for axis in AXES}
TWO = (BY_NAME["goodput_mbps"], BY_NAME["bulk_p95_ms"])


def point(goodput_mbps: float, bulk_p95_ms: float) -> dict[str, float]:
    return {"goodput_mbps": goodput_mbps, "bulk_p95_ms": bulk_p95_ms}


def test_regret_is_what_a_template_gains_without_losing_elsewhere() -> None:
    mine = point(40.0, 290.0)
    templates = {"codel": point(39.4, 29.0), "short": point(33.0, 10.0), "same": mine}
    assert regret(mine, templates, TWO) == Regret(10.0, "codel", "bulk_p95_ms")
    # What costs 17 % of goodput is another trade, no better one.
    assert regret(templates["codel"], {"short": templates["short"]}, TWO) == Regret()


def test_differences_below_the_resolution_are_no_regret() -> None:
    assert regret(point(40.0, 2.4), {"other": point(40.0, 0.5)}, TWO).factor == 1.0
    late = BY_NAME["late_pct"]
    assert late.ratio(0.0, 0.4) == 1.0
    assert late.ratio(0.0, 10.0) == 20.0
    assert late.ratio(10.0, 0.0) == pytest.approx(1 / 20)


def test_the_front_has_what_no_other_template_betters() -> None:
    templates = {
        "bound": point(40.0, 290.0),
        "codel": point(39.9, 25.0),
        "short": point(33.0, 8.0),
        "worse": point(32.0, 30.0),
    }
    assert front(templates, TWO) == {"codel", "short"}


def test_an_axis_that_an_arm_lacks_is_not_compared() -> None:
    axes = shared_axes([{"goodput_mbps": 1.0, "rpm": 9.0}, {"goodput_mbps": 1.0}])
    assert [axis.name for axis in axes] == ["goodput_mbps"]


def flow(name: str, kind: str, goodput_mbps: float, p95: float, **more: Any) -> dict[str, Any]:
    delay = {"count": 9, "p50": p95 / 2, "p95": p95, "p99": p95}
    return {
        "name": name,
        "kind": kind,
        "rnti": 1,
        "drb": 1,
        "goodput_mbps": goodput_mbps,
        "queuing_ms": delay,
        "one_way_delay_ms": {**delay, "p95": p95 + 10.0},
        "queued_above_100ms_s": int(p95 > 100),
        "sent_packets": 9,
        "lost_packets": 0,
        "deadline": None,
        "app": {},
        **more,
    }


def test_the_flow_and_the_bearer_that_wait_longest_count_never_a_pool() -> None:
    summary = {
        "worst": {"bearer": {"rnti": 1, "drb": 3, "sojourn_p95_ms": 245.0}},
        "flows": [
            *[flow(f"quick{n}", "tcp", 10.0, 10.0) for n in range(30)],
            flow("slow", "tcp", 1.0, 240.0),
            flow("call", "call", 1.0, 500.0, deadline={"in_time_pct": 60.0}),
            flow("game", "game", 1.0, 5.0, deadline={"in_time_pct": 100.0}),
            flow("test", "responsiveness", 1.0, 20.0, app={"rpm": 900.0, "loaded_rpm": 500.0}),
            flow("ping", "ping", 0.01, 3.0),
        ],
    }
    got = measures(summary, 301.0, [12.0, 80.0])
    assert (got.bulk_p95_ms, got.worst_bulk_flow) == (240.0, "slow")
    assert (got.worst_bearer_p95_ms, got.worst_bearer) == (245.0, "1/3")
    assert (got.sparse_p95_ms, got.late_pct, got.transient_s) == (80.0, 40.0, 1.0)
    assert (got.rpm, got.loaded_rpm) == (900.0, 500.0)
    starved = {**summary, "flows": [*summary["flows"], flow("starved", "tcp", 0.0, 0.0)]}
    assert got.power_of_all > 0.0 == measures(starved, 301.0, []).power_of_all
    without = measures({"worst": {"bearer": None}, "flows": []}, 0.0, [])
    assert (without.bulk_p95_ms, without.late_pct, without.rpm) == (None, None, None)
