"""Names of the columns of recordings: those of data sets and those of the lab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlc_dataset.errors import DatasetError

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "time_us": ("time_us",),
    "ue": ("ue", "rnti"),
    "drb": ("drb",),
    "txbuf_occ_bytes": ("txbuf_occ_bytes", "rlc_occupancy_bytes"),
    "txbuf_occ_pkts": ("txbuf_occ_pkts", "rlc_occupancy_packets"),
    "txpdu_bytes": ("txpdu_bytes", "rlc_pdu_bytes"),
    "txsdu_wt_us": ("txsdu_wt_us", "rlc_hol_us"),
    "txsdu_avg_time_to_tx": ("txsdu_avg_time_to_tx", "rlc_mean_sojourn_us"),
    "queue_limit_bytes": ("queue_limit_bytes", "pacer_limit_bytes"),
    "mcs": ("mcs",),
    "tbs_bytes": ("tbs_bytes",),
}
"""Names of a column, that of data sets first."""
OPTIONAL: Final = frozenset({"queue_limit_bytes", "mcs", "tbs_bytes"})
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
    for name, names in NAMES.items():
        known = next((each for each in names if each in there), None)
        if known is not None:
            columns[name] = known
        elif name not in OPTIONAL:
            raise DatasetError("is missing", file=file, column=" or ".join(names))
    return columns
