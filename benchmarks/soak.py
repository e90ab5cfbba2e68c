"""Hours of the whole loop at 1 ms: do memory, threads, descriptors, CPU and latencies stay flat?

`gnb-lab serve` with 64 bearers, `rlc-forecaster` and `tc-controller` run as on a site, and a client
reads indications and forecasts and sends dry-run controls. Every ten seconds all is sampled to
`samples.csv`. At the end, also after an interrupt, `soak.json` has the slope of each quantity with
its interval and a verdict, and `soak.svg` shows them. `--resume` goes on after an interrupt with
new processes. The exit status is 0 if all is flat, 1 if something rises or a program ended, 3 if
the run was too short to tell. The first sixth of a start counts as its warm-up: the gNB keeps up
to 32,768 delays of each flow, and has them after a quarter of an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import platform
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import grpc
from clients import control_forever, forecasts
from measuring import busy_s, counted, cpu_s, percentiles, write
from ric import E2GatewayClient
from ric.errors import RicError
from ric.settings import GatewaySettings
from ric.sm import rlc
from sojourn_demo import DemoError
from sojourn_demo.programs import Program, Programs, free_address
from trends import (
    ALLOWED,
    COLUMNS,
    STATUS,
    Sample,
    add_arguments,
    draw,
    overall,
    read_samples,
    show,
    sizes,
    trends,
)

SCENARIO: Final = Path(__file__).parent.parent / "lab" / "scenarios" / "many_bearers.yaml"
MISSED: Final = "missed_total"
"""Indications that a program was too slow for; counted, without a trend."""
OTHERS: Final = "others_cores"
"""CPU of all but the programs, this client included: what latencies also depend on; no trend."""
QUANTITIES: Final = ("indication_age", "control_round_trip", "forecast_age")
"""What the client measures."""


class Files:
    """The folder of a soak."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.samples = out / "samples.csv"

    def begin(self, *, resume: bool) -> list[Sample]:
        """Earlier samples; raises `DemoError` if there are any and none are to be continued."""
        self.out.mkdir(parents=True, exist_ok=True)
        if not self.samples.exists():
            self.samples.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        elif not resume:
            raise DemoError(f"{self.samples}: exists; expected --resume, or another --out")
        try:
            earlier = read_samples(self.samples)
        except ValueError as error:
            raise DemoError(str(error)) from None
        # Without a last line that an interrupt cut off.
        os.truncate(self.samples, self.samples.read_bytes().rfind(b"\n") + 1)
        return earlier

    def add(self, samples: Sequence[Sample]) -> None:
        """Append samples."""
        with self.samples.open("a", encoding="utf-8") as file:
            file.writelines(",".join(map(str, sample)) + "\n" for sample in samples)


@dataclass(slots=True)
class Probe:
    """What the client measured since the last `take`."""

    values_us: dict[str, list[float]] = field(default_factory=lambda: {q: [] for q in QUANTITIES})

    def take(self) -> dict[str, float]:
        """p50 and p99 of each quantity, ms, and begin anew; NaN without values."""
        found: dict[str, float] = {}
        for quantity, values in self.values_us.items():
            p50, p99 = percentiles(values)
            found |= {f"{quantity}_p50_ms": p50 / 1e3, f"{quantity}_p99_ms": p99 / 1e3}
            values.clear()
        return found

    async def indications(self, client: E2GatewayClient, node: str) -> None:
        """Reads RLC reports each millisecond."""
        async with aclosing(client.subscribe(node, rlc.OID, rlc.event_trigger(1))) as stream:
            async for indication in stream:
                age_us = indication.handled_at_us - indication.collected_at_us
                self.values_us["indication_age"].append(age_us)

    async def forecasts(self, channel: grpc.aio.Channel) -> None:
        """Reads all forecasts."""
        async for arrived_us, batch in forecasts(channel):
            if batch is not None:
                self.values_us["forecast_age"].append(arrived_us - batch.forecasts[0].origin_us)


