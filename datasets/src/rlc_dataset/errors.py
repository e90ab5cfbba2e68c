"""The error of this package, and those of PyArrow that it stands for."""

from typing import Final

import pyarrow as pa

DAMAGED: Final = (OSError, ValueError, KeyError, OverflowError, pa.ArrowException)
"""Exceptions of PyArrow for a damaged or foreign file; ValueError for names that are no UTF-8."""


class DatasetError(ValueError):
    """An invalid data set, table or trace.

    Attributes:
        file: Its path; empty for a table in memory.
        column: Column or field; empty if none.
        row: Row from 0 (in a text file: line from 1); None if none.
    """

    def __init__(
        self, message: str, *, file: str = "", column: str = "", row: int | None = None
    ) -> None:
        self.file, self.column, self.row = file, column, row
        place = [file or "table"]
        if column:
            place.append(f"column {column}")
        if row is not None:
            place.append(f"row {row}")
        super().__init__(f"{', '.join(place)}: {message}")


def first_line(error: BaseException) -> str:
    """The first line of an exception's text, or its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]
