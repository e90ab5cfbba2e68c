"""Results of ``rlc-train evaluate --json`` as a table."""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from bounded_input import JsonError, parse_json
from ric.files import UnreadableFile, read_file

from rlc_train.errors import TrainError
from rlc_train.judging.row import Row

MAX_BYTES: Final = 1 << 28
_TYPES: Final = {"str": pa.string(), "int": pa.int64()}
SCHEMA: Final = pa.schema(
    [
        pa.field(
            one.name, _TYPES.get(str(one.type), pa.float64()), nullable="None" in str(one.type)
        )
        for one in fields(Row)
    ]
)
"""The columns: names and order of :class:`~rlc_train.judging.row.Row`."""


def read(path: str | PathLike[str]) -> pa.Table:
    """The rows of a file of ``rlc-train evaluate --json``; ``.to_pandas()`` makes a DataFrame.

    Raises:
        TrainError: The file cannot be read, is not such a file, or names row and key that are
            wrong.
    """
    file = Path(path)
    try:
        rows: Any = parse_json(read_file(file, MAX_BYTES))
    except UnreadableFile as error:
        raise TrainError(str(file), error.problem) from error
    except JsonError as error:
        raise TrainError(str(file), str(error)) from error
    if not isinstance(rows, list):
        raise TrainError(str(file), f"is {type(rows).__name__}; expected an array of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or set(row) != set(SCHEMA.names):
            found = sorted(row) if isinstance(row, dict) else type(row).__name__
            expected = ", ".join(SCHEMA.names)
            raise TrainError(f"{file}: row {number}", f"has {found}; expected {expected}")
    columns = [_column(file, field, [row[field.name] for row in rows]) for field in SCHEMA]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _column(file: Path, field: pa.Field, values: list[Any]) -> pa.Array:
    expected = {"string": (str,), "int64": (int,)}.get(str(field.type), (int, float))
    for number, value in enumerate(values):
        is_null = value is None and field.nullable
        if not is_null and (not isinstance(value, expected) or isinstance(value, bool)):
            raise TrainError(
                f"{file}: row {number}: {field.name}", f"is {value!r}; expected {field.type}"
            )
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise TrainError(f"{file}: {field.name}", f"is no column: {error}") from error
