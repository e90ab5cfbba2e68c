"""Trains the network, or an estimator, on a data set, exports it and compares the export with it.

Continues from the checkpoint in the run directory, if it has the same settings and data.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ric.flags import folder_to_write

from rlc_train import conformal, corpus, pipeline, spool
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError
from rlc_train.estimators.make import forecaster
from rlc_train.estimators.regressor import Regressor
from rlc_train.export.check import Reference
from rlc_train.export.steps import network_step
from rlc_train.horizon import Layout
from rlc_train.lstm import backend, custom
from rlc_train.lstm.fit import Trained, fit
from rlc_train.lstm.network import layer_weights
from rlc_train.lstm.network import reference as keras_reference
from rlc_train.lstm.shape import CUSTOM
from rlc_train.progress import Bars, bars
from rlc_train.rundir import RunDirectory
from rlc_train.settings import NETWORK, Settings, add_experiment_arguments
from rlc_train.settings import load as load_settings
from rlc_train.splits import Split
from rlc_train.spool import Spool

NAME = "train"
KERAS = "model.keras"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_experiment_arguments(parser)
    parser.add_argument(
        "--run", type=folder_to_write, required=True, help="directory of the experiment"
    )
    parser.add_argument("--epochs", type=int, help="overrides fit.epochs")
    parser.add_argument(
        "--model",
        metavar="NAME|MODULE:ATTRIBUTE",
        help="overrides model: an estimator by name or import path in place of the network",
    )
    spool.add_argument(parser)
    backend.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    changes: dict[str, Any] = {}
    if arguments.epochs is not None:
        changes["fit"] = {"epochs": arguments.epochs}
    if arguments.model is not None:
        changes["model"] = arguments.model
    settings = load_settings(arguments.settings, arguments.preset, **changes)
    if settings.model == NETWORK:
        backend.choose(arguments.backend)
    files = Spool.asked(arguments, arguments.run)
    series, sha256 = corpus.load(arguments.data, settings.context_us, files)
    directory = RunDirectory(arguments.run)
    t_m_us = stored_t_m_us(directory, settings)
    layout = settings.layout(t_m_us)
    parts = pipeline.split_corpus(series, settings, layout)
    directory.begin(
        settings,
        {
            "path": str(arguments.data),
            "sha256": sha256,
            "t_m_us": t_m_us,
            "points_us": list(layout.points_us),
            "series": len(series),
            "samples": {
                name: sum(len(part) for part in getattr(parts, name))
                for name in ("train", "validation", "test", "unseen")
            },
        },
    )
    if settings.model != NETWORK:
        return _train_estimator(arguments.run, directory, settings, parts, layout)
    with bars() as shown:
        shown.print(
            f"{len(series)} bearers, T_m {t_m_us:.1f} µs, {layout.ends_ms}, on {backend.device()}"
        )
        trained = _fit(
            settings,
            parts=parts,
            layout=layout,
            sha256=sha256,
            directory=directory,
            spool=files,
            shown=shown,
        )
        candidate = export(trained, settings, parts, layout)
    directory.save_candidate(candidate)
    _save_keras(trained, directory.path / "candidates" / candidate.kind / KERAS)
    directory.write(
        "curve.json",
        {
            "curve": trained.curve,
            "best_epoch": trained.best_epoch,
            "seconds": trained.seconds,
            "device": backend.device(),
        },
    )
    print(
        f"{arguments.run}: epoch {trained.best_epoch + 1} of {len(trained.curve)}, validation"
        f" loss {trained.curve[trained.best_epoch][1]:.4f}; {_exported(candidate)}"
    )
    return 0


def _train_estimator(
    path: Path, directory: RunDirectory, settings: Settings, parts: Split, layout: Layout
) -> int:
    """Fits and exports an estimator of the settings."""
    model = forecaster(settings.model, settings.estimators)
    if not isinstance(model, Regressor):
        raise TrainError("model", f"{settings.model} has no fit(X, y) and predict(X)")
    model.fit(parts.train, layout, settings.seed)
    candidate = pipeline.export_estimator(model, parts, layout)
    directory.save_candidate(candidate)
    print(f"{path}: {settings.model} in {len(model.fitted)} estimators; {_exported(candidate)}")
    return 0


def _exported(candidate: Candidate) -> str:
    """The export in numbers."""
    c = candidate.comparison
    return (
        f"model.onnx {len(candidate.graph)} bytes, {c.forecast:.1e} from the model over {c.steps}"
        f" steps, {candidate.timings[0].median_us:.1f} µs per step"
    )


def _save_keras(trained: Trained, path: Path) -> None:
    """Writes Keras's own file, to look into and to train on; what is served is ``model.onnx``."""
    with warnings.catch_warnings():
        # Keras asks for arrays as NumPy 1 had it.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            trained.model.save(path)
        except OSError as error:
            raise TrainError(str(path), error.strerror or "cannot be written") from error


def stored_t_m_us(directory: RunDirectory, settings: Settings) -> float:
    """T_m of the run's first measurement: a second one must not move the labels."""
    if (directory.path / "data.json").exists():
        return float(directory.read("data.json")["t_m_us"])
    return pipeline.measured_t_m_us(settings)


def export(trained: Trained, settings: Settings, parts: Split, layout: Layout) -> Candidate:
    """The trained network as a candidate."""
    weights, shape = layer_weights(trained.model), trained.shape
    own = custom.cell_graph(trained.model) if shape.kind == CUSTOM else None

    def make(correction: conformal.Correction) -> bytes:
        return network_step(weights, shape, layout, trained.scaler, correction, own=own)

    def reference(correction: conformal.Correction) -> Reference:
        return keras_reference(trained.model, correction)

    return pipeline.export(
        shape.kind,
        make=make,
        reference=reference,
        size=int(trained.model.inputs[1].shape[1]),
        scaler=trained.scaler,
        parts=parts,
        layout=layout,
        warm_up=settings.fit.warm_up_samples,
    )


def _fit(
    settings: Settings,
    *,
    parts: Split,
    layout: Layout,
    sha256: str,
    directory: RunDirectory,
    spool: Spool | None,
    shown: Bars,
) -> Trained:
    epoch = 0

    def on_epoch(number: int, loss: float, validation: float) -> None:
        nonlocal epoch
        epoch = number + 1
        shown.print(f"epoch {epoch}: loss {loss:.4f}, validation {validation:.4f}")

    return fit(
        parts.train,
        parts.validation,
        layout,
        settings.network,
        settings.fit,
        seed=settings.seed,
        data_sha256=sha256 + repr(asdict(settings.split.shares)) + repr(settings.split),
        directory=directory.path,
        spool=spool,
        on_epoch=on_epoch,
        on_batch=lambda done, total: shown.tick("training", done, total),
    )
