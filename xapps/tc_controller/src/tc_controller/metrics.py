"""Prometheus metrics of the controller, read from the core's counters at scrape time.

| metric | type | labels |
|---|---|---|
| `sojourn_controller_violations_total` | counter | `rule` |
| `sojourn_controller_decisions_total` | counter | `trigger`, `template`, `result` |
| `sojourn_controller_verdicts_total` | counter | `verdict` |
| `sojourn_controller_rollbacks_total` | counter | |
| `sojourn_controller_controls_total` | counter | `purpose`, `result` |
| `sojourn_controller_lease_renewals_total` | counter | `result` |
| `sojourn_controller_reconciliations_total` | counter | `kind` |
| `sojourn_controller_ignored_total` | counter | `reason` |
| `sojourn_controller_bearers_gone_total` | counter | |
| `sojourn_controller_bearers_watched`, `…_controlled`, `…_violating` | gauge | `node` |
| `sojourn_controller_acting` | gauge | |
| `sojourn_controller_controls_in_flight` | gauge | |
| `sojourn_controller_policy_reloads_total` | counter | `result` |
| `sojourn_controller_policy_loaded_seconds` | gauge (Unix time) | |
| `sojourn_controller_log_records_lost_total` | counter | |
| `sojourn_controller_detect_to_ack_seconds` | histogram | |
| `sojourn_controller_indication_latency_seconds` | histogram | |
| `sojourn_controller_handling_seconds` | histogram | |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from tc_controller.core.controller import Controller
from tc_controller.latency import LoopLatencies
from tc_controller.policy_source import PolicySource


class ControllerCollector(Collector):
    """Reads the controller when the registry is scraped."""

    def __init__(
        self,
        controller: Controller,
        policy: PolicySource,
        latencies: LoopLatencies,
        records_lost: Callable[[], int],
        registry: CollectorRegistry,
    ) -> None:
        self._controller = controller
        self._policy = policy
        self._latencies = latencies
        self._records_lost = records_lost
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All metric families with their present values."""
        yield from self._counters()
        yield from self._gauges()
        yield from self._histograms()

    def _counters(self) -> Iterator[Metric]:
        counters = self._controller.counters
        renewals = {
            (result,): count
            for (purpose, result), count in counters.controls.items()
            if purpose == "renew"
        }
        rollbacks = sum(
            count for (purpose, _), count in counters.controls.items() if purpose == "roll_back"
        )
        yield _counter("violations", "Violations that began.", ("rule",), counters.violations)
        yield _counter(
            "decisions",
            "Decisions by result.",
            ("trigger", "template", "result"),
            counters.decisions,
        )
        yield _counter("verdicts", "Verifications by verdict.", ("verdict",), counters.verdicts)
        yield _counter("rollbacks", "Rollbacks, answered or not.", (), {(): rollbacks})
        yield _counter("controls", "Controls by outcome.", ("purpose", "result"), counters.controls)
        yield _counter("lease_renewals", "Lease renewals by outcome.", ("result",), renewals)
        yield _counter(
            "reconciliations",
            "Pipelines in force that were not the desired ones.",
            ("kind",),
            counters.reconciliations,
        )
        yield _counter(
            "ignored", "Reports and answers that were not used.", ("reason",), counters.ignored
        )
        yield _counter(
            "bearers_gone", "Bearers that were removed.", (), {(): counters.bearers_gone}
        )
        yield _counter("policy_reloads", "Reads of the policy.", ("result",), self._policy.reloads)
        yield _counter(
            "log_records_lost", "Decision records not written.", (), {(): self._records_lost()}
        )

    def _gauges(self) -> Iterator[Metric]:
        watched = _gauge("bearers_watched", "Bearers matched by a rule.", ("node",))
        controlled = _gauge(
            "bearers_controlled", "Bearers with a pipeline of this controller.", ("node",)
        )
        violating = _gauge("bearers_violating", "Bearers above their bound.", ("node",))
        for node_id, node in list(self._controller.nodes.items()):
            bearers = list(node.bearers.values())
            watched.add_metric((node_id,), node.watched())
            controlled.add_metric((node_id,), sum(bearer.desired is not None for bearer in bearers))
            violating.add_metric((node_id,), int(node.detector.violating.sum()))
        yield from (watched, controlled, violating)
        acting = _gauge("acting", "1: acts on violations; 0: only observes.")
        acting.add_metric((), float(self._controller.acting))
        in_flight = _gauge("controls_in_flight", "Controls not answered yet.")
        in_flight.add_metric((), self._controller.controls_in_flight)
        loaded = _gauge("policy_loaded_seconds", "Unix time at which the policy in force was read.")
        loaded.add_metric((), self._policy.loaded_at_us / 1e6)
        yield from (acting, in_flight, loaded)

    def _histograms(self) -> Iterator[Metric]:
        latencies = self._latencies
        for name, text, recent in (
            (
                "detect_to_ack",
                "From the start of handling the report that triggered a decision to the answer.",
                latencies.detect_to_ack,
            ),
            ("indication_latency", "RLC report: node to xApp.", latencies.indication),
            ("handling", "Handling of one RLC report.", latencies.handling),
        ):
            family = HistogramMetricFamily(f"sojourn_controller_{name}_seconds", text)
            histogram = recent.histogram
            family.add_metric((), histogram.buckets_seconds(), histogram.sum_us / 1e6)
            yield family


def _counter(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[Any, int]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"sojourn_controller_{name}", text, labels=labels)
    for key, count in values.items():
        family.add_metric((key,) if isinstance(key, str) else key, count)
    return family


def _gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"sojourn_controller_{name}", text, labels=labels)
