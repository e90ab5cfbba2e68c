"""Prometheus metrics of the forecaster, read from its state at scrape time.

| metric | type | labels |
|---|---|---|
| `sojourn_forecaster_step_seconds` | histogram: T_m, from a report to its forecasts | |
| `sojourn_forecaster_learn_seconds` | histogram: learning, after the forecasts | |
| `sojourn_forecaster_bearers` | gauge | `node`, `source` |
| `sojourn_forecaster_fallback_bearers` | gauge | `node`, `reason` |
| `sojourn_forecaster_fallbacks_total`, `…_returns_total` | counter | `node` |
| `sojourn_forecaster_not_finite_total` | counter: outputs with NaN or infinity | `node` |
| `sojourn_forecaster_reports_total` | counter | `node`, `result` |
| `sojourn_forecaster_reports_missing_total`, `…_gaps_total` | counter | `node` |
| `sojourn_forecaster_counter_resets_total`, `…_clock_resets_total` | counter | `node` |
| `sojourn_forecaster_duplicate_rows_total` | counter | `node` |
| `sojourn_forecaster_skill_ratio` | gauge | `node`, `quantity`, `horizon` (s) |
| `sojourn_forecaster_interval_checked_total`, `…_covered_total` | counter | the same |
| `sojourn_forecaster_drift_alarms_total` | counter | `node` |
| `sojourn_forecaster_outside_training_ratio` | gauge | `node`, `feature` |
| `sojourn_forecaster_model_info` | gauge, always 1 | `model` |
| `sojourn_forecaster_node_model_info` | gauge, always 1 | `node`, `model`, `warming_up` |
| `sojourn_forecaster_model_refusals_total` | counter | |
| `sojourn_forecaster_model_refused_info` | gauge, 1 while the newest is refused | `reason` |
| `sojourn_forecaster_model_stale` | gauge, 0 or 1 | |
| `sojourn_forecaster_consumers` | gauge | |
| `sojourn_forecaster_batches_published_total`, `…_skipped_total` | counter | |

Skill is `1 − loss(model) / loss(persistence)` with pinball loss; 0 is as good as persistence.
Covered over checked is the share of outcomes within the outermost quantiles that were served. The
counters of a model (fallbacks, coverage, drift) restart with the next model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

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
from rlc_model import FEATURES

from rlc_forecaster.core import Fallback, Forecaster, Source
from rlc_forecaster.hub import Hub

STEP_BOUNDS_US: Final = (
    10, 20, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1_000, 1_500,
    2_000, 3_000, 5_000, 10_000, 50_000,
)  # fmt: skip
"""Dense around 60 µs and 1 ms, the times for 1 and 1000 bearers."""


def _histogram() -> Histogram:
    return Histogram(STEP_BOUNDS_US)


@dataclass(slots=True)
class Timings:
    """Durations.

    Attributes:
        forecast: T_m, from an RLC report until its forecasts are published.
        learn: Learning from the report, after that.
    """

    forecast: Histogram = field(default_factory=_histogram)
    learn: Histogram = field(default_factory=_histogram)


@dataclass(slots=True)
class ModelStatus:
    """Accepted and refused models.

    Attributes:
        name: The model last accepted; empty for none.
        refusals: Models refused, cumulative.
        refused: Why the newest model was refused; empty if it was accepted.
        stale: Whether the model exceeds its maximum age.
    """

    name: str = ""
    refusals: int = 0
    refused: str = ""
    stale: bool = False

    def accept(self, name: str) -> None:
        """A model was accepted."""
        self.name, self.refused, self.stale = name, "", False

    def refuse(self, reason: str) -> None:
        """A model was refused."""
        self.refusals += 1
        self.refused = reason


class ForecasterCollector(Collector):
    """Metric families from the engines' counters."""

    def __init__(
        self,
        engines: Mapping[str, Forecaster],
        hub: Hub,
        timings: Timings,
        model: ModelStatus,
    ) -> None:
        self._engines = engines
        self._hub = hub
        self._timings = timings
        self._model = model

    def register(self, registry: CollectorRegistry) -> None:
        """Adds this collector to a registry."""
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All families."""
        yield from self._per_node()
        yield from self._per_point()
        yield from self._whole()

    def _whole(self) -> Iterator[Metric]:
        model, hub = self._model, self._hub
        for name, text, value in (
            ("consumers", "Open forecast streams.", hub.consumers),
            ("model_stale", "1 while the model exceeds its maximum age.", int(model.stale)),
        ):
            yield GaugeMetricFamily(f"sojourn_forecaster_{name}", text, value)
        for name, text, value in (
            ("batches_published", "Forecast batches published.", hub.published),
            ("batches_skipped", "Forecast batches that slow consumers skipped.", hub.skipped),
            ("model_refusals", "Models that were refused.", model.refusals),
        ):
            yield CounterMetricFamily(f"sojourn_forecaster_{name}", text, value)
        info = GaugeMetricFamily(
            "sojourn_forecaster_model_info", "The model last accepted.", labels=["model"]
        )
        info.add_metric([model.name or "persistence"], 1)
        yield info
        refused = GaugeMetricFamily(
            "sojourn_forecaster_model_refused_info",
            "Why the newest model was refused.",
            labels=["reason"],
        )
        if model.refused:
            refused.add_metric([model.refused], 1)
        yield refused
        for name, text, histogram in (
            ("step", "T_m: from an RLC report to its forecasts.", self._timings.forecast),
            ("learn", "Learning from a report, after its forecasts.", self._timings.learn),
        ):
            family = HistogramMetricFamily(f"sojourn_forecaster_{name}_seconds", text)
            family.add_metric([], histogram.buckets_seconds(), histogram.sum_us / 1e6)
            yield family

    def _per_node(self) -> Iterator[Metric]:
        bearers = _gauge("bearers", "Bearers with a forecast, by source.", "source")
        fallback = _gauge("fallback_bearers", "Bearers served persistence, by reason.", "reason")
        reports = CounterMetricFamily(
            "sojourn_forecaster_reports", "RLC reports received.", labels=["node", "result"]
        )
        models = _gauge(
            "node_model_info",
            "Active model and model being warmed up, per node.",
            "model",
            "warming_up",
        )
        outside = _gauge(
            "outside_training_ratio",
            "Share of samples outside the range of the training part.",
            "feature",
        )
        counters: dict[str, CounterMetricFamily] = {}
        for node, engine in self._engines.items():
            latest = engine.latest
            for source in Source:
                count = 0 if latest is None else int((latest.source == source).sum())
                bearers.add_metric([node, source.name.lower()], count)
            for reason in list(Fallback)[1:]:
                count = 0 if latest is None else int((latest.fallback == reason).sum())
                fallback.add_metric([node, reason.name.lower()], count)
            c = engine.counters
            reports.add_metric([node, "used"], c.reports - c.late - c.duplicates)
            reports.add_metric([node, "late"], c.late)
            reports.add_metric([node, "duplicate"], c.duplicates)
            run = engine.run
            name = run.model.name if run.model is not None else "persistence"
            models.add_metric([node, name, engine.warming_up], 1)
            if run.drift is not None:
                shares = run.drift.outside.tolist()
                for feature, share in zip(FEATURES, shares, strict=True):
                    outside.add_metric([node, feature], share)
            for metric, (text, value) in _counts(engine).items():
                family = counters.setdefault(
                    metric,
                    CounterMetricFamily(f"sojourn_forecaster_{metric}", text, labels=["node"]),
                )
                family.add_metric([node], value)
        yield from (bearers, fallback, reports, models, outside, *counters.values())

    def _per_point(self) -> Iterator[Metric]:
        labels = ["node", "quantity", "horizon"]
        skill = _gauge("skill_ratio", "Skill of the model against persistence.", *labels[1:])
        checked = CounterMetricFamily(
            "sojourn_forecaster_interval_checked",
            "Served intervals compared with an outcome.",
            labels=labels,
        )
        covered = CounterMetricFamily(
            "sojourn_forecaster_interval_covered",
            "Served intervals that contained the outcome.",
            labels=labels,
        )
        for node, engine in self._engines.items():
            by_point, coverage, layout = engine.skill(), engine.run.coverage, engine.layout
            for row, quantity in enumerate(layout.quantities):
                for point in range(layout.points):
                    names = [node, quantity.value, f"{layout.horizon_us(point) / 1e6:g}"]
                    checked.add_metric(names, int(coverage.checked[row, point]))
                    covered.add_metric(names, int(coverage.covered[row, point]))
                    if by_point is not None and np.isfinite(by_point[row, point]):
                        skill.add_metric(names, float(by_point[row, point]))
        yield from (skill, checked, covered)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"sojourn_forecaster_{name}", text, labels=["node", *labels])


def _counts(engine: Forecaster) -> dict[str, tuple[str, int]]:
    counters, run = engine.counters, engine.run
    return {
        "reports_missing": ("Missing reports.", counters.missing),
        "gaps": ("Gaps in the series of reports.", counters.gaps),
        "duplicate_rows": ("Repeated bearers in a report.", counters.duplicate_rows),
        "counter_resets": ("Resets of a bearer's RLC counters.", counters.counter_resets),
        "clock_resets": ("Changes of the node's clock.", counters.clock_resets),
        "swaps": ("Models that became active.", counters.swaps),
        "fallbacks": ("Times a bearer fell back to persistence.", run.skill.fallbacks),
        "returns": ("Times a bearer returned to the model.", run.skill.returns),
        "not_finite": (
            "Outputs of the model with NaN or infinity.",
            run.carried.not_finite if run.carried is not None else 0,
        ),
        "drift_alarms": (
            "Alarms of Page's test on the ratio of the model's loss to persistence's.",
            run.drift.alarms if run.drift is not None else 0,
        ),
    }
