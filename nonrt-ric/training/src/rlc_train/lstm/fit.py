"""Training with carried state: it flows from batch to batch, gradients end at batch boundaries.

The order of an epoch depends only on (seed, epoch), so that a training continued from a checkpoint
ends with the same weights as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rlc_model import MinMaxScaler

from rlc_train.baselines.base import residual_quantiles, training_rows
from rlc_train.baselines.summary import moving_mean
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.lstm import checkpoint, network
from rlc_train.lstm.backend import choose, gpus, keras
from rlc_train.lstm.cells import Arithmetic
from rlc_train.lstm.engine import BatchCallback, engine
from rlc_train.lstm.lanes import Batch, Chunks, Lanes
from rlc_train.lstm.objective import Objective
from rlc_train.lstm.shape import (
    FAST_WEIGHT,
    LEAST_DEVIATION,
    FitSettings,
    NetworkShape,
    state_size,
)
from rlc_train.splits import Part, fit_scaler
from rlc_train.spool import Spool

CHECKPOINT = "checkpoint.npz"
UNIT_ORIGINS = 50_000
LEAST_RATE = 0.02
"""Final learning rate, as a share of the initial one."""

EpochCallback = Callable[[int, float, float], None]
"""Called after every epoch with its number from 0, training and validation loss; may raise to
stop."""


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
    optimizer = _optimizer(settings, how)
    optimizer.build(model.trainable_variables)
    lanes = Lanes(train, layout, scaler, unit, settings, spool=spool)
    held_out = Lanes(validation, layout, scaler, unit, settings, spool=spool)
    runner = engine(Objective(model, layout, settings, scaler, unit), optimizer, xla=settings.xla)
    fingerprint = _fingerprint(layout, shape, settings, seed, data_sha256)
    path = directory / CHECKPOINT if directory is not None else None
    progress = checkpoint.load(path, fingerprint, model, optimizer) if path is not None else None
    progress = progress or checkpoint.Progress(0, [], -1, [])
    held = held_out.plan(None, settings.validation_samples)
    zero = np.zeros((settings.lanes, state_size(shape)), np.float32)
    while progress.epoch < settings.epochs:
        if progress.epoch - progress.best_epoch > settings.patience:
            break
        began = time.monotonic()
        optimizer.learning_rate = _learning_rate(settings, progress.epoch)
        rng = np.random.default_rng([seed, progress.epoch])
        batches = lanes.plan(rng, settings.samples_per_epoch)
        loss = runner.learn(ahead(lanes.batch, batches), zero, len(batches), on_batch)
        validation_loss = runner.evaluate(ahead(held_out.batch, held), zero, len(held))
        if not (np.isfinite(loss) and np.isfinite(validation_loss)):
            raise TrainError(
                "train",
                f"loss {loss}, validation {validation_loss} in epoch {progress.epoch}; expected"
                " numbers: lower learning_rate",
            )
        best = min((v for _, v in progress.curve), default=np.inf)
        if validation_loss < best:
            progress.best = [np.array(w) for w in model.get_weights()]
            progress.best_epoch = progress.epoch
        progress.curve.append((loss, validation_loss))
        progress.epoch += 1
        progress.seconds += time.monotonic() - began
        if path is not None:
            checkpoint.save(path, fingerprint, progress, model, optimizer)
        if on_epoch is not None:
            on_epoch(progress.epoch - 1, loss, validation_loss)
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


def _learning_rate(settings: FitSettings, epoch: int) -> float:
    """Half a cosine from the first epoch to the last (Loshchilov and Hutter 2017, §3)."""
    fall = 0.5 * (1 + np.cos(np.pi * epoch / settings.epochs))
    return float(settings.learning_rate * (LEAST_RATE + (1 - LEAST_RATE) * fall))


def ahead(make: Callable[[Chunks], Batch], plan: Sequence[Chunks]) -> Generator[Batch, None, None]:
    """Batches in the order of the plan; the next one is made while the current one is used."""
    with ThreadPoolExecutor(1) as executor:
        coming = [executor.submit(make, chunks) for chunks in plan[:1]]
        for chunks in [*plan[1:], None]:
            batch = coming.pop().result()
            if chunks is not None:
                coming.append(executor.submit(make, chunks))
            yield batch


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
    """Digest of the inputs that a continued training must share."""
    fixed = settings.model_dump(exclude={"patience"})
    text = json.dumps(
        [repr(layout), shape.model_dump(), fixed, seed, data, choose()], sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()
