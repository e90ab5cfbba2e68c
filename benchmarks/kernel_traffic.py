"""Kernel TCP through `gnb-lab live`: how fast, and beside the lab's own senders.

rate    Cubic beside the same devices with nothing between them. The cell is far larger than the
        goal, with 10 ms of delay and FQ-CoDel, so that this machine bounds the rate. The jitter
        that the machine adds is taken at 100 Mbit/s of UDP: how much later than the scenario says
        packets were handed to the kernel
parity  one download for the whole run, from its handshake on: Reno, Cubic and BBR v1, each over a
        full RLC without queue management, FQ-CoDel, PIE and `low_latency`. `gnb-lab run` has the
        senders of docs/congestion-control.md; `gnb-lab live` those of this machine's kernel, with
        iperf3. A cell of the table agrees if goodput is within 10 % and mean and 95th percentile of
        the sojourn above the MAC are each within 30 % or 2 ms. Where more than 5 % of the slots
        were late this machine was too slow to tell, and the cell is not judged

Needs root or user namespaces, a TUN device and iperf3.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import e2sm_tc
import gnb_lab
import yaml
from measuring import show, write

DEFAULT = Path(__file__).parent.parent / "lab" / "scenarios" / "default.yaml"
GNB_LAB = Path(sys.executable).parent / "gnb-lab"
RNTI = 17921
AS_FAST_AS_THE_MACHINE: dict[str, Any] = {
    "name": "as fast as the machine",
    "duration_s": 600,
    "cell": {"rat": "nr", "n_prb": 273, "scs_khz": 30, "layers": 4},
    "split": {"core_delay_us": 10_000},
    "ues": [
        {
            "rnti": RNTI,
            "channel": {"fixed_mcs": 27},
            "drbs": [{"id": 1, "pipeline": "fq_codel", "rlc": {"limit_bytes": 20_000_000}}],
        }
    ],
}
RLC_BYTES = 1_500_000
"""A thousand packets of a full RLC."""
CONTROLS = ("reno", "cubic", "bbr")
"""Senders that both have, the lab in the form of Linux."""
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
"""A socket that begins as BBR is paced for good, whatever iperf3 sets it to."""
GOODPUT_RATIO = 0.10
SOJOURN_RATIO, SOJOURN_MS = 0.30, 2.0
MOST_LATE_PCT = 5.0


def run(*command: str) -> str:
    """The output of a program; ends this one if it fails."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        complaint = f"{done.stderr}{done.stdout}"
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}:\n{complaint}")
    return done.stdout


