"""TCP of the lab against the kernel's: the same cell, bearer and queue, in virtual time and live.

One download for the whole run, from its handshake on: Reno, Cubic and BBR v1, each over a full RLC
without queue management, FQ-CoDel, PIE and `low_latency`. `gnb-lab run` has the senders of
docs/congestion-control.md; `gnb-lab live` has those of this machine's kernel, with iperf3. A cell
of the table agrees if goodput is within 10 % and mean and 95th percentile of the sojourn above the
MAC are each within 30 % or 2 ms. Where more than 5 % of the slots were late this machine was too
slow to tell, and the cell is not judged. Needs what `gnb-lab live` needs, and iperf3.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import e2sm_tc
import yaml
from kernel_traffic import GNB_LAB, late_pct, missing
from measuring import write

RNTI = 17921
RLC_BYTES = 1_500_000
"""A thousand packets of a full RLC."""

AS_IN_LINUX: dict[str, dict[str, bool]] = {
    "reno": {"hystart": False},
    "cubic": {"cubic_as_in_linux": True},
    "bbr": {"bbr_ack_aggregation": True, "bbr_pacing_margin": True},
}
"""Settings of the lab's senders for what Linux does; HyStart is in its Cubic alone."""
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
DEFAULT = "net.ipv4.tcp_congestion_control"
"""A socket that begins as BBR is paced for good, whatever iperf3 sets it to."""

GOODPUT_RATIO = 0.10
SOJOURN_RATIO, SOJOURN_MS = 0.30, 2.0
MOST_LATE_PCT = 5.0


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
    """Of one run, over the whole of it. Payload in Mbit/s, sojourn in TC and RLC together in ms."""

    goodput_mbps: float
    sojourn_mean_ms: float
    sojourn_p95_ms: float
    dropped_packets: int


@dataclass(frozen=True, slots=True)
class Cell:
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


def scenario(pipeline: Any, seconds: float, control: str | None) -> dict[str, Any]:
    """The cell, with a flow of the lab if `control` names one."""
    flow: dict[str, Any] = {"name": "bulk", "kind": "tcp", "congestion_control": control}
    flow |= AS_IN_LINUX[control] if control else {}
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


def _run(*command: str) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def in_lab(folder: Path, pipeline: Any, control: str, seconds: float) -> Outcome:
    """Virtual time."""
    file, out = folder / "lab.yaml", folder / "lab"
    file.write_text(yaml.safe_dump(scenario(pipeline, seconds, control)))
    _run(str(GNB_LAB), "run", str(file), "--out", str(out), "--log-level", "warn")
    summary = json.loads((out / "summary.json").read_text())
    return _outcome(summary, summary["flows"][0]["goodput_mbps"])


def in_kernel(folder: Path, pipeline: Any, control: str, seconds: float) -> tuple[Outcome, float]:
    """Real time; with the share of late slots in percent."""
    file, summary_file = folder / "live.yaml", folder / "live.json"
    file.write_text(yaml.safe_dump(scenario(pipeline, 600.0, None)))
    client = f"iperf3 -J -c $SOJOURN_SERVER -R -C {control} -t {seconds:g}"
    done = _run(
        *(str(GNB_LAB), "live", str(file), "--summary", str(summary_file)),
        *("--server", f"sysctl -qw {DEFAULT}={control}; iperf3 -s -1 > /dev/null"),
        *("--", "sh", "-c", client),
    )
    received = json.loads(done)["end"]["sum_received"]["bits_per_second"] / 1e6
    summary = json.loads(summary_file.read_text())
    return _outcome(summary, received), round(late_pct(summary), 2)


def measure(seconds: float, controls: list[str]) -> Iterator[Cell]:
    """All cells, one after the other."""
    with tempfile.TemporaryDirectory() as scratch:
        for control in controls:
            for name, pipeline in schemes().items():
                folder = Path(tempfile.mkdtemp(dir=scratch))
                lab = in_lab(folder, pipeline, control, seconds)
                kernel, late = in_kernel(folder, pipeline, control, seconds)
                yield Cell(control, name, lab, kernel, late)


def order_differs(cells: list[Cell], control: str) -> list[str]:
    """Pairs of pipelines that differ clearly in both and in the other order, by the p95."""
    own = [cell for cell in cells if cell.control == control]
    return [
        f"{a.scheme}, {b.scheme}"
        for at, a in enumerate(own)
        for b in own[at + 1 :]
        if (a.lab.sojourn_p95_ms - b.lab.sojourn_p95_ms)
        * (a.kernel.sojourn_p95_ms - b.kernel.sojourn_p95_ms)
        < 0
        and all(
            abs(x - y) > max(SOJOURN_MS, SOJOURN_RATIO * min(x, y))
            for x, y in (
                (a.lab.sojourn_p95_ms, b.lab.sojourn_p95_ms),
                (a.kernel.sojourn_p95_ms, b.kernel.sojourn_p95_ms),
            )
        )
    ]


def row(cell: Cell) -> str:
    """Of the table, in Markdown: lab / kernel."""
    lab, kernel = cell.lab, cell.kernel
    late = f"not judged: {cell.late_slots_pct:.0f} % late slots" if cell.is_late() else None
    return (
        f"| {cell.control} | {cell.scheme} | {lab.goodput_mbps:.2f} / {kernel.goodput_mbps:.2f}"
        f" | {lab.sojourn_mean_ms:.1f} / {kernel.sojourn_mean_ms:.1f}"
        f" | {lab.sojourn_p95_ms:.1f} / {kernel.sojourn_p95_ms:.1f}"
        f" | {lab.dropped_packets} / {kernel.dropped_packets}"
        f" | {late or ', '.join(cell.differs()) or 'agrees'} |"
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each run (default: 30)")
    parser.add_argument("--out", type=Path, help="folder for live_parity.json")
    arguments = parser.parse_args()
    if lacks := missing():
        print(f"parity of TCP: skipped, {lacks}")
        return
    there = AVAILABLE.read_text().split()
    if lacking := [control for control in AS_IN_LINUX if control not in there]:
        print(f"without {', '.join(lacking)}: this kernel has {', '.join(there)}", file=sys.stderr)
    print("| TCP | pipeline | Mbit/s, lab / kernel | mean ms | p95 ms | dropped | |")
    print("|---|---|---|---|---|---|---|")
    cells = []
    for cell in measure(arguments.seconds, [each for each in AS_IN_LINUX if each in there]):
        print(row(cell), flush=True)
        cells.append(cell)
    judged = [cell for cell in cells if not cell.is_late()]
    agree = sum(not cell.differs() for cell in judged)
    orders = {control: order_differs(judged, control) for control in AS_IN_LINUX}
    print(f"{agree} of {len(judged)} agree; {len(cells) - len(judged)} not judged")
    for control, pairs in orders.items():
        for pair in pairs:
            print(f"{control}: {pair} are in another order")
    result = {
        "seconds": arguments.seconds,
        "judged": len(judged),
        "agree": agree,
        "cells": [asdict(cell) | {"differs": cell.differs()} for cell in cells],
        "orders": orders,
    }
    write(arguments.out, "live_parity.json", result)


if __name__ == "__main__":
    main()
