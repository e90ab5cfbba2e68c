"""What traffic control costs an OpenAirInterface gNB: CPU of the process, time in the MAC's thread.

    OAI_BUILD=… python benchmarks/oai_cost.py --mbps 30 --out out/bench

gNB and UE start for each round, alternately without the library (`SOJOURN_OFF=1`) and with
`low_latency`. Each round downloads UDP and measures over whole log lines of the gNB, which are 128
radio frames apart, so CPU is per second of the radio. The rate is per second of the wall; how fast
the radio ran is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import cpu_s, write
from sojourn_demo.oai.build import Oai
from sojourn_demo.oai.cell import Cell
from sojourn_demo.oai.network import enter
from sojourn_demo.oai.traffic import Bulk, Traffic
from sojourn_demo.programs import Programs

INSIDE = "SOJOURN_BENCH_INSIDE"
SETTLE_S = 6.0
LINE, LINE_S = "Frame.Slot", 1.28


async def _next_line(cell: Cell) -> int:
    def lines() -> int:
        return cell.gnb.log.read_text(errors="replace").count(LINE)

    before = lines()
    await cell.programs.wait_until(cell.gnb, lambda: lines() > before)
    return lines()


async def measure(folder: Path, mbps: float, seconds: float, **settings: str) -> dict[str, Any]:
    """One round."""
    async with Programs(folder) as programs:
        cell = await Cell.start(Oai.found(os.environ), programs, folder, settings=settings)
        await cell.attach()
        traffic = Traffic(cell, folder, Bulk(mbps))
        await traffic.start()
        await asyncio.sleep(SETTLE_S)
        first = await _next_line(cell)
        began_s, before_s = time.monotonic(), cpu_s(cell.gnb.process.pid)
        total = traffic.goodput.total_bytes[-1]
        await asyncio.sleep(seconds)
        last = await _next_line(cell)
        wall_s, used_s = time.monotonic() - began_s, cpu_s(cell.gnb.process.pid) - before_s
        radio_s = LINE_S * (last - first)
        return {
            "cpu_per_radio_s": used_s / radio_s,
            "radio_speed": radio_s / wall_s,
            "goodput_mbps": 8e-6 * (traffic.goodput.total_bytes[-1] - total) / wall_s,
            "slot_times": cell.status().get("slot_times"),
            "slot_times_own": cell.status().get("slot_times_own"),
        }


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """All rounds."""
    rounds: dict[str, list[dict[str, Any]]] = {"off": [], "low_latency": []}
    with tempfile.TemporaryDirectory() as folder:
        for at in range(arguments.rounds):
            for name, settings in (
                ("off", {"SOJOURN_OFF": "1"}),
                (
                    "low_latency",
                    {"SOJOURN_PIPELINE": "low_latency", "SOJOURN_SLOT_CLOCK": arguments.slot_clock},
                ),
            ):
                own = Path(tempfile.mkdtemp(prefix=f"{name}{at}-", dir=folder))
                found = await measure(own, arguments.mbps, arguments.seconds, **settings)
                print(name, found, flush=True)
                rounds[name].append(found)
    means = {
        name: sum(each["cpu_per_radio_s"] for each in found) / len(found)
        for name, found in rounds.items()
    }
    return {
        "mbps": arguments.mbps,
        "slot_clock": arguments.slot_clock,
        "rounds": rounds,
        "added_cpu": means["low_latency"] / means["off"] - 1,
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mbps", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--slot-clock",
        choices=("wall", "cpu"),
        default="wall",
        help="of the slot times: the wall, or the CPU time of the MAC's thread",
    )
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        enter((sys.executable, *sys.argv))
    result = asyncio.run(run(arguments))
    print(f"added CPU of the gNB: {result['added_cpu']:.1%}")
    write(arguments.out, "oai_cost.json", result)


if __name__ == "__main__":
    main()
