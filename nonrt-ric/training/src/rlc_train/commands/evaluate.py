"""Back-tests a run, or judges any exported model on any recording.

--run DIR    Back-tests the trained model and the baselines on the test part and the held-out
             series. Losses on the same data, split and origins are reused, so that an interrupted
             evaluation continues.

--model DIR  Judges a model directory (model.onnx, manifest.json) on the recordings of --data as it
             is served: sample by sample, with online calibration. --data is a data set, a folder
             of gnb-lab run, a folder of Parquet files or one Parquet file.

Neither needs TensorFlow.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ric.flags import file_to_write
from rich.table import Table
from rlc_dataset import find_recordings

from rlc_train import corpus, pipeline, spool
from rlc_train.backtest import Losses, Versus
from rlc_train.baselines import BASELINES
from rlc_train.baselines.base import Forecaster
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError
from rlc_train.estimators.make import forecaster, sources_of, spec_of
from rlc_train.estimators.regressor import Regressor
from rlc_train.estimators.spec import READY
from rlc_train.horizon import Layout
from rlc_train.judging.judge import judge
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.rows import rows_of, write_rows
from rlc_train.judging.table import show_judged
from rlc_train.progress import SHORT, Bars, bars, table_console
from rlc_train.rundir import ESTIMATORS, RunDirectory
from rlc_train.settings import Settings
from rlc_train.splits import Split
from rlc_train.spool import Spool

NAME = "evaluate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    judged = parser.add_mutually_exclusive_group(required=True)
    judged.add_argument("--run", type=Path, help="directory of the experiment")
    judged.add_argument("--model", type=Path, help="model directory")
    parser.add_argument(
        "--data",
        type=Path,
        help="recordings to judge on; default with --run: the data set of train",
    )
    parser.add_argument("--json", type=file_to_write, help="with --model: file for the results")
    parser.add_argument(
        "--baselines",
        help="comma-separated, by name or import path MODULE:ATTRIBUTE; default: those of the"
        f" settings. Names: {', '.join([*BASELINES, *READY])}, and estimators of the settings",
    )
    parser.add_argument("--again", action="store_true", help="discard previous losses")
    spool.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    if arguments.model is not None:
        return _judge(arguments)
    if arguments.json is not None:
        raise TrainError("--json", "is for --model; a run has evaluation.json")
    directory = RunDirectory(arguments.run)
    settings, data = directory.settings(), directory.read("data.json")
    names = arguments.baselines.split(",") if arguments.baselines else list(settings.baselines)
    for name in names:
        spec_of(name, settings.estimators)
    files = Spool.asked(arguments, arguments.run)
    path = arguments.data or Path(data["path"])
    series, sha256 = corpus.load(path, settings.context_us, files)
    if sha256 != data["sha256"]:
        raise TrainError(
            "--data", f"has SHA-256 {sha256[:12]}…; the run has {data['sha256'][:12]}…"
        )
    layout = settings.layout(data["t_m_us"])
    parts = pipeline.split_corpus(series, settings, layout)
    candidates = {settings.kind: directory.candidate(settings.kind)}
    if arguments.again:
        directory.discard_losses()
    with bars() as shown:
        fitted = _fit_exported(
            names,
            settings,
            parts=parts,
            layout=layout,
            directory=directory,
            candidates=candidates,
            shown=shown,
        )
        directory.write(ESTIMATORS, sources_of(names, settings.estimators))
        splits = pipeline.evaluate(
            candidates,
            names,
            parts,
            layout,
            origins=settings.origins,
            seed=settings.seed,
            estimators=settings.estimators,
            fitted=fitted,
            cache=directory.loss_cache(),
            on_progress=shown.tick,
            log=shown.print,
        )
    summary = {
        split: {name: summary_of(losses, by_name, name, layout) for name, losses in by_name.items()}
        for split, by_name in splits.items()
    }
    directory.write("evaluation.json", summary)
    show(summary, layout)
    return 0


def _fit_exported(
    names: Sequence[str],
    settings: Settings,
    *,
    parts: Split,
    layout: Layout,
    directory: RunDirectory,
    candidates: dict[str, Candidate],
    shown: Bars,
) -> dict[str, Forecaster]:
    """Fits the estimators that may be promoted and adds those that have an ONNX graph to the
    candidates; returns the others, which are judged as they are."""
    others: dict[str, Forecaster] = {}
    for name in names:
        spec = spec_of(name, settings.estimators)
        if name in candidates or spec is None or not spec.export:
            continue
        model = forecaster(name, settings.estimators)
        shown.print(f"fitting {name}")
        model.fit(parts.train, layout, settings.seed)
        if not isinstance(model, Regressor):
            others[name] = model
            continue
        try:
            candidate = pipeline.export_estimator(model, parts, layout)
        except TrainError as error:
            shown.print(f"{name} is judged and cannot be promoted: {error}")
            others[name] = model
            continue
        directory.save_candidate(candidate)
        candidates[name] = candidate
    return others


def _judge(arguments: argparse.Namespace) -> int:
    """Judges a model on recordings."""
    if arguments.data is None:
        raise TrainError("--data", "is needed with --model: a data set or recording to judge on")
    for name in ("baselines", "again", "stream"):
        if getattr(arguments, name):
            raise TrainError(f"--{name}", "is for --run")
    model = JudgedModel.load(arguments.model)
    recordings = find_recordings(arguments.data)
    with bars() as shown:
        tallies = judge(
            model, recordings, lambda done, total: shown.tick("samples judged", done, total)
        )
    rows = rows_of(model.name, model.layout, tallies)
    if arguments.json is not None:
        write_rows(arguments.json, rows)
    show_judged(model, tallies, rows)
    return 0


def summary_of(
    losses: Losses, among: dict[str, Losses], name: str, layout: Layout
) -> dict[str, Any]:
    """Results of one forecaster on one split."""
    reference = among.get(f"persistence@{name.rpartition('@')[2]}") or among.get("persistence")
    covered = losses.calibration(layout.levels)
    strict, closed = covered.interval()
    result: dict[str, Any] = {
        "pinball": losses.mean_pinball().tolist(),
        "mae": losses.mean_absolute().tolist(),
        "interval_share": [strict.tolist(), closed.tolist()],
        "values": int(losses.count.sum()),
    }
    if reference is not None and reference.pinball.shape == losses.pinball.shape:
        result["skill"] = Versus(losses, reference).skill_by_point().tolist()
    return result


def show(summary: dict[str, dict[str, Any]], layout: Layout) -> None:
    """Prints skill over persistence at the judged points."""
    console = table_console()
    points = [layout.point_at(horizon) for horizon in layout.judged_us]
    for split, by_name in summary.items():
        table = Table(title=f"{split}: skill over persistence (pinball loss)")
        table.add_column("forecaster")
        for quantity in layout.quantities:
            for horizon in layout.judged_us:
                heading = f"{SHORT[quantity]}\n{horizon / 1000:g} ms"
                table.add_column(heading, justify="right")
        for name, numbers in by_name.items():
            if "@" in name or "skill" not in numbers:
                continue
            cells = [f"{row[point]:+.3f}" for row in numbers["skill"] for point in points]
            table.add_row(name, *cells)
        console.print(table)
