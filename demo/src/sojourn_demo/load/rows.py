"""What a flow measured, as rows of ``flows.csv`` and ``flows.parquet`` of a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from csv import writer
from pathlib import Path
from typing import Final

from pyarrow import csv

from sojourn_demo.load.radio_clock import RadioClock

COLUMNS: Final = ("flow", "kind", "quantity", "time_us", "value")
Row = tuple[str, str, str, int, float]
"""Flow, kind, quantity, time in µs, value in the quantity's unit: µs or bytes."""


def read_rows(path: Path) -> list[Row]:
    """Reads what `write_rows` wrote."""
    table = csv.read_csv(path).to_pydict()
    return list(zip(*(table[name] for name in COLUMNS), strict=True))


def in_radio_time(rows: Iterable[Row], clock: RadioClock) -> Iterator[Row]:
    """Rows with Unix times as rows in the time of the radio; those from before its start are left
    out, and values are as they were measured."""
    for flow, kind, quantity, wall_us, value in rows:
        at_us = round(float(clock.at(wall_us)))
        if at_us >= 0:
            yield flow, kind, quantity, at_us, value


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes a table of rows."""
    with path.open("w", newline="") as file:
        table = writer(file)
        table.writerow(COLUMNS)
        table.writerows(rows)
