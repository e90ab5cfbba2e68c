"""Values of a template's parameter, cell by cell: goodput, queueing of a flow, ping.

A value that is best on one cell and ruins another is no default. `l4s`: the marking threshold of
`low_latency`; `codel`: interval and target of `fq_codel` with CU and DU apart, beside
`low_latency`; `target`: the target of a download's queue in `low_latency`, fixed and as the node
adapts it.

`queue` compares disciplines of that queue, and senders whose window is constant and who lose
nothing: the smallest window with 98 % of the best goodput, known afterwards, is what a download
needs on that radio if its sender does not follow it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import gnb_lab
import numpy as np
from measuring import show, write
from tc_evaluate.situation import Situation, find_situations

ROOT = Path(__file__).parent
_TARGETS_MS = (5, 15, 30, 60, 100)
_WINDOWS_KB = (10, 15, 22, 32, 47, 68, 100, 150, 220, 320, 470, 680, 1000, 1500)
#: Share of the best goodput of a cell that the smallest window has.
_ENOUGH = 0.98
_VARYING = ("cell_edge", "far_server", "radio_", "recorded_")
#: A template and its parameters by the name of an arm.
Arms = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Study:
    """A parameter with its values, and the cells on which they are compared."""

    file: str
    #: Beginnings of the names of the cells.
    cells: tuple[str, ...]
    #: Beginning of the names of the flows whose queueing counts.
    flow: str
    arms: Arms


def _thresholds() -> Arms:
    fixed = {f"{ms} ms": {"threshold_us": ms * 1000} for ms in (1, 2, 4, 8, 16, 32)}
    return {name: {"template": "low_latency", **each} for name, each in fixed.items()} | {
        "measured": {"template": "low_latency"}
    }


def _intervals() -> Arms:
    # The target is a twentieth (RFC 8289 §4.4).
    codel = {ms: {"interval_us": ms * 1000, "target_us": ms * 50} for ms in (100, 150, 200, 300)}
    arms = {f"{ms} ms": {"template": "fq_codel", "codel": each} for ms, each in codel.items()}
    return arms | {"low_latency": {"template": "low_latency"}}


def _targets() -> Arms:
    fixed = {f"{ms} ms": {"target_us": ms * 1000, "max_target_us": ms * 1000} for ms in _TARGETS_MS}
    return {
        name: {"template": "low_latency", **each} for name, each in {**fixed, "adapted": {}}.items()
    }


def _disciplines() -> Arms:
    long, never = 300_000, 10_000_000
    least, most = ("target_us", "interval_us"), "max_target_us"
    undropped = {**dict.fromkeys((*least, most), never), "bulk_bound_us": None}
    windows = {f"{kb} kB": {**undropped, "receive_window_bytes": kb * 1000} for kb in _WINDOWS_KB}
    pulled = {"template": "fq_codel", "pacer": "just_in_time"}
    return {
        "300 ms": {"template": "low_latency", **dict.fromkeys((*least, most), long)},
        "CoDel 20/400": {**pulled, "codel": dict(zip(least, (20_000, 400_000), strict=True))},
        "CoDel 40/200": {**pulled, "codel": dict(zip(least, (40_000, 200_000), strict=True))},
        "adapted": {"template": "low_latency"},
        **{name: {"template": "low_latency", **each} for name, each in windows.items()},
    }


STUDIES = {
    "l4s": Study("parameters.yaml", ("l4s_",), "prague", _thresholds()),
    "codel": Study("parameters.yaml", ("f1_",), "bulk", _intervals()),
    "target": Study("situations.yaml", _VARYING, "bulk", _targets()),
    "queue": Study("situations.yaml", _VARYING, "bulk", _disciplines()),
}


@dataclass(frozen=True, slots=True)
class Result:
    """An arm on a cell, mean over the seeds."""

    cell: str
    arm: str
    #: Payload of all flows but pings.
    goodput_mbps: float
    #: p50 and p95 of the queueing of the study's flows, mean over the flows.
    queueing_p50_ms: float
    queueing_p95_ms: float
    ping_p95_ms: float
    #: Seconds with pings above 100 ms.
    bloat_s: float


def measure(study: Study, situation: Situation, arm: str, seed: int) -> Result:
    """One run from its first second to its last."""
    overrides: dict[str, Any] = {**situation.overrides, "seed": seed}
    pipeline = dict(study.arms[arm])
    window_bytes = pipeline.pop("receive_window_bytes", None)
    for ue, drb in situation.bearers:
        overrides[f"ues[{ue}].drbs[{drb}].pipeline"] = pipeline
    if window_bytes is not None:
        for number, flow in enumerate(situation.scenario.content["flows"]):
            if flow["name"].startswith(study.flow):
                overrides[f"flows[{number}].receive_window_bytes"] = window_bytes
    world = gnb_lab.World(situation.scenario.source, overrides=overrides)
    world.step_until(round(situation.duration_s * 1e6))
    end_us = world.now_us
    flows = world.summary()["flows"]
    studied = [flow["queuing_ms"] for flow in flows if flow["name"].startswith(study.flow)]
    pings_us: list[int] = []
    for flow in flows:
        if flow["kind"] == "ping":
            pings_us += [rtt_us for _, rtt_us in world.rtt_samples_us(flow["name"])]
            pings_us += [end_us - at_us for at_us in world.unanswered_pings_us(flow["name"])]
    return Result(
        cell=situation.name,
        arm=arm,
        goodput_mbps=sum(flow["goodput_mbps"] for flow in flows if flow["kind"] != "ping"),
        queueing_p50_ms=float(np.mean([each["p50"] or 0.0 for each in studied])),
        queueing_p95_ms=float(np.mean([each["p95"] or 0.0 for each in studied])),
        ping_p95_ms=float(np.percentile(pings_us, 95, method="higher")) / 1e3,
        bloat_s=float(np.mean(np.array(pings_us) > 100_000)) * end_us / 1e6,
    )


def mean(results: Sequence[Result]) -> Result:
    """The mean over the seeds of an arm."""
    values = np.array([astuple(each)[2:] for each in results]).mean(0)
    return Result(results[0].cell, results[0].arm, *(round(float(each), 3) for each in values))


def table(results: Sequence[Result], arms: Sequence[str]) -> list[dict[str, str]]:
    """A row per cell; the last ones compare each arm's goodput with the best of each cell."""
    cells = by_cell(results)
    best = {cell: max(each.goodput_mbps for each in of.values()) for cell, of in cells.items()}
    shares = np.array(
        [[of[arm].goodput_mbps / best[cell] for arm in arms] for cell, of in cells.items()]
    )
    rows = [
        {"cell": cell}
        | {
            arm: f"{of[arm].goodput_mbps:.1f}, {of[arm].queueing_p95_ms:.0f},"
            f" {of[arm].ping_p95_ms:.0f}"
            for arm in arms
        }
        for cell, of in cells.items()
    ]
    means = {"geometric mean": np.exp(np.log(shares).mean(0)), "least": shares.min(0)}
    for name, values in means.items():
        shown = zip(arms, values, strict=True)
        rows.append({"cell": name} | {arm: f"{value:.2f}" for arm, value in shown})
    return rows


