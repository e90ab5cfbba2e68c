"""Prometheus metrics of the SDK, read from plain counters at scrape time.

The hot path adds to integers (`IndicationStats`, `Histogram`); `GatewayCollector` turns them into
metric families at each scrape. The caller owns the registry.

| metric | type | labels |
|---|---|---|
| `sojourn_e2_gateway_connected` | gauge | |
| `sojourn_e2_gateway_connects_total`, `…_losses_total` | counter | |
| `sojourn_e2_nodes` | gauge | |
| `sojourn_e2_subscriptions_total` | counter | `node`, `ran_function`, `outcome` |
| `sojourn_e2_indications_total` | counter | `node`, `ran_function` |
| `sojourn_e2_indications_missed_total` | counter | `node`, `ran_function`, `reason` |
| `sojourn_e2_indications_bad_total` | counter | `node`, `ran_function` |
| `sojourn_e2_indication_last_seconds` | gauge (Unix time) | `node`, `ran_function` |
| `sojourn_e2_indication_latency_seconds` | histogram | `node`, `ran_function`, `leg` |
| `sojourn_e2_indication_handling_seconds` | histogram | `node`, `ran_function` |
| `sojourn_e2_controls_total` | counter | `node`, `ran_function`, `outcome` |
| `sojourn_e2_control_seconds` | histogram | `node`, `ran_function` |

`leg` is `node_to_gateway`, `gateway_to_handler` or `node_to_handler`; the clocks of three machines
are in it, with their offsets. `reason` is `gateway` (a gap in the sequence) or `slow_handler`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ric.sm import ran_function_name

LATENCY_BOUNDS_US: Final = (
    25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000,
    20_000, 50_000, 100_000, 250_000, 1_000_000,
)  # fmt: skip
"""Dense around 400 µs, what a loop within 1 ms may spend on the way to the xApp."""


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

    @property
    def count(self) -> int:
        """Observations so far."""
        return sum(self._counts)

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


def _labels(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


class IndicationStats:
    """What happened to the indications of one RAN function of one node."""

    __slots__ = (
        "bad",
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
        self.connects = 0
        self.losses = 0
        self.nodes = 0
        self.subscriptions: Counter[tuple[str, str, str]] = Counter()
        """By node, OID and outcome ("started", "lost", "refused", …)."""
        self.controls: Counter[tuple[str, str, str]] = Counter()
        """By node, OID and outcome ("acknowledged", "failed", "timeout", …)."""
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
        yield GaugeMetricFamily("sojourn_e2_nodes", "E2 nodes known.", m.nodes)
        yield counter(
            "sojourn_e2_subscriptions",
            "RIC subscriptions by outcome.",
            ("node", "ran_function", "outcome"),
            {
                (node, ran_function_name(oid), end): n
                for (node, oid, end), n in m.subscriptions.items()
            },
        )

    def _indications(self) -> Iterator[Metric]:
        labels = ("node", "ran_function")
        flows = {
            (node, ran_function_name(oid)): stats
            for (node, oid), stats in self._metrics.indications.items()
        }
        yield counter(
            "sojourn_e2_indications",
            "Indications handed to a handler.",
            labels,
            {key: stats.received for key, stats in flows.items()},
        )
        missed = {(*key, "gateway"): stats.missed_at_gateway for key, stats in flows.items()}
        missed |= {(*key, "slow_handler"): s.missed_by_slow_handler for key, s in flows.items()}
        yield counter(
            "sojourn_e2_indications_missed",
            "Indications that never reached a handler.",
            (*labels, "reason"),
            missed,
        )
        yield counter(
            "sojourn_e2_indications_bad",
            "Indications whose message the service model refused.",
            labels,
            {key: stats.bad for key, stats in flows.items()},
        )
        yield gauge(
            "sojourn_e2_indication_last_seconds",
            "Unix time of the newest indication handled.",
            labels,
            {key: stats.last_handled_at_us / 1e6 for key, stats in flows.items()},
        )
        legs = ("node_to_gateway", "gateway_to_handler", "node_to_handler")
        yield histogram(
            "sojourn_e2_indication_latency_seconds",
            "Age of an indication along its way.",
            (*labels, "leg"),
            {(*key, leg): getattr(stats, leg) for key, stats in flows.items() for leg in legs},
        )
        yield histogram(
            "sojourn_e2_indication_handling_seconds",
            "Time from passing an indication to the handler to its request for the next.",
            labels,
            {key: stats.handling for key, stats in flows.items()},
        )

    def _controls(self) -> Iterator[Metric]:
        m = self._metrics
        yield counter(
            "sojourn_e2_controls",
            "RIC controls by outcome.",
            ("node", "ran_function", "outcome"),
            {(node, ran_function_name(oid), end): n for (node, oid, end), n in m.controls.items()},
        )
        yield histogram(
            "sojourn_e2_control_seconds",
            "From sending a RIC control to its outcome.",
            ("node", "ran_function"),
            {(node, ran_function_name(oid)): time for (node, oid), time in m.control_time.items()},
        )
