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
| `sojourn_flexric_reports_lost_total` | counter | `node`, `ran_function` |
| `sojourn_flexric_reports_missing_total` | counter | `node`, `ran_function` |
| `sojourn_flexric_reports_bad_total` | counter | `node`, `ran_function` |
| `sojourn_flexric_report_age_seconds` | gauge | `node`, `ran_function` |
| `sojourn_flexric_report_delay_seconds` | histogram | `node`, `ran_function` |
| `sojourn_flexric_report_lag_seconds` | gauge | `node`, `ran_function` |
| `sojourn_flexric_reports_unknown_total` | counter | |
| `sojourn_flexric_indications_dropped_total` | counter | |
| `sojourn_flexric_controls_total` | counter | `node`, `outcome` |
| `sojourn_flexric_control_seconds` | histogram | `node` |
| `sojourn_flexric_controls_waiting`, `…_superseded_total` | gauge, counter | |
| `sojourn_flexric_undone_total` | counter | `node` |
| `sojourn_flexric_node_queries_total` | counter | `outcome` |

`lost` counts reports dropped in the SDK's ring, `missing` periods for which none came from the
node, `dropped` indications dropped for a slow xApp. `age` is the time since the newest report,
`delay` its time from node to SDK including the offset of the clocks, `lag` the excess over the
smallest delay: a RIC that is behind. `node_queries` counts short sessions that ask the RIC for its
nodes. `ric_state` is 1 for the current state (`ric_state.RicState` lists them), `tc_stub` is 1 for
nodes whose TC function acknowledges controls without effect, `build_info` has the FlexRIC that the
native module was built for. Where a policy names a slice for KPM,
`ran_function` is `kpm SST 2` or `kpm SST 2 SD 0x010203`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from ric.clock import Clock
from ric.metrics import Histogram
from ric.sm import ran_function_name

from flexric_bridge.report_timing import MissingReports, ReportLag
from flexric_bridge.sdk import SNssai

if TYPE_CHECKING:
    from flexric_bridge.budget import Budget


Series = dict[tuple[str, ...], float]
"""Values by labels."""


class Flow:
    """The reports of one RAN function of one node."""

    __slots__ = ("bad", "delay", "lag", "last_ns", "lost", "missing", "period_ms", "reports")

    def __init__(self) -> None:
        self.reports = 0
        self.lost = 0
        self.bad = 0
        self.last_ns = 0
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
        self.readers = 0
        self.controls: Counter[tuple[str, str]] = Counter()
        """By node and outcome ("acknowledged", "failed", "gone", …)."""
        self.control_time: dict[str, Histogram] = {}
        self.node_queries: Counter[str] = Counter()

    def flow(self, node_id: str, oid: str, kpm_slice: SNssai | None = None) -> Flow:
        """The counters of a RAN function, created on first use."""
        name = ran_function_name(oid)
        key = (node_id, name if kpm_slice is None else f"{name} {kpm_slice}")
        return self.flows.setdefault(key, Flow())

    def count_control(self, node_id: str, outcome: str, duration_us: float) -> None:
        """A control to a node ended in `outcome`."""
        self.controls[node_id, outcome] += 1
        self.control_time.setdefault(node_id, Histogram()).observe_us(duration_us)


class BridgeState:
    """Values read from the rest of the bridge at scrape time."""

    def __init__(
        self,
        budget: Budget,
        gauges: dict[str, tuple[str, Callable[[], float]]],
        counters: dict[str, tuple[str, str, Callable[[], dict[str, int]]]],
        labelled: dict[str, tuple[str, tuple[str, ...], Callable[[], Series]]],
    ) -> None:
        self.budget = budget
        self.gauges = gauges
        """Name → help text and value."""
        self.labelled = labelled
        """Name → help text, labels and values by labels."""
        self.counters = counters
        """Name → help text, label and values by label."""


