"""UCC's 5G data set (Raca et al., MMSys 2020): measured by a phone about once per second."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from rlc_dataset.channels.text import number_in, rows
from rlc_dataset.channels.trace import ChannelTrace
from rlc_dataset.errors import DatasetError

PERIOD_US: Final = 1_000_000
SESSION_GAP_S: Final = 60
"""A longer gap starts a session; a shorter one has seconds not measured."""
_MISSING: Final = "-"
_TIME: Final = "%Y.%m.%d_%H.%M.%S"
_COLUMNS: Final = {
    # Column: quantity, factor, bounds. The rate is in kbit/s.
    "CQI": ("cqi", 1.0, 0.0, 15.0),
    "SNR": ("snr_db", 1.0, -50.0, 80.0),
    "DL_bitrate": ("rate_bps", 1_000.0, 0.0, 1e8),
}


def load_ucc(path: Path) -> ChannelTrace:
    """Reads a file of the data set: CQI, SNR and download rate for each second.

    Of rows of the same second the last is used; ``-`` and missing seconds are not measured. Times
    have no time zone and are read as UTC.

    Raises:
        DatasetError: A column is missing, a value is out of range, or time goes back.
    """
    seconds: list[int] = []
    values: list[tuple[float, ...]] = []
    for number, row in rows(path, ["Timestamp", *_COLUMNS]):
        at_s = _second(row["Timestamp"], path, number)
        measured = tuple(
            float("nan")
            if row[column] == _MISSING
            else factor * number_in(row[column], low, high, path=path, column=column, row=number)
            for column, (_, factor, low, high) in _COLUMNS.items()
        )
        if seconds and at_s < seconds[-1]:
            raise DatasetError(
                f"{row['Timestamp']} is before the row above",
                file=str(path),
                column="Timestamp",
                row=number,
            )
        if seconds and at_s == seconds[-1]:
            values[-1] = measured
        else:
            seconds.append(at_s)
            values.append(measured)
    if not seconds:
        raise DatasetError("has no row", file=str(path))
    at = np.array(seconds, np.int64)
    session = np.concatenate([[0], np.cumsum(np.diff(at) > SESSION_GAP_S)])
    times, sessions, filled = [], [], []
    for index in range(int(session[-1]) + 1):
        kept = session == index
        grid = np.arange(at[kept][0], at[kept][-1] + 1)
        block = np.full((len(grid), len(_COLUMNS)), np.nan)
        block[at[kept] - grid[0]] = np.array(values)[kept]
        times.append(grid * PERIOD_US)
        sessions.append(np.full(len(grid), index, np.int32))
        filled.append(block)
    columns = np.concatenate(filled)
    return ChannelTrace(
        "ucc",
        str(path),
        PERIOD_US,
        np.concatenate(times),
        np.concatenate(sessions),
        {name: columns[:, at] for at, (name, *_) in enumerate(_COLUMNS.values())},
    )


def _second(text: str, path: Path, row: int) -> int:
    try:
        return int(datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp())
    except ValueError as error:
        raise DatasetError(
            f"is {text[:40]!r}; expected YYYY.MM.DD_hh.mm.ss",
            file=str(path),
            column="Timestamp",
            row=row,
        ) from error
