"""The FlexRIC bridge with a real near-RT RIC.

    export PYTHONPATH=tests:gateway/flexric/tests
    python benchmarks/flexric_chain.py load --nodes 8 --out out/bench
    python benchmarks/flexric_chain.py transactions --out out/bench

load          RLC every ms, KPM every 100 ms and TC every 10 ms from several nodes, and ten TC
              controls a second: reports received and lost, and their latency to a client. It reads
              the newest of RLC, as tc-controller does: what a newer report replaces is coalesced.
              With --busy, loops that never wait run beside all; with --nice all programs of the
              chain have that nice value, as a supervisor gives it to them
transactions  to a node with E2SM-TC v1 and to one with v0 alone: two chains of RIC, node, bridge
              and client run at once, and their transactions alternate, so that both meet the same
              machine. The pipeline is that of `policies/flexric.yaml`: one control of v1, which the
              bridge translates to ten of v0

Needs FlexRIC (FLEXRIC_SRC, FLEXRIC_BUILD; SCTP or SCTP_SHIM) and `make flexric-bridge flexric-sm
flexric-node`. Times are from request to answer at the client, and of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import e2sm_tc
import yaml
from clients import FLEXRIC_PIPELINE, Reports, change_pipeline, durations
from flexric_processes import LAB, TC_V1_MODEL, Network, make_site, missing, missing_sctp
from loop import SCENARIO
from matrix import the_installation
from measuring import busy_loops, cpu_s, percentiles, show, write
from programs import sdk_process, start_bridge
from ric import E2GatewayClient, Reading
from ric.errors import RicError
from ric.lifecycle import prompt_runner
from ric.priority import set_nice
from ric.settings import GatewaySettings
from ric.sm import KPM_OID, RLC_OID, TC_V0_OID, ran_function_name, rlc
from sojourn_demo.programs import Program

MEASUREMENTS: Final = ("DRB.UEThpDl", "RRU.PrbTotDl")
CONTROLS_PER_S: Final = 10
RR: Final = e2sm_tc.encode(
    "control", {"type": "CLS", "act": "ADD", "cls_type": "RR", "dummy": 0}, "v0"
)
QUIET: Final = [{"name": "call", "kind": "voip"}, {"name": "ping", "kind": "ping"}]
"""One UE with these, because the reports are the load, not the cell."""
PATIENCE_S: Final = 60.0


async def control(
    client: E2GatewayClient, nodes: list[str], times_us: list[int], counting: asyncio.Event
) -> None:
    """Ten controls per second, round robin over the nodes, while `counting`."""
    number = 0
    while counting.is_set():
        began = time.monotonic()
        number += 1
        with suppress(RicError):  # The bridge counts failures.
            answer = await client.control(nodes[number % len(nodes)], TC_V0_OID, bytes(4), RR)
            times_us.append(answer.answered_at_us - answer.sent_at_us)
        await asyncio.sleep(max(0.0, 1 / CONTROLS_PER_S - (time.monotonic() - began)))


def metric(program: Program, name: str, label: str = "") -> int:
    """Sum of a metric over its series, or over those with `label`."""
    found = re.findall(rf"^{name}(?:{{([^}}]*)}})? (\S+)$", program.metrics(), re.MULTILINE)
    return int(sum(float(value) for labels, value in found if label in labels))


def missing_periods(bridge: Program, flow: Reports) -> int:
    """Periods without report of a service model: not sent, or lost before the SDK."""
    label = f'ran_function="{ran_function_name(flow.oid)}"'
    return metric(bridge, "sojourn_flexric_reports_missing_total", label)


@asynccontextmanager
async def chain(nodes: int) -> AsyncIterator[tuple[Network, Program, list[str]]]:
    """RIC, bridge and the ids of the nodes."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        network = Network(make_site(Path(folder) / "flexric", 62))
        stack.callback(network.stop)
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump({**SCENARIO, "duration_s": 36_000, "flows": QUIET}))
        names = [network.add_lab(1 + number, file) for number in range(nodes)]
        bridge = start_bridge(network.site)
        stack.callback(bridge.kill)
        yield network, bridge, names


