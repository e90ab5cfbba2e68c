"""Training with carried state: it flows from batch to batch, gradients end at batch boundaries.

The order of an epoch depends only on (seed, epoch), so that a training continued from a checkpoint
ends with the same weights as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rlc_model import MinMaxScaler

from rlc_train import imports
from rlc_train.baselines.base import residual_quantiles, training_rows
from rlc_train.baselines.summary import moving_mean
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.lstm import checkpoint, network
from rlc_train.lstm.backend import callbacks, choose, gpus, keras
from rlc_train.lstm.cells import Arithmetic
from rlc_train.lstm.checkpoint import EpochCallback
from rlc_train.lstm.engine import BatchCallback
from rlc_train.lstm.lanes import Epochs, Lanes
from rlc_train.lstm.objective import Objective
from rlc_train.lstm.shape import FAST_WEIGHT, LEAST_DEVIATION, FitSettings, NetworkShape
from rlc_train.splits import Part, fit_scaler
from rlc_train.spool import Spool

CHECKPOINT = "checkpoint.npz"
UNIT_ORIGINS = 50_000


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained network and what it needs to be exported.

    Attributes:
        model: The Keras model with the best weights.
        shape: Its layers.
        scaler: Scaler of samples.
        unit: ``(Q, M)`` mean residual of each quantity and point, in spans.
        curve: ``(training loss, validation loss)`` of each epoch.
        best_epoch: The epoch of the weights.
        seconds: Time of training.
    """

    model: Any
    shape: NetworkShape
    scaler: MinMaxScaler
    unit: NDArray[np.float32]
    curve: list[tuple[float, float]]
    best_epoch: int
    seconds: float


def fit(
    train: Sequence[Part],
    validation: Sequence[Part],
    layout: Layout,
    shape: NetworkShape,
    settings: FitSettings,
    *,
    seed: int,
    data_sha256: str = "",
    directory: Path | None = None,
    spool: Spool | None = None,
    on_epoch: EpochCallback | None = None,
    on_batch: BatchCallback | None = None,
) -> Trained:
    """Trains a network; continues from the checkpoint in `directory` if there is one.

    With a `spool` the memory does not grow with the parts, if they are in files as well.

    Raises:
        TrainError: Keras or its backend is not installed, the parts are too short, the checkpoint
            is of another training, or the loss is not finite.
    """
    scaler = fit_scaler(train)
    unit, quantiles = _residuals(train, layout, scaler)
    how = arithmetic(settings)
    model = network.build(shape, layout, scaler, seed, how)
    network.start_at(model, quantiles)
    objective = Objective(model, layout, settings, scaler, unit)
    optimizer = _optimizer(settings, how)
    model.compile(optimizer, objective, jit_compile=settings.xla)
    zero = np.zeros((settings.lanes, int(model.inputs[1].shape[1])), np.float32)
    lanes, held_out = (
        Lanes(parts, layout, scaler, unit, settings, spool=spool) for parts in (train, validation)
    )
    fingerprint = _fingerprint(layout, shape, settings, seed, data_sha256)
    path = directory / CHECKPOINT if directory is not None else None
    progress = checkpoint.load(path, fingerprint, model, optimizer) if path is not None else None
    progress = progress or checkpoint.Progress(0, [], -1, [])

    def save() -> None:
        if path is not None:
            checkpoint.save(path, fingerprint, progress, model, optimizer)

    own = callbacks()
    kept = own.KeptProgress(progress, settings, save=save, on_epoch=on_epoch, on_batch=on_batch)
    if not kept.is_over:
        model.fit(
            Epochs(lanes, zero, seed, settings.samples_per_epoch),
            epochs=settings.epochs,
            initial_epoch=progress.epoch,
            validation_data=Epochs(held_out, zero, None, settings.validation_samples),
            # The progress last: it is saved when all others have seen the epoch.
            callbacks=[own.FallingRate(settings), *_callbacks_of(settings), kept],
        )
    # For the export: as it is served, in float32 and step by step.
    plain = network.build(shape, layout, scaler, seed)
    plain.set_weights(progress.best)
    return Trained(
        plain, shape, scaler, unit, progress.curve, progress.best_epoch, progress.seconds
    )


def arithmetic(settings: FitSettings) -> Arithmetic:
    """Precision and kernels on this machine."""
    if not gpus():
        return Arithmetic()
    return Arithmetic(settings.precision, fused=choose() == "jax" or not settings.xla)


def _optimizer(settings: FitSettings, how: Arithmetic) -> Any:
    """Adam, with loss scaling for float16, whose range small gradients leave."""
    optimizers = keras().optimizers
    adam = optimizers.Adam(settings.learning_rate, clipnorm=settings.gradient_norm)
    return optimizers.LossScaleOptimizer(adam) if how.precision == "float16" else adam


def _callbacks_of(settings: FitSettings) -> list[Any]:
    """The callbacks that settings name: each an instance, or called without arguments."""
    callback = keras().callbacks.Callback
    found = []
    for index, path in enumerate(settings.callbacks):
        place = f"fit.callbacks[{index}]"
        one = imports.load(path, place)
        made = one if isinstance(one, callback) else one()
        if not isinstance(made, callback):
            raise TrainError(place, f"{path} is {type(made).__name__}; expected a Keras callback")
        found.append(made)
    return found


def _residuals(
    parts: Sequence[Part], layout: Layout, scaler: MinMaxScaler
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """``(Q, M)`` mean absolute residual in spans; ``(Q, M, K)`` quantiles in fast deviations."""
    residuals, relative = [], []
    for part, origins, values in training_rows(parts, layout, UNIT_ORIGINS):
        last = part.series.features[origins][:, layout.columns]
        residual = (values - last[:, :, None]) / scaler.span[layout.columns][:, None]
        rows = part.series.features[part.start : part.stop, layout.columns]
        deviation = np.abs(rows - moving_mean(rows, FAST_WEIGHT)).mean(axis=0)
        deviation /= scaler.span[layout.columns]
        residuals.append(residual)
        relative.append(residual / (deviation + LEAST_DEVIATION)[:, None])
    sizes = np.abs(np.concatenate(residuals))
    count = np.maximum((~np.isnan(sizes)).sum(axis=0), 1)
    unit = np.maximum(np.nansum(sizes, axis=0) / count, 1e-9).astype(np.float32)
    return unit, residual_quantiles(np.concatenate(relative), layout.levels)


def _fingerprint(
    layout: Layout, shape: NetworkShape, settings: FitSettings, seed: int, data: str
) -> str:
    """Digest of the inputs that a continued training must share; it may have more epochs, as the
    trials of Hyperband."""
    fixed = settings.model_dump(exclude={"patience", "epochs"})
    text = json.dumps(
        [repr(layout), shape.model_dump(), fixed, seed, data, choose()], sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()
