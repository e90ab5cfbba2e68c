"""The SDK against FlexRIC's near-RT RIC and its emulated nodes, which report random numbers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from flexric_bridge.kpm_definition import decode
from flexric_bridge.records import kpm_report
from flexric_bridge.sdk import ReportRequest, SdkError, SNssai
from flexric_processes import PATIENCE_S, Network
from programs import start_bridge
from ric import E2GatewayClient, sm
from ric.errors import SubscriptionRefused
from ric.settings import GatewaySettings
from sdk_session import Report, Session, connection, reports_of
from sojourn_demo.programs import Program

GNB, DU = "gnb-505-01-0x1", "gnb-505-01-0x2-du-0x16"
OTHERS = {"gnb_cu": ("gnb-505-01-0x2-cu", "gnb-cu"), "enb": ("enb-208-94-0x4", "enb")}
"""Id and type of emulated nodes that do not run in every FlexRIC."""
KPM, MAC, RLC, TC = 2, 142, 143, 146
NAMES = ("DRB.UEThpDl", "RRU.PrbTotDl")

VECTORS = Path(__file__).parents[3] / "e2sm-tc-spec" / "vectors" / "v0.jsonl"
CONTROLS = {
    vector["name"]: bytes.fromhex(vector["hex"])
    for vector in map(json.loads, VECTORS.read_text().splitlines())
    if vector["kind"] == "control"
}
RR = CONTROLS["cls_add_rr"]


def each_has(count: int, *handles: int) -> Callable[[dict[int, list[Report]]], bool]:
    """Condition: each of these subscriptions has at least `count` reports."""
    return lambda reports: all(len(reports[handle]) >= count for handle in handles)


def refused(session: Session, name: str, *arguments: object) -> SdkError:
    with pytest.raises(SdkError) as error:
        session.call(name, *arguments)
    return error.value


def test_nodes_have_readable_ids_and_their_ran_functions(session: Session) -> None:
    nodes = session.nodes()
    assert {name: node.type for name, node in nodes.items()} == {GNB: "gnb", DU: "gnb-du"}
    assert (nodes[DU].mcc, nodes[DU].mnc, nodes[DU].mnc_digits) == (505, 1, 2)
    assert (nodes[DU].nb_id, nodes[DU].cu_du_id, nodes[GNB].cu_du_id) == (2, 0x16, None)
    for node in nodes.values():
        oids = {function.id: function.oid for function in node.functions}
        assert oids[RLC] == sm.RLC_OID
        assert oids[MAC] == sm.MAC_OID
        assert oids[TC] == sm.TC_V0_OID
        assert sm.kpm.version_of(oids[KPM]) in (2, 3, 5)
        kpm = next(function for function in node.functions if function.id == KPM)
        assert b"ORAN-E2SM-KPM" in kpm.definition
        assert kpm.revision > 0


def check_times(report: Report) -> None:
    """Collected before received, by one clock; nothing dropped."""
    assert 0 <= report.received_at_us - report.collected_at_us < 60_000_000
    assert report.lost == 0


@pytest.mark.shows("RLC")
def test_rlc_reports_of_several_nodes_are_distinguished_and_parse(session: Session) -> None:
    every_ms = [session.subscribe(node, RLC, 1) for node in (GNB, DU)]
    seldom = session.subscribe(GNB, MAC, 500)
    reports = session.collect_until(each_has(3, *every_ms, seldom))
    assert set(reports) == {*every_ms, seldom}
    assert all(len(reports[handle]) > 3 * len(reports[seldom]) for handle in every_ms)
    for report in (report for handle in every_ms for report in reports[handle]):
        assert sm.rlc.decode(report.message).tstamp_us == report.collected_at_us
        check_times(report)


@pytest.mark.parametrize("kind", OTHERS)
def test_nodes_of_other_kinds_have_readable_ids(
    own_network: Network, sessions: Callable[..., Session], kind: str
) -> None:
    try:
        own_network.add(kind)
    except AssertionError:
        if own_network.agents[kind].alive:
            raise
        pytest.skip(f"emu_agent_{kind} of this FlexRIC ends at its start")
    name, type_ = OTHERS[kind]
    session = sessions()
    session.open(own_network.site)
    assert {node: found.type for node, found in session.nodes().items()} == {name: type_}


@pytest.mark.shows("RLC")
def test_unsubscribing_ends_only_that_subscription(session: Session) -> None:
    ended, kept = (session.subscribe(node, RLC, 1) for node in (GNB, DU))
    session.call("unsubscribe", ended)
    session.collect(0.1)  # reports of before
    assert set(session.collect_until(each_has(100, kept))) == {kept}
    assert refused(session, "unsubscribe", ended).kind == "closed"
    again = session.subscribe(GNB, RLC, 1)
    assert again not in {ended, kept}
    assert set(session.collect_until(each_has(20, again))) <= {kept, again}


@pytest.mark.shows("MAC", "TC")
def test_mac_and_tc_parse(session: Session) -> None:
    mac, tc = session.subscribe(GNB, MAC, 5), session.subscribe(DU, TC, 10)
    reports = session.collect_until(each_has(20, mac, tc))
    for report in reports[mac]:
        assert sm.mac.decode(report.message).tstamp_us == report.collected_at_us
        check_times(report)
    for report in reports[tc]:
        assert sm.tc.decode("indication", report.message, "v0")
        check_times(report)


@pytest.mark.shows("KPM")
def test_kpm_has_the_requested_values(session: Session) -> None:
    handle = session.subscribe(GNB, KPM, 100, NAMES)
    reports = session.collect_until(each_has(5, handle))[handle]
    for report in reports:
        kpm = kpm_report(report.message)
        assert kpm.period_ms == 100
        assert kpm.ues
        assert all(set(values) == set(NAMES) for _, values in kpm.ues)
        check_times(report)


@pytest.mark.shows("KPM")
def test_kpm_of_a_slice_does_not_abort_the_node(session: Session, network: Network) -> None:
    """SST and SD need E2SM-KPM's OCTET STRING: a FlexRIC that expects an INTEGER is skipped."""
    one = SNssai(1, 0x000001)
    if session.call("versions").s_nssai == "octet-string":
        handle = session.subscribe(GNB, KPM, 100, NAMES, one)
        session.collect_until(each_has(2, handle))
    else:
        request = ReportRequest(GNB, KPM, 100, NAMES, one)
        assert refused(session, "subscribe", request).kind == "refused"
    assert network.agents["gnb"].alive


