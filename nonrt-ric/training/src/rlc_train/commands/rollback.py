"""Puts the model before the present one back into a model directory.

The forecaster loads it within seconds. Repeated, it goes back one model further; the model that was
replaced is kept in DIR.history/undone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rlc_model import read_contract

from rlc_train import history

NAME = "rollback"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--model", type=Path, required=True, help="model directory")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    entry = history.roll_back(arguments.model)
    name = read_contract(arguments.model).manifest.name
    left = len(history.entries(arguments.model))
    print(f"{arguments.model}: {name} of {entry} is back; {left} earlier models are left")
    return 0
