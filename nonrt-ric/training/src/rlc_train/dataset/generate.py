"""Making the runs of a plan: those that are missing, in parallel, each whole or not at all."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import joblib
import pyarrow as pa
from rlc_dataset import DatasetError, Provenance, Run, write_run
from rlc_dataset.provenance import text_sha256
from rlc_dataset.writer import FILE

from rlc_train.dataset.plan import RunPlan
from rlc_train.dataset.simulate import producer, provenance, simulate
from rlc_train.errors import TrainError

DASK_TIMEOUT_S: Final = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run: its provenance, and whether it was there already."""

    plan: RunPlan
    provenance: Provenance
    made: bool


def generate(
    plans: Sequence[RunPlan],
    root: Path,
    *,
    jobs: int = 1,
    dask: str = "",
    tell: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Makes the runs that `root` lacks.

    A run is there when its file says that it came from the same scenario and the same version of
    the simulator; any other file in its place is replaced. Workers simulate and this process
    writes, so that workers elsewhere need no shared disk.

    Args:
        plans: What to make; (cell, mobility, run) unique.
        root: Directory of the data set.
        jobs: Processes on this machine, when there is no cluster.
        dask: Address of a Dask scheduler, ``tcp://host:8786``.
        tell: Called in this process for each run as it is done.

    Raises:
        TrainError: Two plans have one place, a scenario is wrong, or the cluster is not there.
        DatasetError: A run cannot be written.
    """
    _check_unique(plans)
    version = producer()
    outcomes: list[Outcome] = []

    def done(outcome: Outcome) -> None:
        outcomes.append(outcome)
        tell(outcome)

    missing: list[RunPlan] = []
    for plan in plans:
        there = finished(plan, root, version)
        if there is None:
            missing.append(plan)
        else:
            done(Outcome(plan, there, made=False))
    with _backend(dask):
        parallel = joblib.Parallel(
            n_jobs=-1 if dask else max(1, min(jobs, len(missing) or 1)),
            return_as="generator_unordered",
            # A result is megabytes: none is to be made before one is written.
            pre_dispatch="n_jobs" if not dask else "2*n_jobs",
            batch_size=1,
        )
        for index, table in parallel(joblib.delayed(_made)(i, p) for i, p in enumerate(missing)):
            plan = missing[index]
            done(Outcome(plan, write_run(root, table, provenance(plan)), made=True))
    return outcomes


def finished(plan: RunPlan, root: Path, version: str) -> Provenance | None:
    """The provenance of a plan's file when it is there and of the same making."""
    path = root / f"cell={plan.cell}/mobility={plan.mobility}/run={plan.run}" / FILE
    if not path.exists():
        return None
    try:
        found = Run.open(path).provenance
    except DatasetError:
        return None
    same = found.scenario_sha256 == text_sha256(plan.scenario) and found.producer == version
    return found if same else None


def _made(index: int, plan: RunPlan) -> tuple[int, pa.Table]:
    return index, simulate(plan)


def _check_unique(plans: Sequence[RunPlan]) -> None:
    seen: set[str] = set()
    for plan in plans:
        if plan.name in seen:
            raise TrainError(f"{plan.name}: is planned twice; expected one run for each place")
        seen.add(plan.name)


@contextmanager
def _backend(dask: str) -> Iterator[None]:
    """Processes of this machine, or a Dask cluster by its scheduler's address."""
    if not dask:
        yield
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise TrainError("--dask needs dask and distributed: sojourn-training[dask]") from error
    try:
        client = distributed.Client(dask, timeout=DASK_TIMEOUT_S)
    except (OSError, ValueError) as error:
        raise TrainError(f"no Dask scheduler answers at {dask}: {error}") from error
    with client, joblib.parallel_config(backend="dask"):
        yield
