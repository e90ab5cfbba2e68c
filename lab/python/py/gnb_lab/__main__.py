"""`gnb-lab sweep`, `gnb-lab sweep-run` and `gnb-lab compare`, also as `python -m gnb_lab`.

Results go to stdout, errors to stderr. Exit status 0, 2 for bad input, 1 for anything else.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from gnb_lab._native import parse_override
from gnb_lab.results import SweepError
from gnb_lab.sweeps.axis import Axis
from gnb_lab.sweeps.order import Order
from gnb_lab.sweeps.plan import DEFAULT_MAX_RUNS, plan
from gnb_lab.sweeps.run import prepare
from gnb_lab.sweeps.sweep import check_all_succeeded, chosen, run

_MAX_ORDER_BYTES: Final = 16 << 20
_LEVELS: Final = ("error", "warn", "info", "debug", "trace")
_SWEEP_EXAMPLE: Final = r"""Example:
  gnb-lab sweep lab/scenarios/default.yaml --over 'ues[*].channel.fading.mean_snr_db=5..25..5' \
    --over 'ues[*].drbs[*].pipeline=fq_codel,low_latency' --seeds 5 --out out/sweep"""
_RUN_EXAMPLE: Final = r"""Example:
  gnb-lab sweep lab/scenarios/default.yaml --seeds 5 --out out/sweep --missing | head -1 \
    | gnb-lab sweep-run --inputs out/inputs --out out/run"""
_COMPARE_EXAMPLE: Final = "Example:\n  gnb-lab compare out/sweep --html out/compare.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status."""
    options = _parser().parse_args(arguments)
    _log(options)
    try:
        options.command(options)
    except BrokenPipeError:
        # Nobody reads on; closing the stream at exit would say so again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModuleNotFoundError as error:
        _write(f"gnb-lab: {error.name} is not installed; expected gnb-lab[sweeps]\n", sys.stderr)
        return 1
    except (SweepError, OSError) as error:
        _write(f"gnb-lab: {_words(error)}\n", sys.stderr)
        return 2 if isinstance(error, SweepError) and error.is_input else 1
    except KeyboardInterrupt:
        _write("gnb-lab: interrupted\n", sys.stderr)
        return 1
    return 0


def _words(error: SweepError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _write(text: str, stream: TextIO) -> None:
    """Writes text with an escape for each character that a terminal obeys or does not show."""
    shown = (
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )
    stream.write("".join(shown))
    stream.flush()


def _parser() -> argparse.ArgumentParser:
    log = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    logging_ = log.add_argument_group("Logging")
    logging_.add_argument("--log-level", choices=_LEVELS, help="lowest severity that is logged")
    logging_.add_argument("--log-format", choices=("text", "json"), help="format of log lines")
    parser = argparse.ArgumentParser(prog="gnb-lab", allow_abbrev=False, parents=[log])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, does: Callable[[Any], None], about: str, example: str) -> Any:
        made = commands.add_parser(
            name,
            help=about,
            description=about,
            epilog=example,
            parents=[log],
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(command=does)
        return made

    about = "Run a scenario over values of its elements and over seeds, on all cores."
    _sweep_flags(command("sweep", _sweep, about, _SWEEP_EXAMPLE))
    about = (
        "Make one run of a sweep, given on stdin as a line of sweep --missing: for schedulers of"
        " clusters."
    )
    made = command("sweep-run", _sweep_run, about, _RUN_EXAMPLE)
    about = "folder with the files that the scenario reads, by the names in the line"
    made.add_argument("--inputs", type=Path, metavar="DIR", required=True, help=about)
    about = "folder of the run; made as a whole or not at all"
    made.add_argument("--out", type=Path, metavar="DIR", required=True, help=about)
    about = (
        "Compare recorded runs: tables with confidence intervals, distributions, plots over time."
    )
    made = command("compare", _compare, about, _COMPARE_EXAMPLE)
    about = (
        "folders of runs and of sweeps; the others are compared with the first. Runs of a sweep"
        " that differ in their seed alone count as one, with mean and confidence interval"
    )
    made.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=about)
    output = made.add_argument_group("Output")
    about = "write all measures as a JSON array"
    output.add_argument("--json", type=Path, metavar="FILE", help=about)
    about = "write plots and tables as a page without external resources"
    output.add_argument("--html", type=Path, metavar="FILE", help=about)
    return parser


