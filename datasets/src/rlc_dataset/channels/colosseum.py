"""Per-UE metrics of srsLTE on Colosseum, a row per 250 ms (TRACTOR, Groen et al. 2023)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from rlc_dataset.channels.text import number_in, rows
from rlc_dataset.channels.trace import ChannelTrace
from rlc_dataset.errors import DatasetError

PERIOD_US: Final = 250_000
JITTER_US: Final = 125_000
"""Rows are within a few ms of their period; a step that deviates by more than half a period is a
jump of the clock and starts a session."""

_COLUMNS: Final = {
    # Column: quantity, factor, bounds.
    "dl_mcs": ("mcs", 1.0, 0.0, 28.0),
    "dl_cqi": ("cqi", 1.0, 0.0, 15.0),
    "tx_brate downlink [Mbps]": ("rate_bps", 1e6, 0.0, 1e5),
    "dl_buffer [bytes]": ("occupancy_bytes", 1.0, 0.0, 1e12),
    "sum_requested_prbs": ("requested_prb", 1.0, 0.0, 1e9),
    "sum_granted_prbs": ("granted_prb", 1.0, 0.0, 1e9),
}
_ERRORS: Final = "tx_errors downlink (%)"


def load_colosseum(path: Path) -> ChannelTrace:
    """Reads a UE's file.

    A jump of the clock or another RNTI starts a session, within which times are rounded to a grid
    of 250 ms. MCS and CQI are means over the samples of a row, NaN without samples
    (``dl_n_samples`` 0). A file without the column of errors has NaN for them.

    Raises:
        DatasetError: A column is missing or a value out of range.
    """
    times: list[int] = []
    sessions: list[int] = []
    values: list[tuple[float, ...]] = []
    last_ms, last_rnti = 0, ""
    needed = ["Timestamp", "RNTI", "dl_n_samples", *_COLUMNS]
    for number, row in rows(path, needed, [_ERRORS]):
        at_ms = int(number_in(row["Timestamp"], 0, 1e14, path=path, column="Timestamp", row=number))
        samples = number_in(
            row["dl_n_samples"], 0, 1e9, path=path, column="dl_n_samples", row=number
        )
        measured = [
            factor * number_in(row[column], low, high, path=path, column=column, row=number)
            for column, (_, factor, low, high) in _COLUMNS.items()
        ]
        if samples == 0:
            measured[0] = measured[1] = float("nan")
        errors = float("nan")
        if _ERRORS in row:
            errors = number_in(row[_ERRORS], 0, 100, path=path, column=_ERRORS, row=number)
        off_us = abs(1_000 * (at_ms - last_ms) - PERIOD_US)
        if not times:
            times.append(1_000 * at_ms)
            sessions.append(0)
        elif off_us > JITTER_US or row["RNTI"] != last_rnti:
            times.append(1_000 * at_ms)
            sessions.append(sessions[-1] + 1)
        else:
            times.append(times[-1] + PERIOD_US)
            sessions.append(sessions[-1])
        last_ms, last_rnti = at_ms, row["RNTI"]
        values.append((*measured, errors))
    if not times:
        raise DatasetError("has no row", file=str(path))
    columns = np.array(values)
    names = [*(name for name, *_ in _COLUMNS.values()), "error_pct"]
    return ChannelTrace(
        "colosseum",
        str(path),
        PERIOD_US,
        np.array(times, np.int64),
        np.array(sessions, np.int32),
        {name: columns[:, at] for at, name in enumerate(names)},
    )
