"""Takes runs of other data sets, such as recordings of live nodes, into a data set."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlc_dataset import Dataset, Run
from rlc_model.files import replacing

from rlc_train.dataset.plan import RunPlan
from rlc_train.errors import TrainError


@dataclass(frozen=True, slots=True)
class Recording:
    """A run and the folder that it is taken from."""

    folder: Path
    run: Run


def find_recordings(folders: Sequence[Path], plans: Sequence[RunPlan]) -> list[Recording]:
    """All runs of some folders.

    Raises:
        DatasetError: A folder has no run, or one is damaged.
        TrainError: Two runs, or a run and one of the plans, have the same place.
    """
    places = {f"cell={p.cell}/mobility={p.mobility}/run={p.run}": "the plan" for p in plans}
    found = []
    for folder in folders:
        for run in Dataset.open(folder):
            place = run.provenance.partition
            if place in places:
                raise TrainError(f"--recordings {folder}", f"{place} is in {places[place]} as well")
            places[place] = str(folder)
            found.append(Recording(folder, run))
    return found


def take(recording: Recording, root: Path) -> bool:
    """Copies a run into its place below `root`; False if it is there already.

    A run in its place with other rows is replaced. A killed process leaves at most a hidden file,
    which readers ignore.

    Raises:
        DatasetError: The run is damaged.
        TrainError: It cannot be written.
    """
    run = recording.run
    path = root / run.path.relative_to(recording.folder)
    if path.exists() and Run.open(path).provenance == run.provenance:
        return False
    # Reads all rows, so that a damaged run is refused here and not in training.
    run.table(allow_gaps=True)
    try:
        with run.path.open("rb") as source, replacing(path) as file:
            shutil.copyfileobj(source, file)
    except OSError as error:
        raise TrainError(str(path), error.strerror or "cannot be written") from error
    return True
