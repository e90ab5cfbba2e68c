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
"""Those that do not come from the RLC report: the TC status tells the limit, the MAC report the
rest. A value that nobody told, or not lately, is 0, and so is the limit of a bearer without one."""

MAX_RATE_BYTES_PER_MS: Final = rlc_native.MAX_RATE_BYTES_PER_MS
"""A larger step of a counter is a restarted RLC entity, not traffic."""


class Samples(NamedTuple):
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


def rlc_features(
    records: Records,
    report: NDArray[np.void],
    before: NDArray[np.int64],
    elapsed_ms: float | NDArray[np.float64],
    seen: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
    """Features of RLC reports, each with the one before it; rows do not depend on each other.

    Headers count as drained but were never buffered, so what arrived may come out slightly
    negative: it is 0 then. A mean sojourn that is NaN or infinite is 0. A drain of more than
    :data:`MAX_RATE_BYTES_PER_MS` makes a row not fresh.

    Args:
        records: How they are read.
        report: ``(N,)``.
        before: ``(N, 2)`` levels of the reports before; anything where there is none.
        elapsed_ms: Since those, not 0; one for all, or ``(N,)``.
        seen: ``(N,)`` whether there is a report before; None when there is for all.

    Returns:
        ``(N, F)`` features, those of :data:`CONTEXT` 0; ``(N, 2)`` levels of `report`, drained
        bytes as counted and occupancy; and ``(N,)`` fresh as in :class:`Samples`.
    """
    return rlc_native.samples(records.data(report), records.fields, before, elapsed_ms, seen)


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


class _Before(NamedTuple):
    """What the last reports of some slots said.

    Attributes:
        levels: ``(B, 2)`` as :func:`rlc_features` has them.
        at_us: Time of those reports: one for all, or ``(B,)``.
        seen: ``(B,)`` whether there is a last report; None when there is for all.
    """

    levels: NDArray[np.int64]
    at_us: int | NDArray[np.int64]
    seen: NDArray[np.bool_] | None

    def elapsed_ms(self, at_us: int) -> float | NDArray[np.float64]:
        """From the last reports to `at_us`.

        Raises:
            ContractError: It is not after them.
        """
        late = at_us <= self.at_us
        if self.seen is not None:
            late &= self.seen
        if late if isinstance(late, bool) else late.any():
            raise ContractError("report.tstamp", f"{at_us} is not after the bearer's last report")
        elapsed_ms = (at_us - self.at_us) / 1000.0
        return elapsed_ms if self.seen is None else np.where(self.seen, elapsed_ms, 1.0)


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
        self._levels = np.zeros((capacity, 2), dtype=np.int64)
        self._dtype: np.dtype[np.void] | None = None
        self._records: Records | None = None
        self._limit = ContextCache(capacity, 1)
        self._mac = ContextCache(capacity, 2)
        self._taken_for = np.empty(0, np.intp)
        self._taken = self._by_slot(self._taken_for)
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
                it had, if any, still stands for :data:`~rlc_model.context_cache.HOLD_US`.
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
        if self._records is None or report.dtype is not self._dtype:
            self._records, self._dtype = Records.of(report.dtype), report.dtype
        if len(slots) != len(report):
            raise ContractError("report", f"has {len(report)} rows for {len(slots)} slots")
        if slots is not self._taken_for:
            self._take_up(slots)
        before = self._taken
        elapsed_ms = before.elapsed_ms(at_us)
        features, levels, fresh = rlc_features(
            self._records, report, before.levels, elapsed_ms, before.seen
        )
        context = self._context
        if context is None or at_us > context.until_us:
            self._context = context = self._look_up(slots, at_us)
        features[:, len(FEATURES) - len(CONTEXT) :] = context.values
        self._taken = _Before(levels, at_us, None)
        return Samples(features, fresh, context.told)

    def _look_up(self, slots: NDArray[np.intp], at_us: int) -> _Context:
        limit, limit_told, limit_until_us = self._limit.before(slots, at_us)
        mac, mac_told, mac_until_us = self._mac.before(slots, at_us)
        told = np.stack([limit_told, mac_told, mac_told], axis=1)
        until_us = min(limit_until_us, mac_until_us)
        return _Context(np.concatenate([limit, mac], axis=1), told, until_us)

    def _by_slot(self, slots: NDArray[np.intp]) -> _Before:
        return _Before(self._levels[slots], self._at_us[slots], self._seen[slots])

    def _take_up(self, slots: NDArray[np.intp]) -> None:
        self._lay_down()
        self._make_room(slots)
        self._taken, self._taken_for = self._by_slot(slots), slots

    def _lay_down(self) -> None:
        slots, taken = self._taken_for, self._taken
        self._levels[slots] = taken.levels
        self._at_us[slots] = taken.at_us
        self._seen[slots] = True if taken.seen is None else taken.seen
        self._taken_for = np.empty(0, np.intp)
        self._taken = self._by_slot(self._taken_for)
        self._context = None

    def _make_room(self, slots: NDArray[np.intp]) -> None:
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
