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
from collections.abc import Iterator, Sequence
from typing import Final

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
        subscriptions = CounterMetricFamily(
            "sojourn_e2_subscriptions",
            "RIC subscriptions by what became of them.",
            labels=("node", "ran_function", "outcome"),
        )
        for (node, oid, outcome), count in m.subscriptions.items():
            subscriptions.add_metric((node, ran_function_name(oid), outcome), count)
        yield subscriptions

    def _indications(self) -> Iterator[Metric]:
        labels = ("node", "ran_function")
        received = CounterMetricFamily(
            "sojourn_e2_indications", "Indications handed to a handler.", labels=labels
        )
        missed = CounterMetricFamily(
            "sojourn_e2_indications_missed",
            "Indications that never reached a handler.",
            labels=(*labels, "reason"),
        )
        bad = CounterMetricFamily(
            "sojourn_e2_indications_bad",
            "Indications whose message the service model refused.",
            labels=labels,
        )
        last = GaugeMetricFamily(
            "sojourn_e2_indication_last_seconds",
            "Unix time of the newest indication handled.",
            labels=labels,
        )
        latency = HistogramMetricFamily(
            "sojourn_e2_indication_latency_seconds",
            "Age of an indication along its way.",
            labels=(*labels, "leg"),
        )
        handling = HistogramMetricFamily(
            "sojourn_e2_indication_handling_seconds",
            "Time from passing an indication to the handler to its request for the next.",
            labels=labels,
        )
        for (node, oid), stats in self._metrics.indications.items():
            key = (node, ran_function_name(oid))
            received.add_metric(key, stats.received)
            missed.add_metric((*key, "gateway"), stats.missed_at_gateway)
            missed.add_metric((*key, "slow_handler"), stats.missed_by_slow_handler)
            bad.add_metric(key, stats.bad)
            last.add_metric(key, stats.last_handled_at_us / 1e6)
            for leg in ("node_to_gateway", "gateway_to_handler", "node_to_handler"):
                histogram: Histogram = getattr(stats, leg)
                latency.add_metric((*key, leg), histogram.buckets_seconds(), histogram.sum_us / 1e6)
            handling.add_metric(key, stats.handling.buckets_seconds(), stats.handling.sum_us / 1e6)
        yield from (received, missed, bad, last, latency, handling)

    def _controls(self) -> Iterator[Metric]:
        controls = CounterMetricFamily(
            "sojourn_e2_controls",
            "RIC controls by outcome.",
            labels=("node", "ran_function", "outcome"),
        )
        for (node, oid, outcome), count in self._metrics.controls.items():
            controls.add_metric((node, ran_function_name(oid), outcome), count)
        times = HistogramMetricFamily(
            "sojourn_e2_control_seconds",
            "From sending a RIC control to its outcome.",
            labels=("node", "ran_function"),
        )
        for (node, oid), histogram in self._metrics.control_time.items():
            times.add_metric(
                (node, ran_function_name(oid)), histogram.buckets_seconds(), histogram.sum_us / 1e6
            )
        yield from (controls, times)
