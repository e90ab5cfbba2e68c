"""Hyperband (Li et al. 2018) over layers, units, dropout and learning rate.

Each trial is a training in its own directory with a checkpoint: a trial of a later bracket
continues from the checkpoint of its predecessor, and an interrupted search continues with its last
trial and epoch.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlc_train.errors import TrainError, need
from rlc_train.horizon import Layout
from rlc_train.lstm.backend import choose, keras
from rlc_train.lstm.fit import CHECKPOINT, fit
from rlc_train.lstm.shape import FitSettings, NetworkShape
from rlc_train.splits import Part
from rlc_train.spool import Spool

OBJECTIVE = "validation_loss"
PROJECT = "hyperband"
RETRIES = 2
"""Retries of a trial that was lost with its worker."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best hyper-parameters of a search.

    Attributes:
        network: Layers of the best trial.
        learning_rate: Of the best trial.
        validation_loss: Of the best trial.
        trials: Number of completed trials.
    """

    network: NetworkShape
    learning_rate: float
    validation_loss: float
    trials: int


@dataclass(frozen=True, slots=True)
class Task:
    """Inputs of every trial.

    Attributes:
        train, validation: The parts.
        layout: Axes of forecasts.
        settings: Training parameters; epochs and learning rate are those of the trial.
        max_epochs: Epochs of the longest trial.
        seed: Seed of search and trainings.
        data_sha256: Digest of the data.
        directory: Directory of search and trials.
        spool: Where batches are kept; None for memory.
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


def space() -> Any:
    """The search space (dropout: stolidis2024 §IV-C)."""
    hp = need("keras_tuner", choose()).HyperParameters()
    hp.Int("layers", 1, 2)
    hp.Choice("units", [16, 32, 64, 128])
    hp.Float("dropout", 0.0, 0.5, step=0.1)
    hp.Float("learning_rate", 5e-4, 1e-2, sampling="log")
    return hp


def oracle(max_epochs: int, seed: int) -> Any:
    """The Hyperband oracle."""
    tuner = need("keras_tuner", choose())
    return tuner.oracles.HyperbandOracle(
        tuner.Objective(OBJECTIVE, "min"),
        max_epochs=max_epochs,
        factor=3,
        hyperparameters=space(),
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
    shape, learning_rate = hyperparameters(values)
    settings = task.settings.model_copy(
        # Hyperband ends bad trials, so patience is disabled.
        update={"learning_rate": learning_rate, "epochs": epochs, "patience": epochs}
    )
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


def hyperparameters(values: dict[str, Any]) -> tuple[NetworkShape, float]:
    """Network shape and learning rate of a trial's values."""
    shape = NetworkShape(
        layers=int(values["layers"]),
        units=int(values["units"]),
        dropout=round(float(values["dropout"]), 1),
    )
    return shape, float(values["learning_rate"])


def best(decider: Any) -> Found | None:
    """The best completed trial; None if there is none."""
    trials = [trial for trial in decider.trials.values() if trial.status == "COMPLETED"]
    if not trials:
        return None
    top = min(trials, key=lambda trial: float(trial.score))
    shape, learning_rate = hyperparameters(top.hyperparameters.values)
    return Found(shape, learning_rate, float(top.score), len(trials))


def search(task: Task) -> Found | None:
    """Runs a search on this machine; continues a stopped one."""
    decider = oracle(task.max_epochs, task.seed)
    runner = tuner(task, decider)
    runner.search()
    return best(decider)
