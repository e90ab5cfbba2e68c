"""Makes the data of a default round of `rlc-train retrain`, on virtual time: an hour of two bearers
and ten minutes of a held-out cell, as `rlc-train collect` writes them.

A UE in a car has a pacer at its bearer, one on foot has none. Each ten minutes have a seed of their
own and are cut into runs of a minute.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import joblib
import pyarrow.compute as pc
from rlc_dataset import write_run
from rlc_train.dataset.grid import drql_pipeline
from rlc_train.dataset.plan import RunPlan, seed_of
from rlc_train.dataset.simulate import provenance, simulate
from rlc_train.retrain.command import SEGMENT_S
from rlc_train.retrain.stages import HELD_OUT

CELL: Final = "node"
WORLD_S: Final = 600.0


def scenario(duration_s: float) -> dict[str, Any]:
    """The cell, its two bearers and their traffic."""
    rlc = {"mode": "um", "limit_bytes": 10_000_000}
    ues, flows = [], []
    for rnti, pattern, period_ms, pipeline in (
        (17921, "car", 100, drql_pipeline()),
        (17922, "pedestrian", 200, "transparent"),
    ):
        channel = {"mobility": {"pattern": pattern, "period_ms": period_ms}}
        drbs = [{"id": 1, "rlc": rlc, "pipeline": pipeline}]
        ues.append({"rnti": rnti, "channel": channel, "drbs": drbs})
        for kind in ("tcp", "web", "voip"):
            flow = {"name": f"{kind}-{rnti}", "kind": kind, "rnti": rnti, "drb": 1}
            flows.append(flow | ({"congestion_control": "cubic"} if kind == "tcp" else {}))
    return {
        "duration_s": duration_s,
        "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
        "split": {"core_delay_us": 15_000, "core_jitter_us": 500},
        "ues": ues,
        "flows": flows,
    }


def record(root: Path, cell: str, number: int, seed: int) -> int:
    """Writes the runs of a world; returns their number."""
    plan = RunPlan.of(
        cell, "unknown", f"{number:02}", scenario(WORLD_S), seed_of(seed, cell, f"{number}")
    )
    table = simulate(plan)
    since_us = pc.subtract(table["time_us"], pc.min(table["time_us"]))
    minute = pc.divide(since_us, round(1e6 * SEGMENT_S))
    runs = pc.unique(minute).to_pylist()
    for at, each in enumerate(sorted(runs)):
        rows = table.filter(pc.equal(minute, each))
        write_run(root, rows, provenance(plan) | {"run": f"{number:02}-{at:02}"})
    return len(runs)


def main() -> None:
    """Makes the data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="data set to make")
    parser.add_argument("--worlds", type=int, default=6, help="of ten minutes to train on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    wanted = [(CELL, number) for number in range(arguments.worlds)] + [(HELD_OUT, 0)]
    made = joblib.Parallel(n_jobs=arguments.jobs)(
        joblib.delayed(record)(arguments.out, cell, number, arguments.seed)
        for cell, number in wanted
    )
    print(f"{arguments.out}: {sum(made)} runs of {SEGMENT_S:g} s")


if __name__ == "__main__":
    main()
