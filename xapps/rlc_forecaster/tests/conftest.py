"""RLC reports for the forecaster's tests."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import FIELDS, Reports
from numpy.typing import NDArray


@pytest.fixture
def report() -> Reports:
    """``report({rnti: (occupancy, pdu_bytes)})``: one row per bearer, DRB 1."""

    def make(bearers: dict[int, tuple[int, int]]) -> NDArray[np.void]:
        rows = np.zeros(len(bearers), FIELDS)
        for row, (rnti, (occupancy, pdu_bytes)) in zip(rows, bearers.items(), strict=True):
            row["rnti"], row["rbid"] = rnti, 1
            row["txbuf_occ_bytes"], row["txpdu_bytes"] = occupancy, pdu_bytes % 2**32
            row["txbuf_occ_pkts"] = occupancy // 1500
        return rows

    return make
