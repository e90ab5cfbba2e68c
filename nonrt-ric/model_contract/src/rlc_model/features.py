"""Feature extraction from reports, shared by training and serving.

A sample is one row of features per bearer. Rates are per millisecond for any distance between
reports, so that a lost report does not look like a burst.

Queue limit, MCS and transport block size arrive in reports of other subscriptions, before or after
the RLC report. A sample uses their values from an *earlier* time, so it does not depend on the
order of arrival as long as no subscription lags by more than a report period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import rlc_native
from numpy.typing import ArrayLike, NDArray

from rlc_model.context_cache import ContextCache
from rlc_model.errors import ContractError
from rlc_model.records import Records

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
"""Features from other reports: limit from the TC status, the others from the MAC report. Unknown
or outdated values, and the limit of a bearer without one, are 0."""

MAX_RATE_BYTES_PER_MS: Final = rlc_native.MAX_RATE_BYTES_PER_MS
"""A larger step of a counter is a restarted RLC entity, not traffic."""


class Samples(NamedTuple):
    """Features of one report.

    Attributes:
        features: ``(B, F)`` float32, columns as :data:`FEATURES`, finite.
        fresh: ``(B,)`` bool; False for a bearer without an earlier report or with restarted
            counters: its levels are valid, its rates are 0.
        known: ``(B, 3)`` bool, columns as :data:`CONTEXT`; False where 0 stands for an unknown
            value.
    """

    features: NDArray[np.float32]
    fresh: NDArray[np.bool_]
    known: NDArray[np.bool_]


def rlc_features(
    records: Records,
    report: NDArray[np.void],
    before: NDArray[np.int64],
    elapsed_ms: float | NDArray[np.float64],
    seen: NDArray[np.bool_] | None,
    *,
    context: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
    """Features of RLC reports and their predecessors; rows are independent.

    Headers count as drained but were never buffered, so arrivals can be slightly negative; they are
    clipped to 0. A NaN or infinite mean sojourn is 0. A row with a drain above
    :data:`MAX_RATE_BYTES_PER_MS` is not fresh.

    Args:
        records: Layout of the reports.
        report: ``(N,)``.
        before: ``(N, 2)`` levels of the previous reports; ignored where not `seen`.
        elapsed_ms: Time since the previous reports, above 0; one value or ``(N,)``.
        seen: ``(N,)`` whether there is a previous report; None if all have one.
        context: ``(N, 3)`` in the columns of :data:`CONTEXT`; None for 0.

    Returns:
        ``(N, F)`` features; ``(N, 2)`` levels of `report`
        (counter of drained bytes, occupancy); ``(N,)`` fresh as in :class:`Samples`.
    """
    data, fields = records.data(report), records.fields
    return rlc_native.samples(data, fields, before, elapsed_ms, seen, context)


@dataclass(frozen=True, slots=True)
class _Context:
    """Context values of the bearers of a report.

    Attributes:
        values: ``(B, 3)``, columns as :data:`CONTEXT`.
        known: ``(B, 3)``.
        until_us: Reports later than this need another lookup.
    """

    values: NDArray[np.float32]
    known: NDArray[np.bool_]
    until_us: int


class _Previous(NamedTuple):
    """The last reports of slots.

    Attributes:
        levels: ``(B, 2)`` as in :func:`rlc_features`.
        at_us: Time of the reports: one value or ``(B,)``.
        seen: ``(B,)`` whether there is a report; None if all have one.
    """

    levels: NDArray[np.int64]
    at_us: int | NDArray[np.int64]
    seen: NDArray[np.bool_] | None

    def elapsed_ms(self, at_us: int) -> float | NDArray[np.float64]:
        """Time from the last reports to `at_us`.

        Raises:
            ContractError: `at_us` is not later.
        """
        late = at_us <= self.at_us
        if self.seen is not None:
            late &= self.seen
        if late if isinstance(late, bool) else late.any():
            raise ContractError("report.tstamp", f"{at_us} is not after the bearer's last report")
        elapsed_ms = (at_us - self.at_us) / 1000.0
        return elapsed_ms if self.seen is None else np.where(self.seen, elapsed_ms, 1.0)


class FeatureExtractor:
    """Features from successive reports; rows are the caller's bearer slots.

    Consecutive reports usually have the same bearers. While the caller passes the same unchanged
    array of slots, levels are carried over without a lookup by slot, and context values are looked
    up only after an update: this halves the time.
    """

    def __init__(self, capacity: int = 64) -> None:
        self._seen = np.zeros(capacity, dtype=np.bool_)
        self._at_us = np.zeros(capacity, dtype=np.int64)
        self._levels = np.zeros((capacity, 2), dtype=np.int64)
        self._dtype: np.dtype[np.void] | None = None
        self._records: Records | None = None
        self._limit = ContextCache(capacity, 1)
        self._mac = ContextCache(capacity, 2)
        self._previous_slots = np.empty(0, np.intp)
        self._previous = self._by_slot(self._previous_slots)
        self._context: _Context | None = None

    @property
    def capacity(self) -> int:
        """Number of slots; grows as needed."""
        return len(self._seen)

    def forget(self, slots: NDArray[np.intp]) -> None:
        """Frees slots; their next report is treated as a first one."""
        self._store()
        known = slots[slots < self.capacity]
        self._seen[known] = False
        self._limit.forget(known)
        self._mac.forget(known)

    def update_limit(self, slots: NDArray[np.intp], limit_bytes: ArrayLike, at_us: int) -> None:
        """Updates the pacers' queue limits from a TC status.

        Args:
            slots: ``(B,)`` distinct slots.
            limit_bytes: ``(B,)`` bytes; NaN for a pacer without a limit. A previous limit is then
                held for :data:`~rlc_model.context_cache.HOLD_US`.
            at_us: Time of the report, in the clock of the RLC reports.

        Raises:
            ContractError: Lengths differ, or a limit is negative or infinite.
        """
        values = _column("limit_bytes", limit_bytes, len(slots), _U32_MAX, nan_is_none=True)
        self._grow_to(slots)
        self._context = None
        self._limit.update(slots, values[:, None], at_us)

    def update_mac(
        self, slots: NDArray[np.intp], mcs: ArrayLike, tbs_bytes: ArrayLike, at_us: int
    ) -> None:
        """Updates MCS and last transport block size of the bearers' UEs from a MAC report.

        Args:
            slots: ``(B,)`` distinct slots; a UE has one per bearer.
            mcs: ``(B,)`` MCS index, 0…31 (``dl_mcs1``).
            tbs_bytes: ``(B,)`` bytes (``dl_curr_tbs``); 0 in a slot without a block.
            at_us: Time of the report, in the clock of the RLC reports.

        Raises:
            ContractError: Lengths differ, or a value is out of range.
        """
        pair = np.stack(
            [
                _column("mcs", mcs, len(slots), MCS_MAX),
                _column("tbs_bytes", tbs_bytes, len(slots), _U32_MAX),
            ],
            axis=1,
        )
        self._grow_to(slots)
        self._context = None
        self._mac.update(slots, pair, at_us)

    def extract(self, slots: NDArray[np.intp], report: NDArray[np.void], at_us: int) -> Samples:
        """Turns one RLC report into samples.

        Args:
            slots: ``(B,)`` distinct slots.
            report: ``(B,)`` structured array with :data:`REQUIRED_FIELDS`.
            at_us: Time of the report in µs, later than that of the last report of these slots.

        Raises:
            ContractError: A field is missing, lengths differ or time does not advance.
        """
        if self._records is None or report.dtype is not self._dtype:
            self._records, self._dtype = Records.of(report.dtype), report.dtype
        if len(slots) != len(report):
            raise ContractError("report", f"has {len(report)} rows for {len(slots)} slots")
        if slots is not self._previous_slots:
            self._load(slots)
        before = self._previous
        elapsed_ms = before.elapsed_ms(at_us)
        context = self._context
        if context is None or at_us > context.until_us:
            self._context = context = self._look_up(slots, at_us)
        features, levels, fresh = rlc_features(
            self._records, report, before.levels, elapsed_ms, before.seen, context=context.values
        )
        self._previous = _Previous(levels, at_us, None)
        return Samples(features, fresh, context.known)

    def _look_up(self, slots: NDArray[np.intp], at_us: int) -> _Context:
        limit, limit_known, limit_until_us = self._limit.before(slots, at_us)
        mac, mac_known, mac_until_us = self._mac.before(slots, at_us)
        known = np.stack([limit_known, mac_known, mac_known], axis=1)
        until_us = min(limit_until_us, mac_until_us)
        return _Context(np.concatenate([limit, mac], axis=1), known, until_us)

    def _by_slot(self, slots: NDArray[np.intp]) -> _Previous:
        return _Previous(self._levels[slots], self._at_us[slots], self._seen[slots])

    def _load(self, slots: NDArray[np.intp]) -> None:
        self._store()
        self._grow_to(slots)
        self._previous, self._previous_slots = self._by_slot(slots), slots

    def _store(self) -> None:
        slots, previous = self._previous_slots, self._previous
        self._levels[slots] = previous.levels
        self._at_us[slots] = previous.at_us
        self._seen[slots] = True if previous.seen is None else previous.seen
        self._previous_slots = np.empty(0, np.intp)
        self._previous = self._by_slot(self._previous_slots)
        self._context = None

    def _grow_to(self, slots: NDArray[np.intp]) -> None:
        if not len(slots) or int(slots.max()) < self.capacity:
            return
        capacity = max(int(slots.max()) + 1, 2 * self.capacity)
        for name in ("_seen", "_at_us", "_levels"):
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        self._limit.grow(capacity)
        self._mac.grow(capacity)


MCS_MAX: Final = 31
"""The MCS field of a DCI has five bits (38.214 §5.1.3.1)."""
_U32_MAX: Final = float(2**32 - 1)


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
