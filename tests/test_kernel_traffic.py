"""`gnb-lab live`: kernel TCP, UDP and ping through the lab's gNB.

Needs a TUN device, and root or unprivileged user namespaces.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest
from live_runs import RNTI, Live, missing
from loop import ANY_PORT, PATIENCE_S
from sojourn_demo.live import read_decisions
from sojourn_demo.load import ping
from sojourn_demo.programs import Program, free_address

LACKS = missing()
pytestmark = pytest.mark.skipif(LACKS is not None, reason=f"gnb-lab live cannot run here: {LACKS}")

# Endless downloads, as many as connect; and a client with 16 of them.
ENDLESS = """
import socket, threading
def send(peer):
    while True:
        peer.sendall(bytes(1 << 16))
listener = socket.create_server(("", 5202))
while True:
    threading.Thread(target=send, args=listener.accept()[:1], daemon=True).start()
"""
DOWNLOADS = """
import os, socket, threading
def read():
    with socket.create_connection((os.environ["SOJOURN_SERVER"], 5202)) as peer:
        while peer.recv(1 << 16):
            pass
for _ in range(16):
    threading.Thread(target=read).start()
"""


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path)


@pytest.mark.parametrize("host", ["SOJOURN_SERVER", "SOJOURN_SERVER_V6"])
def test_kernel_tcp_moves_bytes_unchanged_both_ways(live: Live, host: str) -> None:
    summary = live.transfer(8_000_000, host)
    (flow,) = summary["flows"]
    assert flow["kind"] == "host"
    assert flow["received_packets"] > 8_000_000 / 1500
    assert flow["one_way_delay_ms"]["p50"] > 5.0, "the delay of the core network"
    written = summary["live"]["written_to_ues"]
    assert written["packets"] == flow["received_packets"]
    assert written["refused_packets"] == 0
    assert written["writes"] < written["packets"] / 2, "packets in sequence are joined"
    assert summary["live"]["written_to_server"]["refused_packets"] == 0
    assert summary["live"]["read"]["refused_frames"] == 0


def test_segments_are_joined_in_both_directions_with_a_small_mtu(live: Live) -> None:
    summary = live.transfer(2_000_000, "SOJOURN_SERVER", "--mtu", "1280")
    assert summary["flows"][0]["received_packets"] > 2_000_000 / 1280


def test_marks_of_the_queue_reach_the_kernel(live: Live) -> None:
    """The kernel accepts and counts packets with CE; joined ones count once."""
    live.scenario["ues"][0]["channel"] = {"fixed_mcs": 5}
    count = (
        "awk '/^IpExt/ && !n++ {for (i = 1; i <= NF; i++) name[i] = $i; next} /^IpExt/ "
        '{for (i = 1; i <= NF; i++) if (name[i] == "InCEPkts") print $i}\' /proc/net/netstat'
    )
    enable = "echo 1 > /proc/sys/net/ipv4/tcp_ecn"
    client = f"{sys.executable} {live.folder / 'client.py'} 6000000 SOJOURN_SERVER"
    server = f"{enable}; exec {sys.executable} {live.folder / 'server.py'}"
    done = live.run("--server", server, command=["sh", "-c", f"{enable} && {client} && {count}"])
    assert done.returncode == 0, done.stderr
    summary = live.summary()
    marked = summary["bearers"][0]["tc_marked_packets"]
    assert marked > 0
    assert summary["flows"][0]["ce_packets"] == marked
    assert 0 < int(done.stdout) <= marked


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
@pytest.mark.parametrize("host", ["SOJOURN_SERVER", "SOJOURN_SERVER_V6"])
def test_ping_measures_the_delays_of_the_scenario(live: Live, host: str) -> None:
    done = live.run(command=["sh", "-c", f"ping -c 5 -i 0.2 ${host}"])
    assert done.returncode == 0, done.stderr
    least_ms = float(done.stdout.rsplit("=", 1)[1].split("/")[0])
    assert least_ms > 10.0, "the core network alone, both ways"


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
def test_ue_and_dscp_select_the_bearer(live: Live) -> None:
    live.scenario["ues"].append({"rnti": 17922, "channel": {"fixed_mcs": 20}, "drbs": [{"id": 1}]})
    live.scenario["flows"] = [
        {"name": "any", "kind": "host", "rnti": "each"},
        {"name": "voice", "kind": "host", "rnti": RNTI, "drb": 2, "dscp": 46},
    ]
    other = "17922=ping -c 3 -i 0.2 $SOJOURN_SERVER"
    both = "ping -c 2 -i 0.2 $SOJOURN_SERVER && ping -Q 184 -c 3 -i 0.2 $SOJOURN_SERVER && sleep 1"
    done = live.run("--ue", other, command=["sh", "-c", both])
    assert done.returncode == 0, done.stderr
    received = {flow["name"]: flow["received_packets"] for flow in live.summary()["flows"]}
    assert received == {f"any@{RNTI}": 2, "any@17922": 3, "voice": 3}


def test_the_run_ends_with_the_code_of_the_command(live: Live) -> None:
    assert live.run(command=["sh", "-c", "exit 7"]).returncode == 7
    done = live.run(command=["no-such-program"])
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "gnb-lab: no-such-program: cannot start: No such file or directory (os error 2)",
    )
    done = live.run("--ue", "5=true", command=["true"])
    assert done.returncode == 2
    assert "--ue 5: no UE with a flow of kind host has this RNTI" in done.stderr


def ping_times_ms(log: Path, from_s: float, to_s: float) -> list[float]:
    """Round trips of pings answered between Unix times."""
    return [rtt_us / 1e3 for at_us, rtt_us in ping.replies(log) if from_s <= at_us / 1e6 < to_s]


def accepted(decisions: Path) -> bool:
    """Whether the gNB accepted a control, by the controller's log."""
    return any("accepted" in record.get("outcome", ()) for record in read_decisions(decisions))


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
def test_a_controller_cures_the_bearer_of_real_traffic(live: Live) -> None:
    """Kernel TCP fills the RLC of a bearer, and the delay falls when the controller may act."""
    live.scenario["ues"][0] |= {"channel": {"fixed_mcs": 5}, "drbs": [{"id": 1}]}
    gateway, decisions, log = free_address(), live.folder / "decisions.jsonl", live.folder / "ping"
    (live.folder / "endless.py").write_text(ENDLESS)
    (live.folder / "downloads.py").write_text(DOWNLOADS)
    server = f"{sys.executable} {live.folder / 'endless.py'}"
    download = f"{sys.executable} {live.folder / 'downloads.py'}"
    command = ["sh", "-c", f"exec stdbuf -oL ping -D -n -i 0.1 $SOJOURN_SERVER > {log}"]
    options = ("--listen", gateway, "--server", server, "--ue", f"{RNTI}={download}")
    gnb = Program(
        live.arguments(*options, command=command), live.folder / "gnb.log", has_ready_line=False
    )
    bin_folder = Path(sys.executable).parent
    controller = Program(
        [
            *(bin_folder / "tc-controller", "--gateway", gateway, "--observe-for-s", "8"),
            *("--metrics-listen", ANY_PORT, "--decision-log", decisions),
        ],
        live.folder / "controller.log",
    )
    try:
        controller.wait_ready()
        deadline = time.monotonic() + PATIENCE_S
        while not accepted(decisions):
            assert time.monotonic() < deadline, "the controller acts"
            assert gnb.alive, "the gNB runs"
            time.sleep(0.05)
        acted_s = time.time()
        time.sleep(5.0)
    finally:
        # A controller that is stopped returns the pipeline first.
        gnb.stop()
        controller.stop()
    before_ms = ping_times_ms(log, acted_s - 3.0, acted_s - 0.5)
    # The backlog that was in the RLC leaves first.
    after_ms = ping_times_ms(log, acted_s + 2.5, acted_s + 5.0)
    assert median(before_ms) > 5 * median(after_ms)
    (bearer,) = live.summary()["bearers"]
    assert (bearer["pipeline"], bearer["revision"]) == ("low_latency", 2)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_after_a_signal(live: Live, ending: signal.Signals) -> None:
    mark = live.folder / "pids"
    sleeper = f"echo $$ >> {mark}; exec sleep 100"
    process = subprocess.Popen(
        live.arguments("--ue", f"{RNTI}={sleeper}", command=["sh", "-c", sleeper]),
        stdin=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not (mark.exists() and len(mark.read_text().split()) == 2):
        assert time.monotonic() < deadline, "the commands start"
        time.sleep(0.02)
    pids = [int(pid) for pid in mark.read_text().split()]
    process.send_signal(ending)
    process.wait(timeout=20)
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/ns/net").exists() for pid in pids):
        assert time.monotonic() < deadline, "the commands end"
        time.sleep(0.02)