@pytest.mark.shows("KPM")
async def test_measurements_that_a_node_does_not_announce_are_not_requested(
    own_network: Network,
) -> None:
    """The emulated gNB of 2023 announces none of the measurements that it has."""
    own_network.add("gnb")
    bridge = start_bridge(own_network.site)
    requested = ("DRB.UEThpDl", "DRB.Sorcery", "RRU.PrbTotDl")
    try:
        async with E2GatewayClient(GatewaySettings(address=bridge.ready["listen"])) as client:
            node = await client.wait_for_node(GNB)
            (function,) = (each for each in node.ran_functions if each.oid == sm.KPM_OID)
            announced = set(decode(function.definition).measurements or ())
            stream = client.subscribe(GNB, sm.KPM_OID, sm.kpm.event_trigger(100), (), requested)
            async with aclosing(stream) as indications:
                if announced & set(requested):
                    report = sm.kpm.report_of(await anext(indications))
                    assert set(report.unsupported) == set(requested) - announced
                    assert set(report.ues[0].values) <= announced
                else:
                    with pytest.raises(SubscriptionRefused, match="is a measurement of this node"):
                        await anext(indications)
    finally:
        bridge.kill()
    assert own_network.agents["gnb"].alive
    assert own_network.ric.alive


@pytest.mark.shows("TC")
async def test_the_tc_stub_of_flexrics_emulator_is_detected(own_network: Network) -> None:
    """It acknowledges everything and reports random numbers."""
    own_network.add("gnb")
    bridge = start_bridge(own_network.site)
    action = sm.tc.encode(
        "action-definition", {"style": "pipeline_status", "bearers": [], "top_flows": 1}
    )
    trigger = sm.tc.encode("event-trigger", {"periodic": {"period_ms": 10}})
    try:
        async with E2GatewayClient(GatewaySettings(address=bridge.ready["listen"])) as client:
            await client.wait_for_node(GNB)
            stream = client.subscribe(GNB, sm.TC_V1_OID, trigger, (action,))
            with pytest.raises(SubscriptionRefused, match="its TC function invents its reports"):
                async with asyncio.timeout(PATIENCE_S), aclosing(stream) as indications:
                    async for _ in indications:
                        pass
        assert f'sojourn_flexric_tc_stub{{node="{GNB}"}} 1.0' in bridge.metrics()
    finally:
        bridge.kill()
    assert own_network.agents["gnb"].alive


