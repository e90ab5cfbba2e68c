"""Slots: a row of every per-bearer array for each bearer of a node."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


class BearerSlots:
    """Gives each (RNTI, DRB) a slot and takes it back when the bearer is gone.

    Reports name the same bearers in the same order millisecond after millisecond, so the last
    answer is kept and the table is only walked when the bearers change.
    """

    def __init__(self) -> None:
        self._slot_of: dict[int, int] = {}
        self._free: list[int] = []
        self._last_keys: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._last_slots: NDArray[np.intp] = np.empty(0, np.intp)
        self._last_seen_us = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._slot_of)

    @property
    def capacity(self) -> int:
        """One more than the highest slot ever given."""
        return len(self._last_seen_us)

    def slots(
        self, rnti: NDArray[np.integer], drb: NDArray[np.integer], now_us: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The slots of a report's rows, and those among them that are new."""
        keys = (rnti.astype(np.uint64) << np.uint64(8)) | drb.astype(np.uint64)
        if np.array_equal(keys, self._last_keys):
            self._last_seen_us[self._last_slots] = now_us
            return self._last_slots, np.empty(0, np.intp)
        new: list[int] = []
        slots = np.empty(len(keys), np.intp)
        for row, key in enumerate(keys.tolist()):
            slot = self._slot_of.get(key)
            if slot is None:
                slot = self._free.pop() if self._free else len(self._slot_of) + len(self._free)
                self._slot_of[key] = slot
                new.append(slot)
            slots[row] = slot
        highest = int(slots.max()) + 1 if len(slots) else 0
        if highest > self.capacity:
            self._last_seen_us = np.concatenate(
                [self._last_seen_us, np.zeros(highest - self.capacity, np.int64)]
            )
        self._last_seen_us[slots] = now_us
        self._last_keys, self._last_slots = keys, slots
        return slots, np.array(new, np.intp)

    def expire(self, before_us: int) -> NDArray[np.intp]:
        """Frees the slots of bearers not seen since `before_us`; returns them."""
        gone = [
            (key, slot)
            for key, slot in self._slot_of.items()
            if self._last_seen_us[slot] < before_us
        ]
        for key, slot in gone:
            del self._slot_of[key]
            self._free.append(slot)
        if gone:
            self._last_keys = np.empty(0, np.uint64)
        return np.array([slot for _, slot in gone], np.intp)


def grown(array: NDArray[Scalar], rows: int) -> NDArray[Scalar]:
    """`array` with at least `rows` rows, the new ones zero; capacity doubles."""
    if rows <= len(array):
        return array
    larger = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
