"""Writes the model card (Markdown, plots as PNG and SVG) to RUN/report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rlc_train import corpus, pipeline
from rlc_train.commands.promote import best
from rlc_train.horizon import Layout
from rlc_train.report.card import write
from rlc_train.rundir import RunDirectory
from rlc_train.splits import Part

NAME = "report"
EXAMPLES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--run", type=Path, required=True, help="directory of the experiment")
    parser.add_argument("--data", type=Path, help="data set; default: that of train")
    parser.add_argument("--candidate", help="default: the best")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    directory = RunDirectory(arguments.run)
    settings, data = directory.settings(), directory.read("data.json")
    kind = arguments.candidate or best(directory.losses(), directory.candidates())
    layout = settings.layout(data["t_m_us"])
    series, _ = corpus.load(arguments.data or Path(data["path"]), settings.context_us)
    parts = pipeline.split_corpus(series, settings, layout)
    examples = busiest_parts(parts.unseen or parts.test, layout)
    print(write(directory, kind, examples, settings.seed))
    return 0


def busiest_parts(held: Sequence[Part], layout: Layout) -> list[Part]:
    """The part of each cell with the largest changes of the first quantity."""
    column = layout.columns[0]
    most: dict[str, tuple[float, Part]] = {}
    for part in held:
        moves = float(part.series.features[part.start : part.stop, column].std())
        if moves >= most.get(part.series.cell, (0.0, part))[0]:
            most[part.series.cell] = moves, part
    return [part for _, part in sorted(most.values(), key=lambda pair: -pair[0])][:EXAMPLES]
