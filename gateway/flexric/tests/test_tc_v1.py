"""E2SM-TC v1 through a real near-RT RIC: its bytes arrive unchanged in both directions."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import e2sm_tc
import pytest
from echo_node import build_echo_node
from flexric_bridge.sdk import V1_HEAD, V1_REFUSED
from flexric_processes import LAB, PATIENCE_S, TC_V1_MODEL, Network, environment, make_site
from ric.sm import TC_V1_OID
from sdk_session import TC_V1, Session

pytestmark = pytest.mark.shows("TC v1")

ROOT = Path(__file__).parents[3]
LAB_NODE, ECHO_NODE = "gnb-001-01-0xe00", "gnb-001-01-0xec0"
LONGEST_OUTCOME = 6144
"""Bytes that the service model has for one: more than any ControlOutcome."""
TOGETHER = 16
VECTORS = [
    json.loads(line) for line in (ROOT / "e2sm-tc-spec/vectors/v1.jsonl").read_text().splitlines()
]


def vectors(kind: str) -> list[bytes]:
    return [bytes.fromhex(vector["hex"]) for vector in VECTORS if vector["kind"] == kind]


def trigger(value: Any) -> bytes:
    return e2sm_tc.encode("event-trigger", value)


def action(style: str) -> bytes:
    return e2sm_tc.encode("action-definition", {"style": style, "bearers": [], "top_flows": 8})


def split(report: bytes) -> tuple[bytes, bytes]:
    """Header and message of a report as the SDK delivers it."""
    (length,) = V1_HEAD.unpack_from(report)
    end = V1_HEAD.size + length
    return report[V1_HEAD.size : end], report[end:]


@dataclass(frozen=True)
class Node:
    """A running E2 node with E2SM-TC v1, alone at its RIC."""

    network: Network
    controls: Path
    reports: Path
    alive: Callable[[], bool]
    pid: int


@contextmanager
def node_at(
    network: Network, command: list[str], folder: Path, ready: str
) -> Iterator[subprocess.Popen[bytes]]:
    log = folder / "node.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=errors, stderr=errors, env=environment()) as process,
    ):
        try:
            deadline = time.monotonic() + PATIENCE_S
            while ready not in log.read_text(errors="replace"):
                assert time.monotonic() < deadline, f"no {ready!r} in {log}"
                time.sleep(0.02)
            yield process
            process.terminate()
            assert process.wait(PATIENCE_S) == 0, log.read_text(errors="replace")
            assert network.ric.alive
        finally:
            process.kill()
            network.stop()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The lab's default cell."""
    folder = tmp_path_factory.mktemp("v1")
    network = Network(make_site(folder / "ric", 62, tc_v1=True))
    controls, reports = folder / "controls.hex", folder / "reports.hex"
    command = [
        *(str(LAB), str(ROOT / "lab/scenarios/default.yaml"), "--ric", network.site.address),
        *("--libraries", str(network.site.libraries)),
        *("--record-controls", str(controls), "--record-reports", str(reports)),
    ]
    with node_at(network, command, folder, "E2 SETUP RESPONSE rx") as process:
        yield Node(network, controls, reports, lambda: process.poll() is None, process.pid)


@pytest.fixture
def session(lab: Node, sessions: Callable[..., Session]) -> Session:
    made = sessions()
    made.open(lab.network.site)
    return made


def lines(file: Path) -> list[tuple[bytes, ...]]:
    """The octet strings of each line of a record."""
    return [tuple(map(bytes.fromhex, line.split(" "))) for line in file.read_text().splitlines()]


def test_the_node_announces_its_own_definition(session: Session) -> None:
    (node,) = session.nodes().values()
    (function,) = (each for each in node.functions if each.oid == TC_V1_OID)
    assert function.id == TC_V1
    definition = e2sm_tc.decode("ran-function-definition", function.definition)
    assert definition["oid"] == TC_V1_OID
    assert "deficit_round_robin" in definition["capabilities"]["schedulers"]


