"""What a hostile client can take from another: its reports, its control round trip, memory.

Starts two servers for each attack, the second one a `gnb-lab serve`. A client reads RLC reports of
the first every 1 ms and sends a control every 50 ms: alone, then while another process attacks the
second server, then while it attacks the first, each from the attack's first moment. Attacker and
servers share the cores of one machine, so the second time shows what the attack takes without a
word to the client's server. For attacks on `rlc-forecaster` the client reads forecasts and asks for
the newest one every 50 ms. On loopback each connection is a client of gnb-lab.
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
from dataclasses import asdict, dataclass, field
from pathlib import Path

import grpc
from clients import control_forever, scenario
from hostile_acts import ATTACKS, FORECASTER_ATTACKS
from measuring import cpu_s, memory_mib, percentiles, show, shown, write
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import rlc
from sojourn_demo.programs import Program, Programs
from sojourn_interfaces.forecast_pb2 import ForecastRequest
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

BEARERS = 64
FORECASTER_BEARERS = 16
"""A forecaster with 64 bearers at 1 ms takes most of a core without an attack."""
SHARE, RATIO = 0.95, 3.0
"""Wanted: reports kept at least, and control round trip (p99) at most, as a multiple."""
ASK_PERIOD_S = 0.05
ALL = ATTACKS | FORECASTER_ATTACKS
BOUND_MB = 256 + 64 + 400
"""Beyond what the server takes without an attack: queued reports, controls without an answer, and
windows of 400 connections (docs/limits.md)."""
SETTLE_S = 1.0
MB_IN_MIB = 1.048576


@dataclass(frozen=True, slots=True)
class Served:
    """What the second client got: reports or forecasts a second; control or question round trip."""

    reports_per_s: float
    control_p99_us: float


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one attack."""

    attack: str
    seconds: float
    alone: Served
    elsewhere: Served
    """While the attack is on another server of this machine."""
    beside: Served
    peak_mb: float
    before_mb: float
    server_cpu: float
    limited: dict[str, float]

    def share(self, served: Served) -> float:
        """Reports of those that the client has alone."""
        return served.reports_per_s / self.alone.reports_per_s

    @property
    def ratio(self) -> float:
        """Control round trip, p99, beside the attack and alone."""
        return self.beside.control_p99_us / self.alone.control_p99_us

    @property
    def holds(self) -> bool:
        """Whether the second client keeps what is wanted, and memory stays within its bound."""
        within = self.peak_mb - self.before_mb <= BOUND_MB
        return self.share(self.beside) >= SHARE and self.ratio <= RATIO and within

    def cells(self) -> dict[str, object]:
        """The row of the table."""
        return {
            "attack": self.attack,
            "reports": f"{self.share(self.beside):.1%}",
            "on another server": f"{self.share(self.elsewhere):.1%}",
            "control p99, ms": self.beside.control_p99_us / 1e3,
            "alone": self.alone.control_p99_us / 1e3,
            "p99 on another server": self.elsewhere.control_p99_us / 1e3,
            "memory, MB": self.peak_mb,
            "before, MB": self.before_mb,
            "refused": self.limited,
            "holds": self.holds,
        }


@dataclass(slots=True)
class Probe:
    """What the second client got since the last `take`."""

    reports: int = 0
    round_trips_us: list[float] = field(default_factory=list)

    def take(self, seconds: float) -> Served:
        """The figures of that time, and begin anew."""
        served = Served(self.reports / seconds, percentiles(self.round_trips_us)[1])
        self.reports = 0
        self.round_trips_us.clear()
        return served


async def second_client(address: str, probe: Probe) -> None:
    """Reads reports and controls."""
    async with E2GatewayClient(GatewaySettings(address=address)) as client:
        node = (await anext(client.watch_nodes())).node.id
        async with (
            asyncio.TaskGroup() as tasks,
            aclosing(client.subscribe(node, rlc.OID, rlc.event_trigger(1))) as stream,
        ):
            tasks.create_task(control_forever(client, node, probe.round_trips_us))
            async for _ in stream:
                probe.reports += 1