@pytest.mark.shows("TC")
@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_of_v0_is_acknowledged(session: Session, name: str) -> None:
    assert session.control(GNB, CONTROLS[name]) in (b"", bytes(4))


@pytest.mark.shows("TC")
def test_controls_under_load_are_all_acknowledged(session: Session) -> None:
    for node in (GNB, DU):
        session.subscribe(node, RLC, 1)
    session.call(
        "exec", f"for _ in range(1000): sdk.control({GNB!r}, 146, bytes(4), {RR!r})\nresult = None"
    )
    assert all(report.lost == 0 for report in session.collect(0.1))


@pytest.mark.shows("TC")
def test_controls_in_flight_at_once_are_all_acknowledged(session: Session) -> None:
    for node in (GNB, DU):
        session.subscribe(node, RLC, 1)
    for _ in range(100):
        assert session.controls(GNB, [RR] * 16) == (True,) * 16
    assert session.control(GNB, RR) in (b"", bytes(4))


def test_if_one_of_several_controls_would_abort_the_node_none_is_sent(
    session: Session, network: Network
) -> None:
    for messages in ((RR, RR[:-4]), (RR,) * 17, ()):
        error = session.call(
            "exec",
            f"were, error = sdk.controls({GNB!r}, {TC}, bytes(4), {messages!r})\n"
            "result = any(were), error.kind",
        )
        assert tuple(error) == (False, "bad-message")
    assert network.agents["gnb"].alive


def test_a_control_that_would_abort_the_node_is_not_sent(
    session: Session, network: Network
) -> None:
    for message in (RR[:-4], RR + b"\0", b"", bytes.fromhex("09000000")):
        error = refused(session, "control", GNB, TC, bytes(4), message)
        assert error.kind == "bad-message"
    assert refused(session, "control", GNB, TC, b"", RR).kind == "bad-message"
    assert session.control(GNB, RR) in (b"", bytes(4))
    assert network.agents["gnb"].alive


def test_unknown_nodes_functions_handles_and_periods_are_refused(session: Session) -> None:
    def subscription(node: str, function: int, period_ms: int) -> str:
        return refused(session, "subscribe", ReportRequest(node, function, period_ms)).kind

    assert subscription("gnb-1", RLC, 1) == "no-such-node"
    assert refused(session, "control", "gnb-1", TC, bytes(4), RR).kind == "no-such-node"
    assert subscription(GNB, 99, 1) == "no-such-function"
    assert refused(session, "control", GNB, RLC, bytes(4), RR).kind == "no-such-function"
    assert refused(session, "unsubscribe", 4711).kind == "closed"
    for period_ms in (0, 10_001):
        assert subscription(GNB, RLC, period_ms) == "bad-message"
    assert subscription(GNB, KPM, 100) == "bad-message", "no measurements named"


def test_it_connects_once_and_ends_in_order(
    network: Network, sessions: Callable[..., Session]
) -> None:
    session = sessions()
    assert refused(session, "nodes").kind == "closed"
    session.open(network.site)
    with pytest.raises(SdkError, match="once in the life of a process"):
        session.open(network.site)
    session.subscribe(GNB, RLC, 1)
    session.call("close")
    assert refused(session, "nodes").kind == "closed"


def test_reports_leave_together_and_none_is_lost(
    network: Network, sessions: Callable[..., Session]
) -> None:
    """How often blocks leave is tested on virtual time, with outlet.c."""
    session = sessions()
    session.open(network.site, 100.0)
    for node in (GNB, DU):
        session.subscribe(node, RLC, 1)
    session.collect(0.5)
    lines = """
before = reports.blocks
records = collect(2.0)
result = records, reports.blocks - before
"""
    records, blocks = session.call("exec", lines)
    reports = list(reports_of(records))
    assert 0 < blocks < len(reports)
    assert not any(report.lost for report in reports)


