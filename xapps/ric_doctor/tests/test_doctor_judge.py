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
    Age,
    Definition,
    DryRun,
    Endpoint,
    Facts,
    Nodes,
    PortState,
    Reach,
    Stream,
    Tried,
)
from ric_doctor.finding import Finding, Level, exit_status
from ric_doctor.judge import judge

GATEWAY = Reach("127.0.0.1:36421", PortState.ANSWERS, code="OK", answered_us=400)
ALL = (
    RanFunction(2, KPM_OID),
    RanFunction(142, MAC_OID),
    RanFunction(143, RLC_OID),
    RanFunction(1146, TC_V1_OID),
)
NODE = Node("gnb-1", NodeType.GNB, 1, 1, 0xE00, ALL)
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
    "pacers": ["none", "bdp5g", "just_in_time", "forecast", "base_stock"],
}


def stream(oid: str = RLC_OID, period_ms: int = 1, **changed: Any) -> Stream:
    """Three good seconds of one subscription."""
    count = 3_000 // period_ms
    good = Stream(
        "gnb-1",
        oid,
        period_ms,
        window_us=3_000_000,
        received=count,
        node_age=Age(200, 300),
        gateway_age=Age(50, 100),
        bearers=1,
        backlogged=count,
        delays=count,
    )
    return replace(good, **changed)


REACHED = replace(GATEWAY, address="127.0.0.1:36422")
DRY_RUN = DryRun("gnb-1", Tried.ACCEPTED, "rnti 17 drb 1", 800, 4, 4)
HEALTHY = Facts(
    GATEWAY,
    Nodes((NODE,), ("gnb-1",)),
    definitions=(Definition("gnb-1", capabilities=KINDS),),
    streams=(stream(), stream(TC_V1_OID, 100)),
    dry_runs=(DRY_RUN,),
    forecaster=REACHED,
    metrics=(Endpoint("http://h/metrics"),),
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
        *("gateway", "forecaster", "metrics", "nodes", "fresh", "fresh"),
        *("functions", "definition", "reports", "reports", "control"),
    ]
    assert exit_status(findings) == 0


# ---------------------------------------------------------------------- gateway


@pytest.mark.parametrize(
    ("state", "text_in", "todo"),
    [
        (PortState.NAME_UNKNOWN, "does not resolve", "look it up"),
        (PortState.REFUSED, "nothing listens", "Start it"),
        (PortState.UNREACHABLE, "cannot be reached", "routes"),
        (PortState.NO_ANSWER, "neither accepted nor refused", "firewalls"),
        (PortState.SILENT, "the server sends nothing", "hangs"),
        (PortState.CLOSES, "closed at once", "port"),
        (PortState.TLS_WANTED, "uses TLS", "gateway.tls.enabled: true"),
        (PortState.PLAIN_TEXT, "uses plain text", "certificate"),
        (PortState.HTTP1, "HTTP/1", "gRPC port"),
        (PortState.NOT_HTTP2, "not HTTP/2", "port"),
        (PortState.CERTIFICATE, "not accepted", "gateway.tls.ca_file"),
        (PortState.CLIENT_CERTIFICATE, "client certificate", "gateway.tls.certificate_file"),
    ],
)
def test_each_connection_failure_has_its_finding(state: PortState, text_in: str, todo: str) -> None:
    finding = only(Facts(Reach("h:1", state, detail="detail")))
    assert (finding.level, finding.check, finding.subject) == (Level.FAIL, "gateway", "h:1")
    assert text_in in finding.what
    assert todo in finding.remedy
    assert "{" not in finding.what


def test_every_connection_result_has_a_finding() -> None:
    for state in PortState:
        findings = judge(Facts(Reach("h:1", state, code="OK")))
        assert (findings[0].level is Level.OK) == (state is PortState.ANSWERS)


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


@pytest.mark.parametrize(
    ("changed", "text_in", "to_do"),
    [
        ({"port": PortState.REFUSED}, "nothing listens", "Start it"),
        ({"port": PortState.TLS_WANTED}, "uses TLS", "forecaster.tls.ca_file"),
        ({"code": "UNIMPLEMENTED"}, "not a forecaster", "port"),
        ({"code": "PERMISSION_DENIED"}, "denies access", "access file of the forecaster"),
        ({"code": "DEADLINE_EXCEEDED"}, "sends no forecast (none)", "/readyz"),
        ({"code": "INTERNAL"}, "with an error (none)", "the forecaster's log"),
    ],
)
def test_each_failure_to_reach_the_forecaster_has_its_finding(
    changed: dict[str, Any], text_in: str, to_do: str
) -> None:
    facts = replace(HEALTHY, forecaster=replace(REACHED, detail="none", **changed))
    finding = only(facts)
    assert (finding.level, finding.check) == (Level.FAIL, "forecaster")
    assert text_in in finding.what
    assert to_do in finding.remedy


