"""Trains the network on a data set, exports it and compares the export with Keras.

Continues from the checkpoint in the run directory, if it has the same settings and data.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ric.flags import folder_to_write

from rlc_train import conformal, corpus, pipeline, spool
from rlc_train.candidate import Candidate
from rlc_train.export.check import Reference
from rlc_train.export.steps import network_step
from rlc_train.horizon import Layout
from rlc_train.lstm import backend
from rlc_train.lstm.fit import Trained, fit
from rlc_train.lstm.network import layer_weights
from rlc_train.lstm.network import reference as keras_reference
from rlc_train.lstm.shape import state_size
from rlc_train.progress import Bars, bars
from rlc_train.rundir import RunDirectory
from rlc_train.settings import Settings, add_experiment_arguments
from rlc_train.settings import load as load_settings
from rlc_train.splits import Split
from rlc_train.spool import Spool

NAME = "train"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_experiment_arguments(parser)
    parser.add_argument(
        "--run", type=folder_to_write, required=True, help="directory of the experiment"
    )
    parser.add_argument("--epochs", type=int, help="overrides fit.epochs")
    spool.add_argument(parser)
    backend.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    changes = {} if arguments.epochs is None else {"fit": {"epochs": arguments.epochs}}
    settings = load_settings(arguments.settings, arguments.preset, **changes)
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
    directory.write(
        "curve.json",
        {
            "curve": trained.curve,
            "best_epoch": trained.best_epoch,
            "seconds": trained.seconds,
            "device": backend.device(),
        },
    )
    c = candidate.comparison
    print(
        f"{arguments.run}: epoch {trained.best_epoch + 1} of {len(trained.curve)}, validation"
        f" loss {trained.curve[trained.best_epoch][1]:.4f}; model.onnx {len(candidate.graph)}"
        f" bytes, {c.forecast:.1e} from Keras over {c.steps} steps,"
        f" {candidate.timings[0].median_us:.1f} µs per step"
    )
    return 0


def stored_t_m_us(directory: RunDirectory, settings: Settings) -> float:
    """T_m of the run's first measurement: a second one must not move the labels."""
    if (directory.path / "data.json").exists():
        return float(directory.read("data.json")["t_m_us"])
    return pipeline.measured_t_m_us(settings)


def export(trained: Trained, settings: Settings, parts: Split, layout: Layout) -> Candidate:
    """The trained network as a candidate."""
    weights = layer_weights(trained.model)

    def make(correction: conformal.Correction) -> bytes:
        return network_step(weights, trained.shape, layout, trained.scaler, correction)

    def reference(correction: conformal.Correction) -> Reference:
        return keras_reference(trained.model, correction)

    return pipeline.export(
        trained.shape.kind,
        make=make,
        reference=reference,
        size=state_size(trained.shape),
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
