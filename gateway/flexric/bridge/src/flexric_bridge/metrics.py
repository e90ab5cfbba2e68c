"""Prometheus metrics of the bridge, read from plain counters at scrape time.

| metric | type | labels |
|---|---|---|
| `sojourn_flexric_up` | gauge | |
| `sojourn_flexric_ric_state` | gauge | `state` |
| `sojourn_flexric_tc_stub` | gauge | `node` |
| `sojourn_flexric_build_info` | gauge | `e2ap`, `kpm`, `s_nssai` |
| `sojourn_flexric_nodes` | gauge | |
| `sojourn_flexric_restarts_total` | counter | `reason` |
| `sojourn_flexric_sessions` | gauge | |
| `sojourn_flexric_requests_total` | counter | `use` |
| `sojourn_flexric_request_budget`, `…_left` | gauge | |
| `sojourn_flexric_subscriptions` | gauge | |
| `sojourn_flexric_readers` | gauge | |
| `sojourn_flexric_reports_total` | counter | `node`, `ran_function` |
| `sojourn_flexric_reports_lost_total` | counter | `node` |
| `sojourn_flexric_reports_missing_total` | counter | `node`, `ran_function` |
| `sojourn_flexric_reports_bad_total` | counter | `node` |
| `sojourn_flexric_reports_full_total` | counter | `node`, `ran_function` |
| `sojourn_flexric_last_report_timestamp_seconds` | gauge | `node` |
| `sojourn_flexric_report_delay_seconds` | histogram | |
| `sojourn_flexric_report_lag_seconds` | gauge | `node` |
| `sojourn_flexric_reports_unknown_total` | counter | |
| `sojourn_flexric_indications_dropped_total`, `…_coalesced_total` | counter | |
| `sojourn_flexric_controls_total` | counter | `outcome` |
| `sojourn_flexric_control_seconds` | histogram | |
| `sojourn_flexric_controls_waiting`, `…_superseded_total` | gauge, counter | |
| `sojourn_flexric_undone_total` | counter | `node` |
| `sojourn_flexric_node_queries_total` | counter | `outcome` |

`lost` counts reports dropped in the SDK's ring, `missing` periods for which none came from the
node, `dropped` indications dropped for a slow xApp, `coalesced` those replaced by newer ones.
`full` counts RLC and MAC reports without room for another bearer or UE within FlexRIC's 32 KiB: the
node reports the others in turn. `delay` is the time of a report from node to SDK including the
offset of the clocks, `lag` the excess over the smallest delay, of the RAN function that lags most:
a RIC that is behind. `node_queries` counts short sessions that ask the RIC for its nodes.
`ric_state` is 1 for the current state (`ric_state.RicState` lists them), `tc_stub` is 1 for nodes
whose TC function acknowledges controls without effect, `build_info` has the FlexRIC that the native
module was built for. Where a policy names a slice for KPM, `ran_function` is `kpm SST 2` or `kpm
SST 2 SD 0x010203`; of a node with E2SM-TC v1 it is `tc_v1 pipeline_status each 10 ms`, for each
subscription. Series with `node` are absent while the node is not connected; their counters go on
afterwards.
"""

from __future__ import annotations

from collections import Counter

from ric.metrics import Histogram
from ric.sm import ran_function_name

from flexric_bridge.report_timing import MissingReports, ReportLag


class Flow:
    """The reports of one RAN function of one node."""

    __slots__ = (
        *("bad", "delay", "full", "lag", "last_ns", "lost", "message_bytes", "missing"),
        "period_ms",
        "reports",
    )

    def __init__(self) -> None:
        self.reports = 0
        self.lost = 0
        self.bad = 0
        self.full = 0
        self.last_ns = 0
        self.message_bytes = 0
        """Size of the newest report."""
        self.period_ms = 0
        self.delay = Histogram()
        self.lag = ReportLag()
        self.missing = MissingReports()


class Metrics:
    """Counters the bridge writes and the collector reads."""

    def __init__(self) -> None:
        self.flows: dict[tuple[str, str], Flow] = {}
        self.unknown_reports = 0
        self.bad_blocks = 0
        self.dropped = 0
        self.coalesced = 0
        self.readers = 0
        self.controls = Counter(acknowledged=0, failed=0)
        """Number of controls by outcome ("acknowledged", "failed", "gone", …)."""
        self.control_time = Histogram()
        self.node_queries = Counter(answered=0, failed=0)

    def flow(self, node_id: str, oid: str, variant: object = None) -> Flow:
        """The counters of a RAN function, of KPM for a slice and of TC v1 for a selection, created
        on first use."""
        name = ran_function_name(oid)
        key = (node_id, name if variant is None else f"{name} {variant}")
        return self.flows.setdefault(key, Flow())

    def count_control(self, outcome: str, duration_us: float) -> None:
        """A control ended in `outcome`."""
        self.controls[outcome] += 1
        self.control_time.observe_us(duration_us)
