"""The newest status of the pipeline of each bearer of a node, and which bearers to look at.

Nearly all statuses repeat what is known. Their numbers go from the report to the windows as arrays;
only a bearer that shows something else, or that something happened to, costs a turn of Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from ric.sm import tc

from tc_controller.core.inputs import BearerKey, PipelineStatuses, UngreedyQueues
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.observe.rlc_windows import RlcWindows

#: Time until which a row is quiet that has to be looked at with each report.
_NEVER_QUIET: Final = 0


class PipelineViews(Mapping[BearerKey, PipelineView]):
    """The newest view of each bearer, by key; a view is made when it is asked for.

    Args:
        node_id: the node.
    """

    def __init__(self, node_id: str) -> None:
        self._node_id = node_id
        self._statuses: PipelineStatuses | None = None
        self._at_us = 0
        #: Whether the next report may have the bearers of the newest in the same rows.
        self._laid_out = False
        self._acts = False
        #: Bearer of each row of the newest report; ``None`` for a UE without C-RNTI.
        self.row_keys: Sequence[BearerKey | None] = ()
        self._rows: dict[BearerKey, int] = {}
        #: Views made so far, with the report that each is of.
        self._views: dict[BearerKey, tuple[PipelineStatuses | None, PipelineView]] = {}
        #: Queues of ungreedy flows that the newest inventory of each bearer has.
        self._in_use: dict[BearerKey, tuple[int, ...]] = {}
        #: Controller time until which a row may repeat itself without being looked at.
        self._quiet_until_us = np.zeros(0, np.int64)
        self._soonest_us = _NEVER_QUIET
        #: Bearers that something happened to since they were last looked at.
        self.touched: set[BearerKey] = set()

    @cached_property
    def _ungreedy(self) -> UngreedyQueues:
        return tc.ungreedy_queues()

    # ------------------------------------------------------------------- reports

    def take(
        self,
        at_us: int,
        statuses: PipelineStatuses,
        windows: RlcWindows,
        now_us: int,
        *,
        acts: bool,
    ) -> Sequence[int]:
        """A report: the rows to look at, in order. What ungreedy flows wait in the pipelines is
        part of the sojourns of the windows from now on.

        Args:
            at_us: node time of the report.
            statuses: its content.
            windows: of the node.
            now_us: controller time.
            acts: whether the controller decides about the bearers; when that changes, all are
                looked at.
        """
        rows = tc.status_rows(statuses, self._ungreedy)
        windows.set_pipelines_us(rows["rnti"], rows["drb"], rows["ungreedy_sojourn_us"])
        former = self._statuses
        changed = None
        if self._laid_out and former is not None and acts is self._acts:
            changed = statuses.changed_since(former)
        if changed is None:
            self._lay_out(statuses)
        self._statuses, self._at_us, self._acts = statuses, at_us, acts
        if changed is None:
            self.touched.clear()
            return range(len(self.row_keys))
        if self.touched:
            changed += [self._rows[key] for key in self.touched if key in self._rows]
            self.touched.clear()
        if now_us >= self._soonest_us:
            changed += np.flatnonzero(self._quiet_until_us <= now_us).tolist()
        return sorted(set(changed)) if changed else ()

    def _lay_out(self, statuses: PipelineStatuses) -> None:
        """Other bearers than in the last report, or in another order."""
        for key in self._rows:
            self.get(key)
        self.row_keys = [self._key(status.rnti, status.drb) for status in statuses]
        self._rows = {key: row for row, key in enumerate(self.row_keys) if key is not None}
        self._quiet_until_us = np.zeros(len(self.row_keys), np.int64)
        self._soonest_us = _NEVER_QUIET
        self._laid_out = True

    def _key(self, rnti: int | None, drb: int) -> BearerKey | None:
        return None if rnti is None else BearerKey(self._node_id, rnti, drb)

    def looked(self, quiet_until_us: Mapping[int, int]) -> None:
        """Rows were looked at: until when each may repeat itself, controller time."""
        for row, until_us in quiet_until_us.items():
            self._quiet_until_us[row] = until_us
        self._soonest_us = int(self._quiet_until_us.min(initial=np.iinfo(np.int64).max))

    # --------------------------------------------------------------------- views

    def at(self, row: int) -> PipelineView:
        """The view of a row of the newest report."""
        statuses, key = self._statuses, self.row_keys[row]
        if statuses is None:
            raise IndexError(f"row {row}; no report yet")
        used = None if key is None else self._in_use.get(key)
        return PipelineView(self._at_us, statuses[row], used)

    def get(self, key: BearerKey) -> PipelineView | None:  # type: ignore[override]
        """The newest view of a bearer; ``None`` without a status."""
        row = self._rows.get(key)
        made = self._views.get(key)
        if row is None or (made is not None and made[0] is self._statuses):
            return None if made is None else made[1]
        view = self.at(row)
        self._views[key] = self._statuses, view
        return view

    def use(self, key: BearerKey, queues: tuple[int, ...] | None) -> None:
        """Another inventory: the queues of ungreedy flows that coming statuses are read with."""
        if self._in_use.get(key) == queues:
            return
        self.get(key)
        if queues is None:
            self._in_use.pop(key, None)
        else:
            self._in_use[key] = queues
        self._ungreedy.set(key.rnti, key.drb, queues)

    def forget(self, key: BearerKey) -> None:
        """A bearer is gone."""
        if self._in_use.pop(key, None) is not None:
            self._ungreedy.set(key.rnti, key.drb, None)
        self._views.pop(key, None)
        self.touched.discard(key)
        if self._rows.pop(key, None) is not None:
            # It may be in the next report again.
            self._laid_out = False

    def __getitem__(self, key: BearerKey) -> PipelineView:
        view = self.get(key)
        if view is None:
            raise KeyError(key)
        return view

    def __iter__(self) -> Iterator[BearerKey]:
        return iter(dict.fromkeys((*self._rows, *self._views)))

    def __len__(self) -> int:
        return len(self._rows.keys() | self._views.keys())
