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
from pathlib import Path
from typing import Any

from ric.flags import file_to_write
from rich.table import Table
from rlc_dataset import find_recordings

from rlc_train import corpus, pipeline, spool
from rlc_train.backtest import Losses, Versus
from rlc_train.baselines import BASELINES
from rlc_train.baselines.linear import LinearQuantile
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.judging.judge import judge
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.rows import rows_of, write_rows
from rlc_train.judging.table import show_judged
from rlc_train.progress import SHORT, bars, table_console
from rlc_train.rundir import RunDirectory
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
        help=f"comma-separated; default: those of the settings. Of {', '.join(BASELINES)}",
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
        if name not in BASELINES:
            raise TrainError("--baselines", f"{name!r}; expected of {', '.join(BASELINES)}")
    files = Spool.asked(arguments, arguments.run)
    path = arguments.data or Path(data["path"])
    series, sha256 = corpus.load(path, settings.context_us, files)
    if sha256 != data["sha256"]:
        raise TrainError(
            "--data", f"has SHA-256 {sha256[:12]}…; the run has {data['sha256'][:12]}…"
        )
    layout = settings.layout(data["t_m_us"])
    parts = pipeline.split_corpus(series, settings, layout)
    kind: str = settings.network.kind
    candidates = {kind: directory.candidate(kind)}
    if arguments.again:
        directory.discard_losses()
    with bars() as shown:
        linear = None
        if pipeline.COMPARED in names:
            shown.print(f"fitting and exporting {pipeline.COMPARED}")
            linear = LinearQuantile()
            linear.fit(parts.train, layout, settings.seed)
            exported = pipeline.export_linear(linear, parts, layout)
            directory.save_candidate(exported)
            candidates[linear.name] = exported
        splits = pipeline.evaluate(
            candidates,
            names,
            parts,
            layout,
            origins=settings.origins,
            seed=settings.seed,
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