def queues(results: Sequence[Result], arms: Sequence[str]) -> list[dict[str, str]]:
    """A row per cell: of each discipline, and of the smallest window that keeps the rate, the share
    of the best goodput, p50 and p95 of the queue."""
    windows = [arm for arm in arms if arm.endswith(" kB")]
    rows = []
    for cell, of in by_cell(results).items():
        best = max(each.goodput_mbps for each in of.values())
        cells = {
            arm: f"{each.goodput_mbps / best:.3f}, {each.queueing_p50_ms:.0f},"
            f" {each.queueing_p95_ms:.0f}"
            for arm, each in of.items()
        }
        enough = (arm for arm in windows if of[arm].goodput_mbps >= _ENOUGH * best)
        smallest = next((f"{arm}: {cells[arm]}" for arm in enough), "none")
        disciplines = {arm: text for arm, text in cells.items() if arm not in windows}
        rows.append(
            {"cell": cell, "best Mbit/s": f"{best:.1f}", **disciplines, "constant window": smallest}
        )
    return rows


def by_cell(results: Sequence[Result]) -> dict[str, dict[str, Result]]:
    """Results by cell and arm."""
    cells: dict[str, dict[str, Result]] = {}
    for each in results:
        cells.setdefault(each.cell, {})[each.arm] = each
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--traces", type=Path, help="folder of the recorded radios")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each cell (default 3)")
    parser.add_argument("--out", type=Path, help="folder for parameters-STUDY.json")
    options = parser.parse_args()
    study = STUDIES[options.study]
    situations, skipped = find_situations([ROOT / study.file], options.traces)
    results = []
    for situation in situations:
        if not situation.name.startswith(study.cells):
            continue
        for arm in study.arms:
            seeds = [situation.seed + 100 * number for number in range(options.seeds)]
            runs = [measure(study, situation, arm, seed) for seed in seeds]
            results.append(mean(runs))
    if options.study == "queue":
        print("Share of the best goodput; p50, p95 of that flow's queueing ms\n")
        show(queues(results, list(study.arms)))
    else:
        print("Goodput Mbit/s, p95 of that flow's queueing ms, p95 of ping ms\n")
        show(table(results, list(study.arms)))
    print("\n".join(["", *skipped]))
    write(options.out, f"parameters-{options.study}.json", results)


if __name__ == "__main__":
    main()
