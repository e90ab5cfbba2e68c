"""What a bulk flow keeps when a pipeline takes over its backlog, second by second.

Each cell runs without control up to some time, then a transaction installs a pipeline. Goodput of
the bulk flow, in order, in each of the first three seconds is compared with the same seconds of the
run without control. `low_latency` with FIFO queues drops nothing: where it keeps little, a pause of
the radio leaves room for no more than the voice and ping packets that waited, which leave first.
Such seconds are counted apart.

Of the default cell, which has 8.7 MB queued at 40 Mbit/s by then, two more tables: what the bulk
flow gets and how long its own packets wait in each second after the change, and by how much the
change moves each figure of delay, in the names of 3GPP TS 28.552 and by kind of packet.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import gnb_lab
import numpy as np
from clients import HEADER, transaction
from measuring import show, write
from ric.sm import TC_V1_OID, tc
from tc_evaluate.situation import Situation, find_situations

ROOT = Path(__file__).parent.parent
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
    world = gnb_lab.World(cell.scenario.source, overrides=dict(cell.overrides))
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
    for bearer in world.bearers():
        named = {"ue": {"rnti": bearer["rnti"]}, "drb": bearer["drb"]}
        answer = world.control(TC_V1_OID, HEADER, transaction(named, {"replace": pipeline}))
        outcome = tc.decode("control-outcome", answer)
        if "accepted" not in outcome:
            raise RuntimeError(f"transaction for {named}: {outcome}")


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


SHOWN_S = 12
#: Time over which the figures of delay are means.
KPI_S = 60
KINDS = ("sparse", "bulk", "inherited")
DELAYS = ("DRB.PdcpSduDelayDl", "DRB.RlcSduDelayDl")


@dataclass(frozen=True, slots=True)
class Total:
    """Packets so far, and what they waited in the gNB, ms."""

    packets: float
    waited_ms: float

    def mean_ms_since(self, before: Total) -> float | None:
        """Mean wait of the packets since then; ``None`` without any."""
        packets = self.packets - before.packets
        return (self.waited_ms - before.waited_ms) / packets if packets else None


def totals(world: gnb_lab.World) -> dict[str, Total]:
    """Totals by figure: the bulk flow's own packets, each kind, each delay of TS 28.552."""
    summary = world.summary()
    (bearer,) = summary["bearers"]
    bulk = next(flow for flow in summary["flows"] if flow["name"] == "bulk")["queuing_ms"]
    found = {"bulk flow": Total(bulk["count"], bulk["count"] * bulk["mean"])}
    for kind in KINDS:
        delay = bearer["sojourn_by_kind_ms"][kind]
        found[kind] = Total(delay["count"], delay["count"] * delay["mean"])
    packets = bearer["drained_packets"]
    for name in DELAYS:
        # In 0.1 ms.
        found[name] = Total(packets, packets * (summary["ts_28_552"][name] or 0.0) / 10.0)
    return found


@dataclass(frozen=True, slots=True)
class Takeover:
    """One change of the pipeline, or none, by second and over a minute."""

    pipeline: str
    queued_bytes: int
    goodput_mbps: list[float]
    own_delay_ms: list[float | None]
    #: Means over the minute, ms.
    means_ms: dict[str, float | None]
    minute_mbps: float


def take_over(cell: Situation, name: str, pipeline: dict[str, Any] | None, at_s: float) -> Takeover:
    """The seconds after the change at ``at_s``."""
    world = gnb_lab.World(cell.scenario.source, overrides=dict(cell.overrides))
    at_us = round(at_s * 1e6)
    world.step_until(at_us)
    (bearer,) = world.bearers()
    queued = bearer["tc_backlog_bytes"] + bearer["rlc_occupancy_bytes"]
    if pipeline is not None:
        install(world, pipeline)
    first, began = totals(world), bulk_bytes(world)
    before, got = first, began
    goodput_mbps: list[float] = []
    own_delay_ms: list[float | None] = []
    for second in range(1, SHOWN_S + 1):
        world.step_until(at_us + second * 1_000_000)
        now, have = totals(world), bulk_bytes(world)
        own_delay_ms.append(now["bulk flow"].mean_ms_since(before["bulk flow"]))
        goodput_mbps.append(round((have - got) * 8 / 1e6, 1))
        before, got = now, have
    world.step_until(at_us + KPI_S * 1_000_000)
    last = totals(world)
    means_ms = {figure: last[figure].mean_ms_since(first[figure]) for figure in last}
    minute_mbps = round((bulk_bytes(world) - began) * 8 / KPI_S / 1e6, 1)
    return Takeover(name, queued, goodput_mbps, own_delay_ms, means_ms, minute_mbps)


def by_second(one: Takeover) -> list[tuple[str, Sequence[float | None]]]:
    """What is shown of each second, with its unit."""
    return [("Mbit/s", one.goodput_mbps), ("ms", one.own_delay_ms)]


def print_takeovers(takeovers: Sequence[Takeover]) -> None:
    """Print the figures of each second, then those of the minute."""
    print(f"\n{takeovers[0].queued_bytes / 1e6:.1f} MB queued; Mbit/s and own delay ms by second")
    show(
        [
            {
                "pipeline": one.pipeline,
                "": unit,
                **{f"{n}": each for n, each in enumerate(values, 1)},
            }
            for one in takeovers
            for unit, values in by_second(one)
        ]
    )
    print(f"\nmeans over the {KPI_S} s, ms")
    show(
        [{"pipeline": one.pipeline, **one.means_ms, "Mbit/s": one.minute_mbps} for one in takeovers]
    )


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
    default, *_ = find_situations([ROOT / "lab/scenarios/default.yaml"], None)[0]
    found, skipped = find_situations([ROOT / "benchmarks/situations.yaml"], given.traces)
    cells = [default, *(each for each in found if each.name.startswith("recorded_"))]
    for sentence in skipped:
        if "recorded_" in sentence:
            print(sentence)
    results = measure(cells, given.at)
    show(results)
    rows = summary(results)
    print(f"\nseconds, of them below {TARGET}, and the least share")
    show([{"pipeline": name, **row} for name, row in rows.items()])
    arms = [("without control", None), *((name, ARMS[name]) for name in ARMS if name != UNDROPPED)]
    takeovers = [take_over(cells[0], name, pipeline, given.at[0]) for name, pipeline in arms]
    print_takeovers(takeovers)
    measured = {
        "results": results,
        "summary": rows,
        "takeovers": takeovers,
    }
    write(given.out, "transient.json", measured)


if __name__ == "__main__":
    main()
