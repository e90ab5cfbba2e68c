"""What a hostile client can take from another: its reports, its control round trip, memory.

Starts `gnb-lab serve` for each attack. A client reads RLC reports every 1 ms and sends a control
every 50 ms, first alone, then beside the attack, which is a process of its own. On loopback each
connection is a client.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hostile_acts import ATTACKS
from loop_latency import control_forever, scenario
from measuring import cpu_s, percentiles, write
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import rlc
from sojourn_demo.programs import Program, Programs

BEARERS = 64
SHARE, RATIO = 0.95, 3.0
"""Wanted: reports kept at least, and control round trip (p99) at most, as a multiple."""
BOUND_MB = 256 + 64 + 400
"""Beyond what the server takes without an attack: queued reports, controls without an answer, and
windows of 400 connections (docs/secure.md, Limits)."""
SETTLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Served:
    """What the second client got."""

    share: float
    control_p50_us: float
    control_p99_us: float
    controls: int


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one attack."""

    attack: str
    seconds: float
    share: float
    control_p99_us: float
    control_p99_alone_us: float
    peak_mb: float
    before_mb: float
    server_cpu: float
    limited: dict[str, float]

    @property
    def ratio(self) -> float:
        """Control round trip, p99, beside the attack and alone."""
        return self.control_p99_us / self.control_p99_alone_us

    @property
    def holds(self) -> bool:
        """Whether the second client keeps what is wanted, and memory stays within its bound."""
        within = self.peak_mb - self.before_mb <= BOUND_MB
        return self.share >= SHARE and self.ratio <= RATIO and within


async def second_client(address: str, seconds: float) -> Served:
    """Reads and controls for some seconds."""
    async with E2GatewayClient(GatewaySettings(address=address)) as client:
        node = (await anext(client.watch_nodes())).node.id
        control_us: list[float] = []
        controls = asyncio.create_task(control_forever(client, node, control_us))
        received = 0
        loop = asyncio.get_running_loop()
        async with aclosing(client.subscribe(node, rlc.OID, rlc.event_trigger(1))) as stream:
            begin = loop.time() + SETTLE_S
            until = begin + seconds
            async for _ in stream:
                now = loop.time()
                if now > until:
                    break
                if now > begin:
                    received += 1
        controls.cancel()
    return Served(received / (seconds * 1_000), *percentiles(control_us), len(control_us))


@asynccontextmanager
async def serving() -> AsyncIterator[Program]:
    """`gnb-lab serve` on free ports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(scenario(BEARERS))
        async with Programs(Path(folder)) as programs:
            where = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
            yield await programs.start("gnb-lab", "serve", str(path), *where)


def memory_mb(pid: int, key: str) -> float:
    """A line of the status of a process, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1e3
    return float("nan")


def limited(text: str) -> dict[str, float]:
    """What was refused, by limit."""
    counts: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("sojourn_limited_total{"):
            limit = line.partition('limit="')[2].partition('"')[0]
            counts[limit] = counts.get(limit, 0) + float(line.rpartition(" ")[2])
    return counts


async def measure(attack: str, seconds: float) -> Row:
    """The second client alone, then beside an attack."""
    async with serving() as gnb:
        address, pid = gnb.ready["listen"], gnb.process.pid
        alone = await second_client(address, seconds)
        before_mb = memory_mb(pid, "VmHWM:")
        command = (sys.executable, __file__, "--act", attack, address, gnb.ready["metrics"])
        attacker = await asyncio.create_subprocess_exec(*command)
        try:
            await asyncio.sleep(SETTLE_S)
            began, cpu = time.monotonic(), cpu_s(pid)
            beside = await second_client(address, seconds)
            cpu = (cpu_s(pid) - cpu) / (time.monotonic() - began)
            if attacker.returncode is not None:
                raise SystemExit(f"the attack {attack} ended: {attacker.returncode}")
        finally:
            if attacker.returncode is None:
                attacker.kill()
            await attacker.wait()
        peak_mb = memory_mb(pid, "VmHWM:")
        counts = limited(await asyncio.to_thread(gnb.metrics))
    return Row(
        attack,
        seconds,
        beside.share,
        beside.control_p99_us,
        alone.control_p99_us,
        peak_mb,
        before_mb,
        cpu,
        counts,
    )


def show(rows: list[Row]) -> None:
    """Prints the table."""
    print("| attack | reports | control p99, ms | alone, ms | memory, MB | before, MB | refused |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        refused = ", ".join(f"{name} {count:.0f}" for name, count in sorted(row.limited.items()))
        print(
            f"| {row.attack} | {row.share:.1%} | {row.control_p99_us / 1e3:.2f}"
            f" | {row.control_p99_alone_us / 1e3:.2f} | {row.peak_mb:.0f} | {row.before_mb:.0f}"
            f" | {refused} |",
            flush=True,
        )


def main() -> int:
    """Runs the benchmark, or one attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each attack")
    parser.add_argument("--out", type=Path, help="folder for hostile.json")
    parser.add_argument("--act", nargs=3, metavar=("ATTACK", "GRPC", "HTTP"), help="only attack")
    arguments = parser.parse_args()
    if arguments.act:
        # It stands for another machine, and must not win by taking the cores of this one.
        os.nice(10)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        attack, grpc_address, http_address = arguments.act
        asyncio.run(ATTACKS[attack](grpc_address, http_address))
        return 0
    rows = []
    for attack in arguments.attack:
        rows.append(asyncio.run(measure(attack, arguments.seconds)))
        show(rows[-1:])
    print()
    show(rows)
    write(arguments.out, "hostile.json", [{**asdict(row), "holds": row.holds} for row in rows])
    lost = [row.attack for row in rows if not row.holds]
    print(f"not held: {', '.join(lost)}" if lost else "all held")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
