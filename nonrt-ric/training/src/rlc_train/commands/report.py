"""Writes the model card: Markdown, with plots as PNG and SVG, into RUN/report."""

from __future__ import annotations

import argparse
from pathlib import Path

from rlc_train import corpus, pipeline
from rlc_train.commands.promote import best
from rlc_train.report.card import write
from rlc_train.rundir import RunDirectory

NAME = "report"
EXAMPLES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--run", type=Path, required=True, help="directory of the experiment")
    parser.add_argument("--data", type=Path, help="default: where train found it")
    parser.add_argument("--candidate", help="the card of this one; default: the best")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    directory = RunDirectory(arguments.run)
    settings, data = directory.settings(), directory.read("data.json")
    kind = arguments.candidate or best(directory.losses(), directory.candidates())
    layout = settings.layout(data["t_m_us"])
    series, _ = corpus.load(arguments.data or Path(data["path"]), settings.context_us)
    parts = pipeline.split_corpus(series, settings, layout)
    held = parts.unseen or parts.test
    spread = held[:: max(1, len(held) // EXAMPLES)][:EXAMPLES]
    print(write(directory, kind, spread, settings.seed))
    return 0
