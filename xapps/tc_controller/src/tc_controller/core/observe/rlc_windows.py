"""Windows over the RLC state of all bearers of a node, one row of arrays per report.

All bearers are updated at once with NumPy; a bearer is a *slot*, a column of the arrays. The
sojourn of a packet is the age of the RLC's head of line plus the sojourn of ungreedy flows in the
pipeline in front of it (`tc_controller.core.observe.pipeline_view`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from ric.late_reports import LateReports

from tc_controller.core.inputs import BearerKey

#: `txpdu_bytes` wraps at 2³², and so do differences of this type.
_COUNTER = np.uint32
#: A difference of 2³¹ and more, negative in this type, is a restart of the counter, not traffic: at
#: 1 ms it would be 17 Tbit/s.
_STEP = np.int32


class RlcWindows:
    """Recent RLC state of one node's bearers.

    Args:
        node_id: the node.
        depth: reports kept. Every requested window must be shorter.
        gone_after: reports without a bearer after which it is gone.
    """

    def __init__(self, node_id: str, depth: int, gone_after: int = 200) -> None:
        self.node_id = node_id
        self.depth = depth
        self._gone_after = gone_after
        self.capacity = 0
        #: Bearer of each slot; ``None`` where the slot is free.
        self.keys: list[BearerKey | None] = []
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        #: C-RNTIs and DRBs of the newest report as it has them; ``None``: not cached.
        self._names: tuple[bytes, bytes] | None = None
        #: Slots of its rows.
        self._present: NDArray[np.intp] = np.empty(0, np.intp)
        #: The same for indexing: as a slice where they follow each other, which costs no copy.
        self._at: slice | NDArray[np.intp] = self._present
        #: Row of the newest report in the rings.
        self.row = -1
        self.reports = 0
        self._newest_us = 0
        self._late = LateReports()
        #: Whether the last report that was given shows that the node's clock was set back.
        self.clock_set_back = False
        self.at_us: NDArray[np.int64] = np.zeros(depth, np.int64)
        self.sojourn_ring: NDArray[np.float32] = np.zeros((depth, 0), np.float32)
        self.drained_ring: NDArray[np.int64] = np.zeros((depth, 0), np.int64)
        self.hol_us: NDArray[np.float32] = np.zeros(0, np.float32)
        self.mean_us: NDArray[np.float32] = np.zeros(0, np.float32)
        self.occupancy_bytes: NDArray[np.int64] = np.zeros(0, np.int64)
        #: Newest row of its ring.
        self.sojourn_us: NDArray[np.float32] = np.zeros(0, np.float32)
        self.pipeline_us: NDArray[np.float32] = np.zeros(0, np.float32)
        self.drained_bytes: NDArray[np.int64] = np.zeros(0, np.int64)
        self._counter: NDArray[np.uint32] = np.zeros(0, _COUNTER)
        #: Report that named the bearer last; not kept for those of the newest.
        self._seen: NDArray[np.int64] = np.zeros(0, np.int64)
        self._born: NDArray[np.int64] = np.zeros(0, np.int64)
        #: Rows ignored: C-RNTI or DRB out of range, or the bearer given twice.
        self.unaddressable = 0

    # ------------------------------------------------------------------ updating

    def update(
        self, at_us: int, rows: NDArray[np.void]
    ) -> tuple[list[int], list[BearerKey]] | None:
        """Add one report; returns the slots of new bearers and the bearers that are gone.

        A report not newer than the last one (late or duplicate) changes nothing: ``None``.
        ``clock_set_back`` says whether such reports show that the node's clock was set back: these
        windows then take no report until it has caught up.
        """
        if self.reports and at_us <= self._newest_us:
            is_duplicate = at_us in self._late or bool(np.any(self.at_us == at_us))
            self.clock_set_back = not is_duplicate and self._late.shows_clock_set_back(at_us)
            return None
        self._late.clear()
        rows, new = self._locate(rows)
        at = self._at
        previous = self.row
        self.row = (self.row + 1) % self.depth
        self.reports += 1
        self._newest_us = at_us
        self.at_us[self.row] = at_us

        if self.absent:
            self.hol_us[:] = 0.0
        self.hol_us[at] = rows["txsdu_wt_us"]
        self.mean_us[at] = rows["txsdu_avg_time_to_tx"]
        self.occupancy_bytes[at] = rows["txbuf_occ_bytes"]
        counter = rows["txpdu_bytes"].astype(_COUNTER, copy=False)
        step = (counter - self._counter[at]).view(_STEP)
        np.maximum(step, 0, out=step)
        if new:
            step[self._born[at] == self.reports] = 0
        self._counter[at] = counter
        self.drained_bytes[at] += step

        self.sojourn_us = self.sojourn_ring[self.row]
        np.add(self.hol_us, self.pipeline_us, out=self.sojourn_us)
        self.drained_ring[self.row] = self.drained_bytes
        if new and previous >= 0:
            # Before the bearer existed its counter did not move.
            self.drained_ring[:, new] = self.drained_bytes[new]
        return new, self._expire()

    def forget(self, key: BearerKey) -> None:
        """Free the slot of a bearer that is gone."""
        code = _code(key.rnti, key.drb)
        slot = self._slots.pop(code, None)
        if slot is None:
            return
        self.keys[slot] = None
        self._free.append(slot)
        self._names = None
        self.sojourn_ring[:, slot] = 0.0
        self.drained_ring[:, slot] = 0
        for array in (self.hol_us, self.mean_us, self.pipeline_us):
            array[slot] = 0.0
        for count in (self.occupancy_bytes, self.drained_bytes, self._seen):
            count[slot] = 0
        self._counter[slot] = 0

    def _locate(self, rows: NDArray[np.void]) -> tuple[NDArray[np.void], list[int]]:
        """Set ``_present`` to the slots of the rows; reports name the same bearers in the same
        order nearly always, which costs one comparison."""
        names = rows["rnti"].tobytes(), rows["rbid"].tobytes()
        if names == self._names:
            return rows, []
        self._seen[self._present] = self.reports
        codes = rows["rnti"].astype(np.uint64) << np.uint64(8) | rows["rbid"].astype(np.uint64)
        valid = ((rows["rnti"] <= 0xFFFF) & (rows["rbid"] >= 1) & (rows["rbid"] <= 32)).tolist()
        new: list[int] = []
        kept: list[int] = []
        slots: list[int] = []
        seen: set[int] = set()
        for position, code in enumerate(codes.tolist()):
            if not valid[position] or code in seen:
                continue
            seen.add(code)
            slot = self._slots.get(code)
            if slot is None:
                slot = self._allocate(code)
                new.append(slot)
            kept.append(position)
            slots.append(slot)
        self._present = np.array(slots, np.intp)
        self._at = _slice(slots) or self._present
        if len(kept) == codes.size:
            self._names = names
            return rows, new
        self.unaddressable += codes.size - len(kept)
        self._names = None
        return rows[kept], new

    def _allocate(self, code: int) -> int:
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._slots[code] = slot
        self.keys[slot] = BearerKey(self.node_id, code >> 8, code & 0xFF)
        self._born[slot] = self.reports + 1
        return slot

    def _grow(self) -> None:
        old = self.capacity
        self.capacity = max(4, old * 2)
        extra = self.capacity - old
        self.keys += [None] * extra
        self._free += range(self.capacity - 1, old - 1, -1)
        self.sojourn_ring = np.pad(self.sojourn_ring, ((0, 0), (0, extra)))
        self.drained_ring = np.pad(self.drained_ring, ((0, 0), (0, extra)))
        self.hol_us = np.pad(self.hol_us, (0, extra))
        self.mean_us = np.pad(self.mean_us, (0, extra))
        self.sojourn_us = self.sojourn_ring[self.row]
        self.pipeline_us = np.pad(self.pipeline_us, (0, extra))
        self.occupancy_bytes = np.pad(self.occupancy_bytes, (0, extra))
        self.drained_bytes = np.pad(self.drained_bytes, (0, extra))
        self._counter = np.pad(self._counter, (0, extra))
        self._seen = np.pad(self._seen, (0, extra))
        self._born = np.pad(self._born, (0, extra))

    @property
    def absent(self) -> bool:
        """Whether the newest report lacks bearers that are known."""
        return len(self._slots) != self._present.size

    def _expire(self) -> list[BearerKey]:
        if not self.absent:
            return []
        self._seen[self._present] = self.reports
        gone = []
        for slot in self._slots.values():
            key = self.keys[slot]
            if key is not None and self.reports - int(self._seen[slot]) > self._gone_after:
                gone.append(key)
        return gone

    # ------------------------------------------------------------------- reading

    @property
    def bearers(self) -> int:
        """Bearers known now."""
        return len(self._slots)

    def slot(self, key: BearerKey) -> int | None:
        """Column of a bearer."""
        return self._slots.get(_code(key.rnti, key.drb))

    def newest_us(self) -> int:
        """Node time of the newest report, 0 before the first."""
        return self._newest_us

    def rows_since(self, since_us: int) -> NDArray[np.intp]:
        """Rings' rows of the reports after ``since_us``, oldest first."""
        count = min(self.reports, self.depth)
        order = (self.row - np.arange(count - 1, -1, -1)) % self.depth
        return order[self.at_us[order] > since_us]

    def sojourn_percentile(self, slot: int, since_us: int, percentile: float) -> float | None:
        """Percentile (nearest rank) of the sojourn over the reports after ``since_us``, µs."""
        rows = self.rows_since(since_us)
        if rows.size == 0:
            return None
        # np.percentile imports much of NumPy at its first call, which would delay the first
        # decision by 20 ms.
        rank = max(0, math.ceil(percentile / 100.0 * rows.size) - 1)
        return float(np.partition(self.sojourn_ring[rows, slot], rank)[rank])

    def sojourn_growth(self, slot: int, since_us: int) -> float:
        """How fast the sojourn grew after ``since_us``, µs per µs; 0 if it did not."""
        rows = self.rows_since(since_us)
        if rows.size < 2:
            return 0.0
        first, last = int(rows[0]), int(rows[-1])
        rise_us = float(self.sojourn_ring[last, slot] - self.sojourn_ring[first, slot])
        return max(0.0, rise_us / int(self.at_us[last] - self.at_us[first]))

    def drain_kbps(self, slot: int, since_us: int) -> float | None:
        """Rate at which the MAC drained the bearer after ``since_us``, kbit/s."""
        rows = self.rows_since(since_us)
        born = int(self._born[slot])
        if rows.size > self.reports - born + 1:
            rows = rows[rows.size - (self.reports - born + 1) :]
        if rows.size < 2:
            return None
        first, last = int(rows[0]), int(rows[-1])
        span_us = int(self.at_us[last] - self.at_us[first])
        drained = int(self.drained_ring[last, slot] - self.drained_ring[first, slot])
        return drained * 8_000.0 / span_us

    def share_of_drain(self, slot: int, since_us: int) -> float | None:
        """A bearer's part of what the MAC drained of all bearers after ``since_us``; ``None``:
        nothing."""
        rows = self.rows_since(since_us)
        if rows.size < 2:
            return None
        drained = self.drained_ring[rows[-1]] - self.drained_ring[rows[0]]
        total = int(drained.sum())
        return int(drained[slot]) / total if total else None


def _code(rnti: int, drb: int) -> int:
    return rnti << 8 | drb


def _slice(slots: list[int]) -> slice | None:
    """The slots as a slice, where they are one."""
    begin, end = slots[0] if slots else 0, len(slots) + (slots[0] if slots else 0)
    return slice(begin, end) if slots == list(range(begin, end)) else None
