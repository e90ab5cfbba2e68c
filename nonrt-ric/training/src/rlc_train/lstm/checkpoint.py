"""Checkpoints of a training: arrays and numbers in one ``.npz``, no pickles.

A training continued from a checkpoint equals an uninterrupted one. A file has weights, the
optimiser's moments, counters of the random dropout, the best weights and the learning curve.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rlc_model.files import replacing

from rlc_train.errors import DAMAGED, TrainError

EpochCallback = Callable[[int, float, float], None]
"""Called after every epoch with its number from 0, training and validation loss; may raise to
stop."""


@dataclass(slots=True)
class Progress:
    """State of a training after an epoch.

    Attributes:
        epoch: Epochs done.
        curve: ``(training loss, validation loss)`` of each.
        best_epoch: The epoch of the best validation loss, from 0; −1 before the first.
        best: Model weights of that epoch.
        seconds: Time of training.
    """

    epoch: int
    curve: list[tuple[float, float]]
    best_epoch: int
    best: list[NDArray[Any]]
    seconds: float = 0.0


def save(path: Path, fingerprint: str, progress: Progress, model: Any, optimizer: Any) -> None:
    """Writes a checkpoint atomically."""
    arrays = {f"model_{i}": np.asarray(v) for i, v in enumerate(model.variables)}
    arrays |= {f"optimizer_{i}": np.asarray(v) for i, v in enumerate(optimizer.variables)}
    arrays |= {f"best_{i}": v for i, v in enumerate(progress.best)}
    state = {
        "fingerprint": fingerprint,
        "epoch": progress.epoch,
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "best": len(progress.best),
        "seconds": progress.seconds,
    }
    arrays["progress"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    with replacing(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load(path: Path, fingerprint: str, model: Any, optimizer: Any) -> Progress | None:
    """Restores model and optimiser from a checkpoint; None if there is none.

    Raises:
        TrainError: It is damaged, or of another training.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            state = json.loads(arrays["progress"].tobytes())
            if state["fingerprint"] != fingerprint:
                raise TrainError(
                    str(path),
                    "is of other settings or data; expected an empty run directory or one of these",
                )
            for kind, variables in (("model", model.variables), ("optimizer", optimizer.variables)):
                for i, variable in enumerate(variables):
                    variable.assign(arrays[f"{kind}_{i}"])
            best = [arrays[f"best_{i}"] for i in range(state["best"])]
        curve = [(float(a), float(b)) for a, b in state["curve"]]
        epoch, best_epoch = operator.index(state["epoch"]), operator.index(state["best_epoch"])
        return Progress(epoch, curve, best_epoch, best, float(state["seconds"]))
    except (*DAMAGED, TypeError, OverflowError, RecursionError) as error:
        raise TrainError(
            str(path), f"is not a checkpoint ({error}); remove it to start again"
        ) from error
