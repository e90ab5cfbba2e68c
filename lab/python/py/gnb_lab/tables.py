"""Recordings as tables: of a run's folder, of a sweep's folder, of a world.

A table is a `pyarrow.Table`: `table.to_pandas()` is the DataFrame of pandas and
`polars.from_arrow(table)` that of polars, neither of which is needed here. pyarrow is needed: the
extra `gnb-lab[tables]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gnb_lab.measures import SUMMARY_FILE
from gnb_lab.results import SweepError
from gnb_lab.sweeps.identity import SWEEP_FILE, read_description

if TYPE_CHECKING:
    import pyarrow as pa

RunTable = Literal["bearers", "flows", "packets"]


class TableError(ValueError):
    """A folder has no such table: path, what was found, and what was expected."""


def read(
    folder: str | PathLike[str],
    table: Literal["runs"] | RunTable | None = None,
    *,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Reads a table of a folder that `gnb-lab run` or `gnb-lab sweep` wrote.

    Args:
        folder: Of a run or a sweep.
        table: Of a run `bearers` (a row per bearer and ms), `flows` (a row per sample of a flow) or
            `packets`. Of a sweep `runs`, a row per run and subject, or one of those of all its runs
            together, after columns for the axes, `seed` and `run`. Default: `bearers`; `runs` of a
            sweep.
        columns: Those of a run's table that are wanted; all if None.

    Returns:
        A table with the names and types of the Parquet file.

    Raises:
        TableError: The folder is not that of a run or a sweep, or lacks the table or a column.
        ModuleNotFoundError: Without pyarrow.
    """
    folder = Path(folder)
    if (folder / SWEEP_FILE).is_file():
        if table is None or table == "runs":
            return _parquet(folder / "runs.parquet", columns)
        return _of_all_runs(folder, table, columns)
    if not (folder / SUMMARY_FILE).is_file():
        raise TableError(
            f"{folder}: has neither {SUMMARY_FILE} nor {SWEEP_FILE}; expected the folder"
            " of a run or a sweep"
        )
    return _parquet(folder / f"{table or 'bearers'}.parquet", columns)


def _parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    if not path.is_file():
        there = sorted(each.stem for each in path.parent.glob("*.parquet"))
        raise TableError(f"{path}: is not there; expected a table of {', '.join(there) or 'none'}")
    try:
        lacking = set(columns or ()) - set(pq.read_schema(path).names)
        if lacking:
            known = ", ".join(pq.read_schema(path).names)
            raise TableError(f"{path}: has no column {sorted(lacking)[0]!r}; expected {known}")
        return pq.read_table(path, columns=None if columns is None else list(columns))
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: cannot be read: {error}") from error


def _of_all_runs(folder: Path, table: RunTable, columns: Sequence[str] | None) -> pa.Table:
    """The tables of all runs of a sweep, in their order, after the columns that tell them apart."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        description = read_description(folder)
    except SweepError as error:
        raise TableError(str(error)) from error
    keys = [*description["axes"], "seed", "run"]
    runs = _parquet(folder / "runs.parquet", [*keys, "error"])
    seen: set[str] = set()
    parts: list[pa.Table] = []
    for row in range(runs.num_rows):
        name = runs.column("run")[row].as_py()
        if name in seen or runs.column("error")[row].is_valid:
            continue
        seen.add(name)
        part = _parquet(folder / "runs" / name / f"{table}.parquet", columns)
        labels = [pa.repeat(runs.column(key)[row], part.num_rows) for key in keys]
        fields = [*(runs.schema.field(key) for key in keys), *part.schema]
        parts.append(pa.table([*labels, *part.columns], schema=pa.schema(fields)))
    if not parts:
        raise TableError(f"{folder}: no run of it succeeded; expected at least one")
    return pa.concat_tables(parts)


def of_columns(rows: int, columns: Sequence[tuple[str, Any, bytes | None]]) -> pa.Table:
    """The table of a world's recording, for `World.frame`.

    Args:
        rows: Their number.
        columns: Name, values (64-bit little-endian integers as bytes, or runs of equal text) and
            the validity bitmap of a column with gaps.
    """
    import pyarrow as pa  # noqa: PLC0415

    fields, arrays = [], []
    for name, values, there in columns:
        if isinstance(values, bytes):
            buffers = [there and pa.py_buffer(there), pa.py_buffer(values)]
            array = pa.Array.from_buffers(pa.int64(), rows, buffers)
        else:
            runs = [pa.repeat(pa.scalar(text, pa.string()), count) for text, count in values]
            array = pa.chunked_array(runs, pa.string())
        fields.append(pa.field(name, array.type, nullable=there is not None))
        arrays.append(array)
    return pa.table(arrays, schema=pa.schema(fields))