def test_python_keeps_the_handler_of_sigint(session: Session) -> None:
    requested = (
        "import signal; result = signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    assert session.call("exec", "import signal; result = signal.getsignal(signal.SIGTERM)") == 0
    # Ignored where these tests are in the background of a script: the SDK's process inherits that.
    here = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert session.call("exec", requested) == here
    lines = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
    result = "nothing"
except KeyboardInterrupt:
    result = "interrupt"
"""
    assert session.call("exec", lines) == ("interrupt" if here else "nothing")


def test_other_threads_run_while_a_call_blocks(session: Session) -> None:
    """Calls release the interpreter's lock: another thread runs while the session ends."""
    lines = """
import threading, time
waiting = threading.Thread(target=sdk.close); waiting.start()
started = time.monotonic(); laps = 0
while waiting.is_alive(): time.sleep(0.001); laps += 1
result = laps
"""
    assert session.call("exec", lines) > 5


def stock_module() -> Path | None:
    """Where FlexRIC's own Python module is, if it was built for this Python."""
    for found in Path(os.environ["FLEXRIC_BUILD"]).rglob("_xapp_sdk.so"):
        if found.with_name("xapp_sdk.py").is_file():
            return found.parent
    return None


BESIDE = """
import sys, time
sys.path.insert(0, {stock!r})
import xapp_sdk
from collections import Counter
seen = Counter()
class OnMac(xapp_sdk.mac_cb):
    def __init__(self): xapp_sdk.mac_cb.__init__(self)
    def handle(self, ind): seen["theirs"] += 1
on_mac = OnMac()
nodes = xapp_sdk.conn_e2_nodes()
theirs = xapp_sdk.report_mac_sm(nodes[0].id, xapp_sdk.Interval_ms_10, on_mac)
ours = sdk.subscribe(ReportRequest({node!r}, 143, 1))
deadline = time.monotonic() + 60
while min(seen["ours"], seen["theirs"]) < 20 and time.monotonic() < deadline:
    seen["ours"] += len(collect(0.1)) > 0
xapp_sdk.rm_report_mac_sm(theirs)
sdk.unsubscribe(ours)
result = dict(seen)
"""


def test_the_module_works_beside_flexrics_own_in_one_process(session: Session) -> None:
    stock = stock_module()
    if stock is None:
        pytest.skip("FlexRIC's xapp_sdk was not built")
    seen = session.call("exec", BESIDE.format(stock=str(stock), node=GNB))
    assert seen["ours"] >= 20
    assert seen["theirs"] >= 20


def test_the_module_refuses_to_open_after_flexrics_own(
    network: Network, sessions: Callable[..., Session]
) -> None:
    stock = stock_module()
    if stock is None:
        pytest.skip("FlexRIC's xapp_sdk was not built")
    session = sessions()
    session.call(
        "exec", f"import sys; sys.path.insert(0, {str(stock)!r}); import xapp_sdk; result = 0"
    )
    with pytest.raises(SdkError, match="xapp_sdk was imported before") as error:
        session.open(network.site)
    assert error.value.kind == "mismatch"


def test_another_build_of_flexric_is_refused(
    network: Network, sessions: Callable[..., Session], tmp_path: Path
) -> None:
    """The loader finds a library that is not, byte by byte, the one the module was built for."""
    name = "libe42_xapp_shared.so"
    library = Path(os.environ["FLEXRIC_BUILD"]) / "src/xApp" / name
    (tmp_path / name).write_bytes(library.read_bytes() + b"\0")
    session = sessions(LD_LIBRARY_PATH=str(tmp_path))
    with pytest.raises(
        SdkError, match=r"built for .*E2AP v\d\.\d\d, KPM v\d\.\d\d.*found E2AP"
    ) as error:
        session.open(network.site)
    assert error.value.kind == "mismatch"
    assert "make flexric-bridge" in error.value.detail


def test_service_models_that_flexric_cannot_load_are_refused(
    network: Network, sessions: Callable[..., Session], tmp_path: Path
) -> None:
    session = sessions()
    (tmp_path / "notes.txt").touch()

    def kind(**changes: Any) -> str:
        return refused(session, "open", connection(network.site, **changes)).kind

    assert kind(libraries=str(tmp_path)) == "mismatch"
    assert kind(address="localhost") == "bad-message"
    assert kind(blocks_per_s=0.0) == "bad-message"
    # FlexRIC was not initialised, and needs nothing of its configuration.
    session.call("open", connection(network.site, configuration=""))
    assert session.nodes()


def test_without_a_ric_open_gives_up(
    own_network: Network, sessions: Callable[..., Session]
) -> None:
    own_network.ric.kill()
    session = sessions()
    started = time.monotonic()
    with pytest.raises(SdkError, match="no near-RT RIC accepts an association") as error:
        session.open(own_network.site)
    assert error.value.kind == "absent"
    assert time.monotonic() - started < 60


def test_a_ric_without_nodes_is_distinguished_from_an_absent_one(
    own_network: Network, sessions: Callable[..., Session]
) -> None:
    """FlexRIC of 2023 aborts on it; later ones answer and stay available."""
    session = sessions()
    started = time.monotonic()
    with pytest.raises(SdkError) as error:
        session.open(own_network.site)
    assert time.monotonic() - started < 5
    if own_network.ric.alive:
        assert error.value.kind == "no-nodes"
        session.stop()
        own_network.add("gnb")
        later = sessions()
        later.open(own_network.site)
        assert set(later.nodes()) == {GNB}
    else:
        assert error.value.kind == "closed"
        assert "ended the association before it answered" in error.value.detail


def state_of(bridge: Program, *among: str) -> str:
    """The RIC's state as the bridge exports it, as soon as it is one of these."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        text = bridge.metrics()
        held = [each for each in among if f'ric_state{{state="{each}"}} 1.0' in text]
        if held:
            return held[0]
        assert time.monotonic() < deadline, [line for line in text.splitlines() if "state" in line]
        time.sleep(0.1)


def test_the_bridge_distinguishes_an_absent_ric_from_one_without_nodes(
    own_network: Network,
) -> None:
    own_network.ric.kill()
    bridge = start_bridge(own_network.site)
    try:
        assert state_of(bridge, "absent") == "absent"
        own_network.repair_ric()
        without = state_of(bridge, "without_nodes", "ended")
        assert (without == "without_nodes") == own_network.ric.alive
    finally:
        bridge.kill()


def test_the_bridge_leaves_nodes_time_to_reconnect_after_the_ric_returned(
    own_network: Network, sessions: Callable[..., Session]
) -> None:
    """The RIC returns 2 s after it is called, its node a second later: no setup request before."""
    own_network.add("gnb")
    own_network.ric.kill()
    session = sessions()
    session.send("open", connection(own_network.site, setup_delay_s=3.0))
    time.sleep(2)
    own_network.repair_ric()
    time.sleep(1)
    own_network.repair()
    session.receive()
    assert set(session.nodes()) == {GNB}


def test_a_bridge_that_waits_for_the_ric_stops_on_sigterm(
    own_network: Network, sessions: Callable[..., Session]
) -> None:
    session = sessions()
    session.send("open", connection(own_network.site, setup_delay_s=60.0, ric_was_away=True))
    time.sleep(1.5)
    started = time.monotonic()
    session.process.terminate()
    assert session.process.wait(10) == -signal.SIGTERM
    assert time.monotonic() - started < 2


@pytest.mark.shows("kills")
@pytest.mark.parametrize("call", ["collect", "control", "subscribe", "nodes"])
def test_every_call_fails_once_the_ric_has_died(
    own_network: Network, sessions: Callable[..., Session], call: str
) -> None:
    own_network.add("gnb")
    session = sessions()
    session.open(own_network.site)
    session.subscribe(GNB, RLC, 10)
    own_network.ric.kill()
    time.sleep(0.2)
    arguments = {
        "collect": (0.5,),
        "control": (GNB, TC, bytes(4), RR),
        "subscribe": (ReportRequest(GNB, MAC, 10),),
        "nodes": (),
    }[call]
    started = time.monotonic()
    with pytest.raises(SdkError) as error:
        for _ in range(100):  # queued reports come before the end
            session.call(call, *arguments)
    assert error.value.kind == "closed"
    assert time.monotonic() - started < 60


@pytest.mark.shows("kills")
def test_readers_of_reports_get_the_end_mark_when_the_ric_dies(
    own_network: Network, sessions: Callable[..., Session]
) -> None:
    own_network.add("gnb")
    session = sessions()
    session.open(own_network.site)
    session.send("collect", 60)
    time.sleep(0.2)
    own_network.ric.kill()
    with pytest.raises(SdkError) as error:
        session.receive()
    assert error.value.kind == "closed"


def test_a_node_that_does_not_answer_is_a_timeout(
    own_network: Network, sessions: Callable[..., Session]
) -> None:
    own_network.add("gnb")
    session = sessions()
    session.open(own_network.site)
    own_network.agents["gnb"].signal(signal.SIGSTOP)
    error = refused(session, "control", GNB, TC, bytes(4), RR)
    assert error.kind in {"timeout", "closed"}, "closed where the RIC itself gave up over it"
