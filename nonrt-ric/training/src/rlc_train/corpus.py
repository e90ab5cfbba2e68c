"""From a data set to series, one for each bearer of each run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from rlc_dataset import Dataset, Run
from rlc_model import Quantity

from rlc_train.errors import TrainError
from rlc_train.series import Series, split_at_gaps

_REPETITION = re.compile(r"[-_.]?(seed|rep|s|r)[-_]?\d+$")


def scenario_of(cell: str, mobility: str, run: str) -> str:
    """What a run's results are told under: repetitions with other seeds are the same scenario, and
    runs that are numbered only have the name of where they were."""
    name = _REPETITION.sub("", run)
    return name if name and not name.isdecimal() else f"{cell} {mobility}"


def load(root: Path, context_us: int) -> tuple[list[Series], str]:
    """All series of a data set, and its SHA-256.

    `context_us` is how often a forecaster will be told limit, MCS and block size.

    Raises:
        DatasetError: The data set is damaged or no data set.
        TrainError: It holds no bearer.
    """
    dataset = Dataset.open(root)
    series = [one for run in dataset for one in run_series(run, context_us)]
    if not series:
        raise TrainError(str(root), "holds no bearer")
    return series, dataset.sha256()


def run_series(run: Run, context_us: int) -> list[Series]:
    """The series of a run; long gaps cut a bearer into several.

    Raises:
        DatasetError: The file is damaged or altered.
    """
    arrays = run.arrays(allow_gaps=True, context_us=context_us)
    provenance = run.provenance
    found = []
    for column, bearer in enumerate(arrays.bearers):
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
        )
        parts = split_at_gaps(whole)
        found += parts if len(parts) == 1 else [_numbered(p, i) for i, p in enumerate(parts)]
    return found


def _numbered(series: Series, number: int) -> Series:
    return Series(
        f"{series.name}/part={number}",
        series.scenario,
        series.cell,
        series.mobility,
        series.at_us,
        series.features,
        series.fresh,
        series.targets,
    )
