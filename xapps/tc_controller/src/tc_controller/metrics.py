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

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from ric.metrics import Histogram

from tc_controller.core.controller import Controller


@dataclass(slots=True)
class ShellCounters:
    """What the shell counts itself."""

    policy_reloads: Counter[str] = field(default_factory=Counter)
    policy_loaded_at_us: int = 0
    records_lost: int = 0
    detect_to_ack: Histogram = field(default_factory=Histogram)
    indication_latency: Histogram = field(default_factory=Histogram)
    handling: Histogram = field(default_factory=Histogram)


class ControllerCollector(Collector):
    """Reads the controller when the registry is scraped."""

    def __init__(
        self, controller: Controller, shell: ShellCounters, registry: CollectorRegistry
    ) -> None:
        self._controller = controller
        self._shell = shell
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All families, with the values of now."""
        yield from self._counters()
        yield from self._gauges()
        yield from self._histograms()

    def _counters(self) -> Iterator[Metric]:
        counters, shell = self._controller.counters, self._shell
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
            "Decisions by what became of them.",
            ("trigger", "template", "result"),
            counters.decisions,
        )
        yield _counter("verdicts", "Verdicts of verifications.", ("verdict",), counters.verdicts)
        yield _counter("rollbacks", "Rollbacks answered or given up.", (), {(): rollbacks})
        yield _counter("controls", "Controls by outcome.", ("purpose", "result"), counters.controls)
        yield _counter("lease_renewals", "Lease renewals by outcome.", ("result",), renewals)
        yield _counter(
            "reconciliations", "Diverging pipelines.", ("kind",), counters.reconciliations
        )
        yield _counter("ignored", "Inputs without use.", ("reason",), counters.ignored)
        yield _counter("bearers_gone", "Bearers that went away.", (), {(): counters.bearers_gone})
        yield _counter("policy_reloads", "Reads of the policy.", ("result",), shell.policy_reloads)
        yield _counter(
            "log_records_lost", "Decision records not written.", (), {(): shell.records_lost}
        )

    def _gauges(self) -> Iterator[Metric]:
        watched = _gauge("bearers_watched", "Bearers that a rule holds for.", ("node",))
        controlled = _gauge("bearers_controlled", "Bearers with a pipeline of ours.", ("node",))
        violating = _gauge("bearers_violating", "Bearers above their bound.", ("node",))
        for node_id, node in list(self._controller.nodes.items()):
            bearers = list(node.bearers.values())
            watched.add_metric((node_id,), node.watched())
            controlled.add_metric((node_id,), sum(bearer.desired is not None for bearer in bearers))
            violating.add_metric((node_id,), int(node.detector.violating.sum()))
        yield from (watched, controlled, violating)
        acting = _gauge("acting", "1 while decisions are acted on, 0 while only watching.")
        acting.add_metric((), float(self._controller.acting))
        in_flight = _gauge("controls_in_flight", "Controls not answered yet.")
        in_flight.add_metric((), self._controller.controls_in_flight)
        loaded = _gauge("policy_loaded_seconds", "Unix time the policy in force was read.")
        loaded.add_metric((), self._shell.policy_loaded_at_us / 1e6)
        yield from (acting, in_flight, loaded)

    def _histograms(self) -> Iterator[Metric]:
        shell = self._shell
        for name, text, histogram in (
            (
                "detect_to_ack",
                "From the start of handling the report that triggered a decision to the answer.",
                shell.detect_to_ack,
            ),
            ("indication_latency", "RLC report: node to xApp.", shell.indication_latency),
            ("handling", "Handling of one RLC report.", shell.handling),
        ):
            family = HistogramMetricFamily(f"sojourn_controller_{name}_seconds", text)
            family.add_metric((), histogram.buckets_seconds(), histogram.sum_us / 1e6)
            yield family


def _counter(
    name: str,
    text: str,
    labels: tuple[str, ...],
    values: Mapping[Any, int],
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"sojourn_controller_{name}", text, labels=labels)
    for key, count in values.items():
        family.add_metric((key,) if isinstance(key, str) else key, count)
    return family


def _gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"sojourn_controller_{name}", text, labels=labels)