# Before the vectors, some of which take the node's lease for others.
def test_equal_controls_have_an_outcome_each(session: Session) -> None:
    session.subscribe_v1(LAB_NODE, trigger("on_change"), b"")
    header = e2sm_tc.encode("control-header", {"style": 4, "correlation_id": 9})
    lease = {"node_lease": {"owner": "test", "lease_ms": 60_000}}
    taken = e2sm_tc.encode("control", lease)
    given_up = e2sm_tc.encode("control", {"node_lease": {"owner": "test", "lease_ms": None}})
    for message, lease_ms in ((taken, 60_000), (taken, 60_000), (given_up, None)):
        outcome = e2sm_tc.decode("control-outcome", session.control_v1(LAB_NODE, header, message))
        assert outcome["accepted"]["lease_ms"] == lease_ms


def test_every_control_reaches_the_pipeline_and_its_outcome_comes_back(
    lab: Node, session: Session
) -> None:
    session.subscribe_v1(LAB_NODE, trigger("on_change"), b"")
    before = len(lines(lab.controls))
    headers = vectors("control-header")
    sent = [(headers[at % len(headers)], each) for at, each in enumerate(vectors("control"))]
    sent.append((headers[0], b"\xff no message of v1"))
    outcomes = [e2sm_tc.decode("control-outcome", session.control_v1(LAB_NODE, *c)) for c in sent]
    assert lines(lab.controls)[before:] == sent
    assert outcomes[-1]["refused"]["cause"] == "malformed"
    assert lab.alive()


def test_subscriptions_arrive_as_they_were_sent(lab: Node, session: Session) -> None:
    before = len(lines(lab.controls))
    sent = [
        (when, what) for when in vectors("event-trigger") for what in vectors("action-definition")
    ]
    for when, what in sent:
        session.unsubscribe(session.subscribe_v1(LAB_NODE, when, what))
    assert lines(lab.controls)[before:] == sent
    assert lab.alive()


@pytest.mark.parametrize("style", ["pipeline_status", "flow_inventory"])
def test_reports_are_the_worlds_own(lab: Node, session: Session, style: str) -> None:
    before = len(lines(lab.reports))
    handle = session.subscribe_v1(LAB_NODE, trigger({"periodic": {"period_ms": 10}}), action(style))
    got = session.collect_until(lambda reports: len(reports[handle]) >= 100)[handle]
    made = set(lines(lab.reports)[before:])
    received = [split(report.message) for report in got]
    assert set(received) <= made
    for header, message in received:
        assert e2sm_tc.decode("indication-header", header)["collected_at_us"] > 0
        assert style in e2sm_tc.decode("indication", message)


def test_a_threshold_is_reported_when_it_is_crossed(session: Session) -> None:
    crossed = {"quantity": "head_of_line_age_us", "above": 1, "hysteresis": 0}
    when = trigger({"threshold": {**crossed, "min_interval_ms": 50}})
    # A transparent pipeline holds nothing.
    session.subscribe_v1(LAB_NODE, trigger("on_change"), b"")
    handle = session.subscribe_v1(LAB_NODE, when, action("events"))
    header = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 3})
    transaction = {
        "bearer": {"ue": {"rnti": 17921}, "drb": 1},
        "expected_revision": None,
        "lease_ms": 3_000,
        "dry_run": False,
        "as_safe": False,
        "change": {"replace": e2sm_tc.pipeline("fq_codel", {})},
        "owner": None,
    }
    message = e2sm_tc.encode("control", {"transaction": transaction})
    outcome = e2sm_tc.decode("control-outcome", session.control_v1(LAB_NODE, header, message))
    assert outcome["accepted"]["lease_ms"] is not None
    (first, *_) = session.collect_until(lambda reports: bool(reports[handle]))[handle]
    (event, *_) = e2sm_tc.decode("indication", split(first.message)[1])["events"]
    assert event["kind"]["threshold_crossed"]["quantity"] == "head_of_line_age_us"