@asynccontextmanager
async def probing(gateway: str, forecaster: str) -> AsyncIterator[Probe]:
    """Measures during the block; an error of a client ends it."""
    probe = Probe()
    async with (
        E2GatewayClient(GatewaySettings(address=gateway)) as client,
        grpc.aio.insecure_channel(forecaster) as channel,
        asyncio.TaskGroup() as tasks,
    ):
        node = (await anext(client.watch_nodes())).node.id
        running = [
            tasks.create_task(probe.indications(client, node)),
            tasks.create_task(control_forever(client, node, probe.values_us["control_round_trip"])),
            tasks.create_task(probe.forecasts(channel)),
        ]
        yield probe
        for task in running:
            task.cancel()


class Soak:
    """One segment: the programs from their start to the end or an interrupt."""

    def __init__(self, files: Files, earlier: list[Sample], bearers: int, every_s: float) -> None:
        self.samples = earlier
        self._files = files
        self._bearers = bearers
        self._every_s = every_s
        self._segment = max((s.segment for s in earlier), default=-1) + 1
        self._before_s = max((s.at_s for s in earlier), default=0.0)
        self._spent_s: dict[str, tuple[float, float]] = {}

    async def run(self, seconds: float) -> None:
        """Runs until all segments together took `seconds`, or SIGINT or SIGTERM."""
        interrupted = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupted.set)
        async with Programs(self._files.out) as programs:
            gateway, forecaster = await self._start(programs)
            try:
                async with probing(gateway, forecaster) as probe:
                    await self._sample_until(seconds, interrupted, programs, probe)
            except* (RicError, grpc.RpcError, OSError) as errors:
                # A client loses its server first.
                await asyncio.sleep(1.0)
                programs.check()
                lost = "; ".join(str(error).splitlines()[0] for error in errors.exceptions)
                raise DemoError(f"the client ended: {lost}") from errors

    async def _sample_until(
        self, seconds: float, interrupted: asyncio.Event, programs: Programs, probe: Probe
    ) -> None:
        began_s = time.monotonic()
        # The first window holds the starts.
        await asyncio.sleep(min(1.0, self._every_s))
        probe.take()
        at_s = self._before_s
        while not interrupted.is_set() and at_s < seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(interrupted.wait(), self._every_s)
            programs.check()
            at_s = self._before_s + time.monotonic() - began_s
            await self._sample(at_s, programs.started, probe)
            self._show(at_s, seconds)

    async def _start(self, programs: Programs) -> tuple[str, str]:
        """Starts all programs; returns the addresses of gateway and forecaster."""
        forecasts = free_address()
        ports = ("--metrics-listen", "127.0.0.1:0", "--log-level")
        gnb = await programs.start(
            *("gnb-lab", "serve", str(SCENARIO), "--set", f"ues[0].count={self._bearers}"),
            *("--listen", "127.0.0.1:0", "--forecasts", forecasts, *ports, "warn"),
        )
        gateway = ("--gateway", gnb.ready["listen"], *ports, "warning")
        await programs.start("rlc-forecaster", *gateway, "--listen", forecasts)
        state, decisions = self._files.out / "state.json", self._files.out / "decisions.jsonl"
        await programs.start(
            *("tc-controller", *gateway, "--forecasts", forecasts),
            *("--state", str(state), "--decision-log", str(decisions)),
        )
        return gnb.ready["listen"], forecasts

    async def _sample(self, at_s: float, programs: Sequence[Program], probe: Probe) -> None:
        at_s = round(at_s, 3)
        taken = [
            Sample(self._segment, at_s, "client", quantity, round(value, 4))
            for quantity, value in probe.take().items()
        ]
        for program in programs:
            text = await asyncio.to_thread(program.metrics)
            taken += [
                Sample(self._segment, at_s, program.name, quantity, round(value, 4))
                for quantity, value in self._of_process(program)
            ]
            missed = counted(text, "sojourn_e2_indications_missed_total")
            taken.append(Sample(self._segment, at_s, program.name, MISSED, missed))
        taken.append(Sample(self._segment, at_s, "host", OTHERS, self._others(programs)))
        self._files.add(taken)
        self.samples += taken

    def _others(self, programs: Sequence[Program]) -> float:
        now_s = time.monotonic()
        used_s = busy_s() - sum(self._spent_s[program.name][1] for program in programs)
        before = self._spent_s.get(OTHERS)
        self._spent_s[OTHERS] = now_s, used_s
        return math.nan if before is None else round((used_s - before[1]) / (now_s - before[0]), 4)

    def _of_process(self, program: Program) -> Iterator[tuple[str, float]]:
        now_s, used_s = time.monotonic(), cpu_s(program.process.pid)
        before = self._spent_s.get(program.name)
        self._spent_s[program.name] = now_s, used_s
        cores = (used_s - before[1]) / (now_s - before[0]) if before is not None else math.nan
        yield from sizes(program).items()
        yield "cpu_cores", cores

    def _show(self, at_s: float, seconds: float) -> None:
        newest = {(s.source, s.quantity): s.value for s in self.samples[-25:]}
        memory = ", ".join(
            f"{source} {value:.0f} MiB"
            for (source, quantity), value in newest.items()
            if quantity == "memory_mib"
        )
        p99 = newest[("client", "indication_age_p99_ms")]
        line = f"{at_s:.0f}/{seconds:.0f} s: {memory}; age of indications p99 {p99:.1f} ms"
        print(line, file=sys.stderr, flush=True)


