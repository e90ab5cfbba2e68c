"""Prints a table of times and rates as the channel of a UE in a scenario of gnb-lab.

A table is CSV with a header, or JSON (iperf3 --json, flent), plain or packed by xz or gzip. In JSON
a column is a path of names with dots, through lists: intervals.sum.start. Times are seconds, ISO
8601, or dates as date(1) prints them. A rate holds until the next row.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from rlc_dataset.channels import RateColumns, load_rates
from rlc_dataset.channels.rates import UNITS_BPS

from rlc_train.errors import TrainError

NAME: Final = "channel"


def add_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Declares the arguments; without `required` only the columns, which may be left out."""
    if required:
        parser.add_argument("file", type=Path, metavar="FILE", help="the table")
        parser.add_argument(
            "--session", type=int, default=0, metavar="N", help="of a table with gaps (default: 0)"
        )
    columns = parser.add_argument_group("columns of a table of times and rates")
    columns.add_argument("--time-column", required=required, metavar="NAME", help="its times")
    columns.add_argument("--rate-column", required=required, metavar="NAME", help="its rates")
    columns.add_argument(
        "--unit", required=required, choices=tuple(UNITS_BPS), help="unit of the rates"
    )


def columns_of(arguments: argparse.Namespace) -> RateColumns | None:
    """The columns that were given; None if none was.

    Raises:
        TrainError: Some were given, and not all.
    """
    given = {
        "--time-column": arguments.time_column,
        "--rate-column": arguments.rate_column,
        "--unit": arguments.unit,
    }
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        return None
    if missing:
        raise TrainError(f"{', '.join(missing)}: missing; expected all of {', '.join(given)}")
    return RateColumns(*given.values())


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    columns = columns_of(arguments)
    if columns is None:
        raise TrainError("--time-column", "missing")
    trace = load_rates(arguments.file, columns)
    if not 0 <= arguments.session < trace.sessions:
        raise TrainError(
            "--session", f"{arguments.session}; {arguments.file} has 0 to {trace.sessions - 1}"
        )
    print(json.dumps(trace.of_session(arguments.session).lab_channel()))
    return 0
