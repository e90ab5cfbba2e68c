"""Hyperband (Li et al. 2018) over a space of settings.

Each trial is a training in its own directory with a checkpoint: a trial of a later bracket
continues from the checkpoint of its predecessor, and an interrupted search continues with its last
trial and epoch.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlc_train.errors import TrainError, need
from rlc_train.horizon import Layout
from rlc_train.lstm.backend import choose, keras
from rlc_train.lstm.fit import CHECKPOINT, fit
from rlc_train.lstm.shape import FitSettings, NetworkShape
from rlc_train.splits import Part
from rlc_train.spool import Spool
from rlc_train.tuning.space import (
    DEFAULT_SPACE,
    Space,
    changed_settings,
    changes_of,
    hyperparameters,
)

OBJECTIVE = "validation_loss"
PROJECT = "hyperband"
RETRIES = 2
"""Retries of a trial that was lost with its worker."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best hyper-parameters of a search.

    Attributes:
        changes: Settings of the best trial by dotted name.
        validation_loss: Of the best trial.
        trials: Number of completed trials.
    """

    changes: dict[str, Any]
    validation_loss: float
    trials: int


@dataclass(frozen=True, slots=True)
class Task:
    """Inputs of every trial.

    Attributes:
        train, validation: The parts.
        layout: Axes of forecasts.
        shape: The network, of which a trial changes what is in the space.
        settings: Training parameters, alike; epochs are those of the trial.
        max_epochs: Epochs of the longest trial.
        seed: Seed of search and trainings.
        data_sha256: Digest of the data.
        directory: Directory of search and trials.
        spool: Where batches are kept; None for memory.
        space: What is searched.
    """

    train: Sequence[Part]
    validation: Sequence[Part]
    layout: Layout
    settings: FitSettings
    max_epochs: int
    seed: int
    data_sha256: str
    directory: Path
    spool: Spool | None = None
    shape: NetworkShape = field(default_factory=NetworkShape)
    space: Space = field(default_factory=lambda: DEFAULT_SPACE)


def oracle(max_epochs: int, seed: int, space: Space = DEFAULT_SPACE) -> Any:
    """The Hyperband oracle."""
    tuner = need("keras_tuner", choose())
    return tuner.oracles.HyperbandOracle(
        tuner.Objective(OBJECTIVE, "min"),
        max_epochs=max_epochs,
        factor=3,
        hyperparameters=hyperparameters(space),
        seed=seed,
        max_retries_per_trial=RETRIES,
        tune_new_entries=False,
        allow_new_entries=False,
    )


def trials_of(decider: Any) -> int:
    """Trials of a whole search, of all brackets and rounds."""
    brackets = range(decider._get_num_brackets())
    rounds = [(b, r) for b in brackets for r in range(decider._get_num_rounds(b))]
    return sum(decider._get_size(b, r) for b, r in rounds)


def completed(decider: Any) -> int:
    """Completed trials."""
    return sum(trial.status == "COMPLETED" for trial in decider.trials.values())


def tuner(task: Task, decider: Any) -> Any:
    """A KerasTuner tuner that runs :func:`run_trial`.

    Raises:
        TrainError: KerasTuner, TensorBoard or the backend is not installed.
    """
    backend = choose()
    # Every trial needs it, but no package depends on it.
    need("tensorboard", backend)
    base = need("keras_tuner", backend).engine.base_tuner.BaseTuner

    class Tuner(base):  # type: ignore[misc, valid-type]
        """Runs a trial."""

        def run_trial(self, trial: Any, *_: Any, **__: Any) -> float:
            """The validation loss of a trial."""
            return run_trial(task, self, trial)

        def save_model(self, trial_id: str, model: Any, step: int = 0) -> None:
            """Does nothing: the training writes checkpoints."""

        def load_model(self, trial: Any) -> Any:
            """Not supported: the best model is trained again."""
            raise TrainError("trial", f"{trial.trial_id}: has a checkpoint, not a model")

    return Tuner(oracle=decider, directory=str(task.directory), project_name=PROJECT)


def run_trial(task: Task, runner: Any, trial: Any) -> float:
    """Trains one trial; contacts the chief after every epoch."""
    values = trial.hyperparameters.values
    directory = task.directory / "trials" / str(trial.trial_id)
    directory.mkdir(parents=True, exist_ok=True)
    before = values.get("tuner/trial_id")
    if before is not None and not (directory / CHECKPOINT).exists():
        earlier = task.directory / "trials" / str(before) / CHECKPOINT
        if earlier.exists():
            shutil.copyfile(earlier, directory / CHECKPOINT)
    epochs = int(values.get("tuner/epochs") or task.max_epochs)
    changed = changes_of(task.space, values)
    shape, settings = changed_settings(task.shape, task.settings, changed)
    # Hyperband ends bad trials, so patience is disabled.
    settings = settings.model_copy(update={"epochs": epochs, "patience": epochs})
    trained = fit(
        task.train,
        task.validation,
        task.layout,
        shape,
        settings,
        seed=task.seed,
        data_sha256=task.data_sha256,
        directory=directory,
        spool=task.spool,
        on_epoch=lambda *_: runner.oracle.get_trial(trial.trial_id),
    )
    keras().backend.clear_session()
    return min(validation for _, validation in trained.curve)


def best(decider: Any, space: Space = DEFAULT_SPACE) -> Found | None:
    """The best completed trial; None if there is none."""
    trials = [trial for trial in decider.trials.values() if trial.status == "COMPLETED"]
    if not trials:
        return None
    top = min(trials, key=lambda trial: float(trial.score))
    return Found(changes_of(space, top.hyperparameters.values), float(top.score), len(trials))


def search(task: Task) -> Found | None:
    """Runs a search on this machine; continues a stopped one."""
    decider = oracle(task.max_epochs, task.seed, task.space)
    runner = tuner(task, decider)
    runner.search()
    return best(decider, task.space)
