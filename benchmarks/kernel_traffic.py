"""Kernel TCP (Cubic) through `gnb-lab live`, beside the same devices with nothing between them.

The cell is far larger than the goal, with 10 ms of delay and FQ-CoDel, so that this machine bounds
the rate. The jitter that the machine adds is taken at 100 Mbit/s of UDP: how much later than the
scenario says packets were handed to the kernel. Needs root or user namespaces, a TUN device and
iperf3.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from measuring import write

DEFAULT = Path(__file__).parent.parent / "gnb" / "scenarios" / "default.yaml"
GNB_LAB = Path(sys.executable).parent / "gnb-lab"

SCENARIO: dict[str, Any] = {
    "name": "as fast as the machine",
    "duration_s": 600,
    "cell": {"rat": "nr", "n_prb": 273, "scs_khz": 30, "layers": 4},
    "split": {"core_delay_us": 10_000},
    "ues": [
        {
            "rnti": 17921,
            "channel": {"fixed_mcs": 27},
            "drbs": [{"id": 1, "pipeline": "fq_codel", "rlc": {"limit_bytes": 20_000_000}}],
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates in Mbit/s of payload at the receiver; lateness in µs."""

    seconds: int
    relay_mbps: float
    live_mbps: float
    live_of_relay: float
    live_retransmits: int
    live_late_slots_pct: float
    live_delivery_us: dict[str, int]
    udp_mbps: float
    udp_lost_pct: float
    udp_late_slots_pct: float
    udp_delivery_us: dict[str, int]


def run(folder: Path, client: str, *options: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The JSON of an iperf3 client at the UE, and the summary of the run if it has one."""
    scenario, summary = folder / "scenario.yaml", folder / "summary.json"
    scenario.write_text(yaml.safe_dump(SCENARIO))
    if "--relay" not in options:
        options = (*options, "--summary", str(summary))
    server = ["--server", "iperf3 -s -1 > /dev/null"]
    command = ["sh", "-c", f"iperf3 -J -c $SOJOURN_SERVER -R {client}"]
    done = subprocess.run(
        [str(GNB_LAB), "live", str(scenario), *server, *options, "--", *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"gnb-lab live ended with {done.returncode}:\n{done.stderr}{done.stdout}")
    is_relay = "--relay" in options
    return json.loads(done.stdout)["end"], None if is_relay else json.loads(summary.read_text())


def late_pct(summary: dict[str, Any]) -> float:
    """Slots that ran late, percent of those with packets."""
    late, busy = (summary["live"]["lateness"][key] for key in ("late_slots", "busy_slots"))
    return 100.0 * float(late) / max(1, int(busy))


def measure(folder: Path, seconds: int) -> Rates:
    """Relay, TCP through the gNB, UDP through the gNB, one after the other."""
    relay, _ = run(folder, f"-t {seconds} -C cubic", "--relay")
    tcp, tcp_summary = run(folder, f"-t {seconds} -C cubic")
    udp, udp_summary = run(folder, f"-t {seconds} -u -b 100M")
    assert tcp_summary is not None and udp_summary is not None
    relay_mbps = relay["sum_received"]["bits_per_second"] / 1e6
    live_mbps = tcp["sum_received"]["bits_per_second"] / 1e6
    return Rates(
        seconds=seconds,
        relay_mbps=round(relay_mbps, 1),
        live_mbps=round(live_mbps, 1),
        live_of_relay=round(live_mbps / relay_mbps, 3),
        live_retransmits=tcp["sum_sent"].get("retransmits", 0),
        live_late_slots_pct=round(late_pct(tcp_summary), 2),
        live_delivery_us=tcp_summary["live"]["lateness"]["delivery_us"],
        udp_mbps=round(udp["sum"]["bits_per_second"] / 1e6, 1),
        udp_lost_pct=round(udp["sum"]["lost_percent"], 3),
        udp_late_slots_pct=round(late_pct(udp_summary), 2),
        udp_delivery_us=udp_summary["live"]["lateness"]["delivery_us"],
    )


def missing_devices() -> str | None:
    """What this machine lacks for `gnb-lab live`."""
    probe = [str(GNB_LAB), "live", str(DEFAULT), "--relay", "--", "true"]
    done = subprocess.run(
        probe, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stderr.strip() or "it failed" if done.returncode else None


def missing() -> str | None:
    """What this machine lacks for this benchmark."""
    return "iperf3 is not installed" if shutil.which("iperf3") is None else missing_devices()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of each of the three runs")
    parser.add_argument("--out", type=Path, help="folder for kernel_traffic.json")
    args = parser.parse_args()
    if lacks := missing():
        print(f"kernel traffic: skipped, {lacks}")
        return
    with tempfile.TemporaryDirectory() as folder:
        rates = asdict(measure(Path(folder), args.seconds))
    print(json.dumps(rates, indent=2))
    write(args.out, "kernel_traffic.json", rates)


if __name__ == "__main__":
    main()
