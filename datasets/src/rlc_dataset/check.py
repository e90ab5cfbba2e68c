"""Checks that a table is a run: columns, types, units, order and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rlc_dataset.errors import DatasetError
from rlc_dataset.schema import COLUMNS, KEY, PERIOD_US, SCHEMA, SCHEMA_VERSION, UNIT, VERSION_KEY

MCS_MAX: Final = 31
"""The MCS field of a DCI has five bits (38.214 §5.1.3.1)."""


def check_version(schema: pa.Schema, file: str = "") -> None:
    """Compares the version that a schema names, if it does.

    Raises:
        DatasetError: It is another one.
    """
    version = (schema.metadata or {}).get(VERSION_KEY)
    if version is not None and version != str(SCHEMA_VERSION).encode():
        found = version.decode("utf-8", "replace")
        raise DatasetError(
            f"has schema version {found}; expected {SCHEMA_VERSION}: make the data set again",
            file=file,
        )


def check_schema(schema: pa.Schema, file: str = "") -> None:
    """Compares columns, types, units and version with :data:`~rlc_dataset.schema.SCHEMA`.

    Raises:
        DatasetError: Names the first column that differs.
    """
    check_version(schema, file)
    missing = [name for name in COLUMNS if name not in schema.names]
    if missing:
        raise DatasetError(f"lacks {', '.join(missing)}", file=file, column=missing[0])
    unknown = [name for name in schema.names if name not in COLUMNS]
    if unknown:
        expected = ", ".join(COLUMNS)
        raise DatasetError(f"is unknown; expected {expected}", file=file, column=unknown[0])
    for field in SCHEMA:
        found = schema.field(field.name)
        if found.type != field.type:
            raise DatasetError(
                f"has type {found.type}; expected {field.type}", file=file, column=field.name
            )
        unit = (found.metadata or {}).get(UNIT)
        expected_unit = field.metadata[UNIT]
        if unit != expected_unit:
            name = "none" if unit is None else repr(unit.decode("utf-8", "replace"))
            raise DatasetError(
                f"has unit {name}; expected {expected_unit.decode()!r}",
                file=file,
                column=field.name,
            )


def check_table(table: pa.Table, file: str = "", *, allow_gaps: bool = False) -> None:
    """Checks schema, nulls, numbers, order and times of a run.

    Args:
        table: The run.
        file: Its file, for errors.
        allow_gaps: Whether reports of a bearer may be missing, as in recordings of live networks.

    Raises:
        DatasetError: Names file, column and row.
    """
    check_schema(table.schema, file)
    if table.num_rows == 0:
        raise DatasetError("has no row", file=file)
    for field in SCHEMA:
        column = table.column(field.name)
        if not field.nullable and column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise DatasetError("is null; expected a value", file=file, column=field.name, row=row)
    sojourn = table.column("rlc_mean_sojourn_us").to_numpy()
    _first(
        ~(np.isfinite(sojourn) & (sojourn >= 0)),
        lambda row: f"is {sojourn[row]:g}; expected a finite number, 0 or more",
        file,
        "rlc_mean_sojourn_us",
    )
    mcs = pc.fill_null(table.column("mcs"), 0).to_numpy()
    _first(mcs > MCS_MAX, lambda row: f"is {mcs[row]}; expected 0 to {MCS_MAX}", file, "mcs")
    _first(
        table.column("mcs").is_null().to_numpy() != table.column("tbs_bytes").is_null().to_numpy(),
        lambda row: "and mcs are not both null or both known; expected both from a MAC report",
        file,
        "tbs_bytes",
    )
    _check_order(table, file, allow_gaps=allow_gaps)


def _check_order(table: pa.Table, file: str, *, allow_gaps: bool) -> None:
    ue, drb, time_us = (table.column(name).to_numpy() for name in KEY)
    ue, drb = ue.astype(np.int64), drb.astype(np.int64)
    bearer = ue * 256 + drb
    step, turn = np.diff(time_us), np.diff(bearer)
    same = turn == 0

    def bearer_of(row: int) -> str:
        return f"UE {ue[row]} DRB {drb[row]}"

    _first(
        turn < 0,
        lambda row: (
            f"{bearer_of(row + 1)} comes after {bearer_of(row)}; expected order"
            " of (rnti, drb, time_us)"
        ),
        file,
        "rnti",
        offset=1,
    )
    _first(
        same & (step == 0),
        lambda row: f"{time_us[row]} occurs twice for {bearer_of(row)}",
        file,
        "time_us",
        offset=1,
    )
    _first(
        same & (step < 0),
        lambda row: (
            f"{time_us[row + 1]} comes after {time_us[row]} for {bearer_of(row)};"
            " expected increasing times"
        ),
        file,
        "time_us",
        offset=1,
    )
    _first(
        (time_us - time_us[0]) % PERIOD_US != 0,
        lambda row: f"{time_us[row]} is off the grid of {PERIOD_US} µs from {time_us[0]}",
        file,
        "time_us",
    )
    if not allow_gaps:
        _first(
            same & (step > PERIOD_US),
            lambda row: (
                f"gap of {step[row]} µs for {bearer_of(row)} after {time_us[row]};"
                f" expected a report every {PERIOD_US} µs"
            ),
            file,
            "time_us",
            offset=1,
        )


def _first(
    wrong: NDArray[np.bool_],
    message: Callable[[int], str],
    file: str,
    column: str,
    *,
    offset: int = 0,
) -> None:
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    raise DatasetError(message(row), file=file, column=column, row=row + offset)
