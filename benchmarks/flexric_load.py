"""The FlexRIC bridge under load, against a real near-RT RIC: RLC each ms, KPM each 100 ms and TC
each 10 ms from several nodes, and ten TC controls a second.

Needs FlexRIC (FLEXRIC_SRC, FLEXRIC_BUILD; SCTP or SCTP_SHIM), `make flexric-bridge` and
`make flexric-node`. Prints what got through, what was lost and where, and how old reports were when
a gRPC client had them. Clocks are those of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import e2sm_tc
import numpy as np
import yaml
from flexric_processes import LAB, Network, make_site, missing, missing_sctp
from loop import SCENARIO
from matrix import the_installation
from programs import sdk_process, start_bridge
from ric import E2GatewayClient
from ric.errors import RicError
from ric.lifecycle import prompt_runner
from ric.settings import GatewaySettings
from ric.sm import KPM_OID, TC_V0_OID, ran_function_name, rlc
from sojourn_demo.programs import Program

MEASUREMENTS = ("DRB.UEThpDl", "RRU.PrbTotDl")
CONTROLS_PER_S = 10
HEADER = bytes(4)
RR = e2sm_tc.encode("control", {"type": "CLS", "act": "ADD", "cls_type": "RR", "dummy": 0}, "v0")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Flow:
    """The reports of one service model of all nodes."""

    oid: str
    period_ms: int
    reports: int = 0
    missed: int = 0
    """Gaps in the sequence: dropped by the bridge for this reader."""
    stalls: int = 0
    """Times that a node sent nothing for 100 of its periods."""
    latency_us: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one service model."""

    name: str
    reports: int
    of_asked: float
    missed: int
    missing: int
    """Periods for which none came from the node: not made, or lost before the SDK."""
    stalls: int
    p50_us: float
    p99_us: float


@dataclass(frozen=True, slots=True)
class Result:
    """One run."""

    nodes: int
    seconds: float
    rows: list[Row]
    controls: int
    failed: int
    ack_p50_us: float
    ack_p99_us: float
    cpu_share: dict[str, float]
    """Of one core: "bridge", "sdk", "ric"."""
    lost_in_ring: float
    restarts: float


def scenario(folder: Path) -> Path:
    """One UE with a call and a ping, for as long as it takes: it is the way of reports that is
    loaded, not the cell."""
    path = folder / "scenario.yaml"
    quiet = [{"name": "call", "kind": "voip"}, {"name": "ping", "kind": "ping"}]
    path.write_text(yaml.safe_dump({**SCENARIO, "duration_s": 36_000, "flows": quiet}))
    return path


async def read(client: E2GatewayClient, node: str, flow: Flow, counting: asyncio.Event) -> None:
    """Reads one subscription for ever."""
    names = MEASUREMENTS if flow.oid == KPM_OID else ()
    last_us = 0
    trigger = rlc.event_trigger(flow.period_ms)
    stream = client.subscribe(node, flow.oid, trigger, kpm_measurements=names)
    async with aclosing(stream) as indications:
        async for indication in indications:
            gap_us, last_us = indication.received_at_us - last_us, indication.received_at_us
            if not counting.is_set():
                continue
            flow.reports += 1
            flow.missed += indication.missed
            flow.stalls += gap_us > 100_000 * flow.period_ms
            flow.latency_us.append(indication.handled_at_us - indication.collected_at_us)


async def control(
    client: E2GatewayClient, nodes: list[str], times_us: list[int], counting: asyncio.Event
) -> None:
    """Ten controls a second, the nodes in turn, while it is counted."""
    number = 0
    while counting.is_set():
        began = time.monotonic()
        number += 1
        with suppress(RicError):  # no answer, no node: the bridge counts it
            answer = await client.control(nodes[number % len(nodes)], TC_V0_OID, HEADER, RR)
            times_us.append(answer.answered_at_us - answer.sent_at_us)
        await asyncio.sleep(max(0.0, 1 / CONTROLS_PER_S - (time.monotonic() - began)))


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, s; NaN of one that is gone."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def metric(program: Program, name: str, label: str = "") -> float:
    """The sum over a metric's series, those with `label` alone if one is given."""
    found = re.findall(rf"^{name}(?:{{([^}}]*)}})? (\S+)$", program.metrics(), re.MULTILINE)
    return sum(float(value) for labels, value in found if label in labels)


def missing_periods(bridge: Program, flow: Flow) -> int:
    """Periods for which no report of a service model came from any node."""
    label = f'ran_function="{ran_function_name(flow.oid)}"'
    return int(metric(bridge, "sojourn_flexric_reports_missing_total", label))


