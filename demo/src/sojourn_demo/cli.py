"""``sojourn-demo``: runs the loop on loopback and writes the report."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from sojourn_demo import report
from sojourn_demo.errors import DemoError
from sojourn_demo.gateways import ANY_PORT, POLICIES, start_gateway
from sojourn_demo.live import View, read_decisions
from sojourn_demo.measure import summarise
from sojourn_demo.programs import Programs
from sojourn_demo.recording import read_recording, write_scenario
from sojourn_demo.report import table

INTERRUPTED = 130


async def run(arguments: argparse.Namespace, console: Console) -> None:
    """The whole demo.

    Raises:
        DemoError: Something the user can mend.
    """
    out: Path = arguments.out
    seconds = arguments.before + arguments.after
    scenario = write_scenario(
        arguments.scenario, out, duration_s=seconds, trace=arguments.trace, seed=arguments.seed
    )
    recorded, log, stats = out / "with_control", out / "decisions.jsonl", out / "stats.json"
    log.unlink(missing_ok=True)
    stats.unlink(missing_ok=True)
    with TemporaryDirectory(prefix="sojourn-") as short_name:
        async with Programs(out) as programs:
            gnb, gateway = await start_gateway(
                arguments.through, programs, scenario, recorded, Path(short_name)
            )
            forecaster = await programs.start(
                *("rlc-forecaster", "--gateway", gateway),
                *("--metrics-listen", ANY_PORT, "--listen", ANY_PORT),
            )
            policy = arguments.policy or POLICIES[arguments.through]
            controller = await programs.start(
                *("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT),
                *("--decision-log", str(log), "--stats", str(stats)),
                *("--observe-for-s", str(arguments.before)),
                *(("--policy", str(policy)) if policy else ()),
            )
            for program in (gnb, forecaster, controller):
                console.print(
                    f"{program.name:<15} metrics http://{program.ready['metrics']}/metrics"
                )
            view = View(console, gnb.ready["metrics"], log, arguments.before)
            await view.run(programs, seconds)
            # The others end with the block, the one started last first.
            await programs.stop(controller)
            await programs.stop(forecaster)
    await finish(arguments, console, scenario, recorded)


async def finish(
    arguments: argparse.Namespace, console: Console, scenario: Path, recorded: Path
) -> None:
    """Simulates the same seconds without control, then says what came of it all."""
    out: Path = arguments.out
    alone = out / "without_control"
    program = Path(sys.executable).parent / "gnb-lab"
    process = await asyncio.create_subprocess_exec(
        *(str(program), "run", str(scenario), "--out", str(alone)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    if process.returncode != 0:
        raise DemoError(f"gnb-lab run: {errors.decode(errors='replace').strip()}")
    recording, without = read_recording(recorded), read_recording(alone)
    summary = summarise(
        recording,
        without,
        read_decisions(out / "decisions.jsonl"),
        _json(out / "stats.json"),
        arguments.before,
    )
    summary["through"] = arguments.through
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    title = "Sojourn: one bearer, before and after"
    if arguments.trace:
        title += f" ({arguments.trace.name})"
    if arguments.through == "flexric":
        title += ", through a FlexRIC near-RT RIC"
    report.write_report(out / "report.html", title, recording, without, summary)
    console.print(table(summary))
    loop = summary["loop"]
    console.print(
        f"indication p50 {_show(loop['indication_latency_us']['p50'])} µs, detection to"
        f" acknowledged p50 {_show(loop['detect_to_ack_ms']['p50'])} ms,"
        f" {len(summary['decisions'])} decision(s)"
    )
    console.print(f"report   {out / 'report.html'}\nsummary  {out / 'summary.json'}")


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="sojourn-demo",
        description="Run gNB, forecaster and controller on loopback and write a report.",
        epilog="example:\n  sojourn-demo --before 10 --after 30 --out out/demo",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "--scenario",
        type=Path,
        default=Path("gnb/scenarios/default.yaml"),
        help="scenario of the emulated gNB (default: %(default)s)",
    )
    made.add_argument(
        "--trace", type=Path, help="Mahimahi trace as the radio of every UE; .xz and .gz too"
    )
    made.add_argument(
        "--through",
        choices=sorted(POLICIES),
        default="lab",
        help="what is between gNB and xApps: the gNB's own E2 gateway, or a FlexRIC near-RT RIC"
        " with agent and bridge, of FLEXRIC_BUILD (default: %(default)s)",
    )
    made.add_argument(
        "--policy", type=Path, help="policy of the controller (default: its own, or for FlexRIC's)"
    )
    made.add_argument(
        "--before", type=float, default=10.0, help="uncontrolled seconds (default: %(default)g)"
    )
    made.add_argument(
        "--after", type=float, default=30.0, help="seconds after that (default: %(default)g)"
    )
    made.add_argument("--seed", type=int, help="seed of the scenario (default: the scenario's)")
    made.add_argument(
        "--out", type=Path, default=Path("out/demo"), help="folder to write (default: %(default)s)"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program: 0, 2 for what the user can mend, 130 when interrupted."""
    given = parser().parse_args(arguments)
    console = Console()
    # SIGTERM ends the run the way Ctrl-C does: the block that holds the programs is left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        asyncio.run(run(given, console))
    except (DemoError, OSError) as error:
        print(f"sojourn-demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sojourn-demo: interrupted, all programs stopped", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
