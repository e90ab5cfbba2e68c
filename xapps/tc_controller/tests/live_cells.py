"""Many bearers with made reports, for the live page: a few of each node are slow."""

from __future__ import annotations

import numpy as np
from ric.health import Condition
from ric.sm import rlc
from tc_controller.core.actions import WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import NodeDown, NodeUp, PipelineReport, RlcReport
from tc_controller.live.decisions import RecentDecisions
from tc_controller.live.feed import Feed
from tc_controller.policy_file import parse_policy
from tc_world import statuses

POLICY = """
version: 1
rules:
  - {name: embb, base: [{template: low_latency}]}
"""
_REPORTS_PER_S = 20
#: Head of line of a bearer by its number, ms; the rest wander between 1 and 8 ms.
_SLOW_MS = {3: 240.0, 17: 36.0, 40: 13.0, 41: 9.0}
_STALLED, _IDLE = 5, (7, 8, 9)


class Cells:
    """Nodes of so many bearers each, and the feed of a controller that watches them.

    The controller observes: decisions of 1000 bearers are not the subject.
    """

    def __init__(self, nodes: int, bearers: int, now_us: int, owner: str = "") -> None:
        self.controller = Controller(parse_policy(POLICY), acting=False, owner=owner)
        self.decisions = RecentDecisions()
        self.conditions = {"gateway": Condition(True, "connected")}
        self.feed = Feed(self.controller, self.decisions, lambda: self.conditions, {}, 300)
        self.names = [f"gnb-{number:03}" for number in range(1, nodes + 1)]
        self._random = np.random.default_rng(1)
        self._rows = rlc.zeros(bearers)
        self._rows["rnti"] = 0x4601 + np.arange(bearers)
        self._rows["rbid"] = 1
        self._drift_ms = np.full((nodes, bearers), 4.0)
        self._silent: set[str] = set()
        self._status = statuses(*(_status(int(rnti)) for rnti in self._rows["rnti"]))
        self.now_us = now_us
        for name in self.names:
            self.controller.on_node_event(now_us, NodeUp(name, {}))

    def second(self, now_us: int) -> None:
        """A second of reports, up to ``now_us``."""
        for step in range(_REPORTS_PER_S):
            at_us = now_us - (_REPORTS_PER_S - 1 - step) * 1_000_000 // _REPORTS_PER_S
            for index, name in enumerate(self.names):
                if name not in self._silent:
                    self._report(index, name, at_us)
            for action in self.controller.on_tick(at_us):
                if isinstance(action, WriteRecord):
                    self.decisions.add(action.record)
        self.now_us = now_us

    def silence(self, name: str) -> None:
        """The node sends no more reports."""
        self._silent.add(name)

    def rename(self, name: str, to: str) -> None:
        """The node goes, and comes as another."""
        self.disconnect(name)
        self.names.append(to)
        self.controller.on_node_event(self.now_us, NodeUp(to, {}))

    def disconnect(self, name: str) -> None:
        """The node goes."""
        self.names.remove(name)
        self.controller.on_node_event(self.now_us, NodeDown(name))

    def _report(self, index: int, name: str, at_us: int) -> None:
        rows, drift_ms = self._rows, self._drift_ms[index]
        drift_ms += self._random.normal(0.0, 0.3, drift_ms.size)
        np.clip(drift_ms, 1.0, 8.0, out=drift_ms)
        wait_ms = drift_ms.copy()
        for number, slow_ms in _SLOW_MS.items():
            if number < wait_ms.size:
                wait_ms[number] = slow_ms * (0.9 + 0.05 * drift_ms[number])
        rows["txsdu_wt_us"] = rows["txsdu_avg_time_to_tx"] = wait_ms * 1000
        rows["txbuf_occ_bytes"] = wait_ms * 2_000
        rows["txpdu_bytes"] += (50_000 * (1 + drift_ms)).astype(np.uint32)
        for number in _IDLE:
            if number < wait_ms.size:
                rows["txsdu_wt_us"][number] = rows["txbuf_occ_bytes"][number] = 0
                rows["txpdu_bytes"][number] = 0
        if wait_ms.size > _STALLED:
            rows["txpdu_bytes"][_STALLED] = 0
        self.controller.on_indication(at_us, RlcReport(name, at_us, rlc.encode(rows, at_us)))
        self.controller.on_indication(at_us, PipelineReport(name, at_us, self._status))


def _status(rnti: int) -> dict[str, object]:
    return {
        "bearer": {"ue": {"rnti": rnti}, "drb": 1},
        "revision": 2,
        "name": "low_latency",
        "digest": None,
        "safe": True,
        "owner": None,
        "lease_left_ms": None,
        "head_of_line_age_us": 0,
        "queues": [],
        "pacer": {"drain_kbps": 0, "rlc_occupancy_bytes": 0, "forwarded_bytes": 0},
        "ingress_packets": 0,
        "ingress_bytes": 0,
        "dropped_packets": 0,
    }
