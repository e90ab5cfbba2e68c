"""From reports to samples: the one piece of code that training and serving share.

A sample is one row per bearer of the features below. Rates are per millisecond whatever the
distance of the reports, so that a lost report does not look like a burst.

What the RLC report says comes with it. Queue limit, MCS and transport block size come with other
reports, on streams of their own, which may overtake the RLC report or be overtaken by it. A sample
therefore takes of them what was told of an *earlier* instant: it is the same whichever stream is
ahead, as long as none lags by more than a report period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlc_model.errors import ContractError
from rlc_model.told import Told

FEATURES: Final = (
    "occupancy_bytes",
    "drained_bytes_per_ms",
    "arrived_bytes_per_ms",
    "head_of_line_age_us",
    "mean_sojourn_us",
    "occupancy_packets",
    "queue_limit_bytes",
    "mcs",
    "tbs_bytes",
)
"""Names and order of the columns of a sample."""

CONTEXT: Final = FEATURES[6:]
"""Those that do not come from the RLC report: the TC status tells the limit, the MAC report the
rest. A value that nobody told, or not lately, is 0, and so is the limit of a bearer without one."""

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
        features: ``(B, F)`` float32, columns as :data:`FEATURES`, finite.
        fresh: ``(B,)`` bool; False where a bearer has no earlier report, or its counters started
            anew: levels are right there, rates are 0.
        told: ``(B, 3)`` bool, columns as :data:`CONTEXT`; False where 0 stands for a value that
            nobody told.
    """

    features: NDArray[np.float32]
    fresh: NDArray[np.bool_]
    told: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Levels:
    """What RLC reports said, row by row: of many bearers at a time, or of one over time."""

    at_us: NDArray[np.int64]
    pdu_bytes: NDArray[np.uint32]
    occupancy: NDArray[np.int64]