class BridgeCollector(Collector):
    """Reads all values when the registry is scraped."""

    def __init__(
        self, metrics: Metrics, state: BridgeState, clock: Clock, registry: CollectorRegistry
    ) -> None:
        self._metrics = metrics
        self._state = state
        self._clock = clock
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All families with their current values."""
        yield from self._bridge()
        yield from self._reports()
        yield from self._controls()

    def _bridge(self) -> Iterator[Metric]:
        budget, metrics = self._state.budget, self._metrics
        for name, (text, read) in self._state.gauges.items():
            yield GaugeMetricFamily(f"sojourn_flexric_{name}", text, read())
        for name, (text, labels, series) in self._state.labelled.items():
            gauge = GaugeMetricFamily(f"sojourn_flexric_{name}", text, labels=labels)
            for key, value in series().items():
                gauge.add_metric(key, value)
            yield gauge
        for name, (text, label, values) in self._state.counters.items():
            family = CounterMetricFamily(f"sojourn_flexric_{name}", text, labels=(label,))
            for reason, count in values().items():
                family.add_metric((reason,), count)
            yield family
        requests = CounterMetricFamily(
            "sojourn_flexric_requests", "Requests sent to the RIC.", labels=("use",)
        )
        for use, count in budget.spent.items():
            requests.add_metric((use.value,), count)
        yield requests
        text = "Requests in one life of the RIC."
        yield GaugeMetricFamily("sojourn_flexric_request_budget", text, budget.total)
        text = "Requests left in the RIC's life."
        yield GaugeMetricFamily("sojourn_flexric_request_budget_left", text, budget.left)
        text = "SDK sessions in the RIC's life."
        yield GaugeMetricFamily("sojourn_flexric_sessions", text, budget.sessions)
        text = "Open Subscribe streams."
        yield GaugeMetricFamily("sojourn_flexric_readers", text, metrics.readers)
        text = "Indications dropped because an xApp was slow."
        yield CounterMetricFamily("sojourn_flexric_indications_dropped", text, metrics.dropped)
        text = "Reports without a subscription: it is not known yet, or was ended."
        yield CounterMetricFamily("sojourn_flexric_reports_unknown", text, metrics.unknown_reports)

    def _reports(self) -> Iterator[Metric]:
        labels = ("node", "ran_function")
        name = "sojourn_flexric_reports"
        reports = CounterMetricFamily(name, "Reports of a node.", labels=labels)
        lost = CounterMetricFamily(
            f"{name}_lost", "Reports dropped in the SDK before the bridge read them.", labels=labels
        )
        text = "Periods of a node without a report."
        missing = CounterMetricFamily(f"{name}_missing", text, labels=labels)
        bad = CounterMetricFamily(f"{name}_bad", "Reports that do not decode.", labels=labels)
        age = GaugeMetricFamily(
            "sojourn_flexric_report_age_seconds", "Time since the newest report.", labels=labels
        )
        delay = HistogramMetricFamily(
            "sojourn_flexric_report_delay_seconds", "Time from the node to the SDK.", labels=labels
        )
        lag = GaugeMetricFamily(
            "sojourn_flexric_report_lag_seconds",
            "Excess of the delay over the smallest one.",
            labels=labels,
        )
        now_ns = self._clock.monotonic_ns()
        for key, flow in self._metrics.flows.items():
            reports.add_metric(key, flow.reports)
            lost.add_metric(key, flow.lost)
            missing.add_metric(key, flow.missing.count)
            bad.add_metric(key, flow.bad)
            if flow.last_ns:
                age.add_metric(key, (now_ns - flow.last_ns) / 1e9)
            delay.add_metric(key, flow.delay.buckets_seconds(), flow.delay.sum_us / 1e6)
            lag.add_metric(key, flow.lag.us / 1e6)
        yield from (reports, lost, missing, bad, age, delay, lag)

    def _controls(self) -> Iterator[Metric]:
        controls = CounterMetricFamily(
            "sojourn_flexric_controls", "Controls to a node by outcome.", labels=("node", "outcome")
        )
        for key, count in self._metrics.controls.items():
            controls.add_metric(key, count)
        times = HistogramMetricFamily(
            "sojourn_flexric_control_seconds", "Round trip of a control.", labels=("node",)
        )
        for node, histogram in self._metrics.control_time.items():
            times.add_metric((node,), histogram.buckets_seconds(), histogram.sum_us / 1e6)
        yield from (controls, times)
