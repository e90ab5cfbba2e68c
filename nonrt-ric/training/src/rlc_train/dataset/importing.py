"""Takes recordings of others into a data set that rlc-train train reads.

A recording is a table with a row for each report of a bearer, each millisecond: Parquet, CSV with a
header, or SQLite as FlexRIC's xApps write it. Columns have the names of data sets or of FlexRIC's
RLC reports, or are named by --column:

time_us (tstamp)                               time of the report, in --time-unit
rnti, drb (rbid)                               the bearer
rlc_occupancy_bytes (txbuf_occ_bytes)          queue of the RLC
rlc_occupancy_packets (txbuf_occ_pkts)         the same in packets
rlc_pdu_bytes (txpdu_bytes)                    bytes sent since the start, a counter of 32 bits
rlc_hol_us (txsdu_wt_us)                       age of the oldest packet, 0 without one
rlc_mean_sojourn_us (txsdu_avg_time_to_tx)     mean time in the queue
pacer_limit_bytes, mcs, tbs_bytes              unknown if the file has none
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from ric.flags import folder_to_write
from ric.sm import rlc
from rlc_dataset import PERIOD_US, DatasetError, write_run
from rlc_dataset.foreign import parse_columns, read_reports
from rlc_dataset.names import OPTIONAL, RLC_FIELDS, too_large

from rlc_train.collect.command import producer
from rlc_train.collect.recorder import Counts, run_table
from rlc_train.collect.session import partition_name
from rlc_train.errors import TrainError

NAME: Final = "import"
UNITS_US: Final = {"us": 1.0, "ms": 1e3, "s": 1e6}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="Parquet, CSV (.gz) or SQLite")
    parser.add_argument(
        "--out", type=folder_to_write, required=True, help="directory of the data set"
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="a column by its name in the file; repeatable",
    )
    parser.add_argument(
        "--time-unit", choices=tuple(UNITS_US), default="us", help="of the time (default: us)"
    )
    parser.add_argument("--cell", required=True, help="partition: the cell it was recorded in")
    parser.add_argument(
        "--mobility", default="unknown", help="partition: mobility of the UEs (default: unknown)"
    )
    parser.add_argument(
        "--segment-s", type=float, default=60.0, help="length of a run (default: %(default)g)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    for name in ("cell", "mobility"):
        value = getattr(arguments, name)
        if not value or partition_name(value) != value:
            raise TrainError(f"--{name}: {value!r}; expected letters, digits, '.', '_' and '-'")
    segment_s: float = arguments.segment_s
    if not (math.isfinite(segment_s) and segment_s >= 1):
        raise TrainError(f"--segment-s: {segment_s:g}; expected 1 or more")
    path: Path = arguments.file
    columns = read_reports(path, parse_columns(arguments.column))
    start_us, instant = _instants(columns, UNITS_US[arguments.time_unit], str(path))
    records = _records(columns)
    unknown = np.full(len(instant), np.nan)
    context = {name: columns.get(name, unknown) for name in sorted(OPTIONAL)}
    # Both or neither are of a MAC report.
    both = ~(np.isnan(context["mcs"]) | np.isnan(context["tbs_bytes"]))
    for name in ("mcs", "tbs_bytes"):
        context[name] = np.where(both, context[name], np.nan)
    counts, runs, rows, bearers = Counts(), 0, 0, 0
    length = round(segment_s * 1e6 / PERIOD_US)
    for part in np.unique(instant // length).tolist():
        mine = instant // length == part
        table = run_table(
            start_us,
            instant[mine],
            records[mine],
            {name: values[mine] for name, values in context.items()},
            counts,
        )
        place = {"cell": arguments.cell, "mobility": arguments.mobility}
        name = f"{partition_name(path.name.split('.')[0])[:56]}-{part:04}"
        about = {"run": name, "source": "file", "producer": producer()}
        write_run(arguments.out, table, {**place, **about}, allow_gaps=True)
        runs, rows = runs + 1, rows + table.num_rows
        bearers = max(bearers, len(np.unique(records[["rnti", "rbid"]][mine])))
    print(
        f"{arguments.out}: {runs} runs of {rows} reports, up to {bearers} bearers,"
        f" {len(instant) - rows} repeated"
    )
    return 0


def _instants(
    columns: Mapping[str, NDArray[np.float64]], unit_us: float, file: str
) -> tuple[int, NDArray[np.int64]]:
    """The time of the first report, and the milliseconds from it to each.

    Raises:
        DatasetError: Reports of a bearer are further apart than a millisecond in the median, or
            times are out of range.
    """
    at_us = columns["time_us"] * unit_us
    if at_us.max() >= too_large("time_us"):
        row = int(at_us.argmax())
        raise DatasetError(
            f"is {columns['time_us'][row]:g}, too large for the unit; see --time-unit",
            file=file,
            column="time_us",
            row=row,
        )
    start_us = int(at_us.min())
    instant = np.rint((at_us - start_us) / PERIOD_US).astype(np.int64)
    order = np.lexsort((instant, columns["drb"], columns["rnti"]))
    bearer = (columns["rnti"] * 256 + columns["drb"])[order]
    steps = np.diff(at_us[order])[np.diff(bearer) == 0]
    steps = steps[steps > 0]
    median_us = float(np.median(steps)) if len(steps) else math.nan
    if not 0.5 * PERIOD_US < median_us < 1.5 * PERIOD_US:
        raise DatasetError(
            f"has a report of a bearer each {median_us / 1000:g} ms (median, times in the unit of"
            " --time-unit); expected each millisecond",
            file=file,
            column="time_us",
        )
    return start_us, instant


def _records(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.void]:
    records = rlc.zeros(len(columns["time_us"]))
    records["rnti"], records["rbid"] = columns["rnti"], columns["drb"]
    for name, field in RLC_FIELDS.items():
        records[field] = columns[name]
    return records
