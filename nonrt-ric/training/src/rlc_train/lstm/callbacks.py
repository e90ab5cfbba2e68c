"""Keras callbacks of a training that goes on: learning rate, best weights, patience, checkpoint.

Importing this module loads Keras on the backend of the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from rlc_train.errors import TrainError
from rlc_train.lstm.backend import keras
from rlc_train.lstm.checkpoint import EpochCallback, Progress
from rlc_train.lstm.engine import BatchCallback
from rlc_train.lstm.shape import FitSettings

k: Any = keras()

LEAST_RATE: Final = 0.02
"""Final learning rate, as a share of the initial one."""


class KeptProgress(k.callbacks.Callback):  # type: ignore[misc]
    """Keeps the progress of a training and saves it after each epoch."""

    def __init__(
        self,
        progress: Progress,
        settings: FitSettings,
        *,
        save: Callable[[], None],
        on_epoch: EpochCallback | None,
        on_batch: BatchCallback | None,
    ) -> None:
        super().__init__()
        self._progress, self._settings, self._save = progress, settings, save
        self._on_epoch, self._on_batch = on_epoch, on_batch
        self._began_s = 0.0

    @property
    def is_over(self) -> bool:
        """Whether no epoch is left, or the best one is longer ago than the patience."""
        progress = self._progress
        return (
            progress.epoch >= self._settings.epochs
            or progress.epoch - progress.best_epoch > self._settings.patience
        )

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Takes the time."""
        self._began_s = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Reports the batch."""
        if self._on_batch is not None:
            self._on_batch(batch + 1, int((logs or {}).get("batches", 0)))

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Takes the weights if they are the best, saves, and ends what is over.

        Raises:
            TrainError: A loss is not finite.
        """
        loss, validation = (float((logs or {})[name]) for name in ("loss", "val_loss"))
        if not (np.isfinite(loss) and np.isfinite(validation)):
            raise TrainError(
                "train",
                f"loss {loss}, validation {validation} in epoch {epoch}; expected numbers: lower"
                " learning_rate",
            )
        progress = self._progress
        if validation < min((before for _, before in progress.curve), default=np.inf):
            progress.best = [np.array(weights) for weights in self.model.get_weights()]
            progress.best_epoch = epoch
        progress.curve.append((loss, validation))
        progress.epoch = epoch + 1
        progress.seconds += time.monotonic() - self._began_s
        self._save()
        if self._on_epoch is not None:
            self._on_epoch(epoch, loss, validation)
        if self.is_over:
            self.model.stop_training = True


class FallingRate(k.callbacks.Callback):  # type: ignore[misc]
    """Half a cosine from the first epoch to the last (Loshchilov and Hutter 2017, §3)."""

    def __init__(self, settings: FitSettings) -> None:
        super().__init__()
        self._settings = settings

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Sets the learning rate."""
        settings = self._settings
        fall = 0.5 * (1 + np.cos(np.pi * epoch / settings.epochs))
        rate = settings.learning_rate * (LEAST_RATE + (1 - LEAST_RATE) * fall)
        self.model.optimizer.learning_rate = float(rate)
