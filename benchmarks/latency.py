"""Latency of reports at a client of an E2 gateway, and the CPU time that they take.

gnb     RLC reports each millisecond of `gnb-lab serve` with 1, 32, 256 and 1000 bearers, read as an
        xApp does, while TC controls are sent
bridge  RLC each millisecond, TC (v0) each ten and KPM each hundred of several nodes, made by a
        synthetic SDK in the child process of the FlexRIC bridge

The client reads the newest, as tc-controller does: what a newer report replaces is coalesced, not
missed. With --busy, loops that never wait run beside all; --nice sets the priority of gnb-lab and
of the client, as their settings of that name do.

Beside each size of gnb: as many bytes over a bare gRPC stream right after it, and the ratio of the
medians. Beside the CPU time of the bridge: a fixed loop of Python. CPU times are shares of one
core; all times are those of one machine. With a real near-RT RIC: `flexric_chain.py load`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
from bare_stream import bare_latency_us
from clients import Reports, control_forever, serving
from measuring import busy_loops, cpu_s, fixed_loop_s, percentiles, show, shown, write
from ric import E2GatewayClient, Reading
from ric.lifecycle import prompt_runner
from ric.priority import set_nice
from ric.settings import GatewaySettings
from ric.sm import rlc
from sojourn_demo.programs import Programs
from steady_sdk import KPM, MEASUREMENT, NODES, OIDS, RLC, TC


async def gnb(bearers: int, seconds: float, nice: int | None) -> dict[str, object]:
    """Reports and controls of one size."""
    options = () if nice is None else ("--nice", str(nice))
    async with (
        serving(bearers, *options) as address,
        E2GatewayClient(GatewaySettings(address=address)) as client,
    ):
        node = (await anext(client.watch_nodes())).node.id
        control_us: list[float] = []
        controls = asyncio.create_task(control_forever(client, node, control_us))
        latency_us: list[int] = []
        node_us: list[int] = []
        missed = size = coalesced = coalesced_before = 0
        loop = asyncio.get_running_loop()
        subscription = client.subscribe(node, rlc.OID, rlc.event_trigger(1), reading=Reading.NEWEST)
        async with aclosing(subscription) as stream:
            warm = loop.time() + 1
            async for indication in stream:
                table = rlc.decode(indication.message)
                # One pass over a column, as in every xApp.
                table.records["txsdu_wt_us"].max(initial=0)
                if loop.time() < warm:
                    coalesced_before = indication.coalesced
                    continue
                coalesced = indication.coalesced - coalesced_before
                latency_us.append(indication.handled_at_us - indication.collected_at_us)
                node_us.append(indication.received_at_us - indication.collected_at_us)
                missed += indication.missed
                size = len(indication.message)
                if loop.time() > warm + seconds:
                    break
        controls.cancel()
    p50_us, p99_us = percentiles(latency_us)
    control_p50_us, control_p99_us = percentiles(control_us)
    bare_p50_us, bare_p99_us = await bare_latency_us(size, seconds)
    return {
        "bearers": bearers,
        "message_bytes": size,
        "indications": len(latency_us),
        "missed": missed,
        "coalesced": coalesced,
        "node_p50_us": percentiles(node_us)[0],
        "latency_p50_us": p50_us,
        "latency_p99_us": p99_us,
        "bare_p50_us": bare_p50_us,
        "bare_p99_us": bare_p99_us,
        "p50_over_bare": p50_us / bare_p50_us,
        "late_share": float(np.mean(np.array(latency_us) > 1_000)),
        "control_p50_us": control_p50_us,
        "control_p99_us": control_p99_us,
    }


def children(pid: int) -> list[int]:
    """The child processes of a process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def bridge(nodes: int, seconds: float) -> dict[str, Any]:
    """Reports of so many nodes; CPU time of bridge, its child and this client."""
    flows = {
        "RLC 1 ms": Reports(OIDS[RLC], 1),
        "TC 10 ms": Reports(OIDS[TC], 10),
        "KPM 100 ms": Reports(OIDS[KPM], 100, (MEASUREMENT,)),
    }
    names = [f"gnb-001-01-{number:#x}" for number in range(nodes)]
    with tempfile.TemporaryDirectory() as folder:
        async with Programs(Path(folder)) as programs:
            started = await programs.start(
                *("flexric-bridge", "serve", "--listen", "127.0.0.1:0", "--metrics-listen", ""),
                *("--ric-sdk", "steady_sdk:SteadySdk", "--nodes-query-period-s", "0"),
                *("--log-level", "error"),
                environment={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
            )
            sidecar = started.process.pid
            settings = GatewaySettings(address=started.ready["listen"])
            counting = asyncio.Event()
            async with E2GatewayClient(settings) as client, asyncio.TaskGroup() as tasks:
                for name in names:
                    await client.wait_for_node(name)
                running = [
                    tasks.create_task(flow.read(client, name, counting))
                    for name in names
                    for flow in flows.values()
                ]
                await asyncio.sleep(3)
                (sdk,) = children(sidecar)
                pids = {"bridge": sidecar, "sdk": sdk, "client": os.getpid()}
                before, began_s = {name: cpu_s(pid) for name, pid in pids.items()}, time.monotonic()
                counting.set()
                await asyncio.sleep(seconds)
                counting.clear()
                took_s = time.monotonic() - began_s
                share = {name: (cpu_s(pid) - before[name]) / took_s for name, pid in pids.items()}
                for task in running:
                    task.cancel()
    reports, loop_s = sum(flow.reports for flow in flows.values()), fixed_loop_s()
    return {
        "nodes": nodes,
        "rows": [
            {"service model": name, **flow.figures(nodes * took_s)} for name, flow in flows.items()
        ],
        "cpu_share": share,
        "bridge_us_per_report": share["bridge"] * 1e6 * took_s / reports,
        "bridge_fixed_loops_per_1000_reports": share["bridge"] * took_s / reports * 1e3 / loop_s,
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("of", choices=("gnb", "bridge"))
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run (default: 8)")
    parser.add_argument("--bearers", type=int, nargs="+", default=[1, 32, 256, 1000])
    parser.add_argument("--nodes", type=int, default=NODES, choices=range(1, NODES + 1))
    parser.add_argument("--out", type=Path, help="folder for latency_gnb.json, latency_bridge.json")
    parser.add_argument("--busy", type=int, default=0, help="loops beside (default: none)")
    parser.add_argument("--nice", type=int, help="nice value of gnb-lab and client")
    given = parser.parse_args()
    with prompt_runner() as runner, busy_loops(given.busy):
        if given.nice is not None:
            set_nice(given.nice)
        if given.of == "gnb":
            rows = [runner.run(gnb(each, given.seconds, given.nice)) for each in given.bearers]
            show(rows)
            write(given.out, "latency_gnb.json", rows)
        else:
            result = runner.run(bridge(given.nodes, given.seconds))
            show(result["rows"])
            print("CPU of a core:", shown(result["cpu_share"]))
            loops = result["bridge_fixed_loops_per_1000_reports"]
            print(
                f"CPU of the bridge for a report: {result['bridge_us_per_report']:.0f} µs;"
                f" for a thousand, fixed loops: {loops:.1f}"
            )
            write(given.out, "latency_bridge.json", result)


if __name__ == "__main__":
    main()
