"""flexric-node at a real near-RT RIC: reports and controls arrive byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flexric_bridge.records import kpm_report
from flexric_processes import PATIENCE_S, Network, environment, make_site
from ric import sm
from sdk_session import Report, Session

ROOT = Path(__file__).parents[3]
NODE = "gnb-001-01-0xe00"
KPM, MAC, RLC, TC = 2, 142, 143, 146
OIDS = {MAC: sm.MAC_OID, RLC: sm.RLC_OID, TC: sm.TC_V0_OID}
MEASUREMENTS = ("DRB.UEThpDl", "RRU.PrbTotDl", "DRB.PdcpSduVolumeDL", "DRB.Sorcery")


def control_vectors() -> list[str]:
    """The controls of the service model's vectors and, if present, those recorded from FlexRIC
    (outside the repository), in hexadecimal."""
    shared = Path(os.environ.get("SOJOURN_SHARED", ROOT.parent / "shared"))
    files = (
        ROOT / "e2sm-tc-spec" / "vectors" / "v0.jsonl",
        shared / "facts" / "tc_v0_vectors.jsonl",
    )
    vectors = [
        json.loads(line)
        for file in files
        if file.is_file()
        for line in file.read_text().splitlines()
    ]
    return [v["hex"] for v in vectors if v["kind"] in ("control", "ctrl_msg")]


@dataclass(frozen=True)
class LabNode:
    """A running flexric-node."""

    network: Network
    process: subprocess.Popen[bytes]
    controls: Path
    reports: Path
    log: Path
    temporary: Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabNode]:
    """The lab's default cell as the only node of a RIC."""
    program = Path(sys.executable).parent / "flexric-node"
    if not program.is_file():
        pytest.skip(f"there is no {program}; make flexric-node builds it")
    folder = tmp_path_factory.mktemp("node")
    # The address is the process's and the number's; the numbers of other tests begin at 0.
    network = Network(make_site(folder / "ric", 63))
    log, controls, made = (folder / name for name in ("node.log", "controls.hex", "reports.hex"))
    (temporary := folder / "tmp").mkdir()
    command = [
        *(str(program), str(ROOT / "lab/scenarios/default.yaml")),
        *("--ric", network.site.address, "--libraries", str(network.site.libraries)),
        *("--record-controls", str(controls), "--record-reports", str(made)),
    ]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**environment(), "TMPDIR": str(temporary)},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline() or "{}")
            assert ready.get("event") == "ready", log.read_text()
            _wait_for(log, "E2 SETUP RESPONSE rx")
            yield LabNode(network, process, controls, made, log, temporary)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0, log.read_text()
        finally:
            process.kill()
            network.stop()


def _wait_for(log: Path, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while text not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, f"no {text!r} in {log}"
        time.sleep(0.02)


@pytest.fixture
def session(lab: LabNode, sessions: Callable[..., Session]) -> Session:
    """An SDK at the lab's RIC."""
    made = sessions()
    made.open(lab.network.site)
    return made


def collect(session: Session, count: int) -> list[Report]:
    """Wait for `count` reports or more."""
    reports: list[Report] = []
    deadline = time.monotonic() + 3 * PATIENCE_S
    while len(reports) < count:
        assert time.monotonic() < deadline, f"{len(reports)} reports, expected {count}"
        reports += session.collect(0.5)
    return reports


def test_the_ric_sees_the_lab_with_the_functions_it_serves(session: Session) -> None:
    (node,) = session.nodes().values()
    assert (node.id, node.type, node.mcc, node.mnc, node.nb_id) == (NODE, "gnb", 1, 1, 0xE00)
    announced = {function.id: function.oid for function in node.functions}
    # KPM's is that of the version that FlexRIC was built with.
    assert sm.kpm.version_of(announced.pop(KPM)) is not None
    assert announced == OIDS
    kpm = next(function for function in node.functions if function.id == KPM)
    assert b"DRB.UEThpDl" in kpm.definition


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(RLC, marks=pytest.mark.shows("RLC")),
        pytest.param(MAC, marks=pytest.mark.shows("MAC")),
        pytest.param(TC, marks=pytest.mark.shows("TC")),
    ],
)
def test_reports_are_the_worlds_own_byte_for_byte(
    lab: LabNode, session: Session, function: int
) -> None:
    before = len(lab.reports.read_text().splitlines())
    session.subscribe(NODE, function, 1)
    reports = collect(session, 500)
    made = set(lab.reports.read_text().splitlines()[before:])
    assert all(report.message.hex() in made for report in reports)
    # None is sent twice.
    assert len({report.collected_at_us for report in reports}) == len(reports)


