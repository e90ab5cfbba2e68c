"""Prometheus metrics of the SDK, read from plain counters at scrape time.

The hot path adds to integers (`IndicationStats`, `Histogram`); `GatewayCollector` turns them into
metric families at each scrape. The caller owns the registry.

| metric | type | labels |
|---|---|---|
| `sojourn_e2_gateway_connected` | gauge | |
| `sojourn_e2_gateway_connects_total`, `…_losses_total` | counter | |
| `sojourn_e2_nodes` | gauge | |
| `sojourn_e2_subscriptions_total` | counter | `ran_function`, `outcome` |
| `sojourn_e2_indications_total` | counter | `node` |
| `sojourn_e2_last_indication_timestamp_seconds` | gauge | `node` |
| `sojourn_e2_indications_missed_total` | counter | `reason` |
| `sojourn_e2_indications_coalesced_total` | counter, of a reader of the newest | |
| `sojourn_e2_indications_bad_total` | counter | `ran_function` |
| `sojourn_e2_indication_latency_seconds` | histogram: from the node to the handler | |
| `sojourn_e2_indication_leg_seconds` | summary: sum and count | `leg` |
| `sojourn_e2_indication_handling_seconds` | summary: sum and count | |
| `sojourn_e2_controls_total` | counter | `outcome` |
| `sojourn_e2_control_seconds` | histogram, of programs that sent a control | |
| `sojourn_process_run_queue_wait_seconds_total` | counter, Linux | |
| `sojourn_process_nice` | gauge, if the setting `nice` is there | |
| `sojourn_build_info` | gauge, always 1 | `program`, `version` |

`leg` is `node_to_gateway` or `gateway_to_handler`; the clocks of three machines are in it, with
their offsets. Only what has an objective is a histogram, which costs a series per bound. `reason`
is `gateway` (a gap in the sequence) or `slow_handler`. Only two families have a series per node:
with many nodes the number of series stays small. It is absent while the node is not connected; its
counter goes on afterwards. The rate of `run_queue_wait_seconds` is the mean number of threads that
wait for a core, which delays reports. `process_*` are those of the Prometheus client.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from ric.core_wait import CoreWaitCollector
from ric.sm import ran_function_name
from ric.version import VERSION

LATENCY_BOUNDS_US: Final = (
    100, 200, 400, 1_000, 2_000, 5_000, 20_000, 100_000, 1_000_000,
)  # fmt: skip
"""One is 400 µs, what a loop within 1 ms may spend on the way to the xApp; the last is above the
100 ms at which `SojournControlSlow` fires, which quantiles can exceed only then."""


class Histogram:
    """Counts of durations in µs; an observation costs one bisection and two additions."""

    __slots__ = ("_bounds_us", "_counts", "sum_us")

    def __init__(self, bounds_us: Sequence[int] = LATENCY_BOUNDS_US) -> None:
        self._bounds_us = bounds_us
        self._counts = [0] * (len(bounds_us) + 1)
        self.sum_us = 0.0

    def observe_us(self, duration_us: float) -> None:
        """Count one duration. Clocks that disagree may make it negative; it counts as 0."""
        if duration_us > 0:
            self._counts[bisect_left(self._bounds_us, duration_us)] += 1
            self.sum_us += duration_us
        else:
            self._counts[0] += 1

    @classmethod
    def total(cls, histograms: Iterable[Histogram]) -> Histogram:
        """The sum of histograms with the bounds of this class's default."""
        summed = cls()
        for each in histograms:
            summed._counts = [a + b for a, b in zip(summed._counts, each._counts, strict=True)]
            summed.sum_us += each.sum_us
        return summed

    @property
    def count(self) -> int:
        """Observations so far."""
        return sum(self._counts)

    @property
    def total_seconds(self) -> tuple[int, float]:
        """Observations so far and their sum in s."""
        return self.count, self.sum_us / 1e6

    def buckets_seconds(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound in s, as Prometheus wants them."""
        cumulative, buckets = 0, []
        for bound_us, count in zip(self._bounds_us, self._counts, strict=False):
            cumulative += count
            buckets.append((repr(bound_us / 1e6), float(cumulative)))
        buckets.append(("+Inf", float(cumulative + self._counts[-1])))
        return buckets


def counter(
    name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]
) -> CounterMetricFamily:
    """A family of counters; keys are label values, a bare string for one label."""
    family = CounterMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(_labels(key), value)
    return family


def gauge(
    name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]
) -> GaugeMetricFamily:
    """A family of gauges; see `counter`."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(_labels(key), value)
    return family


def histogram(
    name: str, text: str, labels: Sequence[str], values: Mapping[Any, Histogram]
) -> HistogramMetricFamily:
    """A family of histograms in s; see `counter`."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(_labels(key), value.buckets_seconds(), value.sum_us / 1e6)
    return family


def summary(
    name: str, text: str, labels: Sequence[str], values: Mapping[Any, tuple[int, float]]
) -> SummaryMetricFamily:
    """A family of summaries without quantiles from counts and sums; see `counter`."""
    family = SummaryMetricFamily(name, text, labels=labels)
    for key, (count, total) in values.items():
        family.add_metric(_labels(key), count, total)
    return family


def register_program(registry: CollectorRegistry, program: str) -> None:
    """Adds `sojourn_build_info`, the `process_*` metrics of the Prometheus client, and how long the
    process waited for a core."""
    registry.register(BuildInfo(program))
    registry.register(CoreWaitCollector())
    ProcessCollector(registry=registry)


@dataclass(eq=False)
class BuildInfo(Collector):
    """`sojourn_build_info` of a program."""

    program: str

    def collect(self) -> Iterator[Metric]:
        """The one family."""
        labels, value = ("program", "version"), {(self.program, VERSION): 1.0}
        yield gauge("sojourn_build_info", "Program and its version.", labels, value)


def _labels(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


class IndicationStats:
    """What happened to the indications of one RAN function of one node."""

    __slots__ = (
        "bad",
        "coalesced",
        "gateway_to_handler",
        "handling",
        "last_handled_at_us",
        "missed_at_gateway",
        "missed_by_slow_handler",
        "node_to_gateway",
        "node_to_handler",
        "received",
    )

    def __init__(self) -> None:
        self.received = 0
        self.bad = 0
        self.coalesced = 0
        self.missed_at_gateway = 0
        self.missed_by_slow_handler = 0
        self.last_handled_at_us = 0
        self.node_to_gateway = Histogram()
        self.gateway_to_handler = Histogram()
        self.node_to_handler = Histogram()
        self.handling = Histogram()


class GatewayMetrics:
    """Counters of one gateway client."""

    def __init__(self) -> None:
        self.connected = False
        self.problem = ""
        """What the last attempt to reach the gateway said."""
        self.connects = 0
        self.losses = 0
        self.reads_newest = False
        """Whether a subscription is read so that late indications are replaced."""
        self.nodes: set[str] = set()
        """Ids of the nodes that are connected."""
        self.subscriptions: Counter[tuple[str, str, str]] = Counter()
        """Number of subscriptions by node, OID and outcome ("started", "lost", "refused", …)."""
        self.controls: Counter[tuple[str, str, str]] = Counter()
        """Number of controls by node, OID and outcome ("acknowledged", "failed", "timeout", …)."""
        self.indications: dict[tuple[str, str], IndicationStats] = {}
        self.control_time: dict[tuple[str, str], Histogram] = {}

    def indication_stats(self, node_id: str, oid: str) -> IndicationStats:
        """The counters of one RAN function of one node, created on first use."""
        return self.indications.setdefault((node_id, oid), IndicationStats())

    def count_bad_message(self, node_id: str, oid: str) -> None:
        """An xApp could not decode a message."""
        self.indication_stats(node_id, oid).bad += 1

    def count_control(self, node_id: str, oid: str, outcome: str, duration_us: float) -> None:
        """A control ended in `outcome`."""
        self.controls[node_id, oid, outcome] += 1
        self.control_time.setdefault((node_id, oid), Histogram()).observe_us(duration_us)

    @property
    def last_handled_at_us(self) -> int:
        """When the newest indication of all was handled; 0 when there was none."""
        return max((stats.last_handled_at_us for stats in self.indications.values()), default=0)


class GatewayCollector(Collector):
    """Reads `GatewayMetrics` when the registry is scraped."""

    def __init__(self, metrics: GatewayMetrics, registry: CollectorRegistry | None = None) -> None:
        self._metrics = metrics
        if registry is not None:
            registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All families, with the values of now."""
        yield from self._gateway()
        yield from self._indications()
        yield from self._controls()

    def _gateway(self) -> Iterator[Metric]:
        m = self._metrics
        yield GaugeMetricFamily(
            "sojourn_e2_gateway_connected", "1 while the E2 gateway answers.", float(m.connected)
        )
        yield CounterMetricFamily(
            "sojourn_e2_gateway_connects", "Times the E2 gateway was reached.", m.connects
        )
        yield CounterMetricFamily(
            "sojourn_e2_gateway_losses", "Times the E2 gateway was lost.", m.losses
        )
        yield GaugeMetricFamily("sojourn_e2_nodes", "E2 nodes known.", len(m.nodes))
        outcomes: Counter[tuple[str, str]] = Counter()
        for (_, oid, outcome), count in m.subscriptions.items():
            outcomes[ran_function_name(oid), outcome] += count
        labels = ("ran_function", "outcome")
        yield counter("sojourn_e2_subscriptions", "RIC subscriptions by outcome.", labels, outcomes)

    def _indications(self) -> Iterator[Metric]:
        every, connected = self._metrics.indications, self._metrics.nodes
        received: Counter[str] = Counter()
        bad: Counter[str] = Counter()
        newest_us: dict[str, int] = {}
        for (node, oid), stats in every.items():
            bad[ran_function_name(oid)] += stats.bad
            if node in connected:
                received[node] += stats.received
                newest_us[node] = max(newest_us.get(node, 0), stats.last_handled_at_us)
        text = "Indications of a node handed to a handler."
        yield counter("sojourn_e2_indications", text, ("node",), received)
        text = "Unix time of the newest indication of a node that was handled."
        handled = {node: at_us / 1e6 for node, at_us in newest_us.items() if at_us}
        yield gauge("sojourn_e2_last_indication_timestamp_seconds", text, ("node",), handled)
        missed = {
            "gateway": sum(stats.missed_at_gateway for stats in every.values()),
            "slow_handler": sum(stats.missed_by_slow_handler for stats in every.values()),
        }
        text = "Indications that never reached a handler."
        yield counter("sojourn_e2_indications_missed", text, ("reason",), missed)
        if self._metrics.reads_newest:
            text = "Indications replaced by newer ones, as the reader of the newest was late."
            coalesced = {(): sum(stats.coalesced for stats in every.values())}
            yield counter("sojourn_e2_indications_coalesced", text, (), coalesced)
        text = "Indications whose message the service model refused."
        yield counter("sojourn_e2_indications_bad", text, ("ran_function",), bad)
        text = "Age of an indication when its handler gets it."
        ages = {(): Histogram.total(stats.node_to_handler for stats in every.values())}
        yield histogram("sojourn_e2_indication_latency_seconds", text, (), ages)
        legs = {
            leg: Histogram.total(getattr(stats, leg) for stats in every.values()).total_seconds
            for leg in ("node_to_gateway", "gateway_to_handler")
        }
        text = "Time that indications took for a leg of their way."
        yield summary("sojourn_e2_indication_leg_seconds", text, ("leg",), legs)
        text = "Time from passing an indication to the handler to its request for the next."
        handling = Histogram.total(stats.handling for stats in every.values()).total_seconds
        yield summary("sojourn_e2_indication_handling_seconds", text, (), {(): handling})

    def _controls(self) -> Iterator[Metric]:
        m = self._metrics
        outcomes: Counter[str] = Counter()
        for (_, _, outcome), count in m.controls.items():
            outcomes[outcome] += count
        yield counter("sojourn_e2_controls", "RIC controls by outcome.", ("outcome",), outcomes)
        text = "From sending a RIC control to its outcome."
        times = {(): Histogram.total(m.control_time.values())} if m.control_time else {}
        yield histogram("sojourn_e2_control_seconds", text, (), times)
