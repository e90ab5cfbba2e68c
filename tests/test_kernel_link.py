"""`gnb-lab link`: two recorded links between network stacks.

Needs a TUN device, and root or unprivileged user namespaces.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from live_runs import CLIENT, GNB_LAB, SERVER, missing

LACKS = missing()
live = pytest.mark.skipif(LACKS is not None, reason=f"gnb-lab live cannot run here: {LACKS}")

OPPORTUNITY_BITS = 1500 * 8


@pytest.fixture
def traces(tmp_path: Path) -> tuple[Path, Path]:
    """Up 6 Mbit/s, down 24 Mbit/s."""
    up, down = tmp_path / "up.trace", tmp_path / "down.trace"
    up.write_text("2\n")
    down.write_text("1\n1\n")
    return up, down


def run(
    traces: tuple[Path, Path], *options: str, command: list[str]
) -> subprocess.CompletedProcess[str]:
    files = [str(each) for each in traces]
    return subprocess.run(
        [str(GNB_LAB), "link", *files, *options, "--", *command],
        capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def transfer(folder: Path, traces: tuple[Path, Path], size: int, *options: str) -> dict[str, Any]:
    """Moves bytes down, then up; the summary of the run."""
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(CLIENT)
    # Reno fills a queue, whatever this kernel's default is.
    reno = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
    server = ("--server", f"{reno}; exec {sys.executable} {folder / 'server.py'}")
    summary = ("--summary", str(folder / "summary.json"))
    client = [sys.executable, str(folder / "client.py"), str(size), "SOJOURN_SERVER"]
    done = run(traces, *server, *summary, *options, command=client)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return result


@live
def test_each_direction_has_the_rate_of_its_trace(
    tmp_path: Path, traces: tuple[Path, Path]
) -> None:
    size = 3_000_000
    summary = transfer(tmp_path, traces, size, "--delay", "5")
    # No faster than the opportunities allow: 1 s down, 4 s up.
    assert summary["duration_s"] > 8 * size / (2 * OPPORTUNITY_BITS * 1000) + 8 * size / 6e6
    (flow,) = summary["flows"]
    assert flow["received_packets"] >= size / 1500


@live
def test_a_short_queue_drops_in_both_directions(tmp_path: Path, traces: tuple[Path, Path]) -> None:
    (bearer,) = transfer(tmp_path, traces, 3_000_000, "--queue", "10")["bearers"]
    assert bearer["rlc_dropped_packets"] > 0
    assert bearer["uplink_dropped_packets"] > 0


@live
def test_the_delay_is_that_of_each_direction(traces: tuple[Path, Path]) -> None:
    ping = ["sh", "-c", "ping -c 10 -i 0.1 $SOJOURN_SERVER"]
    done = run(traces, "--delay", "40", command=ping)
    assert done.returncode == 0, done.stderr
    found = re.search(r"= ([\d.]+)/", done.stdout)
    assert found, done.stdout
    # The gNB itself and a wait for opportunities add some ms.
    assert 80.0 <= float(found[1]) < 110.0, done.stdout


@live
def test_a_pipeline_keeps_the_queue_short(tmp_path: Path, traces: tuple[Path, Path]) -> None:
    plain = transfer(tmp_path, traces, 6_000_000)
    cured = transfer(tmp_path, traces, 6_000_000, "--pipeline", "fq_codel")
    delays = [each["bearers"][0]["sojourn_ms"]["p95"] for each in (plain, cured)]
    assert delays[1] < delays[0] / 2, delays


def test_mistakes_name_the_trace_and_the_line(traces: tuple[Path, Path]) -> None:
    up, down = traces
    down.write_text("1\n2\nx7\n")
    done = run(traces, command=["true"])
    assert done.returncode == 2
    assert done.stderr.startswith("gnb-lab: link: ues[0].channel.mahimahi.path: ")
    assert f"{down}: line 3: 'x7'; expected a whole number" in done.stderr
    down.write_text("1\n")
    up.unlink()
    done = run(traces, command=["true"])
    assert done.returncode == 2
    assert f"ues[0].uplink.mahimahi.path: {up}: " in done.stderr
