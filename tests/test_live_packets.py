"""`gnb-lab live`: captures, packet logs and faults at capture points, and what is counted.

Needs a TUN device, and root or unprivileged user namespaces.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_runs import RNTI, Live, missing
from loop import PATIENCE_S, ROOT
from measuring import counted
from pcapng_file import Packet, read
from sojourn_demo.programs import free_address

LACKS = missing()
pytestmark = pytest.mark.skipif(LACKS is not None, reason=f"gnb-lab live cannot run here: {LACKS}")
PINGS = pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")

RAW_IP = 101
NANOSECONDS = b"\x09"
INBOUND, OUTBOUND = 1, 2
IF_NAME, IF_RESOLUTION, RECEIVED, DROPPED = 2, 9, 4, 5


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path)


def ping(count: int, every_s: float = 0.1, more: str = "") -> list[str]:
    """Pings the server; the command succeeds whatever is answered."""
    return ["sh", "-c", f"ping -c {count} -i {every_s} {more} $SOJOURN_SERVER || true"]


def echoes(packets: list[Packet], kind: int) -> list[int]:
    """Sequence numbers of the ICMP echo packets of a type, in their order."""
    icmp = [p.data[20:] for p in packets if p.data[0] == 0x45 and p.data[9] == 1]
    return [int.from_bytes(data[6:8], "big") for data in icmp if data[0] == kind]


def closed(summary: dict[str, Any]) -> dict[str, Any]:
    """The account of a run, in which no packet is missing."""
    packets: dict[str, Any] = summary["live"]["packets"]
    assert packets["downlink"]["unaccounted_packets"] == 0, packets
    assert packets["uplink"]["unaccounted_packets"] == 0, packets
    return packets


@PINGS
def test_captures_at_all_points_have_every_packet_once(live: Live) -> None:
    live.scenario["ues"].append({"rnti": 17922, "channel": {"fixed_mcs": 20}, "drbs": [{"id": 1}]})
    both, air = live.folder / "both.pcapng", live.folder / "air.pcapng"
    points = ("server-in", "ue-in", "ue-out", "server-out")
    captures = [word for point in points for word in ("--capture", f"{point}={both}")]
    before_ns = time.time_ns()
    done = live.run(*captures, "--capture", f"air={air}", command=ping(5))
    after_ns = time.time_ns()
    assert done.returncode == 0, done.stderr
    capture = read(both)
    assert capture.section[4].startswith(b"gnb-lab ")
    assert capture.section[3].startswith(b"Linux")
    assert capture.names() == [f"{point} {rnti}" for point in points for rnti in (RNTI, 17922)]
    for link_type, options in capture.interfaces:
        assert (link_type, options[IF_RESOLUTION]) == (RAW_IP, NANOSECONDS)
    sequence = [1, 2, 3, 4, 5]
    for point, kind, direction in [
        ("ue-in", 8, INBOUND),
        ("server-out", 8, OUTBOUND),
        ("server-in", 0, INBOUND),
        ("ue-out", 0, OUTBOUND),
    ]:
        packets = capture.of(f"{point} {RNTI}")
        assert echoes(packets, kind) == sequence, point
        assert {packet.direction for packet in packets} == {direction}
        number = capture.names().index(f"{point} {RNTI}")
        statistics = capture.statistics[number]
        assert int.from_bytes(statistics[RECEIVED], "little") == len(packets)
        assert int.from_bytes(statistics[DROPPED], "little") == 0
    assert all(before_ns <= packet.time_ns <= after_ns for packet in capture.packets)
    sent, arrived = capture.of(f"server-in {RNTI}"), capture.of(f"ue-out {RNTI}")
    delays_ns = [b.time_ns - a.time_ns for a, b in zip(sent, arrived, strict=True)]
    assert all(delay_ns > 5_000_000 for delay_ns in delays_ns), "the core network alone"
    counts = [int(p.comment.split()[2].rstrip(";")) for p in read(air).of(f"air {RNTI}")]
    assert counts == list(range(len(counts))), "PDCP COUNT"
    assert echoes(read(air).of(f"air {RNTI}"), 0) == sequence
    assert f"{both}: packets {len(capture.packets)}, left out 0" in done.stderr
    closed(live.summary())


@PINGS
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_a_capture(live: Live) -> None:
    path = live.folder / "a.pcapng"
    assert live.run("--capture", f"air={path}", command=ping(3)).returncode == 0
    fields = ["-T", "fields", "-e", "icmp.seq", "-e", "frame.comment", "-e", "frame.interface_name"]
    shown = subprocess.run(
        ["tshark", "-r", str(path), "-Y", "icmp", *fields],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert [row[0].split(",")[0] for row in rows] == ["1", "2", "3"]
    assert all("PDCP COUNT" in row[1] and row[2] == f"air {RNTI}" for row in rows)


def test_bytes_are_unchanged_under_all_faults_and_no_packet_is_missing(live: Live) -> None:
    """The kernels find what is corrupted, and send again what is lost."""
    faults = (
        "server-in:loss=0.01,duplicate=0.02,corrupt=0.01,reorder=0.02,reorder_ms=3",
        "ue-in:burst_start=0.002,burst_end=0.3,corrupt=0.01,delay_ms=2",
        "ue-out:loss=0.005,corrupt=0.01,duplicate=0.01",
        "server-out:reorder=0.02,outage_at_s=1,outage_s=0.1,outage_every_s=2",
    )
    options = [word for fault in faults for word in ("--fault", fault)]
    summary = live.transfer(2_000_000, "SOJOURN_SERVER", *options)
    packets, points = closed(summary), summary["live"]["capture_points"]
    for point, kinds in {
        "server_in": ("lost", "duplicated", "corrupted", "reordered"),
        "ue_in": ("corrupted", "delayed"),
        "ue_out": ("corrupted", "duplicated"),
        "server_out": ("reordered",),
    }.items():
        for kind in kinds:
            assert points[point][f"{kind}_packets"] > 0, (point, kind)
    assert packets["downlink"]["read_packets"] > 2_000_000 / 1500
    assert packets["downlink"]["dropped_by_faults_packets"] > 0


@PINGS
def test_the_same_seed_loses_the_same_packets(live: Live) -> None:
    """Faults are of the seed and the number of the packet, not of this machine."""
    log = live.folder / "log.jsonl"
    options = ("--fault", "ue-in:loss=0.3", "--packet-log", f"ue-in={log}")

    def verdicts(*more: str) -> list[str]:
        done = live.run(*options, *more, command=ping(30, 0.02))
        assert done.returncode == 0, done.stderr
        closed(live.summary())
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert lines[-1] == {"received_packets": len(lines) - 1, "left_out_packets": 0}
        icmp = [line["verdict"] for line in lines[:-1] if line["protocol"] == 1]
        assert len(icmp) == 30
        return icmp

    first = verdicts()
    assert {"lost", "passed"} == set(first)
    assert verdicts() == first
    assert verdicts("--seed", "77") != first


@PINGS
def test_delay_outage_and_duplicates_are_what_ping_sees(live: Live) -> None:
    done = live.run("--fault", "ue-out:delay_ms=80,duplicate=1", command=ping(5, 0.2))
    assert done.returncode == 0, done.stderr
    assert "+5 duplicates" in done.stdout or "+4 duplicates" in done.stdout, done.stdout
    least_ms = float(done.stdout.rsplit("=", 1)[1].split("/")[0])
    assert least_ms > 80.0 + 10.0
    closed(live.summary())
    done = live.run("--fault", "ue-in:outage_s=1000", command=ping(3, 0.2, "-W 1"))
    assert "100% packet loss" in done.stdout
    summary = live.summary()
    assert summary["live"]["capture_points"]["ue_in"]["outage_packets"] >= 3
    assert closed(summary)["uplink"]["entered_gnb_packets"] == 0


@PINGS
def test_a_packet_log_has_a_line_for_each_packet(live: Live) -> None:
    log = live.folder / "log.jsonl"
    points = ("ue-in", "air", "ue-out")
    logs = [word for point in points for word in ("--packet-log", f"{point}={log}")]
    assert live.run(*logs, command=ping(3)).returncode == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    of = {point: [line for line in lines if line.get("capture_point") == point] for point in points}
    assert {point: len([e for e in of[point] if e["protocol"] == 1]) for point in points} == {
        "ue-in": 3, "air": 3, "ue-out": 3,
    }  # fmt: skip
    request = next(line for line in of["ue-in"] if line["protocol"] == 1)
    assert (request["rnti"], request["flow"], request["length_bytes"]) == (RNTI, f"host@{RNTI}", 84)
    assert (request["source"], request["destination"]) == ("10.45.70.1:0", "198.51.100.1:0")
    answer = next(line for line in of["ue-out"] if line["protocol"] == 1)
    assert answer["sojourn_us"] > 5_000
    assert [line["pdcp_count"] for line in of["air"]] == list(range(len(of["air"])))


def test_a_full_packet_log_says_what_it_left_out(live: Live) -> None:
    log = live.folder / "log.jsonl"
    options = ("--packet-log", f"ue-out={log}", "--packet-log-limit", "1")
    live.transfer(12_000_000, "SOJOURN_SERVER", *options)
    *lines, last = log.read_text().splitlines()
    assert log.stat().st_size < 1_001_000
    left = json.loads(last)
    assert left["left_out_packets"] > 0
    assert left["received_packets"] == len(lines) + left["left_out_packets"]
    (file,) = live.summary()["live"]["files"]
    assert file["option"] == "--packet-log"
    assert file["left_out_packets"] == left["left_out_packets"]


@PINGS
def test_packets_for_and_of_a_ue_that_is_not_attached_are_counted(live: Live) -> None:
    live.scenario["ues"][0]["join_at_s"] = 500
    server = "ping -c 5 -i 0.2 -W 1 $SOJOURN_UE"
    done = live.run("--server", server, command=ping(5, 0.2, "-W 1"))
    assert "100% packet loss" in done.stdout
    summary = live.summary()
    bearer = summary["bearers"][0]
    assert bearer["unattached_packets"] > 0
    assert bearer["unattached_uplink_packets"] >= 5
    packets = closed(summary)
    assert packets["gnb"]["downlink"]["unattached"] == bearer["unattached_packets"]
    assert "to a UE that is not attached" in done.stderr


@PINGS
def test_late_slots_are_a_metric_beside_those_of_the_gateway(live: Live) -> None:
    address = free_address()
    command = live.arguments("--metrics-listen", address, command=ping(200, 0.05))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        until_s, text = time.monotonic() + PATIENCE_S, ""
        while not counted(text, "sojourn_live_slots_total") and time.monotonic() < until_s:
            time.sleep(0.2)
            with suppress(OSError):
                url = f"http://{address}/metrics"
                text = urllib.request.urlopen(url, timeout=5.0).read().decode()
        process.terminate()
    assert counted(text, "sojourn_live_slots_total") > 0
    assert counted(text, "sojourn_live_late_slots_total") <= counted(
        text, "sojourn_live_slots_total"
    )
    assert "sojourn_live_slot_lateness_max_seconds{" in text
    assert 'sojourn_gnb_dropped_packets_total{node="' in text
    lateness = live.summary()["live"]["lateness"]
    assert lateness["worst_slot_us"] >= 0
    assert lateness["busy_slots"] > 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--fault", "server-in:los=1"), 'key "los"; expected one of loss, burst_start'),
        (("--fault", "air:loss=1"), "capture point air: has no faults"),
        (("--capture", "radio=a"), 'capture point "radio"; expected one of server-in'),
        (("--capture", "air=/nowhere/a"), "--capture: /nowhere/a: No such file"),
        (("--capture", "air=/dev/full"), "--capture: /dev/full: No space left"),
        (("--relay", "--capture", "air=a"), "cannot be used with"),
    ],
)
def test_mistakes_in_options_name_what_was_expected(
    live: Live, options: tuple[str, ...], problem: str
) -> None:
    done = live.run(*options, command=["true"])
    assert done.returncode != 0
    assert problem in done.stderr
    assert "panicked" not in done.stderr


def test_seconds_of_the_hour_account_for_every_packet(tmp_path: Path) -> None:
    """What `make live-hour` runs for an hour, with its faults and its changes of pipelines."""
    command = [sys.executable, "benchmarks/live_hour.py", "--out", str(tmp_path)]
    command += ["--seconds", "12", "--every-s", "1", "--warm-s", "2"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    result = json.loads((tmp_path / "live_hour.json").read_text())
    assert result["problems"] == [], done.stderr
    # In seconds memory still grows to its size.
    assert done.returncode in (0, 1, 3), done.stderr
    assert done.returncode != 1 or result["verdict"] == "rising"
    assert result["transactions"] >= 5
    for way in ("downlink", "uplink"):
        account = result["packets"][way]
        assert account["unaccounted_packets"] == 0
        assert account["dropped_by_faults_packets"] > 0
        assert account["duplicated_packets"] > 0
    assert all(traffic["tcp_down_bytes"] > 0 for traffic in result["traffic"].values())