def missed(samples: Sequence[Sample]) -> dict[str, int]:
    """Indications that each program missed, all segments."""
    last = {(s.source, s.segment): s.value for s in samples if s.quantity == MISSED}
    sources = {source for source, _ in last}
    return {
        source: int(sum(value for (of, _), value in last.items() if of == source))
        for source in sorted(sources)
    }


def conclude(files: Files, samples: list[Sample], warm_s: float, failure: str | None) -> str:
    """Writes `soak.json` and `soak.svg`, prints the table; returns the verdict."""
    found = trends((s for s in samples if s.quantity in ALLOWED), warm_s)
    others = [s.value for s in samples if s.quantity == OTHERS and not math.isnan(s.value)]
    verdict = overall(found) if failure is None else "ended"
    at_s = max((s.at_s for s in samples), default=0.0)
    result = {
        "verdict": verdict,
        "failure": failure,
        "seconds": at_s,
        "warm_s": warm_s,
        "segments": len({s.segment for s in samples}),
        "missed": missed(samples),
        "others_cores": {"median": median(others), "most": max(others)} if others else None,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "trends": [each.as_json() for each in found],
    }
    write(files.out, "soak.json", result)
    title = f"{at_s:.0f} s of the loop at 1 ms: {verdict}"
    draw(files.out / "soak.svg", title, samples, found, warm_s)
    show(found)
    print(f"{title}; indications missed: {result['missed']}")
    if others:
        print(f"CPU of other processes: {median(others):.2f} cores, at most {max(others):.2f}")
    if failure is not None:
        print(f"soak: {failure}", file=sys.stderr)
    return verdict


def main() -> int:
    """Runs the soak."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser, 7200.0, "out/soak")
    parser.add_argument("--bearers", type=int, default=64)
    parser.add_argument("--resume", action="store_true", help="go on with the samples of --out")
    given = parser.parse_args()
    warm_s = given.seconds / 6 if given.warm_s is None else given.warm_s
    files, failure = Files(given.out), None
    try:
        earlier = files.begin(resume=given.resume)
    except DemoError as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2
    soak = Soak(files, earlier, given.bearers, given.every_s)
    try:
        asyncio.run(soak.run(given.seconds))
    except* DemoError as errors:
        failure = "; ".join(str(error) for error in errors.exceptions)
    return STATUS[conclude(files, soak.samples, warm_s, failure)]


if __name__ == "__main__":
    sys.exit(main())
