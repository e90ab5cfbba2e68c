"""The FlexRIC bridge under load with a real near-RT RIC.

RLC every ms, KPM every 100 ms and TC every 10 ms from several nodes, and ten TC controls per
second. Needs FlexRIC (FLEXRIC_SRC, FLEXRIC_BUILD; SCTP or SCTP_SHIM), `make flexric-bridge` and
`make flexric-node`. Prints reports received and lost, and their latency to a gRPC client. Times are
those of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import e2sm_tc
import yaml
from flexric_processes import LAB, Network, make_site, missing, missing_sctp
from loop import SCENARIO
from matrix import the_installation
from measuring import cpu_s, percentiles, write
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


@dataclass(slots=True)
class Flow:
    """The reports of one service model of all nodes."""

    oid: str
    period_ms: int
    reports: int = 0
    missed: int = 0
    """Gaps in the sequence: reports dropped by the bridge."""
    stalls: int = 0
    """Number of gaps longer than 100 periods."""
    latency_us: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one service model."""

    name: str
    reports: int
    of_expected: float
    missed: int
    missing: int
    """Periods without report from the node: not sent, or lost before the SDK."""
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
    """Shares of one core by "bridge", "sdk", "ric"."""
    lost_in_ring: float
    restarts: float


def scenario(folder: Path) -> Path:
    """One UE with a call and a ping, because the reports are the load, not the cell."""
    path = folder / "scenario.yaml"
    quiet = [{"name": "call", "kind": "voip"}, {"name": "ping", "kind": "ping"}]
    path.write_text(yaml.safe_dump({**SCENARIO, "duration_s": 36_000, "flows": quiet}))
    return path


async def read(client: E2GatewayClient, node: str, flow: Flow, counting: asyncio.Event) -> None:
    """Reads one subscription until cancelled."""
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
    """Ten controls per second, round robin over the nodes, while `counting`."""
    number = 0
    while counting.is_set():
        began = time.monotonic()
        number += 1
        with suppress(RicError):  # The bridge counts failures.
            answer = await client.control(nodes[number % len(nodes)], TC_V0_OID, HEADER, RR)
            times_us.append(answer.answered_at_us - answer.sent_at_us)
        await asyncio.sleep(max(0.0, 1 / CONTROLS_PER_S - (time.monotonic() - began)))


def metric(program: Program, name: str, label: str = "") -> float:
    """Sum of a metric over its series, or over those with `label`."""
    found = re.findall(rf"^{name}(?:{{([^}}]*)}})? (\S+)$", program.metrics(), re.MULTILINE)
    return sum(float(value) for labels, value in found if label in labels)


def missing_periods(bridge: Program, flow: Flow) -> int:
    """Periods without report of a service model, over all nodes."""
    label = f'ran_function="{ran_function_name(flow.oid)}"'
    return int(metric(bridge, "sojourn_flexric_reports_missing_total", label))


@asynccontextmanager
async def chain(nodes: int) -> AsyncIterator[tuple[Network, Program, list[str]]]:
    """RIC, bridge and the ids of the nodes."""
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
            await asyncio.sleep(3)  # until all subscriptions are active
            pids = {"bridge": bridge.process.pid, "ric": network.ric.pid}
            if (sdk := sdk_process(bridge)) is not None:
                pids["sdk"] = sdk
            missing_before = {name: missing_periods(bridge, flow) for name, flow in flows.items()}
            before = {name: cpu_s(pid) for name, pid in pids.items()}
            began = time.monotonic()
            counting.set()
            controlling = tasks.create_task(control(client, names, ack_us, counting))
            await asyncio.sleep(seconds)
            counting.clear()
            took = time.monotonic() - began
            cpu_share = {name: (cpu_s(pid) - before[name]) / took for name, pid in pids.items()}
            for name, flow in flows.items():
                missing_before[name] = missing_periods(bridge, flow) - missing_before[name]
            await controlling
            for task in running:
                task.cancel()
        return Result(
            nodes,
            took,
            [row(name, flow, missing_before[name], nodes * took) for name, flow in flows.items()],
            len(ack_us),
            max(0, int(metric(bridge, "sojourn_flexric_controls_total")) - len(ack_us)),
            *percentiles(ack_us),
            cpu_share,
            metric(bridge, "sojourn_flexric_reports_lost_total"),
            metric(bridge, "sojourn_flexric_restarts_total"),
        )


def row(name: str, flow: Flow, missing_before: int, node_seconds: float) -> Row:
    """Results of a flow."""
    p50_us, p99_us = percentiles(flow.latency_us)
    share = flow.reports * flow.period_ms / (1000 * node_seconds)
    return Row(name, flow.reports, share, flow.missed, missing_before, flow.stalls, p50_us, p99_us)


def show(result: Result) -> None:
    """Prints the table."""
    print(f"{result.nodes} nodes, {result.seconds:.0f} s")
    heads = ("reports", "expected", "missed", "missing", "stalls", "p50 µs", "p99 µs")
    print(" " * 12 + "".join(f"{head:>10}" for head in heads))
    for r in result.rows:
        print(
            f"{r.name:>12}{r.reports:>10}{r.of_expected:>10.1%}{r.missed:>10}{r.missing:>10}{r.stalls:>10}"
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
    """Runs the benchmark."""
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
    write(given.out, "flexric_load.json", asdict(result))


if __name__ == "__main__":
    main()
