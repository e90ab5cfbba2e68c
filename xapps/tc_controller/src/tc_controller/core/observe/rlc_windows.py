"""The newest RLC reports of a node: sojourns, drain rates and violations of all its bearers.

Arithmetic per report is `rlc_windows`, in Rust; a bearer is a *slot* there. The sojourn of a packet
is the age of the RLC's head of line plus the sojourn of ungreedy flows in the pipeline in front of
it (`tc_controller.core.observe.pipeline_view`).
"""

from __future__ import annotations

from typing import Final, Self

from ric.late_reports import LateReports
from ric.sm import rlc
from rlc_windows import Fields, Windows

from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.schema import Objective


def _offset(field: str) -> int:
    fields = rlc.RECORD.fields
    return 0 if fields is None else int(fields[field][1])


_FIELDS: Final = Fields(
    record=rlc.RECORD.itemsize,
    pdu_bytes=_offset("txpdu_bytes"),
    occupancy_bytes=_offset("txbuf_occ_bytes"),
    mean_sojourn=_offset("txsdu_avg_time_to_tx"),
    head_of_line_age=_offset("txsdu_wt_us"),
    rnti=_offset("rnti"),
    rbid=_offset("rbid"),
    most_records=rlc.MOST_RECORDS,
)


class RlcWindows(Windows):
    """Recent RLC state of one node's bearers.

    Args:
        node_id: the node.
        depth: reports kept. Every requested window must be shorter.
        period_us: of the reports.
        gone_after: reports without a bearer after which it is gone.
    """

    node_id: str
    _late: LateReports
    #: Reports taken when the last late one came.
    _taken: int

    def __new__(
        cls, node_id: str, depth: int, period_us: int = 1_000, gone_after: int = 200
    ) -> Self:
        """Windows without reports."""
        windows = super().__new__(cls, depth, period_us, gone_after, _FIELDS)
        windows.node_id = node_id
        windows._late = LateReports()
        windows._taken = 0
        return windows

    def shows_clock_set_back(self, at_us: int) -> bool:
        """Whether a report that was late, with those before it, shows that the node's clock was set
        back: these windows then take no report until it has caught up."""
        if self._taken != self.reports:
            self._taken = self.reports
            self._late.clear()
        is_duplicate = at_us in self._late or self.has(at_us)
        return not is_duplicate and self._late.shows_clock_set_back(at_us)

    def slot(self, key: BearerKey) -> int | None:
        """Slot of a bearer."""
        return self.slot_of(key.rnti << 8 | key.drb)

    def forget(self, key: BearerKey) -> None:
        """Free the slot of a bearer that is gone."""
        self.free(key.rnti << 8 | key.drb)

    def key(self, code: int) -> BearerKey:
        """Bearer of a code."""
        return BearerKey(self.node_id, code >> 8, code & 0xFF)

    def key_at(self, slot: int) -> BearerKey | None:
        """Bearer of a slot; ``None`` where it is free."""
        code = self.code_at(slot)
        return None if code is None else self.key(code)

    def promise(self, slot: int, objective: Objective | None) -> None:
        """Watch a slot for violations of an objective; ``None`` stops that."""
        if objective is None:
            self.watch(slot, None)
            return
        self.watch(
            slot,
            (
                objective.bound_ms,
                objective.percentile,
                objective.window_ms,
                objective.confirm_ms,
                objective.clear_ratio,
                objective.clear_ms,
            ),
        )
