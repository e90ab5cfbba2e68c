"""Series of a data set: one per bearer and run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from rlc_dataset import Dataset, Run, series_origins, table_arrays
from rlc_model import Quantity

from rlc_train.errors import TrainError
from rlc_train.series import Series, split_at_gaps
from rlc_train.spool import Spool

_REPETITION = re.compile(r"[-_.]?(seed|rep|s|r)[-_]?\d+$")


def scenario_of(cell: str, mobility: str, run: str) -> str:
    """Scenario for the breakdown of results: the run's name without its repetition number, or cell
    and mobility if the name is only a number."""
    name = _REPETITION.sub("", run)
    return name if name and not name.isdecimal() else f"{cell} {mobility}"


def load(root: Path, context_us: int, spool: Spool | None = None) -> tuple[list[Series], str]:
    """All series of a data set, and its SHA-256.

    `context_us` is the report period of limit, MCS and block size. With a `spool` no more than one
    run is in memory.

    Raises:
        DatasetError: The data set is invalid.
        TrainError: It has no bearer.
    """
    dataset = Dataset.open(root)
    series = []
    for run in dataset:
        found = run_series(run, context_us)
        series += found if spool is None else [one.kept(spool.keep) for one in found]
    if not series:
        raise TrainError(str(root), "has no bearer")
    return series, dataset.sha256()


def run_series(run: Run, context_us: int) -> list[Series]:
    """The series of a run; long gaps split a bearer into several.

    Raises:
        DatasetError: The file is damaged or altered.
    """
    table = run.table(allow_gaps=True)
    arrays = table_arrays(table, str(run.path), context_us=context_us)
    provenance = run.provenance
    origins = {(one.ue, one.drb): one for one in series_origins(provenance, table)}
    found = []
    for column, bearer in enumerate(arrays.bearers):
        origin = origins[bearer.ue, bearer.drb]
        rows = np.flatnonzero(arrays.present[:, column])
        targets = np.stack(
            [arrays.targets[quantity][rows, column] for quantity in Quantity], axis=1
        )
        whole = Series(
            f"{provenance.partition}/ue={bearer.ue}/drb={bearer.drb}",
            scenario_of(provenance.cell, provenance.mobility, provenance.run),
            provenance.cell,
            provenance.mobility,
            arrays.start_us + rows.astype(np.int64) * arrays.period_us,
            arrays.features[rows, column],
            arrays.fresh[rows, column],
            targets.astype(np.float32),
            arrays.limit_reported[rows, column],
            origin.radio,
            origin.bearer_kind,
        )
        parts = split_at_gaps(whole)
        if len(parts) > 1:
            parts = [replace(p, name=f"{p.name}/part={i}") for i, p in enumerate(parts)]
        found += parts
    return found
