"""`tc-controller evaluate`: arguments, progress and output."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Final

from ric.flags import file_to_write, folder_to_write, whole_number
from ric.sm import tc
from ric.terminal import complain
from rich.console import Console
from rich.progress import Progress
from tc_controller.core.conflicts import renamed
from tc_controller.policy_file import PolicyError, load_policy
from tc_controller.policy_source import default_policy

from tc_evaluate import report
from tc_evaluate.campaign import run_all
from tc_evaluate.errors import EvaluationError
from tc_evaluate.regret import compare
from tc_evaluate.run import CONTROLLER, LAB, NONE, UNCONTROLLED, Result, Task, static_arms, world_of
from tc_evaluate.scenario_files import read_scenarios, write_scenarios
from tc_evaluate.situation import find_situations

_PIPE_WIDTH: Final = 180
HELP: Final = "replay scenarios under a policy and under each template, print the regret"
_EXAMPLE: Final = (
    "tc-controller evaluate benchmarks/situations.yaml --traces traces --jobs 2 --json regret.jsonl"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Run each scenario once with nobody in control, once under each template and once under "
        "the controller with the policy, the same seconds each, and compare goodput, own "
        "delay of flows and bearers, deadlines and responsiveness with those of every template."
    )
    parser.epilog = f"example:\n  {_EXAMPLE}"
    parser.add_argument(
        "scenarios",
        nargs="+",
        type=Path,
        metavar="SCENARIO",
        help="scenario files, files of situations, or folders of both",
    )
    parser.add_argument("--policy", type=Path, help="policy file (default: the built-in policy)")
    parser.add_argument(
        "--traces", type=Path, metavar="DIR", help="folder of the recordings that scenarios name"
    )
    parser.add_argument(
        "--arms", metavar="A,B", help="run only these arms: templates, none, controller"
    )
    parser.add_argument(
        "--seeds",
        type=whole_number(1),
        default=1,
        help="seeds per scenario, from its own on (default: 1)",
    )
    parser.add_argument(
        "--jobs",
        type=whole_number(1),
        default=os.cpu_count() or 1,
        help="runs at a time (default: %(default)s, the number of CPUs)",
    )
    parser.add_argument(
        "--json",
        type=file_to_write,
        metavar="FILE",
        help="append one JSON object a run; runs that FILE has are not repeated",
    )
    parser.add_argument(
        "--plot", type=file_to_write, metavar="FILE", help="draw the power (.svg, .png)"
    )
    parser.add_argument(
        "--report",
        type=folder_to_write,
        metavar="DIR",
        help="write report.md: a table and a plot of all arms and axes a situation",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="DIR",
        help="write each situation as a scenario file for gnb-lab, and run nothing",
    )


def run(given: argparse.Namespace) -> int:
    """Evaluate; returns the exit status."""
    console = Console()
    try:
        if given.write is not None:
            written = write_scenarios(read_scenarios(given.scenarios), given.write)
            console.print(f"{len(written)} scenarios in {given.write}", soft_wrap=True)
            return 0
        _check(given)
        tasks, skipped = _tasks(given)
        for sentence in skipped:
            complain("tc-controller", sentence)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("runs", total=len(tasks))

            def done(result: Result) -> None:
                progress.update(bar, advance=1, description=f"{result.situation} {result.arm}")

            results = run_all(tasks, jobs=given.jobs, file=given.json, done=done)
    except (EvaluationError, PolicyError) as error:
        complain("tc-controller", error)
        return 2
    except KeyboardInterrupt:
        kept = f"; {given.json} has the runs that ended" if given.json else ""
        sys.stderr.write(f"tc-controller: interrupted{kept}\n")
        return 130
    places = {task.situation.name: number for number, task in enumerate(tasks)}
    comparisons = compare(sorted(results, key=lambda result: places[result.situation]))
    table = report.table(comparisons)
    if not console.is_terminal:
        # In a pipe the table has the width it needs.
        console = Console(width=_PIPE_WIDTH)
    console.print(table)
    console.print(report.axes_table(comparisons))
    if given.plot is not None:
        report.plot(comparisons, given.plot)
    if given.report is not None:
        report.write_report(comparisons, given.report)
    return 0


def _check(given: argparse.Namespace) -> None:
    """Refuses what fails only after minutes of runs."""
    if given.plot is not None:
        report.check_plot(given.plot)
    if given.traces is not None and not given.traces.is_dir():
        raise EvaluationError(f"--traces: {given.traces}: no such directory; expected one")


def _tasks(given: argparse.Namespace) -> tuple[list[Task], list[str]]:
    if importlib.util.find_spec(LAB) is None:
        raise EvaluationError(f"{LAB}, the Python module of the emulated gNB, is not installed")
    policy = given.policy or default_policy()
    load_policy(policy)
    digest = hashlib.sha256(policy.read_bytes()).hexdigest()[:16]
    situations, skipped = find_situations(given.scenarios, given.traces)
    if not situations:
        raise EvaluationError("no situation is left to run")
    for situation in situations:
        # A scenario that the lab refuses is named now, not after the runs before it.
        world_of(situation, UNCONTROLLED, situation.seed)
    arms = _arms(given.arms)
    tasks = [
        Task(situation, situation.seed + offset, arm, policy, digest)
        for situation in situations
        for offset in range(given.seeds)
        for arm in arms
    ]
    return tasks, skipped


def _arms(given: str | None) -> list[str]:
    every = [NONE, *static_arms(), CONTROLLER]
    if given is None:
        return every
    arms: dict[str, None] = {}
    for name in given.split(","):
        arm = tc.former_templates().get(name, name)
        if arm not in every:
            raise EvaluationError(f"--arms: {arm!r}; expected some of {', '.join(every)}")
        if arm != name:
            complain("tc-controller", renamed("--arms", name, arm))
        arms[arm] = None
    return list(arms)
