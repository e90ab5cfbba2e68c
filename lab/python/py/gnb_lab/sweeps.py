"""Sweeps: `gnb-lab sweep` from Python, on this machine or on a Dask cluster.

The program decides what is missing in the folder and writes its tables, wherever the runs are made,
so a sweep may be begun on one machine and finished on a cluster or the other way round, to the same
bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from gnb_lab.cluster import Progress, make_runs
from gnb_lab.program import call
from gnb_lab.tables import read

if TYPE_CHECKING:
    import pyarrow as pa


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
        formats: Of the tables of each run; `gnb_lab.read` needs `parquet`.
        packets: Whether each run has the table `packets`.
        restart: Whether finished runs are discarded.
        dask: Address of a Dask scheduler, `tcp://host:8786`, whose workers make the runs. They need
            this distribution and the same build of `gnb-lab`, and share no disk.
        on_progress: Called on a cluster after each run with the number of finished runs and of all
            that were missing.

    Returns:
        A row per run and subject, with a column per axis: `gnb_lab.read(out)`.

    Raises:
        SweepError: Bad input, a machine that cannot go on, or failed runs, whose errors are in the
            table; what is finished stays in the folder.
        ModuleNotFoundError: Without pyarrow.
    """
    arguments = [str(scenario), "--out", str(out), "--seeds", str(seeds)]
    for path, values in (over or {}).items():
        written = values if isinstance(values, str) else ",".join(map(json.dumps, values))
        arguments += ["--over", f"{path}={written}"]
    for path, value in (overrides or {}).items():
        arguments += ["--set", f"{path}={json.dumps(value)}"]
    arguments += ["--format", ",".join(formats)]
    arguments += ["--packets"] * packets + ["--restart"] * restart
    if dask:
        on_cluster(arguments, dask, on_progress)
    else:
        call("sweep", *arguments)
    return read(out)


def on_cluster(arguments: Sequence[str], address: str, on_progress: Progress) -> str:
    """Runs `gnb-lab sweep`, the runs made by the workers of a Dask cluster; returns what it says.

    Raises:
        SweepError: As of `sweep`.
    """
    missing = call("sweep", *arguments, "--missing").splitlines()
    make_runs(missing, address, on_progress)
    # What the cluster made is to be kept.
    kept = [argument for argument in arguments if argument != "--restart"]
    return call("sweep", *kept)
