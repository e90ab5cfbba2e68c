"""What a bulk flow keeps when a pipeline takes over its backlog, second by second.

Each cell runs without control up to some time, then a transaction installs a pipeline. Goodput of
the bulk flow, in order, in each of the first three seconds is compared with the same seconds of the
run without control. `low_latency` with FIFO queues drops nothing: where it keeps little, a pause of
the radio leaves room for no more than the voice and ping packets that waited, which leave first.
Such seconds are counted apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import gnb_lab
import numpy as np
from measuring import write
from ric.sm import TC_V1_OID, tc
from tc_evaluate.situation import Situation, find_situations

ROOT = Path(__file__).parent.parent
RECORDED = (
    "drive_att",
    "drive_tmobile",
    "short_verizon",
    "ride_taxi",
    "walk_timessquare",
    "ride_bus",
    "at_home",
)
UNDROPPED = "low_latency, FIFO"


def without_drops() -> dict[str, Any]:
    """`low_latency` with FIFO queues."""
    pipeline = tc.pipeline("low_latency", {})
    queues = [{**queue, "discipline": {"fifo": {"drop": "tail"}}} for queue in pipeline["queues"]]
    return {**pipeline, "queues": queues}


ARMS: dict[str, dict[str, Any]] = {
    UNDROPPED: without_drops(),
    "low_latency": tc.pipeline("low_latency", {}),
    "fq_codel": tc.pipeline("fq_codel", {}),
}
SECONDS = 3
#: Least share that a bulk flow is to keep.
TARGET = 0.7
#: Where the one without drops keeps less, the radio and the packets that waited bound the share.
BOUNDED = 0.9


@dataclass(frozen=True, slots=True)
class Result:
    """One change of the pipeline."""

    cell: str
    pipeline: str
    at_s: float
    #: Goodput of each second over that without control.
    kept: list[float]
    #: p95 of pings that were sent in the ten seconds after the change, ms.
    ping_p95_ms: float


def goodput(
    cell: Situation, pipeline: dict[str, Any] | None, at_s: float
) -> tuple[list[int], float]:
    """Bytes in order in each second after the change, and the p95 of pings sent after it, ms."""
    world = gnb_lab.World(cell.path, overrides=dict(cell.overrides))
    at_us = round(at_s * 1e6)
    world.step_until(at_us)
    if pipeline is not None:
        install(world, pipeline)
    totals = [bulk_bytes(world)]
    for second in range(SECONDS):
        world.step_until(at_us + (second + 1) * 1_000_000)
        totals.append(bulk_bytes(world))
    world.step_until(at_us + 10_000_000)
    pings = [rtt for received_us, rtt in world.rtt_samples_us("ping") if received_us - rtt > at_us]
    p95_ms = float(np.percentile(pings, 95)) / 1e3 if pings else float("nan")
    return [after - before for before, after in pairwise(totals)], p95_ms


def install(world: gnb_lab.World, pipeline: dict[str, Any]) -> None:
    """Replaces the pipeline of every bearer."""
    for number, bearer in enumerate(world.bearers()):
        transaction = {
            "bearer": {"ue": {"rnti": bearer["rnti"]}, "drb": bearer["drb"]},
            "expected_revision": None,
            "lease_ms": None,
            "dry_run": False,
            "change": {"replace": pipeline},
        }
        header = tc.encode("control-header", {"style": 1, "correlation_id": number})
        message = tc.encode("control", {"transaction": transaction})
        outcome = tc.decode("control-outcome", world.control(TC_V1_OID, header, message))
        if "accepted" not in outcome:
            raise RuntimeError(f"transaction for {transaction['bearer']}: {outcome}")


def bulk_bytes(world: gnb_lab.World) -> int:
    """Bytes of the bulk flow that were delivered in order."""
    return int(next(flow["goodput_bytes"] for flow in world.flows() if flow["name"] == "bulk"))


def measure(cells: Sequence[Situation], times_s: Sequence[float]) -> list[Result]:
    """Every cell, time and pipeline."""
    results = []
    for cell in cells:
        for at_s in times_s:
            without, _ = goodput(cell, None, at_s)
            for name, pipeline in ARMS.items():
                seconds, ping_p95_ms = goodput(cell, pipeline, at_s)
                kept = [
                    round(mine / max(theirs, 1), 3)
                    for mine, theirs in zip(seconds, without, strict=True)
                ]
                results.append(Result(cell.name, name, at_s, kept, round(ping_p95_ms, 1)))
    return results


def summary(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Seconds below the target, of those kept without drops, and the least share, by pipeline."""
    kept = {(r.cell, r.at_s): r.kept for r in results if r.pipeline == UNDROPPED}
    rows = {}
    for name in ARMS:
        shares = [
            share
            for r in results
            if r.pipeline == name
            for share, most in zip(r.kept, kept[r.cell, r.at_s], strict=True)
            if most >= BOUNDED
        ]
        below = sum(share < TARGET for share in shares)
        least = min(shares, default=float("nan"))
        rows[name] = {"seconds": len(shares), "below": below, "least": least}
    return rows


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, help="folder of the recorded radios")
    parser.add_argument("--at", type=float, nargs="+", default=[7, 10, 13, 16, 20, 25], help="s")
    parser.add_argument("--out", type=Path, help="folder for transient.json")
    given = parser.parse_args()
    paths = [ROOT / "gnb/scenarios/default.yaml"]
    paths += [ROOT / f"benchmarks/situations/recorded_{name}.yaml" for name in RECORDED]
    cells, skipped = find_situations(paths, given.traces)
    for sentence in skipped:
        print(sentence)
    results = measure(cells, given.at)
    print(f"{'cell':28} {'pipeline':22} {'at s':>5} {'1st s':>6} {'2nd s':>6} {'3rd s':>6} ping ms")
    for r in results:
        kept = " ".join(f"{share:>6.2f}" for share in r.kept)
        print(f"{r.cell:28} {r.pipeline:22} {r.at_s:>5g} {kept} {r.ping_p95_ms:>7.0f}")
    rows = summary(results)
    for name, row in rows.items():
        print(f"{name}: {row['below']} of {row['seconds']} s below {TARGET}, least {row['least']}")
    write(given.out, "transient.json", {"results": list(map(asdict, results)), "summary": rows})


if __name__ == "__main__":
    main()
