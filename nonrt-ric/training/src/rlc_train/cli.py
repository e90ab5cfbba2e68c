"""``rlc-train``: one module per command.

A command's module has ``NAME``, ``add_arguments(parser)`` and ``run(arguments)``, which returns the
exit status; its docstring is the parser's description. It is imported only for its own command, so
that data sets need no ML framework.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Protocol, cast

from ric.claim import AlreadyClaimed, Claim
from ric.terminal import complain
from rlc_dataset import DatasetError
from rlc_model import ContractError

from rlc_train.errors import TrainError

PROG: Final = "rlc-train"

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "dataset": ("rlc_train.dataset.command", "simulate runs and write them as a data set"),
    "channel": ("rlc_train.dataset.rates", "print a table of rates as a channel of gnb-lab"),
    "collect": ("rlc_train.collect.command", "record reports of an E2 node as a data set"),
    "import": ("rlc_train.dataset.importing", "take recordings of others into a data set"),
    "tune": ("rlc_train.commands.tune", "search layers, units, dropout and learning rate"),
    "train": ("rlc_train.commands.train", "train the network, export it, compare it with Keras"),
    "evaluate": ("rlc_train.commands.evaluate", "back-test a run, or judge any model on data"),
    "promote": (
        "rlc_train.commands.promote",
        "check the promotion criteria, write the model directory",
    ),
    "retrain": (
        "rlc_train.retrain.command",
        "collect, look for drift, train, judge and promote; resumable",
    ),
    "rollback": ("rlc_train.commands.rollback", "put the model before the present one back"),
    "compare": ("rlc_train.commands.compare", "show runs and models side by side"),
    "list": ("rlc_train.commands.runs", "list the runs below a folder"),
    "report": ("rlc_train.commands.report", "write the model card"),
    "paper": ("rlc_train.commands.paper", "train and measure the model of stolidis2024"),
    "publish": ("rlc_train.tracking", "publish run and model to MLflow"),
}
"""Name → (module, one line of help)."""


_BEGIN: Final = ("train", "tune", "retrain")
"""Commands that make the directory that they write."""
LEASE_S: Final = 120.0
"""After the loss of a machine NFS keeps its locks for a lease of 90 s; a Job of the chart begins
again on another one before."""


class Command(Protocol):
    """Interface of a command's module."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Runs the command; returns the exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns 0 on success, 1 if stopped or not promoted, 2 on invalid input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="From data set to promoted forecaster.",
        epilog="example:\n  rlc-train dataset sample --out out/data\n"
        "  rlc-train train --data out/data --run out/run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"%(prog)s {version('sojourn-training')}",
        help="print the version and exit",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = next((word for word in words if word in COMMANDS), None)
    loaded: dict[str, Command] = {}
    for name, (module, text) in COMMANDS.items():
        sub = commands.add_parser(name, help=text, allow_abbrev=False)
        if name == chosen:
            loaded[name] = cast(Command, importlib.import_module(module))
            sub.description = loaded[name].__doc__
            sub.formatter_class = argparse.RawDescriptionHelpFormatter
            loaded[name].add_arguments(sub)
    given = parser.parse_args(words)
    try:
        with _claim(given):
            return loaded[given.command].run(given)
    except (AlreadyClaimed, TrainError, DatasetError, ContractError) as error:
        complain(f"{PROG} {given.command}", error)
        return 2
    except KeyboardInterrupt:
        print(f"{PROG} {given.command}: stopped", file=sys.stderr)
        return 1


def _claim(given: argparse.Namespace) -> AbstractContextManager[Any]:
    """The exclusive use of the directory that a command writes: that of a run, or of the rounds.

    Workers of a search share the chief's.
    """
    path: Path | None = getattr(given, "run", None) or getattr(given, "work", None)
    is_worker = getattr(given, "worker", None) is not None
    if path is None or is_worker or not (path.is_dir() or given.command in _BEGIN):
        return nullcontext()
    # Where no lock can be made, the command itself says what it cannot write.
    with suppress(OSError):
        return Claim.of(path, wait_s=LEASE_S if given.command == "retrain" else 0.0)
    return nullcontext()


if __name__ == "__main__":
    sys.exit(main())
