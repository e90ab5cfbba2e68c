"""A whole sweep, begun on one machine and finished on a cluster or the other way round, to the same
bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnb_lab._native import FORMATS
from gnb_lab.results import SweepError
from gnb_lab.sweeps.axis import Axis
from gnb_lab.sweeps.plan import Plan, plan
from gnb_lab.sweeps.run import Done, Progress, prepare
from gnb_lab.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_NAMED = 3
"""Failed runs that are named."""


def sweep(
    scenario: str | PathLike[str],
    out: str | PathLike[str],
    *,
    over: Mapping[str, str | Sequence[Any]] | None = None,
    seeds: int = 1,
    overrides: Mapping[str, Any] | None = None,
    formats: Sequence[str] = ("parquet",),
    packets: bool = False,
    restart: bool = False,
    jobs: int | None = None,
    dask: str = "",
    on_progress: Progress = lambda finished, total: None,
) -> pa.Table:
    """Runs what a folder lacks of a sweep and returns the sweep's table `runs`.

    Args:
        scenario: Path of the scenario file.
        out: Folder of the sweep; finished runs in it are kept.
        over: Axes: the values of each path in turn, as a sequence or as the text of `--over`
            (`4..20..4`).
        seeds: Seeds per combination of values, from the scenario's seed on.
        overrides: Elements replaced in all runs, by path.
        formats: Formats of the tables of each run; `gnb_lab.read` needs `parquet`.
        packets: Whether each run has the table `packets`.
        restart: Whether finished runs are discarded.
        jobs: Runs at a time on this machine; the number of cores if None.
        dask: Address of a Dask scheduler, `tcp://host:8786`, whose workers make the runs. They need
            the same build of this distribution, and share no disk.
        on_progress: Called after each run with the number of finished runs and of all; on a cluster
            of those that were missing.

    Returns:
        A row per run and subject, with a column per axis: `gnb_lab.read(out)`.

    Raises:
        SweepError: Bad input, a machine that cannot go on, an interrupt from the keyboard, or
            failed runs, whose errors are in the table; what is finished stays in the folder.
        ModuleNotFoundError: Without pyarrow.
    """
    axes = [
        Axis.parse(f"{path}={values}") if isinstance(values, str) else Axis.of(path, values)
        for path, values in (over or {}).items()
    ]
    planned = plan(Path(scenario), axes, seeds=seeds, overrides=overrides)
    made = run(
        planned,
        Path(out),
        formats=formats,
        packets=packets,
        restart=restart,
        jobs=jobs,
        dask=dask,
        on_progress=on_progress,
    )
    check_all_succeeded(made, Path(out))
    return read(out)


def run(
    planned: Plan,
    out: Path,
    *,
    formats: Sequence[str] = ("parquet",),
    packets: bool = False,
    restart: bool = False,
    jobs: int | None = None,
    dask: str = "",
    on_progress: Progress = lambda finished, total: None,
) -> Done:
    """Runs what a folder lacks of a plan and writes the table of all runs.

    Args and errors are those of `sweep`, but that failed runs are returned.
    """
    try:
        begun = prepare(planned, out, chosen(formats), packets, restart)
        if dask:
            from gnb_lab.sweeps.cluster import make_runs  # noqa: PLC0415

            make_runs(begun.missing(), dask, on_progress)
            begun = prepare(planned, out, chosen(formats), packets, restart=False)
            return begun.run(jobs)
        return begun.run(jobs, on_progress)
    except OSError as error:
        raise SweepError(f"{error.filename or out}: {error.strerror or error}") from error


def chosen(formats: Sequence[str]) -> list[str]:
    """Each format once, in a fixed order.

    Raises:
        SweepError: One is unknown.
    """
    for name in formats:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            message = f"--format: '{name}': no such format; expected one of {known}"
            raise SweepError(message, is_input=True)
    return sorted(set(formats), key=FORMATS.index)


def check_all_succeeded(made: Done, out: Path) -> None:
    """Refuses a sweep with failed runs.

    Raises:
        SweepError: The first of them with their errors.
    """
    if made.failed:
        named = list(made.failed.items())[:_MAX_NAMED]
        lines = "".join(f"\n  {folder}: {problem}" for folder, problem in named)
        message = f"{len(made.failed)} of {made.runs} runs failed"
        raise SweepError(f"{message}; their errors are in {out / 'runs.csv'}{lines}")
