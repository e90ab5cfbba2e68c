"""Compares runs and model directories side by side, without a server.

Shows the settings that differ, size, T_m measured on this machine, training time, and pinball loss
over that of the best simple forecaster per quantity and horizon: on the recordings of --data for
all alike, or else on the held-out series of each run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ric.flags import file_to_write
from rich.table import Table
from rlc_dataset import find_recordings
from rlc_model import Quantity

from rlc_train.comparison import Compared, differing
from rlc_train.errors import TrainError, write_text
from rlc_train.judging.row import Row
from rlc_train.progress import SHORT, bars, table_console

NAME = "compare"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "compared", type=Path, nargs="+", metavar="RUN|MODEL", help="run or model directory"
    )
    parser.add_argument("--data", type=Path, help="recordings to judge all of them on")
    parser.add_argument("--json", type=file_to_write, help="file for the results")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    if len(arguments.compared) < 2:
        raise TrainError("RUN|MODEL", "is one; expected two or more")
    entries = [Compared.open(path) for path in arguments.compared]
    recordings = [] if arguments.data is None else find_recordings(arguments.data)
    with bars() as shown:
        rows = [one.rows(recordings, partial(shown.tick, str(one.path))) for one in entries]
    t_m_us = [one.t_m_us() for one in entries]
    if arguments.json is not None:
        each = zip(entries, t_m_us, rows, strict=True)
        document = [one.to_json(took_us, found) for one, took_us, found in each]
        write_text(arguments.json, json.dumps(document, indent=2) + "\n")
    console = table_console()
    console.print(_table(entries, t_m_us, rows))
    if not recordings and len({one.data_sha256 for one in entries}) > 1:
        print("note: judged on different data; --data judges all on the same")
    return 0


def _table(
    entries: Sequence[Compared], t_m_us: Sequence[float], rows: Sequence[Sequence[Row]]
) -> Table:
    table = Table(
        title="ratio: pinball loss over that of the best simple forecaster, 95 % interval"
    )
    table.add_column("")
    for one in entries:
        table.add_column(str(one.path), overflow="fold")
    table.add_row("model", *(one.model.name for one in entries))
    table.add_row("data", *(one.data_sha256[:12] or "–" for one in entries))
    for name in differing(entries):
        table.add_row(name, *(one.settings.get(name, "–") for one in entries))
    table.add_row("gate", *(one.verdict or "–" for one in entries))
    table.add_row("model.onnx", *(f"{one.model.size_bytes / 1000:.0f} kB" for one in entries))
    table.add_row("T_m, one bearer", *(f"{took:.1f} µs" for took in t_m_us))
    times = (one.training_s for one in entries)
    table.add_row("training", *("–" if took is None else f"{took:.0f} s" for took in times))
    table.add_section()
    keyed = [
        {(row.bearer_kind, row.quantity, row.horizon_us): row for row in found} for found in rows
    ]
    for key in _ends(entries, rows):
        kind, quantity, horizon_us = key
        name = f"{SHORT[Quantity(quantity)]}, {horizon_us / 1000:g} ms"
        found_rows = [found.get(key) for found in keyed]
        cells = ("–" if row is None else row.interval() for row in found_rows)
        table.add_row(name if kind == "all" else f"{kind}: {name}", *cells)
    return table


def _ends(entries: Sequence[Compared], rows: Sequence[Sequence[Row]]) -> list[tuple[str, str, int]]:
    """Kind, quantity and horizon of the lines: the first and last point of every model."""
    ends = {horizon for one in entries for horizon in one.model.layout.judged_us}
    found = dict.fromkeys(
        (row.bearer_kind, row.quantity, row.horizon_us)
        for every in rows
        for row in every
        if row.horizon_us in ends
    )
    return sorted(found, key=lambda key: (key[0], list(Quantity).index(Quantity(key[1])), key[2]))
