"""What the programs of a load say is read as they say it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from sojourn_demo import DemoError
from sojourn_demo.load import iperf, irtt, network_quality, ping
from sojourn_demo.load.flow import read_received
from sojourn_demo.load.radio_clock import RadioClock
from sojourn_demo.load.rows import in_radio_time, read_rows, write_rows

FLOW = "sojourn_demo.load.flow"


def test_iperf3_tells_the_goodput_of_tcp_and_udp() -> None:
    goodput = iperf.Goodput()
    goodput.read(
        [
            b"Server listening on 5201 (test #1)\n",
            b"[  5]   0.00-0.10   sec   384 KBytes  31.4 Mbits/sec\n",
            b"[  5]   0.10-0.20   sec  1.50 MBytes   126 Mbits/sec  0.031 ms  0/383 (0%)\n",
            b"[  5]   0.20-0.30   sec  0.00 Bytes  0.00 bits/sec\n",
            b"[  5]   0.00-0.30   sec  1.88 MBytes   52 Mbits/sec   receiver\n",
        ]
    )
    assert goodput.listening
    assert goodput.total_bytes == [393_216, 1_966_080, 1_966_080]


def test_a_pipe_that_is_closed_ends_the_reading() -> None:
    with tempfile.TemporaryFile() as closed:
        pass
    goodput = iperf.Goodput()
    goodput.read(closed)
    assert goodput.total_bytes == []


def test_pings_that_were_answered_are_read() -> None:
    line = "[1795709985.683006] 64 bytes from 10.0.1.2: icmp_seq=11 ttl=64 time=21.5 ms"
    found = ping.REPLY.match(line)
    assert found
    assert (float(found[1]), float(found[2])) == (1795709985.683006, 21.5)
    assert ping.REPLY.match("From 10.0.1.1 icmp_seq=4 Destination Host Unreachable") is None


def test_numbered_packets_tell_what_became_of_them(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out, ready = tmp_path / "received.csv", tmp_path / "ready"
    module = [sys.executable, "-m", FLOW]
    receiver = subprocess.Popen(
        [*module, "receive", "--port", str(port), "--out", str(out), "--ready", str(ready)]
    )
    try:
        give_up_s = time.monotonic() + 30
        while not ready.exists():
            assert time.monotonic() < give_up_s
            time.sleep(0.01)
        sender = subprocess.run(
            [*module, "send", f"127.0.0.1:{port}", "--period-us", "500", "--count", "200"],
            check=True,
            capture_output=True,
            text=True,
        )
    finally:
        receiver.send_signal(signal.SIGTERM)
        receiver.wait(10)
    sent = int(sender.stdout)
    received = read_received(out)
    assert sent == 200
    assert (received.lost(sent), received.reordered, received.duplicates) == (0, 0, 0)
    assert np.all(received.received_us >= received.sent_us)


def test_lost_late_and_repeated_packets_are_counted(tmp_path: Path) -> None:
    out = tmp_path / "received.csv"
    out.write_text("0,10,20\n2,12,22\n1,11,23\n1,11,24\n4,1")
    received = read_received(out)
    assert (received.lost(4), received.reordered, received.duplicates) == (1, 1, 1)


def test_a_flow_refuses_packets_without_room_for_their_number() -> None:
    done = subprocess.run(
        [sys.executable, "-m", FLOW, "send", "127.0.0.1:9", "--bytes", "8"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--bytes at least 16" in done.stderr


def test_the_last_round_trip_is_of_the_last_answer(tmp_path: Path) -> None:
    log = tmp_path / "ping.log"
    assert ping.last_rtt_s(log) is None
    log.write_text(
        "PING 198.51.100.1 (198.51.100.1) 56(84) bytes of data.\n"
        "[1795709985.683006] 64 bytes from 198.51.100.1: icmp_seq=1 ttl=64 time=1210 ms\n"
        "[1795709985.783006] 64 bytes from 198.51.100.1: icmp_seq=2 ttl=64 time=21.5 ms\n"
        "[1795709985.883006] 64 bytes from 198.51"
    )
    assert ping.last_rtt_s(log) == 0.0215


def test_irtt_tells_the_delay_from_the_server_of_packets_that_came(tmp_path: Path) -> None:
    out = tmp_path / "irtt.json"
    came = {
        "lost": "false",
        "timestamps": {"client": {"receive": {"wall": 1_795_709_985_683_006_123}}},
        "delay": {"receive": 12_345_678, "send": 4_000_000, "rtt": 16_345_678},
    }
    out.write_text(json.dumps({"round_trips": [came, {"lost": "true_down"}]}))
    assert list(irtt.downlink(out)) == [(1_795_709_985_683_006, 12_345.678)]
    out.write_text(json.dumps({"round_trips": [{"lost": "false"}]}))
    with pytest.raises(DemoError, match=r"irtt.json: KeyError.*; expected a result of irtt"):
        list(irtt.downlink(out))
    out.write_text(json.dumps({"round_trips": [came], "receive_err": {"Code": -2051}}))
    with pytest.raises(DemoError, match=r"irtt ended after 1 packets by error .*-2051"):
        list(irtt.downlink(out))


def test_irtt_asks_no_second_time_while_an_answer_may_come() -> None:
    """The answer to an earlier request ends its client; a slow radio answers after seconds."""
    words = irtt.client("198.51.100.1", 60, Path("out.json"))
    (timeouts,) = (word for word in words if word.startswith("--timeouts="))
    assert all(int(each.removesuffix("s")) >= 20 for each in timeouts.split("=")[1].split(","))


HEADS = (
    "Time of the generation of the data point., The number of round trips measured by this data"
    " point., The duration for this measurement., The underlying connection's RTT at probe time.,"
    " The underlying connection's congestion window at probe time., The type of the probe.,"
    " The congestion control algorithm used., \n"
)


def log_probes(folder: Path, name: str, *probes: tuple[int, float, str]) -> Path:
    """A log as the client writes it: round trips, s, type."""
    rows = (f"11-28-2026-12-09-03.149,{n}, {s:.9f},0,0, {kind},prague, \n" for n, s, kind in probes)
    path = folder / f"probes-{name}-11-28-2026-12-08-57.csv"
    path.write_text(HEADS + "".join(rows))
    return path


def test_the_score_of_network_quality_is_the_drafts_of_its_probes_of_the_downlink(
    tmp_path: Path,
) -> None:
    # 19 of 20 are kept: a probe of three round trips in 180 ms has 60 ms each.
    slow = (3, 30.0, "Foreign")
    log_probes(tmp_path, "foreign", *[(3, 0.18, "Foreign")] * 19, slow)
    upload = [(1, 9.0, "SelfUp")] * 40
    log_probes(tmp_path, "self", *[(1, 0.24, "SelfDown")] * 19, (1, 5.0, "SelfDown"), *upload)
    score = network_quality.score(tmp_path)
    assert score is not None
    assert (score.foreign_rpm, score.loaded_rpm) == pytest.approx((1000.0, 250.0))
    assert score.rpm == pytest.approx(625.0)


def test_a_test_that_answered_no_probe_has_no_score(tmp_path: Path) -> None:
    assert network_quality.score(tmp_path / "none") is None
    log_probes(tmp_path, "foreign", (3, 0.18, "Foreign"))
    log_probes(tmp_path, "self")
    assert network_quality.score(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a, b\n1, 2\n", r"probes-foreign-x.csv: KeyError.*expected probes of goresponsiveness"),
        (HEADS + "now,3\n", r"probes-foreign-x.csv: AttributeError.*expected probes"),
        (HEADS + "now,0, 0.1,0,0, Foreign,prague, \n", r"ZeroDivisionError.*expected probes"),
        (HEADS + "now,3, soon,0,0, Foreign,prague, \n", r"ValueError.*'soon'.*expected probes"),
        (HEADS + "now,3, nan,0,0, Foreign,prague, \n", r"takes nan ms; expected a time"),
    ],
)
def test_a_log_of_another_program_gives_one_line(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "probes-foreign-x.csv").write_text(text)
    with pytest.raises(DemoError, match=named):
        network_quality.score(tmp_path)


def test_rows_are_given_in_the_time_of_a_radio_that_fell_behind(tmp_path: Path) -> None:
    """The gNB skipped 400 ms between two readings of its clock."""
    clock = RadioClock()
    for wall_us, radio_us in ((1_000_000, 0), (2_000_000, 1_000_000), (2_500_000, 1_100_000)):
        clock.add(wall_us, radio_us)
    path = tmp_path / "measured.csv"
    times_us = (900_000, 1_500_000, 2_250_000, 3_500_000)
    write_rows(path, [("ping", "ping", "rtt", at_us, 20_000.0) for at_us in times_us])
    shown = list(in_radio_time(read_rows(path), clock))
    assert [row[3] for row in shown] == [500_000, 1_050_000, 2_100_000]
    assert shown[0] == ("ping", "ping", "rtt", 500_000, 20_000)
