"""Reports in files of others: Parquet, CSV and SQLite, with columns of any name.

A row is a report of a bearer. FlexRIC's xApps keep theirs in SQLite, in the table ``RLC_bearer``.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rlc_dataset.errors import DAMAGED, DatasetError, first_line
from rlc_dataset.names import checked_values, columns_of
from rlc_dataset.schema import check_rows

BATCH_ROWS: Final = 1 << 16
FLEXRIC_TABLE: Final = "RLC_bearer"
_SQLITE: Final = b"SQLite format 3\0"
_PARQUET: Final = b"PAR1"


def read_reports(path: Path, given: Mapping[str, str]) -> dict[str, NDArray[np.float64]]:
    """The columns of :data:`~rlc_dataset.names.NAMES` that a file has, in its order of rows.

    Args:
        path: Parquet, SQLite, or CSV with a header (`.gz` is decompressed), by its first bytes.
        given: Our name → its name in the file, where it is neither ours nor FlexRIC's.

    Raises:
        DatasetError: It is none of these, lacks columns (all are named), has a value out of range
            (with its row from 0), or more than :data:`~rlc_dataset.schema.MAX_ROWS` rows.
    """
    parts: dict[str, list[NDArray[np.float64]]] = {}
    rows = 0
    with _batches(path, given) as (columns, batches):
        for batch in batches:
            there = range(rows, rows + batch.num_rows)
            for name, column in columns.items():
                values = checked_values(batch.column(column), name, column, str(path), there)
                parts.setdefault(name, []).append(values)
            rows += batch.num_rows
            check_rows(rows, str(path))
    if rows == 0:
        raise DatasetError("has no row", file=str(path))
    return {name: np.concatenate(each) for name, each in parts.items()}


_Batches = tuple[dict[str, str], Iterator[pa.RecordBatch]]


@contextlib.contextmanager
def _batches(path: Path, given: Mapping[str, str]) -> Iterator[_Batches]:
    """The columns of a file by our names, and its rows in batches of these columns."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        if start == _SQLITE:
            with contextlib.closing(
                sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            ) as database:
                yield _of_sqlite(database, path, given)
        elif start.startswith(_PARQUET):
            with pq.ParquetFile(path) as parquet:
                check_rows(parquet.metadata.num_rows, str(path))
                columns = columns_of(parquet.schema_arrow.names, str(path), given)
                yield columns, parquet.iter_batches(BATCH_ROWS, columns=[*columns.values()])
        else:
            with pa.csv.open_csv(path) as reader:
                names = reader.schema.names
            columns = columns_of(names, str(path), given)
            options = pa.csv.ConvertOptions(
                include_columns=[*columns.values()],
                # Types of the first rows may not be those of later ones.
                column_types=dict.fromkeys(columns.values(), pa.float64()),
            )
            with pa.csv.open_csv(path, convert_options=options) as reader:
                yield columns, iter(reader)
    except DatasetError:
        raise
    except (*DAMAGED, sqlite3.Error) as error:
        raise DatasetError(first_line(error), file=str(path)) from error


def _of_sqlite(database: sqlite3.Connection, path: Path, given: Mapping[str, str]) -> _Batches:
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    tables = [str(name) for (name,) in found]
    if FLEXRIC_TABLE in tables:
        table = FLEXRIC_TABLE
    elif len(tables) == 1:
        table = tables[0]
    else:
        raise DatasetError(
            f"has the tables {', '.join(tables) or '(none)'}; expected {FLEXRIC_TABLE}, or one",
            file=str(path),
        )
    described = database.execute(f"SELECT * FROM {_quoted(table)} LIMIT 0").description  # noqa: S608
    columns = columns_of([name for name, *_ in described], str(path), given)
    wanted = ", ".join(map(_quoted, columns.values()))
    cursor = database.execute(f"SELECT {wanted} FROM {_quoted(table)}")  # noqa: S608

    def batches() -> Iterator[pa.RecordBatch]:
        while rows := cursor.fetchmany(BATCH_ROWS):
            arrays = [pa.array(values) for values in zip(*rows, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=[*columns.values()])

    return columns, batches()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def parse_columns(given: Sequence[str]) -> dict[str, str]:
    """``ours=theirs`` of a command line as a mapping; raises :class:`DatasetError`."""
    columns: dict[str, str] = {}
    for each in given:
        ours, equal, theirs = each.partition("=")
        if not (ours and equal and theirs) or ours in columns:
            raise DatasetError("expected ours=theirs, each of ours once", file=f"--column {each}")
        columns[ours] = theirs
    return columns