def live(
    folder: Path, scenario: dict[str, Any], client: str, *options: str, server: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON of an iperf3 client at the UE, and the summary of the run; empty for a relay."""
    path, summary = folder / "live.yaml", folder / "live.json"
    path.write_text(yaml.safe_dump(scenario))
    if "--relay" not in options:
        options = (*options, "--summary", str(summary))
    output = run(
        *(str(GNB_LAB), "live", str(path), *options),
        *("--server", f"{server}iperf3 -s -1 > /dev/null"),
        *("--", "sh", "-c", f"iperf3 -J -c $SOJOURN_SERVER -R {client}"),
    )
    end: dict[str, Any] = json.loads(output)["end"]
    return end, {} if "--relay" in options else json.loads(summary.read_text())


def received_mbps(end: dict[str, Any]) -> float:
    """Payload of TCP at the receiver."""
    return float(end["sum_received"]["bits_per_second"]) / 1e6


def late_pct(summary: dict[str, Any]) -> float:
    """Slots that ran late, percent of those with packets."""
    late, busy = (summary["live"]["lateness"][key] for key in ("late_slots", "busy_slots"))
    return 100.0 * float(late) / max(1, int(busy))


def rate(folder: Path, seconds: float) -> dict[str, Any]:
    """Relay, TCP through the gNB, UDP through the gNB, one after the other.

    Rates are in Mbit/s of payload at the receiver, lateness in µs.
    """
    scenario, tcp_client = AS_FAST_AS_THE_MACHINE, f"-t {seconds:g} -C cubic"
    relay, _ = live(folder, scenario, tcp_client, "--relay")
    tcp, tcp_summary = live(folder, scenario, tcp_client)
    udp, udp_summary = live(folder, scenario, f"-t {seconds:g} -u -b 100M")
    return {
        "seconds": seconds,
        "relay_mbps": round(received_mbps(relay), 1),
        "live_mbps": round(received_mbps(tcp), 1),
        "live_of_relay": round(received_mbps(tcp) / received_mbps(relay), 3),
        "live_retransmits": tcp["sum_sent"].get("retransmits", 0),
        "live_late_slots_pct": round(late_pct(tcp_summary), 2),
        "live_delivery_us": tcp_summary["live"]["lateness"]["delivery_us"],
        "udp_mbps": round(udp["sum"]["bits_per_second"] / 1e6, 1),
        "udp_lost_pct": round(udp["sum"]["lost_percent"], 3),
        "udp_late_slots_pct": round(late_pct(udp_summary), 2),
        "udp_delivery_us": udp_summary["live"]["lateness"]["delivery_us"],
    }


def _pie() -> dict[str, Any]:
    """One queue of PIE with the parameters of RFC 8033, paced as `low_latency` is."""
    pipeline: dict[str, Any] = e2sm_tc.pipeline("bdp_only", {})
    pipeline["name"] = "pie"
    pipeline["pacer"] = e2sm_tc.pipeline("low_latency", {})["pacer"]
    pipeline["queues"][0]["discipline"] = {
        "pie": {
            **{"target_us": 15_000, "update_us": 15_000},
            **{"alpha_milli": 125, "beta_milli": 1250, "ecn": False},
        }
    }
    return pipeline


def schemes() -> dict[str, Any]:
    """Pipelines by name."""
    return {
        "full RLC": "transparent",
        "FQ-CoDel": e2sm_tc.pipeline("fq_codel", {}),
        "PIE": _pie(),
        "low_latency": "low_latency",
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one whole run. Payload in Mbit/s, sojourn in TC and RLC together in ms."""

    goodput_mbps: float
    sojourn_mean_ms: float
    sojourn_p95_ms: float
    dropped_packets: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One congestion control over one pipeline."""

    control: str
    scheme: str
    lab: Outcome
    kernel: Outcome
    late_slots_pct: float

    def is_late(self) -> bool:
        """Whether this machine was too slow to tell."""
        return self.late_slots_pct > MOST_LATE_PCT

    def differs(self) -> list[str]:
        """Names of the quantities that do not agree."""
        lab, kernel = self.lab, self.kernel
        goodput = abs(lab.goodput_mbps / kernel.goodput_mbps - 1) <= GOODPUT_RATIO
        near = {"goodput": goodput} | {
            name: abs(a - b) <= max(SOJOURN_MS, SOJOURN_RATIO * b)
            for name, a, b in (
                ("mean", lab.sojourn_mean_ms, kernel.sojourn_mean_ms),
                ("p95", lab.sojourn_p95_ms, kernel.sojourn_p95_ms),
            )
        }
        return [name for name, agrees in near.items() if not agrees]

    def row(self) -> dict[str, object]:
        """A row of the table: lab / kernel."""
        lab, kernel = self.lab, self.kernel
        late = f"not judged: {self.late_slots_pct:.0f} % late slots" if self.is_late() else None
        return {
            "TCP": self.control,
            "pipeline": self.scheme,
            "Mbit/s": f"{lab.goodput_mbps:.2f} / {kernel.goodput_mbps:.2f}",
            "mean ms": f"{lab.sojourn_mean_ms:.1f} / {kernel.sojourn_mean_ms:.1f}",
            "p95 ms": f"{lab.sojourn_p95_ms:.1f} / {kernel.sojourn_p95_ms:.1f}",
            "dropped": f"{lab.dropped_packets} / {kernel.dropped_packets}",
            "differs": late or ", ".join(self.differs()),
        }


def cell(pipeline: Any, seconds: float, control: str | None) -> dict[str, Any]:
    """The cell, with a flow of the lab if `control` names one."""
    flow = {"name": "bulk", "kind": "tcp", "congestion_control": control}
    return {
        "name": "parity of TCP",
        "duration_s": seconds,
        "cell": {"rat": "nr", "n_prb": 51, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
        "split": {"core_delay_us": 15_000},
        "ues": [
            {
                "rnti": RNTI,
                "channel": {"fixed_mcs": 10},
                "drbs": [{"id": 1, "pipeline": pipeline, "rlc": {"limit_bytes": RLC_BYTES}}],
            }
        ],
        "flows": [] if control is None else [flow],
    }


def _outcome(summary: dict[str, Any], goodput_mbps: float) -> Outcome:
    (bearer,) = summary["bearers"]
    sojourn = bearer["sojourn_ms"]
    return Outcome(
        round(goodput_mbps, 3),
        round(sojourn["mean"], 2),
        round(sojourn["p95"], 2),
        bearer["tc_dropped_packets"] + bearer["rlc_dropped_packets"],
    )


def in_lab(pipeline: Any, control: str, seconds: float) -> Outcome:
    """Virtual time."""
    world = gnb_lab.World(cell(pipeline, seconds, control))
    world.step_until(round(seconds * 1e6))
    summary = world.summary()
    return _outcome(summary, summary["flows"][0]["goodput_mbps"])


def in_kernel(folder: Path, pipeline: Any, control: str, seconds: float) -> tuple[Outcome, float]:
    """Real time; with the share of late slots in percent."""
    end, summary = live(
        folder,
        cell(pipeline, 600.0, None),
        f"-C {control} -t {seconds:g}",
        server=f"sysctl -qw {CONGESTION_CONTROL}={control}; ",
    )
    return _outcome(summary, received_mbps(end)), round(late_pct(summary), 2)


def compared(folder: Path, seconds: float, controls: list[str]) -> Iterator[Compared]:
    """All cells of the table, one after the other."""
    for control in controls:
        for name, pipeline in schemes().items():
            own = Path(tempfile.mkdtemp(dir=folder))
            lab = in_lab(pipeline, control, seconds)
            kernel, late = in_kernel(own, pipeline, control, seconds)
            yield Compared(control, name, lab, kernel, late)


def order_differs(cells: list[Compared], control: str) -> list[str]:
    """Pairs of pipelines that differ clearly in both and in the other order, by the p95."""
    own = [each for each in cells if each.control == control]
    return [f"{a.scheme}, {b.scheme}" for a, b in combinations(own, 2) if is_other_order(a, b)]


def is_other_order(a: Compared, b: Compared) -> bool:
    """Whether the lab has the longer p95 clearly at one, the kernel at the other."""
    lab = (a.lab.sojourn_p95_ms, b.lab.sojourn_p95_ms)
    kernel = (a.kernel.sojourn_p95_ms, b.kernel.sojourn_p95_ms)
    return (lab[0] - lab[1]) * (kernel[0] - kernel[1]) < 0 and all(
        abs(x - y) > max(SOJOURN_MS, SOJOURN_RATIO * min(x, y)) for x, y in (lab, kernel)
    )


def parity(folder: Path, seconds: float) -> dict[str, Any]:
    """Every congestion control that this kernel has, over every pipeline: lab / kernel."""
    there = AVAILABLE.read_text().split()
    if lacking := [control for control in CONTROLS if control not in there]:
        print(f"without {', '.join(lacking)}: this kernel has {', '.join(there)}", file=sys.stderr)
    cells = []
    for each in compared(folder, seconds, [name for name in CONTROLS if name in there]):
        print(f"{each.control}, {each.scheme}", file=sys.stderr, flush=True)
        cells.append(each)
    show([each.row() for each in cells])
    judged = [each for each in cells if not each.is_late()]
    agree = sum(not each.differs() for each in judged)
    orders = {control: order_differs(judged, control) for control in CONTROLS}
    print(f"{agree} of {len(judged)} agree; {len(cells) - len(judged)} not judged")
    for control, pairs in orders.items():
        for pair in pairs:
            print(f"{control}: {pair} are in another order")
    return {
        "seconds": seconds,
        "judged": len(judged),
        "agree": agree,
        "cells": [asdict(each) | {"differs": each.differs()} for each in cells],
        "orders": orders,
    }


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("rate", "parity"))
    parser.add_argument("--seconds", type=float, default=10, help="of each run (default: 10)")
    parser.add_argument("--out", type=Path, help="folder for kernel_traffic_rate.json and the like")
    given = parser.parse_args()
    if lacks := missing():
        print(f"kernel traffic: skipped, {lacks}")
        return
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "rate":
            result = rate(Path(folder), given.seconds)
            show([{"figure": name, "value": value} for name, value in result.items()])
        else:
            result = parity(Path(folder), given.seconds)
    write(given.out, f"kernel_traffic_{given.what}.json", result)


if __name__ == "__main__":
    main()
