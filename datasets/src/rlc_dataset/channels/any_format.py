"""Recognises the format of a trace by its first line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rlc_dataset.channels.colosseum import load_colosseum
from rlc_dataset.channels.mahimahi import load_mahimahi
from rlc_dataset.channels.text import lines, read_json
from rlc_dataset.channels.trace import ChannelTrace
from rlc_dataset.channels.ucc import load_ucc
from rlc_dataset.errors import DatasetError

_BY_COLUMN: Final[Mapping[str, Callable[[Path], ChannelTrace]]] = {
    "DL_bitrate": load_ucc,
    "dl_mcs": load_colosseum,
}
"""A column that only this format has."""


def load_trace(path: Path) -> ChannelTrace:
    """Reads a trace of any of the formats, plain or compressed.

    A first line that is a number is one of Mahimahi's, which other collections share; a header is
    that of UCC's or Colosseum's CSV.

    Raises:
        DatasetError: The first line is of no known format, or as the loader of the format.
    """
    if read_json(path) is not None:
        raise DatasetError(
            "is JSON; expected Mahimahi's text or CSV, or a time and a rate column by name",
            file=str(path),
        )
    first = next((text for _, text in lines(path) if text.strip()), "")
    if first.strip().isdecimal():
        return load_mahimahi(path)
    (header,) = csv.reader([first])
    for column, load in _BY_COLUMN.items():
        if column in header:
            return load(path)
    raise DatasetError(
        f"is {first[:40]!r}; expected a whole number of ms (Mahimahi), or a header with"
        f" {' or '.join(_BY_COLUMN)}; other tables by a time and a rate column",
        file=str(path),
        row=1,
    )
