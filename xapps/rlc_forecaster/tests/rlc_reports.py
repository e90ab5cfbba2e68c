"""RLC reports as the tests write them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reports = Callable[..., NDArray[np.void]]
"""The type of the `report` fixture."""

FIELDS = np.dtype(
    [
        ("txpdu_bytes", "<u4"),
        ("txbuf_occ_bytes", "<u4"),
        ("txbuf_occ_pkts", "<u4"),
        ("txsdu_avg_time_to_tx", "<f8"),
        ("txsdu_wt_us", "<u4"),
        ("rnti", "<u4"),
        ("rbid", "u1"),
    ]
)


def rows_of(bearers: list[tuple[int, int, int]]) -> NDArray[np.void]:
    """One row for each (RNTI, DRB, number that every counter and gauge shows)."""
    rows = np.zeros(len(bearers), FIELDS)
    for row, (rnti, drb, number) in zip(rows, bearers, strict=True):
        row["rnti"], row["rbid"] = rnti, drb
        row["txbuf_occ_bytes"] = row["txpdu_bytes"] = row["txsdu_wt_us"] = number
    return rows