@asynccontextmanager
async def chain(nodes: int) -> AsyncIterator[tuple[Network, Program, list[str]]]:
    """RIC, nodes and bridge; the ids of the nodes."""
    with tempfile.TemporaryDirectory() as folder:
        network = Network(make_site(Path(folder) / "flexric", 62))
        bridge = None
        try:
            file = scenario(Path(folder))
            names = [network.add_lab(1 + number, file) for number in range(nodes)]
            bridge = start_bridge(network.site)
            yield network, bridge, names
        finally:
            if bridge is not None:
                bridge.kill()
            network.stop()


async def measure(nodes: int, seconds: float) -> Result:
    """One run."""
    async with chain(nodes) as (network, bridge, names):
        settings = GatewaySettings(address=bridge.ready["listen"])
        flows = {
            "RLC 1 ms": Flow(rlc.OID, 1),
            "TC 10 ms": Flow(TC_V0_OID, 10),
            "KPM 100 ms": Flow(KPM_OID, 100),
        }
        counting = asyncio.Event()
        ack_us: list[int] = []
        async with E2GatewayClient(settings) as client, asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(read(client, name, flow, counting))
                for name in names
                for flow in flows.values()
            ]
            await asyncio.sleep(3)  # every subscription runs
            pids = {"bridge": bridge.process.pid, "ric": network.ric.pid}
            if (sdk := sdk_process(bridge)) is not None:
                pids["sdk"] = sdk
            lacked = {name: missing_periods(bridge, flow) for name, flow in flows.items()}
            before = {name: cpu_s(pid) for name, pid in pids.items()}
            began = time.monotonic()
            counting.set()
            controlling = tasks.create_task(control(client, names, ack_us, counting))
            await asyncio.sleep(seconds)
            counting.clear()
            took = time.monotonic() - began
            cpu_share = {name: (cpu_s(pid) - before[name]) / took for name, pid in pids.items()}
            for name, flow in flows.items():
                lacked[name] = missing_periods(bridge, flow) - lacked[name]
            await controlling  # the last has its answer
            for task in running:
                task.cancel()
        return Result(
            nodes,
            took,
            [row(name, flow, lacked[name], nodes * took) for name, flow in flows.items()],
            len(ack_us),
            max(0, int(metric(bridge, "sojourn_flexric_controls_total")) - len(ack_us)),
            *percentiles(ack_us),
            cpu_share,
            metric(bridge, "sojourn_flexric_reports_lost_total"),
            metric(bridge, "sojourn_flexric_restarts_total"),
        )


def row(name: str, flow: Flow, lacked: int, node_seconds: float) -> Row:
    """The figures of a flow."""
    p50_us, p99_us = percentiles(flow.latency_us)
    share = flow.reports * flow.period_ms / (1000 * node_seconds)
    return Row(name, flow.reports, share, flow.missed, lacked, flow.stalls, p50_us, p99_us)


def percentiles(values: list[int]) -> tuple[float, float]:
    """p50 and p99; NaN of nothing."""
    if not values:
        return float("nan"), float("nan")
    return float(np.percentile(values, 50)), float(np.percentile(values, 99))


def show(result: Result) -> None:
    """The table."""
    print(f"{result.nodes} nodes, {result.seconds:.0f} s")
    heads = ("reports", "of asked", "missed", "missing", "stalls", "p50 µs", "p99 µs")
    print(" " * 12 + "".join(f"{head:>10}" for head in heads))
    for r in result.rows:
        print(
            f"{r.name:>12}{r.reports:>10}{r.of_asked:>10.1%}{r.missed:>10}{r.missing:>10}{r.stalls:>10}"
            f"{r.p50_us:>10.0f}{r.p99_us:>10.0f}"
        )
    print(
        f"{result.controls} controls acknowledged, {result.failed} not; "
        f"p50 {result.ack_p50_us:.0f} µs, p99 {result.ack_p99_us:.0f} µs"
    )
    shares = ", ".join(f"{name} {share:.0%}" for name, share in result.cpu_share.items())
    print(f"CPU of one core: {shares}")
    print(f"lost in the SDK's ring {result.lost_in_ring:.0f}, SDK restarts {result.restarts:.0f}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=8, help="E2 nodes (FlexRIC survives 11)")
    parser.add_argument("--duration", type=float, default=60.0, help="seconds to measure")
    parser.add_argument("--out", type=Path, help="folder for flexric_load.json")
    given = parser.parse_args()
    try:
        lacking = missing(the_installation()) or missing_sctp()
    except ValueError as error:
        lacking = str(error)
    lacking = lacking or (None if LAB.is_file() else f"there is no {LAB}: make flexric-node")
    if lacking:
        sys.exit(f"benchmarks/flexric_load.py: {lacking}")
    with prompt_runner() as runner:
        result = runner.run(measure(given.nodes, given.duration))
    show(result)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "flexric_load.json").write_text(json.dumps(asdict(result), indent=2))


if __name__ == "__main__":
    main()
