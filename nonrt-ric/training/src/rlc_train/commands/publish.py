"""Sends a run and its promoted model to MLflow: beside the run directory, or to a server.

May be repeated: it adds to the run it made, and registers a promoted model once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rlc_train.rundir import RunDirectory
from rlc_train.tracking import publish

NAME = "publish"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--run", type=Path, required=True, help="directory of the experiment")
    parser.add_argument("--uri", help="MLflow server or database; default: RUN/../mlflow.db")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    done = publish(RunDirectory(arguments.run), arguments.uri)
    model = f", model version {done.version}" if done.version is not None else ", no model"
    print(f"{arguments.run}: MLflow run {done.run_id}{model}")
    return 0
