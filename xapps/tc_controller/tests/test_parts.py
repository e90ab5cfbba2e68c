"""Parts of the core: radio utilisation, forecasts, controls in flight, the state file."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.e2 import Node, RanFunction, Reading
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V1_OID
from tc_controller.core.act.kept_states import StateError
from tc_controller.core.act.outbox import Outbox, Purpose
from tc_controller.core.act.reconcile import DesiredStore
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import (
    Accepted,
    BearerForecast,
    BearerKey,
    EventReport,
    FlowReport,
    ForecastReport,
    KpmReport,
    MacReport,
    Refused,
    Unanswered,
    parse_outcome,
)
from tc_controller.core.observe.inventory import FlowView, read_inventory
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.observe.prb_window import PrbRate, PrbWindow
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.core.policy.schema import GreedyFlows
from tc_controller.latency import Recent
from tc_controller.policy_file import parse_policy
from tc_controller.subscriptions import wanted
from tc_controller.warm_up import rehearse
from tc_world import (
    NODE,
    RNTI,
    Source,
    World,
    bulk,
    inventories,
    mac_message,
    ping,
    rlc_message,
    statuses,
)

BEARER = BearerKey(NODE, RNTI, 1)


# --------------------------------------------------------------- use of the radio


def mac(at_us: int, **prbs: int) -> MacReport:
    counts = ((int(name[1:]), count % 2**32) for name, count in prbs.items())
    return MacReport("n", at_us, mac_message(*counts))


@given(
    start=st.integers(0, 2**32 - 1), steps=st.lists(st.integers(0, 10**6), min_size=2, max_size=30)
)
def test_prb_rate_is_per_ue_and_cell_over_wraps(start: int, steps: list[int]) -> None:
    window = PrbWindow(10_000_000)
    counter = start
    window.mac(mac(10_000, u1=counter, u2=5))
    for index, step in enumerate(steps):
        counter += step
        window.mac(mac((index + 2) * 10_000, u1=counter, u2=5))
    rate = window.rate(1, 0)
    assert rate is not None
    assert rate.ue == pytest.approx(sum(steps) / (len(steps) * 0.01))
    assert rate.cell == pytest.approx(rate.ue)


def test_prb_rate_needs_two_reports_of_the_ue() -> None:
    window = PrbWindow(10_000_000)
    window.mac(mac(10_000, u1=0))
    assert window.rate(1, 0) is None
    window.mac(mac(20_000, u2=0))
    assert window.rate(1, 0) is None
    assert window.rate(2, 0) is None


def test_late_mac_reports_change_nothing() -> None:
    window = PrbWindow(10_000_000)
    for at_us, count in ((10_000, 0), (20_000, 100), (15_000, 7), (20_000, 9)):
        window.mac(mac(at_us, u1=count))
    rate = window.rate(1, 0)
    assert rate is not None
    assert rate.ue == pytest.approx(10_000)


@given(
    counts=st.lists(
        st.dictionaries(st.sampled_from(["u1", "u2", "u3"]), st.integers(0, 10**6), max_size=3),
        min_size=1,
        max_size=40,
    ),
    gaps=st.lists(st.sampled_from([10_000, 10_000, 90_000]), min_size=40, max_size=40),
)
def test_prb_rate_does_not_depend_on_when_it_was_asked_for(
    counts: list[dict[str, int]], gaps: list[int]
) -> None:
    often, once = PrbWindow(100_000), PrbWindow(100_000)
    at_us = 0
    totals = dict.fromkeys(("u1", "u2", "u3"), 0)
    for steps, gap_us in zip(counts, gaps, strict=False):
        at_us += gap_us
        for name, step in steps.items():
            totals[name] += step
        report = mac(at_us, **{name: totals[name] for name in steps})
        often.mac(report)
        often.rate(1, at_us - 100_000)
        once.mac(report)
    for rnti in (1, 2, 3):
        since_us = at_us - 100_000
        assert once.rate(rnti, since_us) == often.rate(rnti, since_us)


def test_a_ue_that_was_away_is_counted_from_its_return() -> None:
    window = PrbWindow(10_000_000)
    for at_us, counts in enumerate(({"u1": 0}, {"u1": 90}, {}, {"u1": 95}, {"u1": 105})):
        window.mac(mac(at_us * 10_000, **counts))
    assert window.rate(1, -1) == PrbRate(ue=1_000, cell=1_000)


def prbs_by_kpm(units: dict[str, str]) -> PrbRate | None:
    window = PrbWindow(10_000_000)
    for at_us in (100_000, 200_000, 300_000):
        window.kpm(KpmReport("n", at_us, 100, {1: {"RRU.PrbTotDl": 500.0}, 2: {}}, units))
    return window.rate(1, 0)


def test_kpm_replaces_mac() -> None:
    rate = prbs_by_kpm({"RRU.PrbTotDl": "PRB"})
    assert rate is not None
    assert rate.ue == pytest.approx(5_000)


@pytest.mark.parametrize("units", [{}, {"RRU.PrbTotDl": "%"}])
def test_a_percentage_or_an_unknown_unit_is_no_number_of_prbs(units: dict[str, str]) -> None:
    assert prbs_by_kpm(units) is None


# --------------------------------------------------------------------------- history


def fed(*segments: tuple[int, int]) -> RlcWindows:
    """Segments of 100 ms: (bytes drained per ms, bytes left in the RLC)."""
    windows = RlcWindows("n", 16)
    drained, at_us = 0, 0
    for per_ms, left in segments:
        for _ in range(100):
            drained, at_us = drained + per_ms, at_us + 1_000
            found = windows.take(at_us, rlc_message((drained % 2**32, left, 0, 0, 1, 1)))
            if found is not None and found.new:
                windows.judge()
    return windows


def test_the_lowest_drain_rate_is_measured_under_backlog_only() -> None:
    history = fed((1_000, 0), (5_000, 9), (3_000, 9), (4_000, 9), (100, 0), (4_000, 9), (4_000, 9))
    assert history.lowest_kbps(0, 100_000) == pytest.approx(24_000, rel=0.05)
    assert history.lowest_kbps(0, 200_000) == pytest.approx(32_000, rel=0.05)
    assert fed((1_000, 0), (1_000, 0), (1_000, 0)).lowest_kbps(0, 100_000) is None


def test_history_forgets_after_its_span() -> None:
    history = fed((1, 9), *([(5_000, 9)] * 60))
    assert history.lowest_kbps(0, 100_000) == pytest.approx(40_000)
    assert history.serving_kbps(0) == pytest.approx(40_000)


def test_the_history_of_a_slot_starts_with_its_bearer() -> None:
    windows = fed((5_000, 9), (5_000, 9))
    assert windows.serving_kbps(0) is not None
    windows.forget(BearerKey("n", 1, 1))
    windows.take(201_000, rlc_message((0, 9, 0, 0, 2, 1)))
    assert windows.slot(BearerKey("n", 2, 1)) == 0
    assert windows.serving_kbps(0) is None
    assert windows.lowest_kbps(0, 100_000) is None


# ------------------------------------------------------------------- pipeline view


def ungreedy_us(flows: FlowView | None, *queues: tuple[int, int, int]) -> float:
    """Sojourn in ungreedy queues of a status with (id, mean sojourn ms, forwarded bytes)."""
    counters = dict.fromkeys(
        ("backlog_packets", "forwarded_packets", "dropped_packets", "marked_packets"), 0
    )
    given = [
        {
            **counters,
            "id": number,
            "backlog_bytes": 1,
            "forwarded_bytes": forwarded,
            "policed_packets": 0,
            "mean_sojourn_us": ms * 1000,
            "last_sojourn_us": 9,
            "shaped": False,
        }
        for number, ms, forwarded in queues
    ]
    policy = parse_policy("version: 1\nrules: [{name: r, ladder: []}]")
    (status,) = statuses({**World(Controller(policy)).status(), "queues": given})
    used = None if flows is None else flows.queues_of_ungreedy
    return PipelineView(0, status, used).ungreedy_sojourn_us


def inventory(*flows: tuple[int, int, int]) -> FlowView:
    """Flows of (port, kbit/s, queue)."""
    records = [Source("flow", kbps, port).record(kbps, 0, queue) for port, kbps, queue in flows]
    given = {"bearer": BEARER.ie(), "active_flows": 9, "window_ms": 1000, "flows": records}
    return read_inventory(0, inventories(given)[0], GreedyFlows())


def test_the_sojourn_of_a_greedy_flow_in_its_own_queue_does_not_count() -> None:
    flows = inventory((1, 40_000, 0), (2, 50, 1))
    assert ungreedy_us(flows, (0, 80, 9), (1, 2, 1)) == 2_000


def test_the_sojourn_of_others_in_the_queue_of_a_greedy_flow_counts() -> None:
    flows = inventory((1, 40_000, 0), (2, 50, 0))
    assert ungreedy_us(flows, (0, 80, 9)) == 80_000


def test_without_inventory_the_busiest_of_several_queues_is_greedy() -> None:
    assert ungreedy_us(None, (0, 80, 9)) == 80_000
    assert ungreedy_us(None, (0, 80, 9), (1, 2, 1), (2, 3, 1)) == 3_000
    assert ungreedy_us(None) == 0


# --------------------------------------------------------------- controls on their way


def test_a_node_is_not_sent_more_transactions_than_its_budget() -> None:
    outbox = Outbox("me", 1_000_000, per_second=100)
    sent = 0
    for now_us in range(0, 1_000_000, 1_000):
        while outbox.admits(NODE, now_us):
            outbox.transaction(
                *(now_us, BEARER, Purpose.APPLY, "safe"),
                as_safe=False,
                expected_revision=None,
                lease_ms=None,
            )
            sent += 1
    assert 100 <= sent <= 110
    assert outbox.admits("another node", 1_000_000)


def test_a_control_times_out_once() -> None:
    outbox = Outbox("me", 1_000_000, per_second=100)
    control = outbox.renewal(0, BEARER, 1, 6000)
    assert outbox.overdue(999_999) == []
    (late,) = outbox.overdue(1_000_000)
    assert late.control_id == control.control_id
    assert outbox.overdue(2_000_000) == []
    assert outbox.take(control.control_id) is None


def test_each_outcome_is_parsed() -> None:
    assert parse_outcome({"accepted": {"revision": 4, "lease_ms": None}}) == Accepted(4, None)
    refused = {"cause": "capacity", "element": "queues[1]", "detail": "4096", "revision": None}
    assert parse_outcome({"refused": refused}) == Refused("capacity", "queues[1]", "4096", None)
    assert isinstance(parse_outcome({"maybe": {}}), Unanswered)


# ------------------------------------------------------------------------ forecasts


def forecast(world: World, *occupancy: float, from_model: bool = True) -> ForecastReport:
    values = np.array([[0.5 * v, v, 2 * v] for v in occupancy], np.float32)
    item = BearerForecast(RNTI, 1, world.now_us, values, from_model)
    points_us = tuple(10_000 + 1_000 * k for k in range(len(occupancy)))
    return ForecastReport(NODE, world.now_us, (0.1, 0.5, 0.9), points_us, [item])


def predicting(extra: str = "") -> World:
    objective = f"objective: {{bound_ms: 10, predict: {{enabled: true{extra}}}}}"
    policy = parse_policy(
        f"version: 1\nrules: [{{name: r, ladder: [{{template: fq_codel}}], {objective}}}]"
    )
    world = World(Controller(policy), bulk(20_000), ping())
    world.run(200)
    return world


def test_a_predicted_violation_is_acted_on_before_it_happens() -> None:
    world = predicting()
    # 20 Mbit/s drain: 10 ms are 25 kB.
    for expected in (0, 0, 1):
        world.run(1)
        world.do(world.controller.on_indication(world.now_us, forecast(world, 10_000, 30_000)))
        assert len(world.events("decided")) == expected
    assert world.event("decided")["trigger"] == "predicted"
    assert max(world.hol_us) < 10_000


@pytest.mark.parametrize(
    ("extra", "occupancy", "from_model"),
    [
        ("", 20_000, True),  # below the bound
        (", quantile: 0.1", 30_000, True),  # the low quantile is below
        ("", 30_000, False),  # persistence only repeats the present
    ],
)
def test_forecasts_below_the_bound_or_of_persistence_are_ignored(
    extra: str, occupancy: float, from_model: bool
) -> None:
    world = predicting(extra)
    for _ in range(10):
        world.run(1)
        report = forecast(world, occupancy, from_model=from_model)
        world.do(world.controller.on_indication(world.now_us, report))
    assert not world.events("decided", "no_rung")


def test_a_quantile_beyond_those_of_the_forecasts_predicts_nothing_and_is_reported() -> None:
    world = predicting(", quantile: 0.95")
    for _ in range(10):
        world.run(1)
        # At 0.9 twice the bound is crossed; of 0.95 the forecasts say nothing.
        world.do(world.controller.on_indication(world.now_us, forecast(world, 30_000)))
    assert not world.events("decided", "no_rung")
    assert world.event("prediction_unknown")["reason"] == (
        "predict.quantile: 0.95 is beyond those of the forecasts; expected 0.1 to 0.9"
    )
    assert world.controller.counters.ignored["forecast_quantile"] == 10


def test_an_outermost_quantile_is_known_in_the_precision_of_the_wire() -> None:
    world = predicting(", quantile: 0.9")
    for _ in range(3):
        world.run(1)
        report = forecast(world, 15_000)
        report = replace(report, quantiles=tuple(float(np.float32(q)) for q in report.quantiles))
        world.do(world.controller.on_indication(world.now_us, report))
    assert world.event("decided")["trigger"] == "predicted"
    assert not world.events("prediction_unknown")


def test_contradicting_forecasts_trigger_no_decision() -> None:
    world = predicting()
    for occupancy in (30_000, 30_000, 1_000) * 5:
        world.run(1)
        world.do(world.controller.on_indication(world.now_us, forecast(world, occupancy)))
    assert not world.events("decided", "no_rung")


# --------------------------------------------------------------------------- events


def event(kind: object) -> EventReport:
    bearer = {"ue": {"rnti": RNTI}, "drb": 1}
    return EventReport(NODE, 0, [{"bearer": bearer, "at_us": 0, "kind": kind}])


def verified() -> World:
    """A world in which the first decision was verified."""
    policy = parse_policy("version: 1\nrules: [{name: r, ladder: [{template: fq_codel}]}]")
    world = World(Controller(policy), bulk(), ping())
    world.run_until("verified")
    return world


def test_the_pipeline_is_applied_again_at_the_lease_expired_event() -> None:
    world = verified()
    world.tc.install(None, world.now_us)
    expired = event({"lease_expired": {"revision": world.tc.revision}})
    world.do(world.controller.on_indication(world.now_us, expired))
    assert world.tc.names() == ["fq_codel", "safe", "fq_codel"]


def test_a_removed_bearer_is_dropped_at_the_event() -> None:
    world = verified()
    world.do(world.controller.on_indication(world.now_us, event("bearer_removed")))
    assert len(world.controller.desired) == 0
    assert len(world.events("bearer_gone")) == 1


def test_reports_of_unknown_nodes_and_ues_without_rnti_are_counted() -> None:
    policy = parse_policy("version: 1\nrules: [{name: r, ladder: []}]")
    world = World(Controller(policy), ping())
    core = world.controller
    core.on_indication(0, EventReport("other", 0, []))
    assert core.counters.ignored["unknown_node"] == 1
    flows = {**world.inventory(), "bearer": {"ue": {"gnb_cu_ue_f1ap_id": 3}, "drb": 1}}
    core.on_indication(0, FlowReport(NODE, 0, inventories(flows)))
    assert core.counters.ignored["bearer_without_rnti"] == 1


# ---------------------------------------------------------------------------- state


GOOD = {
    "node": "n",
    "rnti": 1,
    "drb": 1,
    "rule": "r",
    "rung": 0,
    "template": "fq_codel",
    "pipeline": {"name": "fq_codel"},
    "revision": 3,
    "as_safe": False,
}


def test_state_survives_json() -> None:
    store = DesiredStore()
    other = {**GOOD, "rnti": 2, "as_safe": True}
    store.load({"version": 1, "desired": [GOOD], "kept": [{**GOOD, "as_safe": True}, other]})
    assert len(store.of_node("n")) == 2
    again = DesiredStore()
    again.load(json.loads(json.dumps(store.document())))
    assert again.document() == store.document()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], "expected an object with version 1"),
        ({"version": 2}, "expected an object with version 1"),
        ({"version": 1, "desired": 3}, "desired: expected a list"),
        ({"version": 1, "desired": [3]}, "desired[0]: expected an object"),
        ({"version": 1, "desired": []}, "kept: expected a list"),
        (
            {"version": 1, "desired": [], "kept": [GOOD]},
            "kept[0].as_safe: False; expected true",
        ),
        (
            {"version": 1, "desired": [GOOD, {**GOOD, "rnti": "x"}]},
            "desired[1].rnti: 'x'; expected an integer",
        ),
        (
            {"version": 1, "desired": [{**GOOD, "pipeline": {}}]},
            "desired[0].pipeline.name: expected a string",
        ),
        (
            {"version": 1, "desired": [], "kept": [], "states": [{"node": "gnb-1", "rnti": "x"}]},
            "states[0].rnti: 'x'; expected an integer",
        ),
    ],
)
def test_bad_state_names_the_place(document: object, expected: str) -> None:
    store = DesiredStore()
    with pytest.raises(StateError) as caught:
        store.load(document)
    assert str(caught.value) == expected
    assert len(store) == 0


# -------------------------------------------------------------------------- warm-up


@pytest.mark.parametrize("ladder", ["[]", "[{template: fq_codel}, {template: fq_l4s}]"])
def test_the_rehearsal_goes_as_far_as_the_policy(ladder: str) -> None:
    policy = parse_policy(f"version: 1\nrules: [{{name: r, ladder: {ladder}}}]")
    assert (rehearse(policy) > 0) == (ladder != "[]")


# -------------------------------------------------------------------------- latency


def test_percentiles_are_those_of_the_newest_samples() -> None:
    recent = Recent(100)
    assert recent.summary()["p50"] is None
    for value in [10**6] * 50 + list(range(1, 101)):
        recent.add(value)
    recent.add(-5)
    summary = recent.summary()
    assert summary["count"] == 151
    assert summary["p50"] == pytest.approx(50.5, abs=1)
    assert summary["max"] == 100
    json.dumps(summary)


# ------------------------------------------------------------------- subscriptions


def test_the_state_is_read_newest_and_no_event_is_left_out() -> None:
    oids = (RLC_OID, MAC_OID, KPM_OID, TC_V1_OID)
    node = Node(NODE, ran_functions=tuple(RanFunction(i, oid) for i, oid in enumerate(oids)))
    reports = parse_policy(
        "version: 1\nreports: {kpm_period_ms: 100}\nrules: [{name: r, ladder: []}]"
    ).reports
    assert {item.name: item.reading for item in wanted(node, reports)} == {
        "rlc": Reading.NEWEST,
        "mac": Reading.NEWEST,
        "kpm": Reading.HISTORY,
        "pipeline_status": Reading.NEWEST,
        "flow_inventory": Reading.NEWEST,
        "events": Reading.HISTORY,
    }
