"""Lists the runs below a folder: when, on which data, and whether promoted or why not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.table import Table

from rlc_train.errors import TrainError
from rlc_train.progress import table_console
from rlc_train.rundir import RunDirectory

NAME = "list"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with runs at any depth")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    folder: Path = arguments.folder
    if not folder.is_dir():
        raise TrainError(str(folder), "is no folder")
    found = sorted(each.parent for each in folder.rglob("settings.json") if _is_run(each.parent))
    if not found:
        raise TrainError(str(folder), "has no run; rlc-train train makes one")
    table = Table()
    for name in ("run", "began (UTC)", "data", "state"):
        table.add_column(name, overflow="fold")
    for path in found:
        try:
            cells = [*_cells(RunDirectory(path))]
        except (TrainError, KeyError, TypeError) as error:
            cells = ["", "", f"unreadable: {error}"]
        table.add_row(path.relative_to(folder).as_posix(), *cells)
    table_console().print(table)
    return 0


def _is_run(path: Path) -> bool:
    return (path / "data.json").is_file()


def _cells(directory: RunDirectory) -> Iterator[str]:
    data = directory.read("data.json")
    # A continued training writes data.json again.
    first = min(
        each.stat().st_mtime for each in directory.path.iterdir() if not each.name.startswith(".")
    )
    yield datetime.fromtimestamp(first, UTC).strftime("%Y-%m-%d %H:%M")
    yield f"{Path(str(data['path'])).name} {str(data['sha256'])[:12]}"
    yield _state(directory)


def _state(directory: RunDirectory) -> str:
    path = directory.path
    if not (path / "verdict.json").exists():
        if (path / "evaluation.json").exists():
            return "evaluated"
        return "trained" if directory.candidates() else "in training or stopped"
    verdict = directory.read("verdict.json")
    if verdict["promoted"]:
        return f"promoted: {verdict['candidate']}"
    failed = [finding for finding in verdict["findings"] if not finding["holds"]]
    first = f"{failed[0]['what']}: {failed[0]['found']}" if failed else "no condition"
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"refused: {first}{more}"
