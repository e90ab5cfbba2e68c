"""Lines, CSV rows and numbers of text files."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import math
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, TextIO

from bounded_input import JsonError, parse_json

from rlc_dataset.errors import DatasetError

MAX_LINE_CHARACTERS: Final = 4096
"""Longer lines are invalid in these formats and are not read into memory."""
MAX_LINES: Final = 10_000_000
"""A compressed file of some kilobytes may hold more than fit into memory."""

_UNPACKED: Final[Mapping[bytes, Callable[[IO[bytes]], AbstractContextManager[Any]]]] = {
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x1f\x8b": partial(gzip.GzipFile, None, "rb", 9),
}
_OTHERS: Final[Mapping[bytes, str]] = {
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "packed by bzip2",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"PAR1": "Parquet",
    b"SQLite format 3": "a database of SQLite",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""First bytes of what users take for text."""
_START: Final = 16
_START_CHARACTERS: Final = 256
MAX_JSON_CHARACTERS: Final = 16 << 20
"""A document takes up to twenty times its text."""
_UNREADABLE: Final = (OSError, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers from 1; xz and gzip are decompressed.

    Raises:
        DatasetError: The file cannot be read, is not regular, is damaged, is not text, or has a
            line that is too long or too many lines.
    """
    number = 0
    try:
        with open_text(path) as file:
            while line := file.readline(MAX_LINE_CHARACTERS + 1):
                number += 1
                if number > MAX_LINES:
                    raise DatasetError(f"has more than {MAX_LINES} lines", file=str(path))
                if len(line) > MAX_LINE_CHARACTERS:
                    raise DatasetError(
                        f"is longer than {MAX_LINE_CHARACTERS} characters",
                        file=str(path),
                        row=number,
                    )
                yield number, line.rstrip("\r\n")
    except _UNREADABLE as error:
        raise _unreadable(error, path, number) from error


def read_json(path: Path) -> Any:
    """The document of a JSON file; None if the file begins otherwise than with an object or a list.

    Raises:
        DatasetError: As :func:`lines`; it is longer than `MAX_JSON_CHARACTERS`, or is no JSON.
    """
    try:
        with open_text(path) as file:
            start = file.read(_START_CHARACTERS)
            if not start.lstrip().startswith(("{", "[")):
                return None
            text = start + file.read(MAX_JSON_CHARACTERS)
    except _UNREADABLE as error:
        raise _unreadable(error, path) from error
    if len(text) > MAX_JSON_CHARACTERS:
        raise DatasetError(f"has more than {MAX_JSON_CHARACTERS} characters", file=str(path))
    try:
        return parse_json(text)
    except JsonError as error:
        raise DatasetError(str(error), file=str(path)) from error


def _unreadable(error: BaseException, path: Path, number: int = 0) -> DatasetError:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return DatasetError(reason, file=str(path), row=number or None)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """A regular file of text; xz and gzip, by the first bytes, are decompressed.

    Raises:
        DatasetError: It is no regular file, or is of a known kind that is not text.
        OSError: It cannot be opened.
    """
    # Without O_NONBLOCK opening a FIFO waits for a writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as raw:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise DatasetError("is no regular file; expected one", file=str(path))
        start = raw.read(_START)
        raw.seek(0)
        for bytes_of, kind in _OTHERS.items():
            if start.startswith(bytes_of):
                raise DatasetError(
                    f"is {kind}; expected text, plain or packed by gzip or xz", file=str(path)
                )
        unpack = next((how for of, how in _UNPACKED.items() if start.startswith(of)), nullcontext)
        with (
            unpack(raw) as unpacked,
            io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline="") as text,
        ):
            yield text


def rows(
    path: Path, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and rows of a CSV file with a header, of these columns only, and of those
    `optional` ones that it has.

    Raises:
        DatasetError: As :func:`lines`; a column is missing, or a row is too short.
    """
    numbered = lines(path)
    first = next(numbered, None)
    if first is None:
        raise DatasetError("is empty; expected a header", file=str(path))
    (header,) = csv.reader([first[1]])
    for name in columns:
        if name not in header:
            raise DatasetError(
                f"is missing; the header has {', '.join(filter(None, header))}",
                file=str(path),
                column=name,
            )
    names = [*columns, *(name for name in optional if name in header)]
    places = [header.index(name) for name in names]
    for number, line in numbered:
        if not line.strip():
            continue
        (values,) = csv.reader([line])
        if len(values) <= max(places):
            raise DatasetError(
                f"has {len(values)} fields; expected {len(header)}", file=str(path), row=number
            )
        yield number, {name: values[at] for name, at in zip(names, places, strict=True)}


def number_in(text: str, low: float, high: float, *, path: Path, column: str, row: int) -> float:
    """A number within bounds; raises :class:`~rlc_dataset.errors.DatasetError`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise DatasetError(
            f"is {text!r}; expected a number from {low:g} to {high:g}",
            file=str(path),
            column=column,
            row=row,
        )
    return value
