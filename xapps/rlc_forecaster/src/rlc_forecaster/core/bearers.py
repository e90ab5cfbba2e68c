"""Slots: the row of each bearer of a node in every per-bearer array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)
Index = slice | NDArray[np.intp]
Points = int | NDArray[np.intp]
"""The horizon point of all rows, or of each."""

_NONE: Final = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The bearers of a report, in its order; the same object as long as they do not change.

    Attributes:
        rnti: ``(B,)``.
        drb: ``(B,)``.
        slots: ``(B,)`` slot of each row.
        index: The slots, as a slice if they are consecutive: indexing an array with it is then a
            view and not a copy.
        kept: Rows of the report without repeated bearers; None for all.
        highest: One more than the highest slot.
        new: Slots of new bearers.
        returned: Slots of bearers whose last report is longer ago than the longest gap.
    """

    rnti: NDArray[np.uint32]
    drb: NDArray[np.uint8]
    slots: NDArray[np.intp]
    index: Index
    kept: NDArray[np.intp] | None
    highest: int
    new: NDArray[np.intp]
    returned: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.slots)

    def slots_of(self, rows: Index) -> Index:
        """Slots of some of the rows, as a slice if possible."""
        if isinstance(rows, slice) and isinstance(self.index, slice):
            first = self.index.start
            return slice(first + rows.start, first + rows.stop)
        return self.slots[rows]


class BearerSlots:
    """Assigns each (RNTI, DRB) a slot and frees it when the bearer is gone.

    Consecutive reports mostly have the same bearers in the same order, so the last result is cached
    and the table is used only if the bearers change.
    """

    def __init__(self, longest_gap_us: int) -> None:
        """Bearers absent for longer than `longest_gap_us` count as returned."""
        self._longest_gap_us = longest_gap_us
        self._slot_of: dict[tuple[int, int], int] = {}
        self._free: list[int] = []
        self._key: tuple[bytes, bytes] | None = None
        self._rows: Rows | None = None
        self._found: dict[tuple[int, bytes, bytes], tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
        self._at_us = 0
        self._last_seen_us = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._slot_of)

    def rows(self, report: NDArray[np.void], now_us: int) -> Rows:
        """The bearers of a report with fields ``rnti`` and ``rbid``.

        `new` and `returned` apply to the first report for which an object is returned; the same
        object again means that nothing changed.
        """
        key = (report["rnti"].tobytes(), report["rbid"].tobytes())
        if key == self._key and self._rows is not None:
            self._at_us = now_us
            return self._rows
        self._note_seen()
        rows = self._look_up(report, now_us)
        self._key, self._rows, self._at_us = key, rows, now_us
        return rows

    def find(
        self, rnti: NDArray[np.integer], drb: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the (RNTI, DRB) that are known, each once, and their slots."""
        # Statuses follow each other with the same bearers, as reports do.
        asked = len(rnti), rnti.tobytes(), drb.tobytes()
        known = self._found.get(asked)
        if known is not None:
            return known
        found: dict[int, int] = {}
        for row, key in enumerate(zip(rnti.tolist(), drb.tolist(), strict=True)):
            slot = self._slot_of.get(key)
            if slot is not None:
                found[slot] = row
        known = np.array(list(found.values()), np.intp), np.array(list(found), np.intp)
        self._found = {asked: known}
        return known

    def of_ues(self, rnti: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows in `rnti` and slots of the bearers of the last report whose UE is in `rnti`."""
        if self._rows is None or not len(rnti):
            return _NONE, _NONE
        order = np.argsort(rnti, kind="stable")
        at = np.searchsorted(rnti, self._rows.rnti, side="right", sorter=order) - 1
        rows = order[np.maximum(at, 0)]
        known = (at >= 0) & (rnti[rows] == self._rows.rnti)
        return rows[known], self._rows.slots[known]

    def expire(self, before_us: int) -> NDArray[np.intp]:
        """Frees the slots of bearers not seen since `before_us`; returns them."""
        present = len(self._rows) if self._rows is not None else 0
        if present == len(self._slot_of):
            return _NONE
        self._note_seen()
        gone = [
            (key, slot)
            for key, slot in self._slot_of.items()
            if self._last_seen_us[slot] < before_us
        ]
        if gone:
            self._found.clear()
        for key, slot in gone:
            del self._slot_of[key]
            self._free.append(slot)
        return np.array([slot for _, slot in gone], np.intp)

    def _note_seen(self) -> None:
        if self._rows is not None:
            self._last_seen_us[self._rows.slots] = self._at_us

    def _look_up(self, report: NDArray[np.void], now_us: int) -> Rows:
        pairs = zip(report["rnti"].tolist(), report["rbid"].tolist(), strict=True)
        # The first row of a repeated bearer counts.
        first: dict[tuple[int, int], int] = {}
        for row, key in enumerate(pairs):
            first.setdefault(key, row)
        kept = None if len(first) == len(report) else np.fromiter(first.values(), np.intp)
        new = [key for key in first if key not in self._slot_of]
        if new:
            self._found.clear()
        for key in new:
            self._slot_of[key] = self._free.pop() if self._free else len(self._slot_of)
        slots = np.array([self._slot_of[key] for key in first], np.intp)
        highest = int(slots.max()) + 1 if len(slots) else 0
        self._last_seen_us = grown(self._last_seen_us, highest)
        new_slots = np.array([self._slot_of[key] for key in new], np.intp)
        silent = now_us - self._last_seen_us[slots] > self._longest_gap_us
        returned = np.setdiff1d(slots[silent], new_slots)
        unique = report if kept is None else report[kept]
        return Rows(
            unique["rnti"].astype(np.uint32),
            unique["rbid"].astype(np.uint8),
            slots,
            _index(slots),
            kept,
            highest,
            new_slots,
            returned,
        )


def end_of(index: Index) -> int:
    """One more than the highest slot."""
    if isinstance(index, slice):
        return int(index.stop)
    return int(index.max()) + 1 if len(index) else 0


def slots_in(index: Index) -> NDArray[np.intp]:
    """``(N,)`` the slots themselves."""
    return np.arange(index.start, index.stop) if isinstance(index, slice) else index


def _index(slots: NDArray[np.intp]) -> Index:
    if len(slots) and bool((np.diff(slots) == 1).all()):
        return slice(int(slots[0]), int(slots[-1]) + 1)
    return slots


def grown(array: NDArray[Scalar], rows: int) -> NDArray[Scalar]:
    """`array` with at least `rows` rows, the new ones zero; capacity doubles."""
    if rows <= len(array):
        return array
    larger = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
