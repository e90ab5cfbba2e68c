"""Prometheus metrics of the forecaster, read from its state at scrape time.

| metric | type | labels |
|---|---|---|
| `sojourn_forecaster_bearers` | gauge | `node`, `source` |
| `sojourn_forecaster_reports_total` | counter | `node`, `result` |
| `sojourn_forecaster_gaps_total` | counter | `node` |
| `sojourn_forecaster_skill_ratio` | gauge | `node`, `quantity`, `horizon` (s) |
| `sojourn_forecaster_step_seconds` | histogram | |
| `sojourn_forecaster_model_info` | gauge, always 1 | `model` |
| `sojourn_forecaster_model_refusals_total` | counter | |
| `sojourn_forecaster_consumers` | gauge | |
| `sojourn_forecaster_batches_published_total`, `…_skipped_total` | counter | |

Skill is `1 − loss(model) / loss(persistence)`, pinball loss, 0 means no better than persistence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from ric.metrics import Histogram

from rlc_forecaster.core import Forecaster, Source
from rlc_forecaster.hub import Hub


class ForecasterCollector(Collector):
    """Turns the engines' counters into metric families."""

    def __init__(
        self,
        engines: Mapping[str, Forecaster],
        hub: Hub,
        step: Histogram,
        model: Callable[[], tuple[str, int]],
    ) -> None:
        """`model` answers the model's name (empty for none) and how many were refused."""
        self._engines = engines
        self._hub = hub
        self._step = step
        self._model = model

    def register(self, registry: CollectorRegistry) -> None:
        """Adds this collector to a registry."""
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All families."""
        yield from self._per_node()
        name, refused = self._model()
        yield GaugeMetricFamily(
            "sojourn_forecaster_consumers", "Open forecast streams.", self._hub.consumers
        )
        yield CounterMetricFamily(
            "sojourn_forecaster_batches_published",
            "Forecast batches handed to consumers.",
            self._hub.published,
        )
        yield CounterMetricFamily(
            "sojourn_forecaster_batches_skipped",
            "Forecast batches a slow consumer did not get.",
            self._hub.skipped,
        )
        yield CounterMetricFamily(
            "sojourn_forecaster_model_refusals", "Models that broke the contract.", refused
        )
        info = GaugeMetricFamily(
            "sojourn_forecaster_model_info", "The model in use.", labels=["model"]
        )
        info.add_metric([name or "persistence"], 1)
        yield info
        step = HistogramMetricFamily(
            "sojourn_forecaster_step_seconds", "From a report to all its forecasts."
        )
        step.add_metric([], self._step.buckets_seconds(), self._step.sum_us / 1e6)
        yield step

    def _per_node(self) -> Iterator[Metric]:
        bearers = GaugeMetricFamily(
            "sojourn_forecaster_bearers",
            "Bearers with a forecast, by who made it.",
            labels=["node", "source"],
        )
        reports = CounterMetricFamily(
            "sojourn_forecaster_reports",
            "RLC reports taken in.",
            labels=["node", "result"],
        )
        gaps = CounterMetricFamily(
            "sojourn_forecaster_gaps", "Missing reports between two.", labels=["node"]
        )
        skill = GaugeMetricFamily(
            "sojourn_forecaster_skill_ratio",
            "Skill of the model against persistence, online.",
            labels=["node", "quantity", "horizon"],
        )
        for node, engine in self._engines.items():
            latest = engine.latest
            for source in Source:
                count = 0 if latest is None else int((latest.source == source).sum())
                bearers.add_metric([node, source.name.lower()], count)
            counters = engine.counters
            late = counters.late_or_duplicate
            reports.add_metric([node, "used"], counters.reports - late)
            reports.add_metric([node, "late_or_duplicate"], late)
            gaps.add_metric([node], counters.gaps)
            by_point = engine.skill()
            if by_point is None:
                continue
            for row, quantity in enumerate(engine.layout.quantities):
                for point in range(engine.layout.points):
                    value = float(by_point[row, point])
                    if np.isfinite(value):
                        horizon = f"{engine.layout.horizon_us(point) / 1e6:g}"
                        skill.add_metric([node, quantity.value, horizon], value)
        yield from (bearers, reports, gaps, skill)