@pytest.mark.shows("KPM")
def test_kpm_is_measured_and_what_the_lab_lacks_is_left_out(session: Session) -> None:
    session.subscribe(NODE, KPM, 100, MEASUREMENTS)
    kpm = [_kpm(report.message) for report in collect(session, 5)]
    for values in kpm:
        assert set(values) == set(MEASUREMENTS) - {"DRB.Sorcery"}
    # The default cell gives its only download some 40 Mbit/s, on nearly every resource block.
    throughput = sorted(values["DRB.UEThpDl"] for values in kpm)
    assert 30_000 < throughput[len(kpm) // 2] < 60_000
    assert max(values["RRU.PrbTotDl"] for values in kpm) > 1_000


def _kpm(message: bytes) -> dict[str, float]:
    """The values of the only UE, whose RNTI stands for its AMF-UE-NGAP-ID."""
    report = kpm_report(message)
    ((ids, values),) = report.ues
    assert (report.period_ms, ids.amf_ue_ngap_id) == (100, 17921)
    return values


def test_service_models_of_another_flexric_are_refused(lab: LabNode, tmp_path: Path) -> None:
    libraries = shutil.copytree(lab.network.site.libraries, tmp_path / "models")
    tc = libraries / "libtc_sm.so"
    code, note = tc.read_bytes(), b"GNU\0"  # the build ID's 20 bytes follow the owner's name
    at = code.index(note, code.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")) + len(note)
    tc.write_bytes(code[:at] + bytes(20) + code[at + 20 :])
    program = Path(sys.executable).parent / "flexric-node"
    scenario = ROOT / "lab/scenarios/default.yaml"
    ended = subprocess.run(
        [program, scenario, "--ric", lab.network.site.address, "--libraries", libraries],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 2
    assert f"{tc}: is of another build of FlexRIC (build ID 000000000000)" in ended.stderr
    assert code[at : at + 6].hex() in ended.stderr


def test_a_node_that_is_killed_leaves_nothing_behind(lab: LabNode) -> None:
    assert lab.process.poll() is None
    assert list(lab.temporary.iterdir()) == []


@pytest.mark.shows("TC")
def test_every_control_arrives_as_it_was_sent(lab: LabNode, session: Session) -> None:
    before = len(lab.controls.read_text().splitlines())
    sent = control_vectors()
    assert len(sent) > 20
    for vector in sent:
        # The outcome of v0 is always OK, also if the pipeline refuses.
        assert session.control(NODE, bytes.fromhex(vector)) in (b"", bytes(4))
    assert lab.controls.read_text().splitlines()[before:] == sent
    assert lab.process.poll() is None
    assert "a control was refused" in lab.log.read_text()


@pytest.mark.shows("TC")
def test_controls_on_the_way_at_once_keep_their_order(lab: LabNode, session: Session) -> None:
    before = len(lab.controls.read_text().splitlines())
    sent = control_vectors() * 10
    session.subscribe(NODE, RLC, 1)
    for start in range(0, len(sent), 16):
        some = [bytes.fromhex(vector) for vector in sent[start : start + 16]]
        assert session.controls(NODE, some) == (True,) * len(some)
    assert lab.controls.read_text().splitlines()[before:] == sent
