"""Names of the columns of recordings: those of data sets and the lab, and those of E2SM-RLC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlc_dataset.errors import DatasetError

RLC_FIELDS: Final[dict[str, str]] = {
    "rlc_occupancy_bytes": "txbuf_occ_bytes",
    "rlc_occupancy_packets": "txbuf_occ_pkts",
    "rlc_pdu_bytes": "txpdu_bytes",
    "rlc_hol_us": "txsdu_wt_us",
    "rlc_mean_sojourn_us": "txsdu_avg_time_to_tx",
}
"""Columns and their fields in FlexRIC's RLC report; recordings of others may use these names."""
NAMES: Final = ("time_us", "rnti", "drb", *RLC_FIELDS, "pacer_limit_bytes", "mcs", "tbs_bytes")
"""The columns that forecasts need."""
OPTIONAL: Final = frozenset({"pacer_limit_bytes", "mcs", "tbs_bytes"})
"""Columns whose values are unknown if a file lacks them."""


def too_large(name: str) -> int:
    """The least value that a column cannot have; 32 bits are those of RLC reports."""
    return {"drb": 1 << 8, "time_us": 1 << 53}.get(name, 1 << 32)


def columns_of(there: Sequence[str], file: str) -> dict[str, str]:
    """The column of each of :data:`NAMES` that a file has.

    Raises:
        DatasetError: One is missing.
    """
    columns = {}
    for name in NAMES:
        names = (name, RLC_FIELDS[name]) if name in RLC_FIELDS else (name,)
        known = next((each for each in names if each in there), None)
        if known is not None:
            columns[name] = known
        elif name not in OPTIONAL:
            raise DatasetError("is missing", file=file, column=" or ".join(names))
    return columns