async def load(nodes: int, seconds: float) -> dict[str, Any]:
    """Reports of so many nodes while controls are sent."""
    flows = {
        "RLC 1 ms": Reports(rlc.OID, 1, reading=Reading.NEWEST),
        "TC 10 ms": Reports(TC_V0_OID, 10),
        "KPM 100 ms": Reports(KPM_OID, 100, MEASUREMENTS),
    }
    async with chain(nodes) as (network, bridge, names):
        settings = GatewaySettings(address=bridge.ready["listen"])
        counting = asyncio.Event()
        ack_us: list[int] = []
        async with E2GatewayClient(settings) as client, asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(flow.read(client, name, counting))
                for name in names
                for flow in flows.values()
            ]
            await asyncio.sleep(3)  # until all subscriptions are active
            pids = {"bridge": bridge.process.pid, "ric": network.ric.pid}
            if (sdk := sdk_process(bridge)) is not None:
                pids["sdk"] = sdk
            lacking = {name: missing_periods(bridge, flow) for name, flow in flows.items()}
            before = {name: cpu_s(pid) for name, pid in pids.items()}
            began = time.monotonic()
            counting.set()
            controlling = tasks.create_task(control(client, names, ack_us, counting))
            await asyncio.sleep(seconds)
            counting.clear()
            took = time.monotonic() - began
            cpu_share = {name: (cpu_s(pid) - before[name]) / took for name, pid in pids.items()}
            for name, flow in flows.items():
                lacking[name] = missing_periods(bridge, flow) - lacking[name]
            await controlling
            for task in running:
                task.cancel()
        p50_us, p99_us = percentiles(ack_us)
        rows = [
            {"service model": name, **flow.figures(nodes * took), "missing": lacking[name]}
            for name, flow in flows.items()
        ]
        return {
            "nodes": nodes,
            "seconds": took,
            "rows": rows,
            "controls": len(ack_us),
            "failed": max(0, metric(bridge, "sojourn_flexric_controls_total") - len(ack_us)),
            "ack_p50_us": p50_us,
            "ack_p99_us": p99_us,
            "cpu_share": cpu_share,
            "lost_in_ring": metric(bridge, "sojourn_flexric_reports_lost_total"),
            "restarts": metric(bridge, "sojourn_flexric_restarts_total"),
        }


class Chain:
    """A near-RT RIC, a node, a bridge and a client."""

    def __init__(self, stack: AsyncExitStack, folder: Path, number: int, *, tc_v1: bool) -> None:
        site = make_site(folder / str(number), number, tc_v1=tc_v1)
        network = Network(site)
        stack.callback(network.stop)
        scenario = site.directory / "scenario.yaml"
        scenario.write_text(yaml.safe_dump({**SCENARIO, "duration_s": 36_000}))
        network.add_lab(1, scenario)
        bridge = start_bridge(site, "--controls-per-s", "1000", "--controls-burst", "2000")
        stack.callback(bridge.kill)
        (self.node,) = network.agents
        self.gateway: str = bridge.ready["listen"]
        self.took_us: list[int] = []

    async def connect(self, stack: AsyncExitStack) -> None:
        """The client, with RLC reports each millisecond as the controller has them."""
        settings = GatewaySettings(address=self.gateway, control_timeout_s=PATIENCE_S)
        self.client = await stack.enter_async_context(E2GatewayClient(settings))
        await self.client.wait_for_node(self.node)
        first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        reading = asyncio.create_task(self._read(first))
        stack.callback(reading.cancel)
        rows = rlc.decode(await asyncio.wait_for(first, PATIENCE_S)).records
        self.bearer = {"ue": {"rnti": int(rows["rnti"][0])}, "drb": int(rows["rbid"][0])}

    async def _read(self, first: asyncio.Future[bytes]) -> None:
        reports = self.client.subscribe(self.node, RLC_OID, rlc.event_trigger(1))
        async with aclosing(reports) as indications:
            async for indication in indications:
                if not first.done():
                    first.set_result(indication.message)

    async def change(self, change: Any) -> int:
        """One transaction; returns its duration, µs."""
        return await change_pipeline(self.client, self.node, self.bearer, change)


async def transactions(rounds: int) -> list[dict[str, Any]]:
    """Alternating transactions; the duration of those that install the pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            chains = {
                name: Chain(stack, Path(folder), number, tc_v1=name == "v1")
                for number, name in enumerate(("v0", "v1"))
            }
            for each in chains.values():
                await each.connect(stack)
            for at in range(rounds + 1):
                for each in chains.values():
                    took_us = await each.change({"replace": FLEXRIC_PIPELINE})
                    await each.change("safe")
                    if at:  # the first finds caches cold
                        each.took_us.append(took_us)
    return [durations(name, each.took_us) for name, each in chains.items()]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("load", "transactions"))
    parser.add_argument("--nodes", type=int, default=8, help="E2 nodes (FlexRIC survives 11)")
    parser.add_argument("--duration", type=float, default=60.0, help="of the load, seconds")
    parser.add_argument("--rounds", type=int, default=100, help="transactions of each chain")
    parser.add_argument("--busy", type=int, default=0, help="loops beside (default: none)")
    parser.add_argument("--nice", type=int, help="nice value of all programs of the chain")
    parser.add_argument("--out", type=Path, help="folder for flexric_load.json and the like")
    given = parser.parse_args()
    try:
        lacking = missing(the_installation()) or missing_sctp()
    except ValueError as error:
        lacking = str(error)
    for needed in (LAB, *((TC_V1_MODEL,) if given.what == "transactions" else ())):
        lacking = lacking or (None if needed.is_file() else f"there is no {needed}")
    if lacking:
        raise SystemExit(f"{lacking}; see `make flexric-bridge flexric-sm flexric-node`")
    with prompt_runner() as runner, busy_loops(given.busy):
        if given.nice is not None:
            set_nice(given.nice)
        if given.what == "load":
            result: Any = runner.run(load(given.nodes, given.duration))
            show(result["rows"])
            show([{name: value for name, value in result.items() if name != "rows"}])
        else:
            result = runner.run(transactions(given.rounds))
            show(result)
    write(given.out, f"flexric_{given.what}.json", result)


if __name__ == "__main__":
    main()
