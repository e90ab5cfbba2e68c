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
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

import grpc
from measuring import busy_s, counted, cpu_s, memory_mib, write
from ric.errors import RicError
from soak_plot import draw
from soak_probe import Probe, probing
from soak_trend import ALLOWED, COLUMNS, Sample, Trend, overall, read_samples, trends
from sojourn_demo import DemoError
from sojourn_demo.programs import Program, Programs

SCENARIO: Final = Path(__file__).parent.parent / "gnb" / "scenarios" / "many_bearers.yaml"
MISSED: Final = "missed_total"
"""Indications that a program was too slow for; counted, without a trend."""
OTHERS: Final = "others_cores"
"""CPU of all but the programs, this client included: what latencies also depend on; no trend."""
STATUS: Final = {"flat": 0, "rising": 1, "ended": 1, "undecided": 3}


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
        forecasts = f"127.0.0.1:{free_port()}"
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
        pid = program.process.pid
        folder = Path(f"/proc/{pid}")
        now_s, used_s = time.monotonic(), cpu_s(pid)
        before = self._spent_s.get(program.name)
        self._spent_s[program.name] = now_s, used_s
        cores = (used_s - before[1]) / (now_s - before[0]) if before is not None else math.nan
        yield "memory_mib", memory_mib(pid)
        yield "threads", len(list((folder / "task").iterdir()))
        yield "descriptors", len(list((folder / "fd").iterdir()))
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


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def missed(samples: Sequence[Sample]) -> dict[str, int]:
    """Indications that each program missed, all segments."""
    last = {(s.source, s.segment): s.value for s in samples if s.quantity == MISSED}
    sources = {source for source, _ in last}
    return {
        source: int(sum(value for (of, _), value in last.items() if of == source))
        for source in sorted(sources)
    }


def show(found: Sequence[Trend]) -> None:
    """Prints the table, in Markdown."""
    print("| program | quantity | median | per hour | 95 % interval | allowed | verdict |")
    print("|---|---|---|---|---|---|---|")
    for t in found:
        print(
            f"| {t.source} | `{t.quantity}` | {t.median:.4g} | {t.slope:+.2g}"
            f" | {t.low:+.2g} to {t.high:+.2g} | {t.allowed:.2g} | {t.verdict} |"
        )


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
        "trends": [as_json(each) for each in found],
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


def as_json(trend: Trend) -> dict[str, object]:
    """JSON has neither NaN nor infinity: null."""
    known = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(trend).items()
    }
    return known | {"verdict": trend.verdict}


def main() -> int:
    """Runs the soak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=7200.0, help="default: two hours")
    parser.add_argument("--bearers", type=int, default=64)
    parser.add_argument("--every-s", type=float, default=10.0, help="between samples (default: 10)")
    parser.add_argument(
        "--warm-s", type=float, help="of each start, without verdict (default: --seconds / 6)"
    )
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
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
