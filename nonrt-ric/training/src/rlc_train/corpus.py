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


def scenario_of(run: str) -> str:
    """The scenario of a run's name: repetitions with other seeds are the same scenario."""
    return _REPETITION.sub("", run) or run


def load(root: Path) -> tuple[list[Series], str]:
    """All series of a data set, and its SHA-256.

    Raises:
        DatasetError: The data set is damaged or no data set.
        TrainError: It holds no bearer.
    """
    dataset = Dataset.open(root)
    series = [one for run in dataset for one in run_series(run)]
    if not series:
        raise TrainError(str(root), "holds no bearer")
    return series, dataset.sha256()


def run_series(run: Run) -> list[Series]:
    """The series of a run; long gaps cut a bearer into several.

    Raises:
        DatasetError: The file is damaged or altered.
    """
    arrays = run.arrays(allow_gaps=True)
    provenance = run.provenance
    found = []
    for column, bearer in enumerate(arrays.bearers):
        rows = np.flatnonzero(arrays.present[:, column])
        targets = np.stack(
            [arrays.targets[quantity][rows, column] for quantity in Quantity], axis=1
        )
        whole = Series(
            f"{provenance.partition}/ue={bearer.ue}/drb={bearer.drb}",
            scenario_of(provenance.run),
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
