"""``sojourn-demo``: runs the loop on loopback and writes the report."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import sys
import webbrowser
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ric.flags import folder_to_write
from rich.console import Console

from sojourn_demo import DemoError, responsiveness
from sojourn_demo.conclusion import TITLE, conclude
from sojourn_demo.flexric import FlexRic
from sojourn_demo.gateways import ANY_PORT, THROUGH, policy_of, start_gateway
from sojourn_demo.live import View, scrape
from sojourn_demo.oai.build import Oai
from sojourn_demo.oai.network import enter
from sojourn_demo.programs import Programs
from sojourn_demo.recording import read_recording, write_scenario
from sojourn_demo.report import Footnote

INTERRUPTED = 130
START_S: Final = 2.0
"""Time from the start of the gNB to that of the controller: the phases end, and the test of
responsiveness begins, at fixed times of the gNB's clock, which the scenario has."""
MOST_TEST_S: Final = 60.0


async def run(arguments: argparse.Namespace, console: Console) -> None:
    """Runs the demo.

    Raises:
        DemoError: A file or program is missing or invalid.
    """
    out: Path = arguments.out
    seconds = arguments.before + arguments.after + arguments.rpm
    scenario = write_scenario(
        arguments.scenario,
        out,
        # The view begins when all programs run, and lasts `seconds` from then on.
        duration_s=START_S + seconds,
        trace=arguments.trace,
        seed=arguments.seed,
        change=partial(_add_test, arguments),
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
            policy = arguments.policy or policy_of(arguments.through)
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
            page = f"http://{controller.ready['metrics']}/live/"
            console.print(f"live page       {page}")
            if arguments.open:
                webbrowser.open(page)
            view = View(console, partial(scrape, gnb.ready["metrics"]), log, arguments.before)
            await view.run(programs, seconds, least_s=START_S + seconds)
            # The other programs stop at the end of the block.
            await programs.stop(controller)
            await programs.stop(forecaster)
    await finish(arguments, console, scenario, recorded)


def _add_test(arguments: argparse.Namespace, scenario: dict[str, Any]) -> None:
    """Ends the scenario with the test of responsiveness, if there is one."""
    if arguments.rpm > 0:
        from_s = _phases_end_s(arguments)
        responsiveness.add_test(scenario, from_s, from_s + arguments.rpm)


def _phases_end_s(arguments: argparse.Namespace) -> float:
    """Where the phases end and the test begins, s of the gNB's clock."""
    return float(START_S + arguments.before + arguments.after)


async def finish(
    arguments: argparse.Namespace, console: Console, scenario: Path, recorded: Path
) -> None:
    """Simulates the same seconds without control and writes summary and report."""
    out: Path = arguments.out
    uncontrolled = out / "without_control"
    recording = read_recording(recorded)
    program = Path(sys.executable).parent / "gnb-lab"
    process = await asyncio.create_subprocess_exec(
        *(str(program), "run", str(scenario), "--out", str(uncontrolled)),
        # As long as the run with control, which lasts until its programs are stopped.
        *("--duration", f"{recording.duration_s:.3f}"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    if process.returncode != 0:
        raise DemoError(f"gnb-lab run: {errors.decode(errors='replace').strip()}")
    title = TITLE
    if arguments.trace:
        title += f" ({arguments.trace.name})"
    if arguments.through == "flexric":
        title += ", through a FlexRIC near-RT RIC"
    footnote = Footnote(
        twin="a simulation of the same scenario, seed and duration",
        drained="those that the MAC took from the RLC",
        clock="Times are of the gNB's clock",
    )
    runs = (recording, read_recording(uncontrolled))
    scores: dict[str, Any] = {}
    if arguments.rpm > 0:
        end_s = _phases_end_s(arguments)
        runs = (runs[0].until(end_s), runs[1].until(end_s))
        scores = responsiveness.figures(
            *(responsiveness.read_score(folder) for folder in (recorded, uncontrolled)),
            test=f"The last {arguments.rpm:g} s, in place of bulk flows: a download more each"
            " second, and probes on new connections and in those that download; trimmed means over"
            " the last 4 s (draft-ietf-ippm-responsiveness-09).",
        )
    conclude(
        *(out, console, title, runs, footnote),
        control_from_s=arguments.before,
        own_revisions=arguments.through == "lab",
        extra={"through": arguments.through, **scores},
    )


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="sojourn-demo",
        description="Run gNB, forecaster and controller on loopback and write a report.",
        epilog="example:\n  sojourn-demo --before 10 --after 60 --out out/demo",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"%(prog)s {version('sojourn-demo')}",
        help="print the version and exit",
    )
    parser.add_argument(
        "--scenario",
        type=Path,
        default=Path("lab/scenarios/default.yaml"),
        help="scenario of the emulated gNB (default: %(default)s)",
    )
    parser.add_argument(
        "--trace", type=Path, help="Mahimahi trace as the radio of every UE; .xz and .gz too"
    )
    parser.add_argument(
        "--through",
        choices=THROUGH,
        default="lab",
        help="E2 gateway between gNB and xApps: that of the gNB, or the bridge of a FlexRIC near-RT"
        " RIC from FLEXRIC_BUILD; oai: such a RIC, with the OpenAirInterface gNB of OAI_BUILD in"
        " place of the emulated one (default: %(default)s)",
    )
    parser.add_argument(
        "--udp",
        type=float,
        metavar="MBIT/S",
        help="with --through oai: a download by UDP at this rate in place of TCP",
    )
    parser.add_argument(
        "--rlc-period-ms",
        type=int,
        choices=(1, 2, 5, 10),
        help="with --through oai: how often RLC reports go to the xApps (default: 10; each ms takes"
        " most of a core of RIC, bridge and xApps, which radio and UE share)",
    )
    parser.add_argument(
        "--mcs",
        type=int,
        help="with --through oai: highest MCS of the downlink, for machines that are too slow for"
        " the whole cell in real time",
    )
    parser.add_argument(
        "--policy",
        type=Path,
        help="policy of the controller (default: its own; flexric.yaml for E2SM-TC v0)",
    )
    parser.add_argument(
        "--open", action="store_true", help="open the controller's live page in the browser"
    )
    parser.add_argument(
        "--before", type=float, default=10.0, help="uncontrolled seconds (default: %(default)g)"
    )
    parser.add_argument(
        "--after", type=float, default=20.0, help="controlled seconds (default: %(default)g)"
    )
    parser.add_argument(
        "--rpm",
        type=_test_s,
        default=10.0,
        help="seconds of a test of responsiveness after them, in place of bulk flows; 0: none; not"
        " with --through oai (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, help="seed of the scenario (default: the scenario's)")
    parser.add_argument(
        "--out",
        type=folder_to_write,
        default=Path("out/demo"),
        help="folder to write (default: %(default)s)",
    )
    return parser


def _test_s(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if value != 0 and not responsiveness.LEAST_S <= value <= MOST_TEST_S:
        raise argparse.ArgumentTypeError(
            f"{text}; expected 0, or {responsiveness.LEAST_S:g} to {MOST_TEST_S:g} seconds"
        )
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns 0 on success, 2 on an error, 130 if interrupted."""
    given = make_parser().parse_args(arguments)
    if given.through == "oai":
        return run_command(_enter_namespace, given)
    if (given.udp, given.mcs, given.rlc_period_ms) != (None, None, None):
        print(
            "sojourn-demo: --udp, --mcs, --rlc-period-ms: expected --through oai",
            file=sys.stderr,
        )
        return 2
    return run_command(run, given)


def run_command(
    act: Callable[[argparse.Namespace, Console], Coroutine[Any, Any, None]],
    given: argparse.Namespace,
    name: str = "sojourn-demo",
) -> int:
    """Runs `act` as the program `name`; returns as `main` does."""
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        asyncio.run(act(given, Console()))
    except (DemoError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted, all programs stopped", file=sys.stderr)
        return INTERRUPTED
    return 0


async def _enter_namespace(_given: argparse.Namespace, _console: Console) -> None:
    """Goes on as `sojourn_demo.oai`, which needs a network of its own."""
    Oai.found(os.environ)
    FlexRic.found(os.environ, node=False)
    enter((sys.executable, "-m", "sojourn_demo.oai", *sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