def _sweep_flags(parser: Any) -> None:
    scenario = parser.add_argument_group("Scenario")
    about = "scenario file"
    scenario.add_argument("scenario", type=Path, metavar="SCENARIO.yaml", help=about)
    about = "first seed, instead of the scenario's"
    scenario.add_argument("--seed", type=_whole(0, (1 << 64) - 1), metavar="N", help=about)
    about = (
        "replace an element, e.g. cell.n_prb=51 or flows[0].congestion_control=reno; [*] is every"
        " element of a list: ues[*].drbs[*].pipeline=low_latency"
    )
    scenario.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", dest="overrides", help=about
    )
    about = "virtual time of each run, instead of the scenario's"
    scenario.add_argument("--duration", type=_duration_s, metavar="SECONDS", help=about)
    group = parser.add_argument_group("Sweep")
    about = (
        "vary an element that --set takes: values separated by commas, numbers also as FIRST..LAST"
        " or FIRST..LAST..STEP, e.g. 'ues[*].channel.fading.mean_snr_db=5..25..5'. Several axes are"
        " multiplied"
    )
    group.add_argument("--over", action="append", default=[], metavar="PATH=VALUES", help=about)
    about = "seeds per combination of values, from the scenario's seed or --seed on; default: 1"
    group.add_argument("--seeds", type=_whole(1, 100_000), metavar="N", default=1, help=about)
    about = f"refuse sweeps of more runs; default: {DEFAULT_MAX_RUNS}"
    group.add_argument(
        "--max-runs",
        type=_whole(0, (1 << 64) - 1),
        metavar="N",
        default=DEFAULT_MAX_RUNS,
        help=about,
    )
    about = "number of runs in parallel; default: number of cores"
    group.add_argument("--jobs", type=_whole(1, 100_000), metavar="N", help=about)
    about = "Dask scheduler, tcp://host:8786, whose workers make the runs"
    group.add_argument("--dask", default="", metavar="ADDRESS", help=about)
    output = parser.add_argument_group("Output")
    about = (
        "folder for sweep.json, runs.parquet, runs.csv, runs.json and a folder per run in runs. An"
        " interrupted or extended sweep resumes from it"
    )
    output.add_argument("--out", type=Path, metavar="DIR", required=True, help=about)
    about = (
        "formats of the tables, separated by commas: parquet, csv, json, and flent for a data file"
        " that flent plots; default: parquet"
    )
    output.add_argument("--format", default="parquet", metavar="FORMATS", help=about)
    about = "also write the table packets: a row per downlink packet"
    output.add_argument("--packets", action="store_true", help=about)
    about = "discard the runs in the folder and run all again"
    output.add_argument("--restart", action="store_true", help=about)
    about = (
        "run nothing: prepare the folder and print the runs that it lacks, a JSON object a line,"
        " for sweep-run on other machines"
    )
    output.add_argument("--missing", action="store_true", help=about)


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(f"{text:.20}") <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"'{text:.40}': expected {least} to {most}")

    return parse


def _duration_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 1e-3 <= seconds <= 1e6:
        raise argparse.ArgumentTypeError(f"'{text:.40}': expected 0.001 to 1000000 s")
    return seconds


def _log(options: argparse.Namespace) -> None:
    # Only warnings are logged here; what libraries say below them is nobody's concern.
    level = logging.ERROR if getattr(options, "log_level", "info") == "error" else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(message)s")
    if getattr(options, "log_format", "text") == "json":
        logging.root.handlers[0].format = lambda record: json.dumps(  # type: ignore[method-assign]
            {"level": record.levelname, "fields": {"message": record.getMessage()}}
        )


def _overrides(options: argparse.Namespace) -> dict[str, Any]:
    """Elements replaced in all runs: of several values for a path the last counts."""
    changes: dict[str, Any] = {}
    for text in options.overrides:
        try:
            path, value = parse_override(text)
        except ValueError as error:
            raise SweepError(f"--set: {error}", is_input=True) from error
        changes.pop(path, None)
        changes[path] = value
    if options.seed is not None:
        changes["seed"] = options.seed
    if options.duration is not None:
        changes["duration_s"] = options.duration
    return changes


def _sweep(options: argparse.Namespace) -> None:
    """Runs what is missing and writes the table of all runs; refuses failed runs at the end."""
    formats = chosen(options.format.split(","))
    planned = plan(
        options.scenario,
        [Axis.parse(text) for text in options.over],
        seeds=options.seeds,
        overrides=_overrides(options),
        max_runs=options.max_runs,
    )
    if options.missing:
        begun = prepare(planned, options.out, formats, options.packets, options.restart)
        for order in begun.missing():
            sys.stdout.write(f"{order.line()}\n")
        sys.stdout.flush()
        return
    line = _Line("missing runs" if options.dask else "runs")
    try:
        made = run(
            planned,
            options.out,
            formats=formats,
            packets=options.packets,
            restart=options.restart,
            jobs=options.jobs,
            dask=options.dask,
            on_progress=line.show,
        )
    finally:
        line.clear()
    again = f", {made.resumed} of them finished before" if made.resumed else ""
    _write(f"{made.runs} runs{again}; written to {options.out}\n", sys.stdout)
    check_all_succeeded(made, options.out)


class _Line:
    """Progress on stderr, if that is a terminal: a line that is written over and over."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._is_shown = sys.stderr.isatty()
        self._began_s = time.monotonic()

    def show(self, finished: int, total: int) -> None:
        if self._is_shown:
            took_s = time.monotonic() - self._began_s
            sys.stderr.write(f"\rsweep: {finished} of {total} {self._what}, {took_s:.0f} s ")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write(f"\r{'':60}\r")
            sys.stderr.flush()


def _sweep_run(options: argparse.Namespace) -> None:
    """Makes the run of the line on stdin."""
    line = sys.stdin.buffer.read(_MAX_ORDER_BYTES + 1)
    if len(line) > _MAX_ORDER_BYTES:
        raise SweepError(f"stdin: more than {_MAX_ORDER_BYTES} bytes", is_input=True)
    order = Order.parse(line.decode(errors="replace"))
    try:
        order.make(options.inputs, options.out, lambda: False)
    except KeyboardInterrupt as error:
        raise SweepError("interrupted; nothing is written") from error
    _write(f"1 run; written to {options.out}\n", sys.stdout)


def _compare(options: argparse.Namespace) -> None:
    """Prints the tables and writes the files."""
    # SciPy, rich and matplotlib take longer to load than a short sweep takes.
    from gnb_lab.comparison import text  # noqa: PLC0415
    from gnb_lab.comparison.sides import Comparison  # noqa: PLC0415

    comparison = Comparison.read(options.runs)
    for warning in comparison.warnings:
        logging.warning("%s", warning)
    _write(f"{text.text(comparison)}\n", sys.stdout)
    if options.json:
        options.json.write_text(text.json(comparison), encoding="utf-8")
    if options.html:
        from gnb_lab.comparison.page import page  # noqa: PLC0415

        options.html.write_text(page(comparison), encoding="utf-8")


def program() -> int:
    """`main` as a process of its own: what stops it is an interrupt from the keyboard."""
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(program())
