"""Radio utilisation from MAC or KPM reports: PRBs per second, per UE and cell."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ric.sm import mac

from tc_controller.core.inputs import KpmReport, MacReport

_WRAP = 1 << 32
_RESTART = 1 << 31
#: 28.552 §5.1.1.2, served by OAI as a count of PRBs in the period, or as a percentage.
KPM_PRB = "RRU.PrbTotDl"


@dataclass(frozen=True, slots=True)
class PrbRate:
    """Downlink PRBs per second."""

    ue: float
    cell: float


class PrbWindow:
    """Cumulative PRBs of one node's UEs over the last ``span_us`` of node time."""

    def __init__(self, span_us: int) -> None:
        self._span_us = span_us
        self._last: dict[int, int] = {}
        self._total: dict[int, int] = {}
        self._seen_us: dict[int, int] = {}
        self._cell = 0
        self._history: deque[tuple[int, int, dict[int, int]]] = deque()
        self._newest_us: int | None = None
        #: MAC reports that nobody asked about so far, the last one from before the span first.
        self._waiting: deque[MacReport] = deque()

    def mac(self, report: MacReport) -> None:
        """Add a MAC report."""
        at_us, waiting = report.collected_at_us, self._waiting
        if self._stale(at_us):
            return
        self._newest_us = at_us
        waiting.append(report)
        while len(waiting) > 1 and at_us - waiting[1].collected_at_us > self._span_us:
            # Rates are differences within the span: what was before does not matter.
            waiting.popleft()
            self._history.clear()
            self._last.clear()
            self._total.clear()
            self._seen_us.clear()

    def _count(self, report: MacReport) -> None:
        full = mac.is_full(report.message)
        present = self._left_out(report.collected_at_us) if full else {}
        ues = mac.decode(report.message).records
        for rnti, counter in zip(ues["rnti"].tolist(), ues["dl_aggr_prb"].tolist(), strict=True):
            step = (counter - self._last.get(rnti, counter)) % _WRAP
            step = 0 if step >= _RESTART else step
            self._cell += step
            self._last[rnti] = counter
            self._seen_us[rnti] = report.collected_at_us
            present[rnti] = self._total[rnti] = self._total.get(rnti, 0) + step
        self._forget_absent(present)
        self._push(report.collected_at_us, present)

    def _left_out(self, at_us: int) -> dict[int, int]:
        """UEs that a full report may leave out, as they were: they are in one of the next."""
        oldest_us = at_us - self._span_us
        return {
            rnti: total
            for rnti, total in self._total.items()
            if self._seen_us.get(rnti, 0) > oldest_us
        }

    def kpm(self, report: KpmReport) -> None:
        """Add a KPM report; UEs without the measurement count as zero.

        A percentage or an unknown unit gives no number of PRBs: the report is ignored.
        """
        if report.units.get(KPM_PRB) != "PRB" or self._stale(report.collected_at_us):
            return
        self._catch_up()
        self._newest_us = report.collected_at_us
        present = {}
        for rnti, values in report.ues.items():
            step = int(values.get(KPM_PRB, 0.0))
            self._cell += step
            present[rnti] = self._total[rnti] = self._total.get(rnti, 0) + step
        self._forget_absent(present)
        self._push(report.collected_at_us, present)

    def rate(self, rnti: int, since_us: int) -> PrbRate | None:
        """Rates after ``since_us``, or after the last report without the UE if that is later;
        ``None`` with fewer than two reports."""
        self._catch_up()
        first = last = None
        for item in reversed(self._history):
            if item[0] <= since_us or rnti not in item[2]:
                break
            first, last = item, last or item
        if first is None or last is None or last[0] == first[0]:
            return None
        span_us = last[0] - first[0]
        return PrbRate(
            ue=(last[2][rnti] - first[2][rnti]) * 1e6 / span_us,
            cell=(last[1] - first[1]) * 1e6 / span_us,
        )

    def _catch_up(self) -> None:
        while self._waiting:
            self._count(self._waiting.popleft())

    def _stale(self, at_us: int) -> bool:
        return self._newest_us is not None and at_us <= self._newest_us

    def _forget_absent(self, present: dict[int, int]) -> None:
        for rnti in [rnti for rnti in self._total if rnti not in present]:
            del self._total[rnti]
            self._last.pop(rnti, None)
            self._seen_us.pop(rnti, None)

    def _push(self, at_us: int, present: dict[int, int]) -> None:
        self._history.append((at_us, self._cell, present))
        while at_us - self._history[0][0] > self._span_us:
            self._history.popleft()
