"""Each finding of the doctor, from constructed facts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ric.e2 import Node, NodeType, RanFunction
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID
from ric_doctor import text
from ric_doctor.facts import (
    Definition,
    Door,
    DryRun,
    Facts,
    Forecasts,
    Interval,
    Metrics,
    Nodes,
    Offsets,
    Reach,
    Rows,
    Sample,
    Spread,
    Stream,
    Tried,
)
from ric_doctor.finding import Finding, Level, exit_status
from ric_doctor.judge import judge

GATEWAY = Reach("127.0.0.1:36421", Door.ANSWERS, connect_us=90, code="OK", answers_us=(900, 400))
ALL = (
    RanFunction(2, KPM_OID),
    RanFunction(142, MAC_OID),
    RanFunction(143, RLC_OID),
    RanFunction(1146, TC_V1_OID),
)
NODE = Node("gnb-1", NodeType.GNB, 1, 1, 0xE00, ALL)
SYNCHRONOUS = Offsets(Interval(-300, 1_500), Interval(-100, 1_600))
KINDS = {
    "classifiers": ["round_robin", "stochastic_hash", "osi", "l4s_ecn"],
    "queues": ["fifo", "codel", "cobalt", "bode", "dual_pi2", "adaptive_codel"],
    "schedulers": [
        "round_robin",
        "deficit_round_robin",
        "strict_priority",
        "weighted",
        "conditional_priority",
        "inelastic_first",
    ],
    "pacers": ["none", "bdp5g", "just_in_time", "forecast"],
}


def spread(us: float) -> Spread:
    return Spread(us, us, us, us)


def stream(oid: str = RLC_OID, period_ms: int = 1, **changed: Any) -> Stream:
    """Three good seconds of one subscription."""
    count = 3_000 // period_ms
    good = Stream(
        "gnb-1",
        oid,
        period_ms,
        window_us=3_000_000,
        received=count,
        first_after_us=1_000,
        listened_us=2_999_000,
        longest_gap_us=1_000 * period_ms,
        node_to_gateway_us=spread(200),
        gateway_to_here_us=spread(100),
        node_to_here_us=spread(300),
        collected_span_us=2_990_000,
        handled_span_us=2_990_000,
        distinct=count,
        offsets=SYNCHRONOUS,
        rows=Rows(bearers=1, backlogged=count, delays=count, steps=count)
        if period_ms == 1
        else None,
    )
    return replace(good, **changed)


REACHED = replace(GATEWAY, address="127.0.0.1:36422", answers_us=())
FORECASTS = Forecasts(
    REACHED,
    "SERVING",
    batches=3_000,
    nodes=("gnb-1",),
    forecasts=3_000,
    by_model=3_000,
    models=("lstm 3",),
    age_us=spread(900),
    on_the_way_us=spread(200),
    window_us=3_000_000,
)
DRY_RUN = DryRun("gnb-1", Tried.ACCEPTED, "rnti 17 drb 1", 800, 4, 4)
HEALTHY = Facts(
    GATEWAY,
    Nodes((NODE,), ("gnb-1",)),
    definitions=(Definition("gnb-1", capabilities=KINDS),),
    streams=(stream(), stream(TC_V1_OID, 100)),
    dry_runs=(DRY_RUN,),
    here_late_us=spread(200),
    forecasts=FORECASTS,
    metrics=(Metrics("http://h/metrics"),),
)


def troubles(facts: Facts) -> list[Finding]:
    return [finding for finding in judge(facts) if finding.level is not Level.OK]


def only(facts: Facts) -> Finding:
    """The only finding that is not OK."""
    (finding,) = troubles(facts)
    return finding


def test_a_healthy_deployment_has_no_findings() -> None:
    findings = judge(HEALTHY)
    assert {finding.level for finding in findings} == {Level.OK}
    assert [finding.check for finding in findings] == [
        *("gateway", "nodes", "functions", "definition", "clocks", "clocks"),
        *("indications", "indications", "control", "forecaster", "metrics"),
    ]
    assert exit_status(findings) == 0


# ---------------------------------------------------------------------- gateway


@pytest.mark.parametrize(
    ("door", "text_in", "todo"),
    [
        (Door.NAME_UNKNOWN, "does not resolve", "look it up"),
        (Door.REFUSED, "nothing listens", "Start it"),
        (Door.UNREACHABLE, "cannot be reached", "routes"),
        (Door.NO_ANSWER, "neither accepted nor refused", "firewalls"),
        (Door.SILENT, "the server sends nothing", "hangs"),
        (Door.CLOSES, "closed at once", "port"),
        (Door.TLS_WANTED, "uses TLS", "gateway.tls.enabled: true"),
        (Door.PLAIN_TEXT, "uses plain text", "certificate"),
        (Door.HTTP1, "HTTP/1", "gRPC port"),
        (Door.NOT_HTTP2, "not HTTP/2", "port"),
        (Door.CERTIFICATE, "not accepted", "gateway.tls.ca_file"),
        (Door.CLIENT_CERTIFICATE, "client certificate", "gateway.tls.certificate_file"),
    ],
)
def test_each_connection_failure_has_its_finding(door: Door, text_in: str, todo: str) -> None:
    finding = only(Facts(Reach("h:1", door, detail="detail")))
    assert (finding.level, finding.check, finding.subject) == (Level.FAIL, "gateway", "h:1")
    assert text_in in finding.what
    assert todo in finding.remedy
    assert "{" not in finding.what


def test_every_connection_result_has_a_finding() -> None:
    for door in Door:
        findings = judge(Facts(Reach("h:1", door, code="OK")))
        assert (findings[0].level is Level.OK) == (door is Door.ANSWERS)


@pytest.mark.parametrize(
    ("code", "text_in"),
    [
        ("UNIMPLEMENTED", "not an E2 gateway"),
        ("UNAUTHENTICATED", "does not know this client"),
        ("PERMISSION_DENIED", "denies access"),
        ("DEADLINE_EXCEEDED", "does not answer"),
        ("UNAVAILABLE", "drops the call"),
        ("DATA_LOSS", "with an error"),
    ],
)
def test_each_failed_call_has_its_finding(code: str, text_in: str) -> None:
    finding = only(Facts(replace(GATEWAY, code=code, detail="the detail")))
    assert finding.level is Level.FAIL
    assert text_in in finding.what
    assert "the detail" in finding.what


def test_a_slow_gateway() -> None:
    slow = replace(HEALTHY, gateway=replace(GATEWAY, answers_us=(900_000, 80_000)))
    assert "80.0 ms at best, 900.0 ms at worst" in only(slow).what
    first_call_alone = replace(HEALTHY, gateway=replace(GATEWAY, answers_us=(900_000, 8_000)))
    assert not troubles(first_call_alone)


# ------------------------------------------------------------------------ nodes


def with_nodes(*listed: Node, watched: tuple[str, ...] | None = None, **more: Any) -> Facts:
    ids = tuple(node.id for node in listed) if watched is None else watched
    return Facts(GATEWAY, Nodes(listed, ids, **more))


def test_no_node() -> None:
    finding = only(with_nodes())
    assert (finding.level, finding.check) == (Level.FAIL, "nodes")
    assert "has no E2 node" in finding.what


def test_one_id_twice() -> None:
    assert "more than once" in only(with_nodes(NODE, NODE)).what


def test_one_global_id_under_two_names() -> None:
    finding = only(with_nodes(NODE, replace(NODE, id="gnb-2")))
    assert finding.level is Level.WARN
    assert "PLMN 001-01 and id 0xe00" in finding.what
    assert finding.subject == "gnb-1, gnb-2"


def test_cu_and_dus_of_one_gnb_share_its_id() -> None:
    dus = [replace(NODE, id=f"du-{n}", type=NodeType.GNB_DU) for n in range(2)]
    assert not troubles(with_nodes(replace(NODE, type=NodeType.GNB_CU), *dus))


def test_an_unknown_type_is_a_note() -> None:
    assert only(with_nodes(replace(NODE, type=NodeType.UNKNOWN))).level is Level.NOTE


def test_list_and_watch_disagree() -> None:
    assert "not in the node watch: gnb-1" in only(with_nodes(NODE, watched=())).what
    facts = Facts(GATEWAY, Nodes((NODE,), None, "it broke"))
    assert "watch failed (it broke)" in only(facts).what


def test_a_requested_node_that_is_not_connected() -> None:
    found = troubles(with_nodes(NODE, only="gnb-9"))
    assert [(f.level, f.subject) for f in found] == [(Level.FAIL, "gnb-9")]
    assert "gnb-1" in found[0].remedy


def test_nodes_that_are_not_examined_are_named() -> None:
    facts = replace(HEALTHY, passed_over=tuple(f"gnb-{n}" for n in range(2, 9)))
    assert "gnb-2, gnb-3, gnb-4, gnb-5, gnb-6 and 2 more" in only(facts).what


# ---------------------------------------------------------------- RAN functions


def offering(*oids: str) -> list[Finding]:
    functions = tuple(RanFunction(n, oid) for n, oid in enumerate(oids, 900))
    return troubles(with_nodes(replace(NODE, ran_functions=functions)))


@pytest.mark.parametrize(
    ("oids", "level", "text_in"),
    [
        ((), Level.WARN, "none of rlc, mac, kpm, tc"),
        (("9.9",), Level.WARN, "it has 9.9"),
        ((MAC_OID,), Level.WARN, "has no rlc"),
        ((TC_V1_OID, MAC_OID), Level.FAIL, "has no rlc, but tc"),
        ((RLC_OID, MAC_OID), Level.FAIL, "has no tc"),
        ((RLC_OID, TC_V1_OID), Level.WARN, "neither mac nor kpm"),
        ((RLC_OID, TC_V1_OID, KPM_OID), Level.NOTE, "has no mac"),
        ((RLC_OID, TC_V1_OID, MAC_OID, RLC_OID), Level.WARN, "rlc 2 times"),
    ],
)
def test_each_missing_function_has_its_finding(
    oids: tuple[str, ...], level: Level, text_in: str
) -> None:
    (finding,) = offering(*oids)
    assert (finding.level, finding.check) == (level, "functions")
    assert text_in in finding.what


def test_v0_alone_is_not_enough_and_cannot_be_tried() -> None:
    fails, note = offering(RLC_OID, MAC_OID, TC_V0_OID)
    assert "offers tc_v0 and not tc_v1" in fails.what
    assert fails.level is Level.FAIL
    assert "translates v1 to v0" in fails.remedy
    assert (note.level, note.check) == (Level.NOTE, "control")
    assert "no dry run and no refusal" in note.what


def test_flexrics_id_under_another_oid() -> None:
    functions = (RanFunction(143, "1.2.3"), RanFunction(1146, TC_V1_OID), RanFunction(142, MAC_OID))
    found = troubles(with_nodes(replace(NODE, ran_functions=functions)))
    assert any("RAN function 143 has the OID 1.2.3" in finding.what for finding in found)


def test_another_revision_is_a_note() -> None:
    functions = (RanFunction(143, RLC_OID, 2), *ALL[:2], *ALL[3:])
    finding = only(with_nodes(replace(NODE, ran_functions=functions)))
    assert (finding.level, finding.what) == (Level.NOTE, "rlc has revision 2; expected 1")
    functions = (RanFunction(2, KPM_OID, 2), *ALL[1:])
    assert not troubles(with_nodes(replace(NODE, ran_functions=functions)))
    functions = (RanFunction(2, KPM_OID, 3), *ALL[1:])
    finding = only(with_nodes(replace(NODE, ran_functions=functions)))
    assert finding.what == "kpm has revision 3; expected 1 or 2"


def test_a_definition_that_does_not_decode() -> None:
    facts = replace(HEALTHY, definitions=(Definition("gnb-1", "tc: 3 bytes"),))
    assert "does not decode (tc: 3 bytes)" in only(facts).what


@pytest.mark.parametrize("missing", sorted(KINDS))
def test_a_definition_without_a_stage(missing: str) -> None:
    declared = {kinds: [] if kinds == missing else value for kinds, value in KINDS.items()}
    facts = replace(HEALTHY, definitions=(Definition("gnb-1", capabilities=declared),))
    assert f"declares no {missing}" in only(facts).what


def test_templates_that_fit_a_v0_node_are_listed() -> None:
    declared = {**KINDS, "schedulers": ["round_robin", "strict_priority"], "max_queues": 64}
    facts = replace(HEALTHY, definitions=(Definition("gnb-1", capabilities=declared),))
    finding = only(facts)
    assert finding.level is Level.NOTE
    assert (
        "bdp_only, flow_slicing, bode_diffserv fit (fq_codel: deficit_round_robin is not available;"
        in finding.what
    )


def test_too_few_queues_for_a_template() -> None:
    facts = replace(
        HEALTHY, definitions=(Definition("gnb-1", capabilities={**KINDS, "max_queues": 64}),)
    )
    assert "fq_codel: 1024 queues, expected at most 64" in only(facts).what


def test_a_definition_no_template_fits() -> None:
    declared = {**KINDS, "pacers": ["none"]}
    facts = replace(HEALTHY, definitions=(Definition("gnb-1", capabilities=declared),))
    finding = only(facts)
    assert finding.level is Level.WARN
    assert "default parameters none fit (bdp_only: bdp5g is not available;" in finding.what


# ------------------------------------------------------------------ indications


def with_stream(oid: str = RLC_OID, period_ms: int = 1, **changed: Any) -> Facts:
    return replace(HEALTHY, streams=(stream(oid, period_ms, **changed),))


@pytest.mark.parametrize(
    ("changed", "level", "text_in"),
    [
        ({"ended": "refused", "detail": "1 ms"}, Level.FAIL, "refused (1 ms)"),
        ({"ended": "unknown"}, Level.FAIL, "rejects a RAN function"),
        ({"ended": "gone"}, Level.FAIL, "the node left"),
        ({"ended": "unavailable"}, Level.FAIL, "stream ended"),
        ({"ended": "protocol"}, Level.FAIL, "violates its interface"),
        ({"received": 0, "offsets": None}, Level.FAIL, "none within 3.00 s"),
        ({"undecodable": 3_000, "first_error": "rlc: 7 bytes"}, Level.FAIL, "100 % do not decode"),
        ({"undecodable": 30, "first_error": "rlc: 7 bytes"}, Level.FAIL, "rlc: 7 bytes"),
        ({"distinct": 1, "collected_span_us": 0}, Level.FAIL, "stale: 3000 indications of 1"),
        ({"received": 1_000, "distinct": 1_000}, Level.FAIL, "333 a second of 1000 requested"),
        ({"received": 2_400, "distinct": 2_400}, Level.WARN, "800 a second of 1000"),
        ({"received": 2_900, "missed": 100, "distinct": 2_900}, Level.WARN, "100 of 3000 lost"),
        ({"received": 2_999, "missed": 1, "distinct": 2_999}, Level.NOTE, "1 of 3000 lost"),
        ({"received": 2_900, "dropped": 100, "missed": 100}, Level.WARN, "the reader was slow"),
        ({"disordered": 4}, Level.WARN, "did not grow"),
        ({"late": 4}, Level.NOTE, "4 of 3000 came after one that was collected later"),
        ({"late": 400}, Level.WARN, "400 of 3000 came after"),
        ({"collected_span_us": 1_500_000}, Level.WARN, "passes at 0.50 of ours"),
        ({"longest_gap_us": 400_000}, Level.WARN, "silent for 400.0 ms"),
        ({"tstamp_off_us": -3_600_000_000}, Level.WARN, "1.0 h off"),
        ({"rows": Rows()}, Level.NOTE, "no UE is attached"),
        ({"rows": Rows(bearers=2, repeated=9)}, Level.WARN, "more than once"),
        (
            {"rows": Rows(bearers=1, backlogged=9, delays=9, steps=100, steps_back=50)},
            Level.FAIL,
            "go backwards in 50 %",
        ),
        ({"rows": Rows(bearers=1, backlogged=90)}, Level.FAIL, "age and sojourn time are always 0"),
    ],
)
def test_each_fault_of_rlc_reports_has_its_finding(
    changed: dict[str, Any], level: Level, text_in: str
) -> None:
    finding = only(with_stream(**changed))
    assert (finding.level, finding.check, finding.subject) == (level, "indications", "gnb-1 rlc")
    assert text_in in finding.what
    assert finding.remedy


@pytest.mark.parametrize(
    ("oid", "level"),
    [
        (MAC_OID, Level.WARN),
        (KPM_OID, Level.WARN),
        (TC_V1_OID, Level.FAIL),
        (TC_V0_OID, Level.NOTE),
    ],
)
def test_the_level_of_missing_reports_depends_on_the_ran_function(oid: str, level: Level) -> None:
    assert only(with_stream(oid, 100, received=0, offsets=None)).level is level


def test_a_few_reports_less_are_no_slow_rate() -> None:
    """A window need not begin and end with a report."""
    assert not troubles(with_stream(KPM_OID, 100, received=29, distinct=29))
    assert not troubles(with_stream(KPM_OID, 1_000, received=2, distinct=2))


def test_a_node_without_flow_inventory() -> None:
    finding = only(
        with_stream(TC_V1_OID, 100, style="flow_inventory", ended="refused", detail="v0")
    )
    assert (finding.level, finding.subject) == (Level.WARN, "gnb-1 tc_v1 flow_inventory")
    assert "refused (v0)" in finding.what
    assert "rungs do not need it" in finding.remedy


def test_kpm_without_reports_is_not_a_failure() -> None:
    finding = only(with_stream(KPM_OID, 100, received=20, distinct=20))
    assert (finding.level, finding.what) == (Level.WARN, "7 a second of 10 requested")
    assert "without a matching UE" in finding.why


def test_only_the_measurement_in_use_is_required() -> None:
    assert not troubles(with_stream(KPM_OID, 100, unsupported=("RRU.PrbTotUl",)))
    finding = only(with_stream(KPM_OID, 100, unsupported=("RRU.PrbTotDl",)))
    assert finding.level is Level.NOTE


def test_a_measurement_in_an_unknown_unit_is_reported() -> None:
    finding = only(with_stream(KPM_OID, 100, without_unit=True))
    assert finding.level is Level.NOTE
    assert "unit of RRU.PrbTotDl is not known" in finding.what


def test_bearers_of_rlc_that_tc_does_not_name() -> None:
    tc = stream(TC_V1_OID, 100, rows=Rows())
    finding = only(replace(HEALTHY, streams=(stream(), tc)))
    assert (finding.level, finding.subject) == (Level.FAIL, "gnb-1 tc_v1")
    assert finding.what == "RLC reports 1 bearer, and TC none"
    nobody = stream(rows=Rows())
    assert only(replace(HEALTHY, streams=(nobody, tc))).what.endswith("no UE is attached")


def test_old_reports_name_the_leg() -> None:
    """Delayed by half a minute on the way, by clocks that agree."""
    late = Spread(30e6, 30.1e6, 30.2e6, 30.3e6)
    facts = with_stream(
        node_to_here_us=late,
        gateway_to_here_us=late,
        offsets=Offsets(Interval(-300, 900), Interval(-200, 900)),
    )
    finding = only(facts)
    assert finding.level is Level.FAIL
    assert "old: age p50 30.10 s" in finding.what
    assert "from node to gateway 200 µs, from gateway to here 30.10 s" in finding.what


def test_reports_that_may_be_old_or_of_another_clock_are_a_warning() -> None:
    """All of the age is constant and nothing bounds the clock that closely."""
    late = Spread(60_000, 60_000, 60_000, 60_000)
    facts = with_stream(
        node_to_here_us=late,
        node_to_gateway_us=late,
        offsets=Offsets(Interval(-60_000, 100_000), Interval(-200, 900)),
    )
    assert only(facts).level is Level.WARN


# ----------------------------------------------------------------------- clocks


def with_offsets(node: Interval, gateway: Interval, **changed: Any) -> list[Finding]:
    return troubles(with_stream(offsets=Offsets(node, gateway), **changed))


def test_a_nodes_clock_that_is_ahead() -> None:
    (finding,) = with_offsets(
        Interval(119_999_000, 120_001_000),
        Interval(-100, 900),
        node_to_here_us=spread(-119_999_000),
    )
    assert (finding.level, finding.check, finding.subject) == (Level.FAIL, "clocks", "gnb-1")
    assert "ahead of ours by at least 120.00 s" in finding.what
    assert "against the gateway's" in finding.what
    assert "on the node" in finding.remedy


def test_a_nodes_clock_that_is_behind_may_be_old_reports() -> None:
    """Ages are then not judged a second time."""
    (finding,) = with_offsets(
        Interval(-60_100, -59_000), Interval(-100, 900), node_to_here_us=spread(60_100)
    )
    assert (finding.level, finding.subject) == (Level.WARN, "gnb-1")
    assert "behind ours by at least 59.0 ms" in finding.what
    assert "its reports have this age" in finding.remedy


def test_our_own_clock_is_off_when_the_others_agree() -> None:
    gateway, node = with_offsets(Interval(3_000_000, 3_001_000), Interval(3_000_100, 3_001_000))
    assert (gateway.subject, node.subject) == ("gateway", "gnb-1")
    assert "set this machine's clock" in node.remedy


def test_bounds_of_several_streams_are_joined() -> None:
    loose = stream(offsets=Offsets(Interval(-300, 900_000), Interval(-300, 900_000)))
    tight = stream(MAC_OID, 10, offsets=Offsets(Interval(20_000, 1_000_000), Interval(-100, 1_000)))
    found = troubles(replace(HEALTHY, streams=(loose, tight)))
    assert [finding.subject for finding in found] == ["gnb-1"]


def test_a_clock_set_during_the_examination_is_no_finding() -> None:
    one = stream(offsets=Offsets(Interval(90_000, 91_000), Interval(-100, 900)))
    other = stream(MAC_OID, 10, offsets=Offsets(Interval(-900, 900), Interval(-100, 900)))
    assert not troubles(replace(HEALTHY, streams=(one, other)))


def test_a_busy_machine_is_reported_first() -> None:
    finding = only(replace(HEALTHY, here_late_us=spread(90_000)))
    assert (finding.level, finding.check) == (Level.NOTE, "here")


# ---------------------------------------------------------------------- control


@pytest.mark.parametrize(
    ("changed", "level", "text_in"),
    [
        ({"revision": 5}, Level.FAIL, "turned revision 4 into 5"),
        ({"bearer": "", "expected_revision": None}, Level.WARN, "cannot exist"),
        ({"took_us": 250_000}, Level.WARN, "accepted in 250.0 ms"),
        ({"tried": Tried.FAILED, "detail": "no"}, Level.FAIL, "without an outcome"),
        ({"tried": Tried.UNDECODABLE}, Level.FAIL, "not an E2SM-TC v1 outcome"),
        ({"tried": Tried.TIMEOUT}, Level.FAIL, "not answered"),
        ({"tried": Tried.GONE}, Level.FAIL, "went away during a dry run"),
        ({"tried": Tried.UNAVAILABLE}, Level.FAIL, "gateway failed"),
        ({"tried": Tried.NO_CODEC}, Level.NOTE, "codec is not installed"),
        (
            {"tried": Tried.REFUSED, "cause": "malformed", "element": "message", "detail": "x"},
            Level.FAIL,
            "refused (malformed at message: x)",
        ),
        ({"tried": Tried.REFUSED, "cause": "unknown_bearer"}, Level.FAIL, "(unknown_bearer)"),
        (
            {"tried": Tried.REFUSED, "cause": "not_owner", "took_us": 250_000},
            Level.WARN,
            "a controller owns the node",
        ),
        ({"tried": Tried.REFUSED, "cause": "stale_revision"}, Level.NOTE, "changed twice"),
        (
            {"tried": Tried.REFUSED, "cause": "inconsistent", "element": "delta"},
            Level.NOTE,
            "only in part (inconsistent at delta)",
        ),
        ({"tried": Tried.REFUSED, "cause": "inconsistent"}, Level.FAIL, "is refused"),
        (
            {"tried": Tried.REFUSED, "cause": "unknown_bearer", "bearer": ""},
            Level.NOTE,
            "it reports no bearer",
        ),
        (
            {"tried": Tried.REFUSED, "cause": "unknown_bearer", "bearer": "", "took_us": 300_000},
            Level.WARN,
            "answers in 300.0 ms",
        ),
    ],
)
def test_each_result_of_a_dry_run_has_its_finding(
    changed: dict[str, Any], level: Level, text_in: str
) -> None:
    finding = only(replace(HEALTHY, dry_runs=(replace(DRY_RUN, **changed),)))
    assert (finding.level, finding.check) == (level, "control")
    assert text_in in finding.what


def test_a_dry_run_refused_to_another_than_the_owner_is_no_trouble() -> None:
    refused = replace(DRY_RUN, tried=Tried.REFUSED, cause="not_owner", element="owner")
    assert troubles(replace(HEALTHY, dry_runs=(refused,))) == []


# ------------------------------------------------------------------- forecaster


@pytest.mark.parametrize(
    ("changed", "level", "text_in"),
    [
        ({"reach": replace(REACHED, door=Door.REFUSED)}, Level.FAIL, "nothing listens"),
        ({"reach": replace(REACHED, code="UNIMPLEMENTED")}, Level.FAIL, "not a forecaster"),
        ({"reach": replace(REACHED, code="INTERNAL"), "ended": "x"}, Level.FAIL, "INTERNAL: x"),
        ({"health": "NOT_SERVING"}, Level.FAIL, "status is NOT_SERVING"),
        ({"health": "UNIMPLEMENTED"}, Level.WARN, "status is UNIMPLEMENTED"),
        ({"batches": 0}, Level.FAIL, "no forecast within 3.00 s"),
        ({"ended": "gone"}, Level.WARN, "stream ended (gone)"),
        ({"age_us": spread(90_000)}, Level.WARN, "age p50 90.0 ms"),
        ({"age_us": spread(5e6)}, Level.FAIL, "age p50 5.00 s, 200 µs of it"),
        ({"fallbacks": {"WARMING_UP": 30}}, Level.NOTE, "warming_up 1 %"),
        (
            {"by_model": 0, "models": (), "fallbacks": {"NO_MODEL": 3_000}},
            Level.NOTE,
            "no_model 100 %",
        ),
        ({"by_model": 0, "fallbacks": {"MODEL_STALE": 3_000}}, Level.WARN, "model_stale 100 %"),
        ({"nodes": ("gnb-7",)}, Level.WARN, "no forecast of gnb-1"),
    ],
)
def test_each_fault_of_forecasts_has_its_finding(
    changed: dict[str, Any], level: Level, text_in: str
) -> None:
    finding = only(replace(HEALTHY, forecasts=replace(FORECASTS, **changed)))
    assert (finding.level, finding.check) == (level, "forecaster")
    assert text_in in finding.what


def test_the_settings_named_are_the_forecasters() -> None:
    closed = replace(FORECASTS, reach=replace(REACHED, door=Door.TLS_WANTED))
    assert "forecaster.tls.ca_file" in only(replace(HEALTHY, forecasts=closed)).remedy


def test_old_forecasts_of_a_skewed_node_refer_to_the_clocks() -> None:
    behind = stream(
        offsets=Offsets(Interval(-5_001_000, -5_000_000), Interval(-100, 900)),
        node_to_here_us=spread(5e6),
    )
    facts = replace(HEALTHY, streams=(behind,), forecasts=replace(FORECASTS, age_us=spread(5e6)))
    clock, forecast = troubles(facts)
    assert (clock.level, forecast.level) == (Level.FAIL, Level.WARN)
    assert "clocks first" in forecast.remedy


# ---------------------------------------------------------------------- metrics


def test_an_endpoint_that_cannot_be_read() -> None:
    endpoint = Metrics("http://h/metrics", "Connection refused")
    finding = only(replace(HEALTHY, metrics=(endpoint,)))
    assert (finding.level, finding.subject) == (Level.WARN, "http://h/metrics")


def test_growth_during_the_examination_is_reported_and_earlier_growth_is_not() -> None:
    name = "sojourn_e2_indications_missed_total"
    rlc: Sample = (name, (("ran_function", "rlc"), ("reason", "gateway")), 7.0)
    mac: Sample = (name, (("ran_function", "mac"), ("reason", "gateway")), 5.0)
    endpoint = Metrics("http://h/metrics", "", (rlc, mac), ((*rlc[:2], 9.0), mac))
    finding = only(replace(HEALTHY, metrics=(endpoint,)))
    assert finding.what == "2 indications missed by an xApp during the examination (rlc, gateway)"


def bridge(
    left: float, up: float = 1.0, spent: float = 0.0, more: tuple[Sample, ...] = ()
) -> Facts:
    def samples(requests: float) -> tuple[Sample, ...]:
        return (
            ("sojourn_flexric_up", (), up),
            ("sojourn_flexric_request_budget", (), 64_500.0),
            ("sojourn_flexric_request_budget_left", (), left),
            ("sojourn_flexric_requests_total", (("use", "control"),), requests),
            *more,
        )

    endpoint = Metrics("http://h/metrics", "", samples(0), samples(spent), 6_000_000)
    return replace(HEALTHY, metrics=(endpoint,))


def test_the_bridges_request_budget() -> None:
    plenty = judge(bridge(40_000))[-1]
    assert plenty.level is Level.OK
    assert "40000 of 64500 requests" in plenty.what
    low = only(bridge(12_000, spent=60))
    assert low.level is Level.WARN
    assert "12000 of 64500 requests" in low.what
    assert "for 0.3 h at the present rate" in low.what
    assert only(bridge(3_000)).level is Level.FAIL


def test_a_bridge_without_a_ric() -> None:
    finding = only(bridge(64_000, up=0.0))
    assert (finding.level, finding.check) == (Level.FAIL, "metrics")
    assert "no session with the near-RT RIC" in finding.what


@pytest.mark.parametrize(
    ("state", "seen", "to_do"),
    [
        ("absent", "no SCTP association is accepted", "nearRT-RIC runs at ric.address"),
        ("without_nodes", "no E2 node has connected", "Start the gNB's E2 agent"),
        ("ended", "aborted when the bridge connected", "ric.nodes_come_within_s"),
        ("silent", "does not answer", "libflexric_level_triggered.so"),
        ("no_sctp", "has no SCTP", "modprobe sctp"),
        ("no_module", "native module is missing", "make flexric-bridge"),
    ],
)
def test_each_state_of_the_bridge_has_its_finding(state: str, seen: str, to_do: str) -> None:
    states: tuple[Sample, ...] = tuple(
        ("sojourn_flexric_ric_state", (("state", each),), float(each == state))
        for each in ("up", state)
    )
    finding = only(bridge(64_000, up=0.0, more=states))
    assert seen in finding.what
    assert to_do in finding.remedy


def test_a_bridge_built_for_flexric_of_2023_is_a_note() -> None:
    def built_for(coding: str) -> Facts:
        labels = (("e2ap", "v2.03"), ("kpm", "v2.03"), ("s_nssai", coding))
        return bridge(64_000, more=(("sojourn_flexric_build_info", labels, 1.0),))

    assert "built for v2.03, v2.03, octet-string" in judge(built_for("octet-string"))[-1].what
    old = judge(built_for("integer"))[-1]
    assert old.level is Level.NOTE
    assert "a FlexRIC of 2023" in old.what
    assert "OAI gNB since 2024-03" in old.why


# ------------------------------------------------------------------------- text


def test_the_table_has_finding_reason_and_remedy() -> None:
    findings = judge(with_stream(received=0, offsets=None))
    shown = text.table(findings)
    lines = shown.splitlines()
    assert lines[0].split() == ["CHECK", "WHERE", "FOUND"]
    assert any(line.startswith("fail  indications  gnb-1 rlc") for line in lines)
    assert "  Why it matters: tc-controller sees no queue" in shown
    assert "  What to do: The node accepted, but sends nothing" in shown
    assert lines[-1] == "7 ok, 0 note, 0 warn, 1 fail"
    assert max(map(len, lines)) <= 100


def test_findings_with_one_remedy_are_grouped() -> None:
    slow: dict[str, Any] = {"received": 1_000, "distinct": 1_000}
    facts = replace(HEALTHY, streams=(stream(**slow), stream(node_id="gnb-2", **slow)))
    shown = text.table(judge(facts))
    _, explained = shown.split("\n\n", 1)
    assert explained.startswith(
        "fail: indications (gnb-1 rlc): 333 a second of 1000 requested.\n"
        "fail: indications (gnb-2 rlc): 333 a second of 1000 requested.\n"
        "  Why it matters: "
    )
    assert shown.count("What to do: The node or the RIC cannot keep the period") == 1


def test_machines_get_findings_status_and_facts() -> None:
    facts = with_stream(received=0, offsets=None)
    got = json.loads(json.dumps(text.as_json(judge(facts), facts)))
    assert got["status"] == 2
    assert [f["level"] for f in got["findings"]].count("fail") == 1
    assert got["facts"]["gateway"]["door"] == "answers"
    assert got["facts"]["nodes"]["listed"][0]["ran_functions"][0]["oid"] == KPM_OID


@pytest.mark.parametrize(
    ("levels", "status"),
    [
        ([], 0),
        ([Level.OK, Level.NOTE], 0),
        ([Level.OK, Level.WARN, Level.NOTE], 1),
        ([Level.WARN, Level.FAIL], 2),
    ],
)
def test_exit_status(levels: list[Level], status: int) -> None:
    assert exit_status([Finding(level, "c", "s", "w") for level in levels]) == status


@pytest.mark.parametrize(
    ("levels", "status"), [([Level.OK, Level.WARN], 0), ([Level.WARN, Level.FAIL], 2), ([], 0)]
)
def test_accepted_warnings_leave_failures(levels: list[Level], status: int) -> None:
    findings = [Finding(level, "c", "s", "w") for level in levels]
    assert exit_status(findings, accept_warnings=True) == status


def test_limits_of_v0_are_no_failure_of_a_node_behind_a_translating_gateway() -> None:
    lowered = replace(NODE, ran_functions=(*ALL, RanFunction(146, TC_V0_OID)))
    refused = stream(TC_V1_OID, 100, style="flow_inventory", ended="refused", detail="no flows")
    facts = replace(HEALTHY, nodes=Nodes((lowered,), ("gnb-1",)))
    facts = replace(facts, streams=(*HEALTHY.streams, refused))
    assert only(facts).level is Level.NOTE
    assert exit_status(judge(facts)) == 0
    # For a node with v1 of its own it is a failure.
    assert only(replace(facts, nodes=HEALTHY.nodes)).level is Level.WARN


def test_a_stub_of_a_tc_function() -> None:
    samples: tuple[Sample, ...] = (("sojourn_flexric_tc_stub", (("node", "gnb-1"),), 1.0),)
    finding = only(replace(HEALTHY, metrics=(Metrics("http://h/metrics", after=samples),)))
    assert finding.level is Level.FAIL
    assert "TC function of gnb-1 is a stub" in finding.what