def test_programs_are_reached_though_the_gateway_is_not() -> None:
    facts = Facts(
        replace(GATEWAY, port=PortState.REFUSED),
        forecaster=REACHED,
        metrics=(Endpoint("http://h/metrics"), Endpoint("http://i/metrics", "HTTP 403")),
    )
    levels = [(finding.level, finding.subject) for finding in judge(facts)]
    assert levels == [
        (Level.FAIL, "127.0.0.1:36421"),
        (Level.OK, "127.0.0.1:36422"),
        (Level.OK, "http://h/metrics"),
        (Level.WARN, "http://i/metrics"),
    ]


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


# ---------------------------------------------------------------------- reports


def with_stream(oid: str = RLC_OID, period_ms: int = 1, **changed: Any) -> Facts:
    return replace(HEALTHY, streams=(stream(oid, period_ms, **changed),))


NOTHING: dict[str, Any] = {"received": 0, "node_age": None, "gateway_age": None, "bearers": None}


@pytest.mark.parametrize(
    ("changed", "level", "text_in"),
    [
        ({"ended": "refused", "detail": "1 ms"}, Level.FAIL, "refused (1 ms)"),
        ({"ended": "denied"}, Level.FAIL, "does not let this client subscribe"),
        ({"ended": "unknown"}, Level.FAIL, "rejects a RAN function"),
        ({"ended": "gone"}, Level.FAIL, "the node left"),
        ({"ended": "unavailable"}, Level.FAIL, "stream ended"),
        ({"ended": "protocol"}, Level.FAIL, "violates its interface"),
        (NOTHING, Level.FAIL, "none within 3.00 s"),
        ({"undecodable": 3_000, "first_error": "rlc: 7 bytes"}, Level.FAIL, "100 % do not decode"),
        ({"undecodable": 30, "first_error": "rlc: 7 bytes"}, Level.FAIL, "rlc: 7 bytes"),
        ({"tstamp_off_us": -3_600_000_000}, Level.WARN, "1.0 h off"),
        ({"delays": 0}, Level.FAIL, "age and sojourn time are always 0"),
    ],
)
def test_each_fault_of_rlc_reports_has_its_finding(
    changed: dict[str, Any], level: Level, text_in: str
) -> None:
    finding = only(with_stream(**changed))
    assert (finding.level, finding.check, finding.subject) == (level, "reports", "gnb-1 rlc")
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
    assert only(with_stream(oid, 100, **NOTHING)).level is level


def test_a_node_without_flow_inventory() -> None:
    finding = only(
        with_stream(TC_V1_OID, 100, style="flow_inventory", ended="refused", detail="v0")
    )
    assert (finding.level, finding.subject) == (Level.WARN, "gnb-1 tc_v1 flow_inventory")
    assert "refused (v0)" in finding.what
    assert "rungs do not need it" in finding.remedy


def test_bearers_of_rlc_that_tc_does_not_name() -> None:
    tc = stream(TC_V1_OID, 100, bearers=0)
    finding = only(replace(HEALTHY, streams=(stream(), tc)))
    assert (finding.level, finding.subject) == (Level.FAIL, "gnb-1 tc_v1")
    assert finding.what == "RLC reports 1 bearer, and TC none"
    nobody = stream(bearers=0)
    assert not troubles(replace(HEALTHY, streams=(nobody, tc)))


# ------------------------------------------------------------------------ fresh


def aged(node: Age, gateway: Age) -> list[Finding]:
    return troubles(with_stream(node_age=node, gateway_age=gateway))


def test_a_nodes_clock_that_is_ahead() -> None:
    (finding,) = aged(Age(-120_000_000, -119_000_000), Age(50, 100))
    assert (finding.level, finding.check, finding.subject) == (Level.FAIL, "fresh", "gnb-1")
    assert finding.what == "its clock is ahead of ours by at least 120.00 s"
    assert "on the node" in finding.remedy
    (slight,) = aged(Age(-6_000, -5_000), Age(50, 100))
    assert slight.level is Level.WARN