def test_a_refused_subscription_says_why(session: Session) -> None:
    handle = session.subscribe_v1(LAB_NODE, b"\xff nothing of v1", action("events"))
    (report, *_) = session.collect_until(lambda reports: bool(reports[handle]))[handle]
    header, reason = split(report.message)
    assert header == V1_REFUSED
    assert b"event trigger" in reason, reason


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that gives back what it gets."""
    folder = tmp_path_factory.mktemp("echo")
    network = Network(make_site(folder / "ric", 60, tc_v1=True))
    (own := folder / "own").mkdir()
    shutil.copy(TC_V1_MODEL, own)
    definition = folder / "definition"
    definition.write_bytes(vectors("ran-function-definition")[-1])
    command = [str(build_echo_node(folder)), network.site.address, f"{own}/", str(definition)]
    with node_at(network, command, folder, "E2 SETUP RESPONSE rx") as process:
        yield Node(network, definition, definition, lambda: process.poll() is None, process.pid)


@pytest.fixture
def echoed(echo: Node, sessions: Callable[..., Session]) -> Session:
    made = sessions()
    made.open(echo.network.site)
    return made


def check_echo(echoed: Session, header: bytes, handles: dict[int, bytes]) -> None:
    """Each subscription reports its own bytes."""
    got = echoed.collect_until(lambda reports: set(reports) >= set(handles))
    for handle, vector in handles.items():
        assert split(got[handle][0].message) == (header, vector)
        echoed.unsubscribe(handle)


def test_every_vector_comes_back_as_it_was_sent(echo: Node, echoed: Session) -> None:
    (node,) = echoed.nodes().values()
    (function,) = node.functions
    assert function.definition == vectors("ran-function-definition")[-1]
    echoed.subscribe_v1(ECHO_NODE, trigger("on_change"), b"")
    everything = [bytes.fromhex(vector["hex"]) for vector in VECTORS]
    for vector in everything:
        if len(vector) <= LONGEST_OUTCOME:
            assert echoed.control_v1(ECHO_NODE, vector, vector) == vector
    headers = itertools.cycle(vectors("indication-header") + vectors("event-trigger"))
    for start in range(0, len(everything), TOGETHER):
        header, some = next(headers), everything[start : start + TOGETHER]
        handles = {echoed.subscribe_v1(ECHO_NODE, header, vector): vector for vector in some}
        check_echo(echoed, header, handles)
    assert echo.alive()


def test_the_longest_report_passes(echoed: Session) -> None:
    longest = bytes(range(256)) * 120  # 30 KiB; FlexRIC receives 32
    handle = echoed.subscribe_v1(ECHO_NODE, b"\x01", longest)
    (report, *_) = echoed.collect_until(lambda reports: bool(reports[handle]))[handle]
    assert split(report.message) == (b"\x01", longest)


def unread_in_pipes(pid: int) -> int:
    """Bytes that wait in the pipes that a process reads."""
    waiting = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        flags = Path(f"/proc/{pid}/fdinfo/{descriptor.name}").read_text().split()[3]
        name = str(descriptor.readlink())
        if int(flags, 8) & os.O_ACCMODE == os.O_RDONLY and name.startswith("pipe:"):
            with descriptor.open("rb", buffering=0) as pipe:
                size = fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0))
            waiting += struct.unpack("i", size)[0]
    return waiting


def test_outcomes_with_numbers_of_five_digits_leave_nothing_in_the_agent(
    echo: Node, echoed: Session
) -> None:
    """FlexRIC's agent writes the digits of a request into a pipe and reads four bytes of them: a
    full pipe would block its only thread for good."""
    header = vectors("control-header")[0]
    handle = echoed.subscribe_v1(ECHO_NODE, trigger("on_change"), b"")
    while handle < 10_000:
        for _ in range(500):
            echoed.control_v1(ECHO_NODE, header, b"number")
        echoed.unsubscribe(handle)
        handle = echoed.subscribe_v1(ECHO_NODE, trigger("on_change"), b"")
    for number in range(100):
        message = number.to_bytes(4)
        assert echoed.control_v1(ECHO_NODE, header, message) == message
    assert unread_in_pipes(echo.pid) == 0
    assert echo.alive()


def test_an_agent_without_tc_function_announces_none(
    own_network_v1: Network, sessions: Callable[..., Session]
) -> None:
    own_network_v1.add("gnb")
    made = sessions()
    made.open(own_network_v1.site)
    (node,) = made.nodes().values()
    (function,) = (each for each in node.functions if each.id == TC_V1)
    with pytest.raises(e2sm_tc.CodecError):
        e2sm_tc.decode("ran-function-definition", function.definition)
    handle = made.subscribe_v1(node.id, trigger("on_change"), action("events"))
    (report, *_) = made.collect_until(lambda reports: bool(reports[handle]))[handle]
    assert split(report.message) == (V1_REFUSED, b"the node has no TC function")


@pytest.fixture
def own_network_v1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A RIC with E2SM-TC v1, and no node."""
    made = Network(make_site(tmp_path_factory.mktemp("flexric"), 59, tc_v1=True))
    try:
        yield made
    finally:
        made.stop()
