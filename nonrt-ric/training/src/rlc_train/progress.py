"""Progress bars on a terminal at standard error, else a line per stage; tables of results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rlc_model import Quantity

CONSOLE = Console(stderr=True)
SHORT: Final = {
    Quantity.OCCUPANCY: "occupancy",
    Quantity.DRAIN: "drain",
    Quantity.QUEUE_LIMIT: "queue limit",
}
"""Names of quantities in tables."""
FILE_COLUMNS: Final = 120


def table_console() -> Console:
    """Standard output; the default width for a file would truncate names in tables."""
    return Console(width=None if sys.stdout.isatty() else FILE_COLUMNS)


class Bars:
    """A progress bar per name."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, object] = {}

    def tick(self, name: str, done: int, total: int) -> None:
        """Updates a bar."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)  # type: ignore[arg-type]

    def print(self, text: str) -> None:
        """Prints a line above the bars."""
        self._progress.console.print(text, highlight=False)


@contextmanager
def bars() -> Iterator[Bars]:
    """Displays bars within the context."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=CONSOLE, transient=True) as progress:
        yield Bars(progress)