def test_reports_that_are_old_by_the_nodes_clock() -> None:
    (finding,) = aged(Age(200, 60_100), Age(50, 100))
    assert (finding.level, finding.subject) == (Level.WARN, "gnb-1")
    assert finding.what == "its reports are 60.1 ms old, by its clock"
    assert "a queue between node and gateway" in finding.remedy
    (stale,) = aged(Age(200, 1_500_000), Age(50, 100))
    assert stale.level is Level.FAIL
    assert "a copy that is not updated" in stale.remedy


@pytest.mark.parametrize(
    ("age", "what"),
    [
        (Age(-3_000_000, -2_990_000), "its clock is ahead of ours by at least 3.00 s"),
        (Age(3_000_000, 3_010_000), "forwards reports 3.01 s after it has them, by its clock"),
    ],
)
def test_what_the_gateway_explains_is_corrected_there_first(age: Age, what: str) -> None:
    gateway, node = aged(age, age)
    assert (gateway.level, gateway.subject, gateway.what) == (Level.FAIL, "gateway", what)
    assert (node.subject, "gateway first" in node.remedy) == ("gnb-1", True)


def test_the_youngest_reports_of_a_node_count() -> None:
    slow = stream(MAC_OID, 10, node_age=Age(30_000, 40_000), gateway_age=Age(29_000, 39_000))
    assert not troubles(replace(HEALTHY, streams=(stream(), slow)))


# ---------------------------------------------------------------------- control


@pytest.mark.parametrize(
    ("changed", "level", "text_in"),
    [
        ({"revision": 5}, Level.FAIL, "turned revision 4 into 5"),
        ({"bearer": "", "expected_revision": None}, Level.WARN, "cannot exist"),
        ({"took_us": 250_000}, Level.WARN, "accepted in 250.0 ms"),
        ({"tried": Tried.DENIED}, Level.FAIL, "does not let this client control the node"),
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


# ------------------------------------------------------------------------- text


def test_the_table_has_finding_reason_and_remedy() -> None:
    findings = judge(with_stream(**NOTHING))
    shown = text.table(findings)
    lines = shown.splitlines()
    assert lines[0].split() == ["CHECK", "WHERE", "FOUND"]
    assert any(line.startswith("fail  reports     gnb-1 rlc") for line in lines)
    assert "  Why it matters: tc-controller sees no queue" in shown
    assert "  What to do: The node accepted, but sends nothing" in shown
    assert lines[-1] == "7 ok, 0 note, 0 warn, 1 fail"
    assert max(map(len, lines)) <= 100


def test_findings_with_one_remedy_are_grouped() -> None:
    facts = replace(HEALTHY, streams=(stream(**NOTHING), stream(node_id="gnb-2", **NOTHING)))
    shown = text.table(judge(facts))
    _, explained = shown.split("\n\n", 1)
    assert explained.startswith(
        "fail: reports (gnb-1 rlc): none within 3.00 s, though subscribed at 1 ms.\n"
        "fail: reports (gnb-2 rlc): none within 3.00 s, though subscribed at 1 ms.\n"
        "  Why it matters: "
    )
    assert shown.count("What to do: The node accepted, but sends nothing") == 1


def test_machines_get_findings_status_and_facts() -> None:
    facts = with_stream(**NOTHING)
    got = json.loads(json.dumps(text.as_json(judge(facts), facts)))
    assert got["status"] == 2
    assert [f["level"] for f in got["findings"]].count("fail") == 1
    assert got["facts"]["gateway"]["port"] == "answers"
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


# ------------------------------------------------------------------------- this host


def test_a_busy_host_is_one_finding_that_explains_late_reports() -> None:
    late = stream(node_age=Age(200, 42_000), gateway_age=Age(50, 41_000))
    host, gateway, node = troubles(replace(HEALTHY, streams=(late,), core_wait_us=40_000.0))
    assert host.subject == "this host"
    assert host.what == "is too busy: reports wait 40.0 ms for a core"
    assert "this host first" in gateway.remedy
    assert "gateway first" in node.remedy


def test_late_reports_on_an_idle_host_are_the_gateways_or_the_networks() -> None:
    late = stream(node_age=Age(200, 300), gateway_age=Age(50, 41_000))
    finding = only(replace(HEALTHY, streams=(late,), core_wait_us=40.0))
    assert finding.subject == "gateway"
    assert "busy gateway" in finding.remedy


def test_a_host_on_which_reports_wait_little_is_no_finding() -> None:
    assert troubles(replace(HEALTHY, core_wait_us=900.0)) == []