async def second_consumer(address: str, probe: Probe) -> None:
    """Reads forecasts of all bearers, and asks for the newest."""

    async def ask(stub: ForecasterStub) -> None:
        while True:
            began = time.monotonic()
            await stub.Predict(ForecastRequest(), wait_for_ready=True)
            probe.round_trips_us.append((time.monotonic() - began) * 1e6)
            await asyncio.sleep(ASK_PERIOD_S)

    async with grpc.aio.insecure_channel(address) as channel, asyncio.TaskGroup() as tasks:
        stub = ForecasterStub(channel)
        call = stub.Subscribe(ForecastRequest(), wait_for_ready=True)
        if await call.read() is grpc.aio.EOF:
            raise SystemExit(f"the stream of forecasts ended: {await call.details()}")
        tasks.create_task(ask(stub))
        while await call.read() is not grpc.aio.EOF:
            probe.reports += 1


async def window(probe: Probe, seconds: float, client: asyncio.Task[None]) -> Served:
    """What the client gets in the next seconds."""
    probe.take(1.0)
    began = time.monotonic()
    await asyncio.wait([client], timeout=seconds)
    if client.done():
        await client
        raise SystemExit("the second client's stream ended")
    return probe.take(time.monotonic() - began)


@asynccontextmanager
async def serving(attack: str) -> AsyncIterator[tuple[Program, Program]]:
    """The client's server, `gnb-lab serve` or `rlc-forecaster`, and another `gnb-lab serve`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(scenario(BEARERS if attack in ATTACKS else FORECASTER_BEARERS))
        async with Programs(Path(folder)) as programs:
            where = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
            gnb = await programs.start("gnb-lab", "serve", str(path), *where)
            other = await programs.start("gnb-lab", "serve", str(path), *where)
            if attack in ATTACKS:
                yield gnb, other
            else:
                of = ("--gateway", gnb.ready["listen"])
                yield await programs.start("rlc-forecaster", *of, *where), other


def limited(text: str) -> dict[str, float]:
    """What was refused, by limit."""
    counts: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("sojourn_limited_total{"):
            limit = line.partition('limit="')[2].partition('"')[0]
            counts[limit] = counts.get(limit, 0) + float(line.rpartition(" ")[2])
    return counts


@asynccontextmanager
async def attacked(attack: str, server: Program) -> AsyncIterator[None]:
    """A process that attacks `server`."""
    command = (sys.executable, __file__, "--act", attack, server.ready["listen"])
    attacker = await asyncio.create_subprocess_exec(*command, server.ready["metrics"])
    try:
        yield
        if attacker.returncode is not None:
            raise SystemExit(f"the attack {attack} ended: {attacker.returncode}")
    finally:
        if attacker.returncode is None:
            attacker.kill()
        await attacker.wait()


async def measure(attack: str, seconds: float) -> Row:
    """The client alone, then beside an attack on another server, then beside one on its own."""
    second = second_client if attack in ATTACKS else second_consumer
    async with serving(attack) as (server, other):
        pid = server.process.pid
        probe = Probe()
        client = asyncio.create_task(second(server.ready["listen"], probe))
        try:
            await asyncio.sleep(SETTLE_S)
            alone = await window(probe, seconds, client)
            async with attacked(attack, other):
                elsewhere = await window(probe, seconds, client)
            await asyncio.sleep(SETTLE_S)
            before_mb = MB_IN_MIB * memory_mib(pid, "VmHWM")
            async with attacked(attack, server):
                began, cpu = time.monotonic(), cpu_s(pid)
                beside = await window(probe, seconds, client)
                cpu = (cpu_s(pid) - cpu) / (time.monotonic() - began)
        finally:
            client.cancel()
        peak_mb = MB_IN_MIB * memory_mib(pid, "VmHWM")
        counts = limited(await asyncio.to_thread(server.metrics))
    return Row(attack, seconds, alone, elsewhere, beside, peak_mb, before_mb, cpu, counts)


def main() -> int:
    """Runs the benchmark, or one attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", nargs="+", choices=ALL, default=list(ALL))
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
        asyncio.run(ALL[attack](grpc_address, http_address))
        return 0
    rows = []
    for attack in arguments.attack:
        print(f"{attack}: three times {arguments.seconds:g} s …", file=sys.stderr)
        rows.append(asyncio.run(measure(attack, arguments.seconds)))
        print(shown(rows[-1].cells()), file=sys.stderr)
    show([row.cells() for row in rows])
    write(arguments.out, "hostile.json", [{**asdict(row), "holds": row.holds} for row in rows])
    lost = [row.attack for row in rows if not row.holds]
    print(f"not held: {', '.join(lost)}" if lost else "all held")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
