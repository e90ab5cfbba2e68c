"""Many UEs and many controls through a real near-RT RIC.

Sizes are small, because all tests run with each FlexRIC. `--ues 240` are more UEs than a report
holds, `--controls 10000` take requests to five digits; both at once are more than a RIC carries.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import e2sm_tc
import pytest
import yaml
from flexric_bridge.records import is_full, kpm_report
from flexric_processes import LAB, Network, make_site
from ric.sm import MAC_OID, RLC_OID, mac, rlc
from sdk_session import Report, Session
from test_tc_v1 import Node, action, node_at, split, trigger, unread_in_pipes

pytestmark = [pytest.mark.shows("TC v1"), pytest.mark.timeout(0)]

LAB_NODE = "gnb-001-01-0xe00"
KPM, MAC, RLC = 2, 142, 143
FIRST_RNTI, PER_UE_KBPS = 0x4601, 100
CYCLES = 20


def scenario(ues: int) -> dict[str, object]:
    """A cell in which each UE has a small download and a ping, whose replies go up."""
    return {
        "name": "many UEs",
        "duration_s": 36_000,
        "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
        "ues": [
            {"rnti": FIRST_RNTI, "count": ues, "channel": {"fixed_mcs": 20}, "drbs": [{"id": 1}]}
        ],
        "flows": [
            {"name": "load", "kind": "udp_cbr", "rnti": "each", "rate_kbps": PER_UE_KBPS},
            {"name": "ping", "kind": "ping", "rnti": "each", "interval_ms": 100},
        ],
    }


@pytest.fixture(scope="module")
def ues(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--ues"))


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory, ues: int) -> Iterator[Node]:
    """A cell with many UEs, alone at its RIC."""
    folder: Path = tmp_path_factory.mktemp("crowd")
    network = Network(make_site(folder / "ric", 58, tc_v1=True))
    cell = folder / "cell.yaml"
    cell.write_text(yaml.safe_dump(scenario(ues)))
    controls = folder / "controls.hex"
    command = [
        *(str(LAB), str(cell), "--ric", network.site.address),
        *("--libraries", str(network.site.libraries), "--record-controls", str(controls)),
    ]
    with node_at(network, command, folder, "E2 SETUP RESPONSE rx") as process:
        yield Node(network, controls, controls, lambda: process.poll() is None, process.pid)


@pytest.fixture
def session(crowded: Node, sessions: Callable[..., Session]) -> Session:
    made = sessions()
    made.open(crowded.network.site)
    return made


@pytest.mark.parametrize(
    ("function", "oid", "most"),
    [
        pytest.param(RLC, RLC_OID, 214, id="RLC", marks=pytest.mark.shows("RLC")),
        pytest.param(MAC, MAC_OID, 185, id="MAC", marks=pytest.mark.shows("MAC")),
    ],
)
def test_every_ue_is_in_each_report_or_in_two_that_follow_each_other(
    session: Session, ues: int, function: int, oid: str, most: int
) -> None:
    handle = session.subscribe(LAB_NODE, function, 2)
    got = session.collect_until(lambda reports: len(reports[handle]) >= CYCLES)[handle]
    decode = (rlc if oid == RLC_OID else mac).decode
    named = [set(decode(report.message).records["rnti"].tolist()) for report in got]
    everyone = set(range(FIRST_RNTI, FIRST_RNTI + ues))
    assert {len(each) for each in named} == {min(ues, most)}
    assert all(is_full(oid, report.message) == (ues >= most) for report in got)
    together = [one | two for one, two in itertools.pairwise(named)]
    assert all(each == everyone for each in (named if ues <= most else together))


def test_uplink_and_downlink_of_each_ue_go_on_beside_one_another(
    session: Session, ues: int
) -> None:
    handle = session.subscribe(LAB_NODE, RLC, 10)
    first: dict[int, tuple[int, int]] = {}
    last: dict[int, tuple[int, int]] = {}

    def all_moved(reports: dict[int, list[Report]]) -> bool:
        for report in reports.pop(handle, []):
            rows = rlc.decode(report.message).records
            counted = zip(
                rows["rnti"].tolist(),
                rows["txsdu_bytes"].tolist(),
                rows["rxsdu_bytes"].tolist(),
                strict=True,
            )
            for rnti, down, up in counted:
                first.setdefault(rnti, (down, up))
                last[rnti] = (down, up)
        return len(last) == ues and all(
            down > first[rnti][0] and up > first[rnti][1] for rnti, (down, up) in last.items()
        )

    session.collect_until(all_moved)


@pytest.mark.shows("KPM")
def test_kpm_reports_each_ue_in_turn(session: Session, ues: int) -> None:
    """FlexRIC's encoder has room for a few of them, and ends a node that reports more."""
    handle = session.subscribe(LAB_NODE, KPM, 20, ("DRB.UEThpDl", "DRB.PdcpSduVolumeDL"))
    seen: set[int | None] = set()

    def everyone(reports: dict[int, list[Report]]) -> bool:
        for report in reports.pop(handle, []):
            for ids, values in kpm_report(report.message).ues:
                assert "DRB.PdcpSduVolumeDL" in values
                seen.add(ids.amf_ue_ngap_id)
        return seen == set(range(FIRST_RNTI, FIRST_RNTI + ues))

    session.collect_until(everyone)


@pytest.mark.parametrize("style", ["pipeline_status", "flow_inventory"])
def test_each_cycle_of_reports_has_the_bearers_of_all_ues(
    session: Session, ues: int, style: str
) -> None:
    """A report that does not fit comes in parts, which have one time of collection."""
    when = trigger({"periodic": {"period_ms": 100}})
    handle = session.subscribe_v1(LAB_NODE, when, action(style))
    got = session.collect_until(lambda reports: len(reports[handle]) >= CYCLES)[handle]
    cycles: defaultdict[int, list[int]] = defaultdict(list)
    for report in got:
        header, message = split(report.message)
        at_us = e2sm_tc.decode("indication-header", header)["collected_at_us"]
        items = e2sm_tc.decode("indication", message)[style]
        cycles[at_us] += [item["bearer"]["ue"]["rnti"] for item in items]
    whole = list(cycles.values())[:-1]  # of the last one there may be parts to come
    assert len(whole) >= 2
    for named in whole:
        assert sorted(named) == list(range(FIRST_RNTI, FIRST_RNTI + ues))


def test_every_control_under_load_is_acknowledged_and_has_its_own_outcome(
    crowded: Node, session: Session, request: pytest.FixtureRequest
) -> None:
    number = int(request.config.getoption("--controls"))
    header = e2sm_tc.encode("control-header", {"style": 4, "correlation_id": 1})
    session.subscribe_v1(LAB_NODE, trigger("on_change"), b"")
    status = trigger({"periodic": {"period_ms": 10}})
    session.subscribe_v1(LAB_NODE, status, action("pipeline_status"))
    session.subscribe(LAB_NODE, RLC, 1)
    for n in range(number):
        lease_ms = 60_000 + n % 1_000
        lease = {"node_lease": {"owner": "load", "lease_ms": lease_ms}}
        answer = session.control_v1(LAB_NODE, header, e2sm_tc.encode("control", lease))
        outcome = e2sm_tc.decode("control-outcome", answer)
        assert outcome["accepted"]["lease_ms"] == lease_ms, n
    assert len(crowded.controls.read_text().splitlines()) >= number
    assert unread_in_pipes(crowded.pid) == 0
    # The agent's only thread still serves its timers.
    assert session.collect(0.5)
    assert crowded.alive()
