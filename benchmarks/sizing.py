"""What one controller and one forecaster need: CPU, memory, network, Prometheus series.

Each program alone watches emulated gNBs in real time (`many_nodes.py`) with its default settings,
but for the period of the RLC reports.
Several loads give what a program costs by itself, for each node and for each 1000 bearers (least
squares, no negative part); the second table carries it on to 10, 100 and 1000 gNBs. A program is
one process on one core: replicas are counted so that none takes more than 0.6 of it. A controller
and one standby watch each node.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml
from measuring import counted, cpu_s, memory_mib, show, write
from sojourn_demo.programs import Program, Programs
from tc_controller.policy_source import default_policy

LOADS = ((1, 1), (1, 50), (1, 150), (2, 50), (3, 100), (5, 20), (10, 50))
"""Nodes, and UEs of each with a bearer each."""
PROGRAMS = ("tc-controller", "rlc-forecaster")
PERIODS_MS = (1, 10)
"""Periods of the RLC reports; 1 ms is the default of both programs."""
COSTS = ("itself", "a node", "1000 bearers")
QUANTITIES = ("cpu_cores", "memory_mib", "network_mbit_s", "series")
MOST_MISSED = 0.01
"""A program that misses more does less than its work: such a load is not used for the costs."""
FLEETS = (10, 100, 1000)
WATCHERS = {"tc-controller": 2, "rlc-forecaster": 1}
"""Processes that watch a node: its controller and one standby, one forecaster."""
LARGEST_SHARE = 0.6
"""Share of a core up to which one replica is loaded."""


@dataclass(frozen=True, slots=True)
class Load:
    """One program under one load."""

    program: str
    period_ms: int
    """Period of the RLC reports."""
    nodes: int
    bearers: int
    cpu_cores: float
    memory_mib: float
    network_mbit_s: float
    series: int
    missed: float
    """Share of the indications that the program was too slow for."""
    late_s: float
    """How far the emulated gNBs fell behind the clock; above 0.1 s the load was lower than said."""


class Gateway(Program):
    """`many_nodes.py`, read on."""

    def sent(self) -> tuple[int, float]:
        """Bytes of indications so far, and how late the gNBs are, s; waits for the next second."""
        assert self.process.stdout is not None
        line = json.loads(self.process.stdout.readline())
        return line["bytes"], line["late_s"]


@contextmanager
def gateway(nodes: int, ues: int, folder: Path) -> Iterator[Gateway]:
    """Emulated gNBs; stopped at the end."""
    script = Path(__file__).parent / "many_nodes.py"
    numbers = ("--nodes", str(nodes), "--ues", str(ues))
    started = Gateway([sys.executable, script, *numbers], folder / "gateway.log")
    try:
        started.wait_ready()
        yield started
    finally:
        started.stop()


def arguments(program: str, period_ms: int, folder: Path) -> list[str]:
    """What makes a program ask for RLC reports with this period."""
    if program == "rlc-forecaster":
        return ["--listen", "127.0.0.1:0", "--period-ms", str(period_ms)]
    policy = yaml.safe_load(default_policy().read_text())
    policy.setdefault("reports", {})["rlc_period_ms"] = period_ms
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(policy))
    return ["--policy", str(path)]


async def measure(
    program: str, period_ms: int, load: tuple[int, int], warm_s: float, seconds: float
) -> Load:
    """One program under one load: nodes, and UEs of each."""
    nodes, ues = load
    with tempfile.TemporaryDirectory() as folder, gateway(nodes, ues, Path(folder)) as source:
        async with Programs(Path(folder)) as programs:
            address = ("--gateway", source.ready["listen"], "--metrics-listen", "127.0.0.1:0")
            given = arguments(program, period_ms, Path(folder))
            started = await programs.start(program, *address, *given)
            pid = started.process.pid
            until = time.monotonic() + warm_s
            while time.monotonic() < until:
                await asyncio.to_thread(source.sent)
            sent, late_before_s = await asyncio.to_thread(source.sent)
            began, used = time.monotonic(), cpu_s(pid)
            while time.monotonic() < began + seconds:
                now_sent, late_s = await asyncio.to_thread(source.sent)
            took_s = time.monotonic() - began
            used = cpu_s(pid) - used
            memory = memory_mib(pid)
            text = await asyncio.to_thread(started.metrics)
    series = sum(not line.startswith("#") for line in text.splitlines())
    missed = counted(text, "sojourn_e2_indications_missed_total")
    handled = counted(text, "sojourn_e2_indications_total")
    megabits = (now_sent - sent) * 8 / 1e6
    return Load(
        program,
        period_ms,
        nodes,
        nodes * ues,
        round(used / took_s, 4),
        round(memory, 1),
        round(megabits / took_s, 3),
        series,
        round(missed / (missed + handled), 4),
        round(late_s - late_before_s, 3),
    )


def fitted(loads: list[Load], quantity: str) -> tuple[float, ...]:
    """Cost of a program by itself, per node and per 1000 bearers."""
    factors = np.array([(1.0, load.nodes, load.bearers / 1000) for load in loads])
    measured = np.array([getattr(load, quantity) for load in loads], dtype=float)
    used = [0, 1, 2]
    while True:
        found = np.linalg.lstsq(factors[:, used], measured, rcond=None)[0]
        if found.min() >= 0 or len(used) == 1:
            break
        # Noise alone makes a cost negative.
        del used[int(found.argmin())]
    costs = np.zeros(3)
    costs[used] = found
    return tuple(map(float, costs))


def carried_on(loads: list[Load], ues: int) -> dict[str, list[dict[str, object]]]:
    """The loads, the costs that they give, and what fleets need with so many bearers a gNB."""
    parts: list[dict[str, object]] = []
    fleets: list[dict[str, object]] = []
    for program, period_ms in dict.fromkeys((load.program, load.period_ms) for load in loads):
        own = [load for load in loads if (load.program, load.period_ms) == (program, period_ms)]
        kept = [load for load in own if load.missed <= MOST_MISSED]
        if not kept:
            print(f"{program}, {period_ms} ms: too slow here for each load", file=sys.stderr)
            continue
        quantities = {quantity: fitted(kept, quantity) for quantity in QUANTITIES}
        name = {"program": program, "period_ms": period_ms}
        parts += [
            {**name, "quantity": quantity, **dict(zip(COSTS, costs, strict=True))}
            for quantity, costs in quantities.items()
        ]
        fleets += [
            {**name, "nodes": nodes, **fleet(program, quantities, nodes, nodes * ues)}
            for nodes in FLEETS
        ]
    return {"loads": [asdict(load) for load in loads], "parts": parts, "fleets": fleets}


def fleet(
    program: str, quantities: dict[str, tuple[float, ...]], nodes: int, bearers: int
) -> dict[str, float]:
    """Replicas of a program for a fleet, and what all of them need together."""
    watchers = WATCHERS[program]

    def load(quantity: str) -> float:
        _, node, thousand = quantities[quantity]
        return watchers * (node * nodes + thousand * bearers / 1000)

    room = LARGEST_SHARE - quantities["cpu_cores"][0]
    replicas = max(watchers, math.ceil(load("cpu_cores") / room))
    costs = {name: round(replicas * quantities[name][0] + load(name), 2) for name in QUANTITIES}
    return {"replicas": replicas, **costs}


async def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--warm-s", type=float, default=6.0, help="before measuring (default: 6)")
    parser.add_argument("--ues", type=int, default=100, help="bearers a gNB of the fleets")
    parser.add_argument("--out", type=Path, help="folder for sizing.json")
    given = parser.parse_args()
    loads: list[Load] = []
    cases = list(itertools.product(PROGRAMS, PERIODS_MS, LOADS))
    for number, case in enumerate(cases, 1):
        print(f"{number}/{len(cases)}", *case, file=sys.stderr)
        loads.append(await measure(*case, given.warm_s, given.seconds))
    found = carried_on(loads, given.ues)
    for rows in found.values():
        show(rows)
        print()
    write(given.out, "sizing.json", found)


if __name__ == "__main__":
    asyncio.run(main())
