"""Latency and CPU time of the FlexRIC bridge: reports of several nodes to one xApp.

A synthetic SDK in the bridge's child process reports RLC every 1 ms, KPM every 100 ms and TC (v0)
every 10 ms for each node, with the time in `received_at_us`. The xApp is another process. Prints
the latency from SDK to xApp, lost reports, and the CPU time of bridge, child and xApp as shares of
one core. Times are those of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import struct
import sys
import tempfile
import time
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measuring import cpu_s, percentiles, write
from ric import E2GatewayClient
from ric.lifecycle import prompt_runner
from ric.settings import GatewaySettings
from sojourn_demo.programs import Program, Programs
from steady_sdk import KPM, MEASUREMENT, NODES, OIDS, RLC, TC

PERIODS_MS = {RLC: 1, KPM: 100, TC: 10}


@dataclass(frozen=True, slots=True)
class Result:
    """Results of a run."""

    nodes: int
    reports_per_s: float
    received_share: float
    dropped: int
    latency_p50_us: float
    latency_p99_us: float
    latency_max_us: float
    sidecar_cpu: float
    child_cpu: float
    xapp_cpu: float
    sidecar_us_per_report: float


async def xapp(address: str, nodes: int, seconds: float) -> None:
    """Reads all reports and prints latencies as JSON; runs in its own process."""
    latencies: list[int] = []
    dropped: dict[tuple[str, str], int] = {}
    begin = asyncio.Event()

    async def read(client: E2GatewayClient, node_id: str, function: int) -> None:
        trigger = struct.pack("<I", PERIODS_MS[function])
        names = (MEASUREMENT,) if function == KPM else ()
        stream = client.subscribe(node_id, OIDS[function], trigger, (), names)
        async with aclosing(stream) as indications:
            async for indication in indications:
                if begin.is_set():
                    latencies.append(indication.handled_at_us - indication.received_at_us)
                    dropped[node_id, indication.oid] = indication.dropped

    async with E2GatewayClient(GatewaySettings(address=address)) as client:
        for number in range(nodes):
            await client.wait_for_node(f"gnb-001-01-{number:#x}")
        tasks = [
            asyncio.create_task(read(client, f"gnb-001-01-{number:#x}", function))
            for number in range(nodes)
            for function in OIDS
        ]
        await asyncio.sleep(3)
        begin.set()
        before = time.process_time()
        await asyncio.sleep(seconds)
        begin.clear()
        cpu = (time.process_time() - before) / seconds
        for task in tasks:
            task.cancel()
    p50, p99 = percentiles(latencies)
    measured = {
        "count": len(latencies),
        "p50": p50,
        "p99": p99,
        "max": float(max(latencies)),
        "dropped": sum(dropped.values()),
        "cpu": cpu,
    }
    sys.stdout.write(json.dumps(measured) + "\n")


async def measure(nodes: int, seconds: float) -> Result:
    """Runs the bridge and the xApp."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with tempfile.TemporaryDirectory() as folder:
        async with Programs(Path(folder)) as programs:
            bridge = await programs.start(
                *("flexric-bridge", "serve", "--listen", "127.0.0.1:0", "--metrics-listen", ""),
                *("--ric-sdk", "steady_sdk:SteadySdk", "--nodes-query-period-s", "0"),
                *("--log-level", "error"),
                environment=environment,
            )
            return await _read(bridge, nodes, seconds, environment)


async def _read(bridge: Program, nodes: int, seconds: float, environment: dict[str, str]) -> Result:
    reader = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, "--as-xapp", bridge.ready["listen"]),
        *("--nodes", str(nodes), "--seconds", str(seconds)),
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        await asyncio.sleep(4)
        (child,) = _children(bridge.process.pid)
        pids = (bridge.process.pid, child)
        before, began = [cpu_s(pid) for pid in pids], time.monotonic()
        await asyncio.sleep(seconds)
        spent = time.monotonic() - began
        used = [(cpu_s(pid) - b) / spent for pid, b in zip(pids, before, strict=True)]
        assert reader.stdout is not None
        measured: dict[str, Any] = json.loads((await reader.stdout.read()).splitlines()[-1])
    finally:
        if reader.returncode is None:
            reader.terminate()
        await reader.wait()
    rate = nodes * sum(1000 / period for period in PERIODS_MS.values())
    return Result(
        nodes,
        rate,
        measured["count"] / (rate * seconds),
        measured["dropped"],
        measured["p50"],
        measured["p99"],
        measured["max"],
        used[0],
        used[1],
        measured["cpu"],
        used[0] * 1e6 * seconds / measured["count"],
    )


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--nodes", type=int, default=NODES, choices=range(1, NODES + 1))
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--as-xapp", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.as_xapp:
        with prompt_runner() as runner:
            runner.run(xapp(given.as_xapp, given.nodes, given.seconds))
        return 0
    result = asyncio.run(measure(given.nodes, given.seconds))
    write(given.out, "bridge_latency.json", asdict(result))
    for name, value in asdict(result).items():
        print(f"{name:16} {value:10.3f}" if isinstance(value, float) else f"{name:16} {value:10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
