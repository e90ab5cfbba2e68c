"""What RLC and MAC records tell of whoever fills them."""

from __future__ import annotations

from typing import Final

import numpy as np
from ric.sm.plain import Records

from ric_doctor.facts import Rows

_CUMULATIVE: Final = ("txpdu_pkts", "txpdu_bytes", "rxpdu_pkts")
_HALF: Final = 1 << 31
"""A 32-bit counter that grew by more than half its range went backwards (RFC 1982)."""


class RowRecord:
    """Adds up reports of one subscription."""

    def __init__(self) -> None:
        self._bearers = self._repeated = self._backlogged = self._delays = 0
        self._steps = self._steps_back = 0
        self._last: Records | None = None
        self._last_keys: list[int] = []

    def add_ues(self, records: Records) -> None:
        """One MAC report."""
        self._bearers = max(self._bearers, len(records))
        self._repeated += len(np.unique(records["rnti"])) < len(records)

    def add_bearers(self, records: Records) -> None:
        """One RLC report."""
        self._bearers = max(self._bearers, len(records))
        keys = (records["rnti"].astype(np.int64) << 8 | records["rbid"]).tolist()
        self._repeated += len(set(keys)) < len(keys)
        waiting = records["txbuf_occ_bytes"] > 0
        told = (records["txsdu_wt_us"] > 0) | (records["txsdu_avg_time_to_tx"] > 0)
        self._backlogged += int(np.count_nonzero(waiting))
        self._delays += int(np.count_nonzero(waiting & told))
        if self._last is not None and keys == self._last_keys:
            self._steps += len(keys)
            back = np.zeros(len(keys), bool)
            for name in _CUMULATIVE:
                back |= (records[name] - self._last[name]) > _HALF
            self._steps_back += int(np.count_nonzero(back))
        self._last, self._last_keys = records, keys

    def add_pipelines(self, count: int) -> None:
        """One E2SM-TC v1 pipeline status."""
        self._bearers = max(self._bearers, count)

    def facts(self) -> Rows:
        """What was added up."""
        return Rows(
            self._bearers,
            self._repeated,
            self._backlogged,
            self._delays,
            self._steps,
            self._steps_back,
        )
