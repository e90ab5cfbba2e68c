"""Runs all that is missing of a sweep."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from gnb_lab._native import Scenario
from gnb_lab.measures import Subject, read_run
from gnb_lab.results import SweepError, write_json
from gnb_lab.sweeps import identity, table
from gnb_lab.sweeps.identity import SWEEP_FILE, Identity
from gnb_lab.sweeps.order import Order, make, order
from gnb_lab.sweeps.plan import Plan, Run

Progress = Callable[[int, int], None]
"""Called with the number of finished runs and of all."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished sweep.

    Attributes:
        runs: All runs.
        resumed: Runs found finished.
        failed: Error of each failed run, by its folder.
    """

    runs: int
    resumed: int
    failed: Mapping[Path, str]


@dataclass(frozen=True, slots=True)
class _Task:
    """A run with what it depends on.

    Attributes:
        inputs: Digests of its input files by path.
        problem: Why one of these cannot be read.
    """

    run: Run
    scenario: Scenario
    folder: Path
    inputs: dict[str, str]
    digest: str
    is_finished: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A folder with what is to be made in it.

    Attributes:
        plan: The runs.
        out: The folder.
        identity: What the runs depend on beside their scenarios.
    """

    plan: Plan
    out: Path
    identity: Identity
    _tasks: tuple[_Task, ...]

    def missing(self) -> list[Order]:
        """The runs that the folder lacks, for others to make; then `run` writes the tables. A run
        with an input file that cannot be read is left to it."""
        return [
            order(task.folder, task.scenario, task.inputs, self.identity)
            for task in self._tasks
            if not task.is_finished and not task.problem
        ]

    def run(
        self, jobs: int | None = None, on_progress: Progress = lambda finished, total: None
    ) -> Done:
        """Runs what the folder lacks and writes the table of all runs. Results do not depend on
        the number of jobs, nor on interrupts. A run that fails is in the table with its error and
        does not stop the others.

        Args:
            jobs: Runs at a time; the number of cores if None.
            on_progress: Called after each run, those found finished too.

        Raises:
            SweepError: A keyboard interrupt; what is finished is kept.
            OSError: A table cannot be written.
        """
        stop = Event()
        # A run holds no lock of the interpreter while virtual time passes.
        pool = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
        futures = [pool.submit(self._outcome, task, stop) for task in self._tasks]
        try:
            for finished, _ in enumerate(as_completed(futures), 1):
                on_progress(finished, len(futures))
        except KeyboardInterrupt as error:
            stop.set()
            pool.shutdown(cancel_futures=True)
            finished = sum(
                not each.cancelled() and not each.exception() and each.result() is not None
                for each in futures
            )
            message = f"interrupted with {finished} of {len(futures)} runs finished"
            raise SweepError(f"{message}; the same command resumes from {self.out}") from error
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        outcomes = [outcome for future in futures if (outcome := future.result()) is not None]
        table.write(self.out, self.plan, [measures for measures, _ in outcomes])
        failed = {
            task.folder: measures
            for task, (measures, _) in zip(self._tasks, outcomes, strict=True)
            if isinstance(measures, str)
        }
        return Done(len(outcomes), sum(is_resumed for _, is_resumed in outcomes), failed)

    def _outcome(
        self, task: _Task, stop: Event
    ) -> tuple[Mapping[Subject, Mapping[str, float]] | str, bool] | None:
        """Measures or error of a run, and whether it was found finished; None if stopped."""
        if task.is_finished:
            try:
                return read_run(task.folder).measures, True
            except SweepError:
                pass  # A damaged run is made again.
        if task.problem:
            return task.problem, False
        try:
            if stop.is_set() or not make(
                task.scenario, task.folder, self.identity, task.digest, stop.is_set
            ):
                return None
            return read_run(task.folder).measures, False
        except (SweepError, OSError) as error:
            return str(error), False


def prepare(plan: Plan, out: Path, formats: list[str], packets: bool, restart: bool) -> Sweep:
    """Makes or checks the folder of a sweep.

    Args:
        plan: Its runs.
        out: The folder.
        formats: Formats of the tables of each run.
        packets: Whether each run has the table `packets`.
        restart: Whether finished runs are discarded.

    Raises:
        SweepError: The folder has runs of something else.
        OSError: It cannot be written.
    """
    own = Identity(identity.program(), formats, packets)
    description = identity.describe(plan, own)
    runs = out / "runs"
    if (out / SWEEP_FILE).exists():
        if restart and runs.exists():
            shutil.rmtree(runs)
        elif not restart:
            identity.check_unchanged(out, description)
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        message = f"{runs}: is not a folder; expected one, or none yet"
        raise SweepError(message) from error
    known: dict[str, str] = {}
    tasks = tuple(_task(run, runs / run.name, own, known) for run in plan.runs)
    write_json(out / SWEEP_FILE, description, indent=2)
    return Sweep(plan, out, own, tasks)


def _task(run: Run, folder: Path, own: Identity, known: dict[str, str]) -> _Task:
    """A run and whether it is finished; `known` are digests of files that other runs read."""
    scenario = run.scenario()
    tree: Any = scenario.tree
    paths = list(identity.input_paths(tree))
    try:
        for path in paths:
            known[path] = known.get(path) or identity.file_digest(scenario.folder / path)
    except SweepError as error:
        return _Task(run, scenario, folder, {}, "", is_finished=False, problem=str(error))
    inputs = {path: known[path] for path in paths}
    digest = own.digest(tree, inputs)
    return _Task(run, scenario, folder, inputs, digest, identity.is_finished(folder, digest))