def rlc_features(
    report: NDArray[np.void], before: Levels, now: Levels, seen: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Features of RLC reports, each with the one before it; rows do not depend on each other.

    Args:
        report: ``(N,)`` structured array with :data:`REQUIRED_FIELDS`.
        before: ``(N,)`` levels of the report before; anything where there is none.
        now: ``(N,)`` levels of `report`.
        seen: ``(N,)`` whether there is a report before.

    Returns:
        ``(N, F)`` features, those of :data:`CONTEXT` 0, and ``(N,)`` fresh as in
        :class:`Samples`.
    """
    elapsed_ms = (now.at_us - before.at_us) / 1000.0
    if np.count_nonzero(seen) < len(seen):
        elapsed_ms = np.where(seen, elapsed_ms, 1.0)
    # Unsigned subtraction is right across one wrap of the 32-bit counter.
    drained = (now.pdu_bytes - before.pdu_bytes).astype(np.float64)
    drained_rate = drained / elapsed_ms
    fresh = seen & (drained_rate <= MAX_RATE_BYTES_PER_MS)
    arrived_rate = (now.occupancy - before.occupancy + drained) / elapsed_ms

    features = np.zeros((len(report), len(FEATURES)), dtype=np.float32)
    features[:, 0] = now.occupancy
    features[:, 1] = drained_rate * fresh
    # Headers count as drained but were never buffered, so this may be slightly negative.
    features[:, 2] = np.maximum(arrived_rate, 0.0) * fresh
    features[:, 3] = report["txsdu_wt_us"]
    mean_sojourn = report["txsdu_avg_time_to_tx"]
    # NaN is not below infinity either.
    mean_sojourn = np.where(mean_sojourn < np.inf, mean_sojourn, 0.0)
    features[:, 4] = np.minimum(np.maximum(mean_sojourn, 0.0), _U32_MAX)
    features[:, 5] = report["txbuf_occ_pkts"]
    return features, fresh


@dataclass(frozen=True, slots=True)
class _Context:
    """What others told of the bearers of a report.

    Attributes:
        values: ``(B, 3)``, columns as :data:`CONTEXT`.
        told: ``(B, 3)`` whether it was.
        until_us: For reports later than this it has to be looked up again.
    """

    values: NDArray[np.float32]
    told: NDArray[np.bool_]
    until_us: int


class FeatureExtractor:
    """Carries what the last reports of each bearer said; rows are the caller's bearer slots.

    Reports name the same bearers millisecond after millisecond. While the caller gives the same
    array of slots, unchanged, what the last report said goes straight into the next sample, and
    what was told by others is looked up when something new was told: half the time of going by
    slot each time.
    """

    def __init__(self, capacity: int = 64) -> None:
        self._seen = np.zeros(capacity, dtype=np.bool_)
        self._at_us = np.zeros(capacity, dtype=np.int64)
        self._pdu_bytes = np.zeros(capacity, dtype=np.uint32)
        self._occupancy = np.zeros(capacity, dtype=np.int64)
        self._newest_us = -1
        self._checked: np.dtype[np.void] | None = None
        self._limit = Told(capacity, 1)
        self._mac = Told(capacity, 2)
        self._taken_for = np.empty(0, np.intp)
        self._taken = self._by_slot(self._taken_for)
        self._taken_seen = np.empty(0, np.bool_)
        self._context: _Context | None = None

    @property
    def capacity(self) -> int:
        """Number of slots there is room for; grows on its own."""
        return len(self._seen)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Frees slots, so that the next report in them counts as the first."""
        self._lay_down()
        known = slots[slots < self.capacity]
        self._seen[known] = False
        self._limit.forget(known)
        self._mac.forget(known)

    def note_limit(self, slots: NDArray[np.intp], limit_bytes: ArrayLike, at_us: int) -> None:
        """Takes in the pacers' queue limits, from a TC status.

        Args:
            slots: ``(B,)`` slot of each row, each at most once.
            limit_bytes: ``(B,)`` bytes; NaN for a bearer whose pacer has no limit: the last one
                it had, if any, still stands for :data:`~rlc_model.told.HOLD_US`.
            at_us: Time of the report, the clock of the RLC reports.

        Raises:
            ContractError: Lengths differ, or a limit is negative or infinite.
        """
        values = _column("limit_bytes", limit_bytes, len(slots), _U32_MAX, nan_is_none=True)
        self._make_room(slots)
        self._context = None
        self._limit.note(slots, values[:, None], at_us)

    def note_mac(
        self, slots: NDArray[np.intp], mcs: ArrayLike, tbs_bytes: ArrayLike, at_us: int
    ) -> None:
        """Takes in MCS and newest transport block of the bearers' UEs, from a MAC report.

        Args:
            slots: ``(B,)`` slot of each row, each at most once; a UE has as many as bearers.
            mcs: ``(B,)`` MCS index, 0…31 (``dl_mcs1``).
            tbs_bytes: ``(B,)`` bytes (``dl_curr_tbs``); 0 in a slot without a block.
            at_us: Time of the report, the clock of the RLC reports.

        Raises:
            ContractError: Lengths differ, or a value is out of its range.
        """
        pair = np.stack(
            [
                _column("mcs", mcs, len(slots), MCS_MAX),
                _column("tbs_bytes", tbs_bytes, len(slots), _U32_MAX),
            ],
            axis=1,
        )
        self._make_room(slots)
        self._context = None
        self._mac.note(slots, pair, at_us)

    def extract(self, slots: NDArray[np.intp], report: NDArray[np.void], at_us: int) -> Samples:
        """Turns one RLC report into samples.

        Args:
            slots: ``(B,)`` slot of each row, each at most once.
            report: ``(B,)`` structured array with :data:`REQUIRED_FIELDS`.
            at_us: Time of the report in µs, later than that of the last report of these slots.

        Raises:
            ContractError: A field is missing, lengths differ or time does not advance.
        """
        if report.dtype is not self._checked:
            check_report(report)
            self._checked = report.dtype
        if len(slots) != len(report):
            raise ContractError("report", f"has {len(report)} rows for {len(slots)} slots")
        if slots is not self._taken_for:
            self._take_up(slots)
        before, seen = self._taken, self._taken_seen
        if at_us <= self._newest_us and bool((seen & (before.at_us >= at_us)).any()):
            raise ContractError("report.tstamp", f"{at_us} is not after the bearer's last report")
        self._newest_us = max(self._newest_us, at_us)
        # One time for all rows.
        now = levels_of(report, np.asarray(at_us, np.int64))
        features, fresh = rlc_features(report, before, now, seen)
        context = self._context
        if context is None or at_us > context.until_us:
            self._context = context = self._look_up(slots, at_us)
        features[:, len(FEATURES) - len(CONTEXT) :] = context.values
        self._taken = now
        if before.at_us.ndim:
            self._taken_seen = np.ones(len(slots), np.bool_)
        return Samples(features, fresh, context.told)

    def _look_up(self, slots: NDArray[np.intp], at_us: int) -> _Context:
        limit, limit_told, limit_until_us = self._limit.before(slots, at_us)
        mac, mac_told, mac_until_us = self._mac.before(slots, at_us)
        told = np.stack([limit_told, mac_told, mac_told], axis=1)
        until_us = min(limit_until_us, mac_until_us)
        return _Context(np.concatenate([limit, mac], axis=1), told, until_us)

    def _by_slot(self, slots: NDArray[np.intp]) -> Levels:
        return Levels(self._at_us[slots], self._pdu_bytes[slots], self._occupancy[slots])

    def _take_up(self, slots: NDArray[np.intp]) -> None:
        self._lay_down()
        self._make_room(slots)
        self._taken = self._by_slot(slots)
        self._taken_seen = self._seen[slots]
        self._taken_for = slots

    def _lay_down(self) -> None:
        slots, taken = self._taken_for, self._taken
        self._seen[slots] = self._taken_seen
        self._at_us[slots] = taken.at_us
        self._pdu_bytes[slots] = taken.pdu_bytes
        self._occupancy[slots] = taken.occupancy
        self._taken_for = np.empty(0, np.intp)
        self._taken = self._by_slot(self._taken_for)
        self._taken_seen = np.empty(0, np.bool_)
        self._context = None

    def _make_room(self, slots: NDArray[np.intp]) -> None:
        if not len(slots) or int(slots.max()) < self.capacity:
            return
        capacity = max(int(slots.max()) + 1, 2 * self.capacity)
        for name in ("_seen", "_at_us", "_pdu_bytes", "_occupancy"):
            old = getattr(self, name)
            new = np.zeros(capacity, dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        self._limit.grow(capacity)
        self._mac.grow(capacity)


MCS_MAX: Final = 31
"""The MCS field of a DCI has five bits (38.214 §5.1.3.1)."""
_U32_MAX: Final = float(2**32 - 1)


def check_report(report: NDArray[np.void]) -> None:
    """Raises :class:`ContractError` when a report lacks one of :data:`REQUIRED_FIELDS`."""
    names = report.dtype.names or ()
    missing = [name for name in REQUIRED_FIELDS if name not in names]
    if missing:
        raise ContractError("report", f"lacks {', '.join(missing)}")


def levels_of(report: NDArray[np.void], at_us: NDArray[np.int64]) -> Levels:
    """What of RLC reports the reports after them are compared with."""
    return Levels(
        at_us,
        report["txpdu_bytes"].astype(np.uint32),
        report["txbuf_occ_bytes"].astype(np.int64),
    )


def _column(
    name: str, values: ArrayLike, rows: int, most: float, *, nan_is_none: bool = False
) -> NDArray[np.float32]:
    column = np.asarray(values, np.float64)
    if column.shape != (rows,):
        raise ContractError(name, f"has shape {column.shape} for {rows} slots")
    wrong = ~((column >= 0) & (column <= most))
    if nan_is_none:
        wrong &= ~np.isnan(column)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ContractError(f"{name}[{row}]", f"is {column[row]:g}; expected 0 to {most:g}")
    return column.astype(np.float32)
