"""From RLC reports to samples: the one piece of code that training and serving share.

A sample is one row per bearer of the features below. Rates are per millisecond whatever the
distance of the reports, so that a lost report does not look like a burst.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_model.errors import ContractError

FEATURES: Final = (
    "occupancy_bytes",
    "drained_bytes_per_ms",
    "arrived_bytes_per_ms",
    "head_of_line_age_us",
    "mean_sojourn_us",
    "occupancy_packets",
)
"""Names and order of the columns of a sample."""

REQUIRED_FIELDS: Final = (
    "txbuf_occ_bytes",
    "txbuf_occ_pkts",
    "txpdu_bytes",
    "txsdu_avg_time_to_tx",
    "txsdu_wt_us",
)
"""Fields of an RLC report that are read (FlexRIC's names)."""

MAX_RATE_BYTES_PER_MS: Final = 1_250_000.0
"""10 Gbit/s. A larger step of a counter is a restarted RLC entity, not traffic."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What one report says.

    Attributes:
        features: ``(B, F)`` float32, columns as :data:`FEATURES`.
        fresh: ``(B,)`` bool; False where a bearer has no earlier report, or its counters started
            anew: levels are right there, rates are 0.
    """

    features: NDArray[np.float32]
    fresh: NDArray[np.bool_]


class FeatureExtractor:
    """Carries what the last report of each bearer said; rows are the caller's bearer slots."""

    def __init__(self, capacity: int = 64) -> None:
        self._seen = np.zeros(capacity, dtype=np.bool_)
        self._at_us = np.zeros(capacity, dtype=np.int64)
        self._pdu_bytes = np.zeros(capacity, dtype=np.uint32)
        self._occupancy = np.zeros(capacity, dtype=np.int64)

    @property
    def capacity(self) -> int:
        """Number of slots there is room for; grows on its own."""
        return len(self._seen)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Frees slots, so that the next report in them counts as the first."""
        self._seen[slots[slots < self.capacity]] = False

    def extract(self, slots: NDArray[np.intp], report: NDArray[np.void], at_us: int) -> Samples:
        """Turns one report into samples.

        Args:
            slots: ``(B,)`` slot of each row, each at most once.
            report: ``(B,)`` structured array with :data:`REQUIRED_FIELDS`.
            at_us: Time of the report in µs, later than that of the last report of these slots.

        Raises:
            ContractError: A field is missing, lengths differ or time does not advance.
        """
        self._check(slots, report)
        if len(slots) and int(slots.max()) >= self.capacity:
            self._grow(int(slots.max()) + 1)
        seen = self._seen[slots]
        elapsed_us = at_us - self._at_us[slots]
        if bool((seen & (elapsed_us <= 0)).any()):
            raise ContractError("report.tstamp", f"{at_us} is not after the bearer's last report")

        pdu_bytes = report["txpdu_bytes"].astype(np.uint32, copy=False)
        occupancy = report["txbuf_occ_bytes"].astype(np.int64)
        # Unsigned subtraction is right across one wrap of the 32-bit counter.
        drained = (pdu_bytes - self._pdu_bytes[slots]).astype(np.float64)
        elapsed_ms = np.where(seen, elapsed_us, 1000) / 1000.0
        drained_rate = drained / elapsed_ms
        fresh = seen & (drained_rate <= MAX_RATE_BYTES_PER_MS)
        arrived_rate = (occupancy - self._occupancy[slots] + drained) / elapsed_ms

        features = np.empty((len(slots), len(FEATURES)), dtype=np.float32)
        features[:, 0] = occupancy
        features[:, 1] = np.where(fresh, drained_rate, 0.0)
        # Headers count as drained but were never buffered, so this may be slightly negative.
        features[:, 2] = np.where(fresh, np.maximum(arrived_rate, 0.0), 0.0)
        features[:, 3] = report["txsdu_wt_us"]
        features[:, 4] = np.nan_to_num(report["txsdu_avg_time_to_tx"], posinf=0.0, neginf=0.0)
        features[:, 5] = report["txbuf_occ_pkts"]

        self._seen[slots] = True
        self._at_us[slots] = at_us
        self._pdu_bytes[slots] = pdu_bytes
        self._occupancy[slots] = occupancy
        return Samples(features, fresh)

    @staticmethod
    def _check(slots: NDArray[np.intp], report: NDArray[np.void]) -> None:
        names = report.dtype.names or ()
        missing = [name for name in REQUIRED_FIELDS if name not in names]
        if missing:
            raise ContractError("report", f"lacks {', '.join(missing)}")
        if len(slots) != len(report):
            raise ContractError("report", f"has {len(report)} rows for {len(slots)} slots")

    def _grow(self, needed: int) -> None:
        capacity = max(needed, 2 * self.capacity)
        for name in ("_seen", "_at_us", "_pdu_bytes", "_occupancy"):
            old = getattr(self, name)
            new = np.zeros(capacity, dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
