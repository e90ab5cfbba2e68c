"""Simulates runs and writes them as a data set.

grid    stolidis2024 §III-B: UDP 1, 10, 40, 100 Mbit/s × ICMP each 1, 10, 100 ms under DRQL
wide    several cells × speeds, and streets with handovers; random UEs, SNR, DRX, bearers, RLC
        modes, pacers and traffic
sample  three small cells: the content of datasets/sample

With --traces, wide replays recorded radios as well, and adds what simulated cells lack: as many
bearers without a pacer as with one, delays between CU and DU, SNRs that jump.

Existing runs are kept, so a stopped command can be continued.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ric.flags import folder_to_write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rlc_dataset import Dataset, DatasetError
from rlc_dataset.channels import RateColumns

from rlc_train.dataset import grid, radios, rates, wide
from rlc_train.dataset.generate import Outcome, generate
from rlc_train.dataset.plan import RunPlan
from rlc_train.dataset.recordings import find_recordings, take
from rlc_train.dataset.traces import Radio, find_radios
from rlc_train.errors import TrainError

NAME: Final = "dataset"
LONGEST_S: Final = 86_400.0
SAMPLE_S: Final = 10.0
DURATION_S: Final = 60.0
SHOWN: Final = 20
"""Skipped files that are listed: a folder may have tens of thousands."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("preset", choices=("grid", "wide", "sample"), help="runs to simulate")
    parser.add_argument(
        "--out", type=folder_to_write, required=True, help="directory of the data set"
    )
    parser.add_argument(
        "--duration-s",
        type=float,
        help=f"virtual time of each run (default: {DURATION_S:g}, sample {SAMPLE_S:g})",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the data set (default: 1)")
    parser.add_argument(
        "--repeats",
        type=int,
        default=2,
        help="wide: runs of each cell and mobility pattern (default: 2)",
    )
    parser.add_argument(
        "--traces",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="wide: folder of recorded radios (Mahimahi, UCC, TRACTOR; .xz, .gz); repeatable",
    )
    parser.add_argument(
        "--pattern",
        default="*",
        metavar="GLOB",
        help="wide: names of the files of --traces that are read (default: all)",
    )
    rates.add_arguments(parser, required=False)
    parser.add_argument(
        "--radio-repeats",
        type=int,
        metavar="N",
        help="wide: pairs of runs of each recorded radio and of each cell with SNRs that jump"
        " (default: as --repeats)",
    )
    parser.add_argument(
        "--recordings",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="data set of rlc-train collect whose runs are taken in; repeatable",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="processes on this machine (default: one per core)",
    )
    parser.add_argument(
        "--dask", default="", metavar="ADDRESS", help="Dask scheduler to use instead of processes"
    )
    parser.add_argument(
        "--plan", action="store_true", help="print the runs without simulating them"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    if arguments.jobs < 1:
        raise TrainError(f"--jobs: {arguments.jobs}; expected at least 1")
    plans = planned(
        arguments.preset,
        arguments.duration_s,
        arguments.seed,
        repeats=arguments.repeats,
        traces=arguments.traces,
        radio_repeats=arguments.radio_repeats,
        pattern=arguments.pattern,
        columns=rates.columns_of(arguments),
    )
    recordings = find_recordings(arguments.recordings, plans)
    if arguments.plan:
        for plan in plans:
            print(f"{plan.name}\tseed {plan.seed}\t{plan.duration_us / 1e6:g} s")
        for recording in recordings:
            print(f"{recording.run.provenance.partition}\tof {recording.folder}")
        return 0
    began = time.monotonic()
    outcomes = _with_progress(plans, arguments)
    taken = sum(take(recording, arguments.out) for recording in recordings)
    data = Dataset.open(arguments.out)
    made = sum(outcome.made for outcome in outcomes)
    print(
        f"{arguments.out}: {made} runs made, {len(outcomes) - made} kept,"
        f" {taken} of {len(recordings)} recordings copied,"
        f" {sum(r.rows for r in data)} rows in {len(data)} runs of {len(data.cells)} cells,"
        f" SHA-256 {data.sha256()}, {time.monotonic() - began:.1f} s"
    )
    return 0


def planned(
    preset: str,
    duration_s: float | None,
    seed: int,
    *,
    repeats: int = 2,
    traces: Sequence[Path] = (),
    radio_repeats: int | None = None,
    pattern: str = "*",
    columns: RateColumns | None = None,
) -> list[RunPlan]:
    """The runs of a preset, and of the radios recorded in the folders `traces`, which are
    `repeats` unless `radio_repeats` is given; `pattern` and `columns` are those of
    :func:`rlc_train.dataset.traces.find_radios`. Files that are skipped are listed on standard
    error.

    Raises:
        TrainError: A number is out of range, the preset takes no traces, or as
            :func:`rlc_train.dataset.traces.find_radios`.
    """
    if duration_s is None:
        duration_s = SAMPLE_S if preset == "sample" else DURATION_S
    if not 0.001 <= duration_s <= LONGEST_S:
        raise TrainError(f"--duration-s: {duration_s:g}; expected 0.001 to {LONGEST_S:g}")
    if seed < 0:
        raise TrainError(f"--seed: {seed}; expected 0 or more")
    if radio_repeats is None:
        radio_repeats = repeats
    elif not traces:
        raise TrainError("--radio-repeats: there are no recorded radios; expected --traces as well")
    for option, number in (("--repeats", repeats), ("--radio-repeats", radio_repeats)):
        if not 1 <= number <= 100:
            raise TrainError(f"{option}: {number}; expected 1 to 100")
    if traces and preset != "wide":
        raise TrainError(f"--traces: {preset} is made without recorded radios; expected wide")
    if preset == "grid":
        return grid.plan(duration_s, seed)
    if preset == "sample":
        return wide.sample_plan(duration_s, seed)
    simulated = wide.plan(duration_s, seed, repeats)
    if not traces:
        return simulated
    simulated += wide.unpaced_plan(duration_s, seed, repeats)
    found = _radios(traces, pattern, columns)
    return simulated + radios.plan(found, duration_s, seed, radio_repeats)


def _radios(traces: Sequence[Path], pattern: str, columns: RateColumns | None) -> list[Radio]:
    """The radios of folders; files that are none are listed on standard error."""
    skipped: list[DatasetError] = []
    found = find_radios(traces, pattern, columns, skipped.append)
    for error in skipped[:SHOWN]:
        print(f"skipped: {error}", file=sys.stderr)
    if skipped:
        print(
            f"--traces: {len(found)} files read, {len(skipped)} skipped"
            f"{', of which the first are above' if len(skipped) > SHOWN else ''}",
            file=sys.stderr,
        )
    return found


def _with_progress(plans: list[RunPlan], arguments: argparse.Namespace) -> list[Outcome]:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("runs", total=len(plans))

        def on_outcome(outcome: Outcome) -> None:
            progress.update(task, advance=1, description=outcome.plan.name)
            if not console.is_terminal and outcome.made:
                print(f"made {outcome.plan.name}", file=sys.stderr, flush=True)

        return generate(
            plans,
            arguments.out,
            jobs=arguments.jobs,
            dask=arguments.dask,
            on_outcome=on_outcome,
        )
