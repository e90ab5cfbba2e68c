"""Simulates the missing runs of a plan in parallel; each is written atomically."""

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
    """A run of the plan; `made` is False if it existed."""

    plan: RunPlan
    provenance: Provenance
    made: bool


def generate(
    plans: Sequence[RunPlan],
    root: Path,
    *,
    jobs: int = 1,
    dask: str = "",
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Makes the runs that are missing below `root`.

    An existing run is kept if it has the same scenario, traces and version of the simulator, else
    it is replaced. Workers simulate and this process writes, so that workers need no shared disk.

    Args:
        plans: The runs; (cell, mobility, run) are unique.
        root: Directory of the data set.
        jobs: Processes on this machine, without a cluster.
        dask: Address of a Dask scheduler, ``tcp://host:8786``.
        on_outcome: Called in this process for each finished run.

    Raises:
        TrainError: Two plans have the same place, a scenario is invalid, or the cluster does not
            answer.
        DatasetError: A run cannot be written.
    """
    _check_unique(plans)
    version = producer()
    outcomes: list[Outcome] = []

    def done(outcome: Outcome) -> None:
        outcomes.append(outcome)
        on_outcome(outcome)

    missing: list[RunPlan] = []
    for plan in plans:
        existing = finished(plan, root, version)
        if existing is None:
            missing.append(plan)
        else:
            done(Outcome(plan, existing, made=False))
    with _backend(dask):
        parallel = joblib.Parallel(
            n_jobs=-1 if dask else max(1, min(jobs, len(missing) or 1)),
            return_as="generator_unordered",
            # Bounds the memory: a result has megabytes.
            pre_dispatch="n_jobs" if not dask else "2*n_jobs",
            batch_size=1,
        )
        for index, table in parallel(joblib.delayed(_made)(i, p) for i, p in enumerate(missing)):
            plan = missing[index]
            done(Outcome(plan, write_run(root, table, provenance(plan)), made=True))
    return outcomes


def finished(plan: RunPlan, root: Path, version: str) -> Provenance | None:
    """Provenance of a plan's file, if it has the same scenario, traces and version."""
    path = root / f"cell={plan.cell}/mobility={plan.mobility}/run={plan.run}" / FILE
    if not path.exists():
        return None
    try:
        found = Run.open(path).provenance
    except DatasetError:
        return None
    same = (
        found.scenario_sha256 == text_sha256(plan.scenario)
        and found.traces == plan.traces
        and found.producer == version
    )
    return found if same else None


def _made(index: int, plan: RunPlan) -> tuple[int, pa.Table]:
    return index, simulate(plan)


def _check_unique(plans: Sequence[RunPlan]) -> None:
    seen: set[str] = set()
    for plan in plans:
        if plan.name in seen:
            raise TrainError(f"{plan.name}: occurs twice in the plan")
        seen.add(plan.name)


@contextmanager
def _backend(dask: str) -> Iterator[None]:
    """Local processes, or a Dask cluster by its scheduler's address."""
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
