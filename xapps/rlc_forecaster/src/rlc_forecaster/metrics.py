"""Prometheus metrics of the forecaster, read from its state at scrape time.

| metric | type | labels |
|---|---|---|
| `sojourn_forecaster_bearers` | gauge | `node`, `source` |
| `sojourn_forecaster_skill_ratio` | gauge: mean over the horizons | `node`, `quantity` |
| `sojourn_forecaster_drift_alarms_total` | counter | `node` |
| `sojourn_forecaster_node_model_info` | gauge, always 1 | `node`, `model`, `warming_up` |
| `sojourn_forecaster_skill_by_horizon_ratio` | gauge: mean over nodes, at the first and the last \
point | `quantity`, `horizon` (s) |
| `sojourn_forecaster_interval_checked_total`, `…_covered_total` | counter | `quantity` |
| `sojourn_forecaster_fallback_bearers` | gauge | `reason` |
| `sojourn_forecaster_fallbacks_total`, `…_returns_total`, `…_swaps_total` | counter | |
| `sojourn_forecaster_not_finite_total` | counter: outputs with NaN or infinity | |
| `sojourn_forecaster_reports_total` | counter | `result` |
| `sojourn_forecaster_reports_missing_total`, `…_gaps_total` | counter | |
| `sojourn_forecaster_rlc_resets_total`, `…_clock_resets_total` | counter | |
| `sojourn_forecaster_duplicate_rows_total` | counter | |
| `sojourn_forecaster_outside_training_ratio` | gauge: the three features with most | `feature` |
| `sojourn_forecaster_step_seconds` | histogram: T_m, from a report to its forecasts | |
| `sojourn_forecaster_learn_seconds` | summary: learning, after the forecasts | |
| `sojourn_forecaster_model_info` | gauge, always 1 | `model` |
| `sojourn_forecaster_model_written_timestamp_seconds` | gauge | |
| `sojourn_forecaster_model_refusals_total` | counter | |
| `sojourn_forecaster_model_missing` | gauge, 1 while one is set and none is served | |
| `sojourn_forecaster_model_refused_info` | gauge, 1 while the newest is not served | `reason` |
| `sojourn_forecaster_model_stale` | gauge, 0 or 1 | |
| `sojourn_forecaster_consumers` | gauge | |
| `sojourn_forecaster_batches_published_total`, `…_skipped_total` | counter | |
| `sojourn_forecaster_batches_encoded_total` | counter: once for all equal selections | |

Skill is `1 − loss(served) / loss(best simple forecaster)` with pinball loss; 0 is as good as it.
The best of adaptive persistence, quantiles of the last 0.1, 0.3 and 1 s, an exponential mean and a
ridge regression is chosen by its losses before, see :mod:`rlc_model.mix`.
Covered over checked is the share of outcomes within the outermost quantiles that were served.
Families without the label `node` are of all nodes together: what is counted there concerns the
model or the program. A scrape of one bearer has at most 60 series of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from ric.metrics import Histogram, counter, gauge, histogram, summary
from rlc_model import FEATURES

from rlc_forecaster.core import Fallback, Forecaster, Layout, Source
from rlc_forecaster.encodings import Encodings
from rlc_forecaster.hub import Hub

_P: Final = "sojourn_forecaster_"
STEP_BOUNDS_US: Final = (
    50, 100, 200, 500, 1_000, 2_000, 10_000,
)  # fmt: skip
"""Between 50 µs and 1 ms are the times for 1 and 1000 bearers."""
_OUTSIDE: Final = 3
"""Features with a series of their share outside the range of the training part."""


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
        wanted: Whether a model is to be served.
        name: The model last accepted; empty for none.
        refusals: Models not accepted, cumulative; once for each reason in turn.
        refused: Why the newest model is not accepted; empty if it is.
        retry_in_s: Wait until the newest is tried again; None if it is not.
        stale: Whether the model exceeds its maximum age.
        written_at_s: Time of its files, s since the Unix epoch.
    """

    wanted: bool = False
    name: str = ""
    refusals: int = 0
    refused: str = ""
    retry_in_s: float | None = None
    stale: bool = False
    written_at_s: float | None = None

    @property
    def missing(self) -> bool:
        """Whether naive forecasts are served in place of those of a model."""
        return self.wanted and not self.name

    def accept(self, name: str) -> None:
        """A model was accepted."""
        self.name, self.refused, self.retry_in_s, self.stale = name, "", None, False

    def refuse(self, reason: str, retry_in_s: float | None = None) -> bool:
        """The newest model is not accepted, with the wait until it is tried again if the reason
        may pass; returns whether the reason is a new one."""
        is_new = reason != self.refused
        self.refusals += is_new
        self.refused, self.retry_in_s = reason, retry_in_s
        return is_new

    def shortcoming(self) -> str | None:
        """What an operator should know of the model, as a sentence; None if there is nothing."""
        if not self.wanted or (self.name and not self.refused and not self.stale):
            return None
        served = "naive forecasts" if self.stale or not self.name else self.name
        why = self.refused or ("the model is stale" if self.stale else "the model is being tried")
        again = "" if self.retry_in_s is None else f"; tried again after {self.retry_in_s:.0f} s"
        return f"serves {served}: {why}{again}"


class Growth:
    """Sums of counts of the nodes, which begin anew with a node or its model: what they grew by
    from scrape to scrape, so that a sum never decreases."""

    def __init__(self) -> None:
        self.sums: Counter[tuple[str, ...]] = Counter()
        self._last: dict[tuple[str, tuple[str, ...]], int] = {}

    def update(self, counts: Mapping[tuple[str, tuple[str, ...]], int]) -> None:
        """The present counts of all nodes, by node and key of the sum."""
        for (node, key), count in counts.items():
            before = self._last.get((node, key), 0)
            self.sums[key] += count - before if count >= before else count
        self._last = dict(counts)


class ForecasterCollector(Collector):
    """Metric families from the engines' counters."""

    def __init__(
        self,
        engines: Mapping[str, Forecaster],
        hub: Hub,
        timings: Timings,
        model: ModelStatus,
        encodings: Encodings,
    ) -> None:
        self._encodings = encodings
        self._engines = engines
        self._hub = hub
        self._timings = timings
        self._model = model
        self._growth = Growth()

    def register(self, registry: CollectorRegistry) -> None:
        """Adds this collector to a registry."""
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """All families."""
        engines = dict(self._engines)
        self._growth.update(
            {
                (node, key): count
                for node, engine in engines.items()
                for key, count in _counts(engine).items()
            }
        )
        yield from _per_node(engines)
        yield from self._sums()
        yield from _by_horizon(engines)
        yield from self._program()

    def _sums(self) -> Iterator[Metric]:
        for name, (text, labels) in _SUMS.items():
            sums = {key[1:]: count for key, count in self._growth.sums.items() if key[0] == name}
            if not labels:
                sums = {(): sums.get((), 0)}
            yield counter(f"{_P}{name}", text, labels, sums)

    def _program(self) -> Iterator[Metric]:
        model, hub = self._model, self._hub
        for name, text, value in (
            ("consumers", "Open forecast streams.", hub.consumers),
            ("model_stale", "1 while the model exceeds its maximum age.", int(model.stale)),
            ("model_missing", "1 while a model is set and none is served.", int(model.missing)),
        ):
            yield gauge(f"{_P}{name}", text, (), {(): value})
        for name, text, value in (
            ("batches_published", "Forecast batches published.", hub.published),
            ("batches_skipped", "Forecast batches that slow consumers skipped.", hub.skipped),
            ("batches_encoded", "Messages encoded for consumers.", self._encodings.made),
            ("model_refusals", "Models that were not accepted.", model.refusals),
        ):
            yield counter(f"{_P}{name}", text, (), {(): value})
        name = model.name or "persistence"
        yield gauge(f"{_P}model_info", "The model last accepted.", ("model",), {name: 1.0})
        text = "Unix time of the files of the model, or of when training last confirmed it."
        written = {} if model.written_at_s is None else {(): model.written_at_s}
        yield gauge(f"{_P}model_written_timestamp_seconds", text, (), written)
        text, refused = "Why the newest model is not served.", {model.refused: 1.0}
        yield gauge(f"{_P}model_refused_info", text, ("reason",), refused if model.refused else {})
        text, t_m = "T_m: from an RLC report to its forecasts.", {(): self._timings.forecast}
        yield histogram(f"{_P}step_seconds", text, (), t_m)
        text = "Learning from a report, after its forecasts."
        yield summary(f"{_P}learn_seconds", text, (), {(): self._timings.learn.total_seconds})


_SUMS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "reports": ("RLC reports received.", ("result",)),
    "reports_missing": ("Missing reports.", ()),
    "gaps": ("Gaps in the series of reports.", ()),
    "duplicate_rows": ("Repeated bearers in a report.", ()),
    "rlc_resets": ("Resets of a bearer's RLC counters.", ()),
    "clock_resets": ("Changes of a node's clock.", ()),
    "swaps": ("Models that became active at a node.", ()),
    "fallbacks": ("Times a bearer fell back to persistence.", ()),
    "returns": ("Times a bearer returned to the model.", ()),
    "not_finite": ("Outputs of the model with NaN or infinity.", ()),
    "interval_checked": ("Served intervals compared with an outcome.", ("quantity",)),
    "interval_covered": ("Served intervals that contained the outcome.", ("quantity",)),
}
"""Counters of all nodes together: HELP and labels."""


def _counts(engine: Forecaster) -> dict[tuple[str, ...], int]:
    """Present counts of a node, by the name of the sum and its labels."""
    c, run = engine.counters, engine.run
    counts: dict[tuple[str, ...], int] = {
        ("reports", "used"): c.reports - c.late - c.duplicates,
        ("reports", "late"): c.late,
        ("reports", "duplicate"): c.duplicates,
        ("reports_missing",): c.missing,
        ("gaps",): c.gaps,
        ("duplicate_rows",): c.duplicate_rows,
        ("rlc_resets",): c.counter_resets,
        ("clock_resets",): c.clock_resets,
        ("swaps",): c.swaps,
        ("fallbacks",): run.skill.fallbacks,
        ("returns",): run.skill.returns,
        ("not_finite",): run.carried.not_finite if run.carried is not None else 0,
    }
    for row, quantity in enumerate(engine.layout.quantities):
        counts["interval_checked", quantity.value] = int(run.coverage.checked[row].sum())
        counts["interval_covered", quantity.value] = int(run.coverage.covered[row].sum())
    return counts


def _points(layout: Layout) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Quantity and horizon of the first and the last point as labels, with their place in the
    arrays of a layout."""
    chosen = sorted({0, layout.points - 1})
    for row, quantity in enumerate(layout.quantities):
        for point in chosen:
            yield (quantity.value, f"{layout.points_us[point] / 1e6:g}"), row, point


def _per_node(engines: Mapping[str, Forecaster]) -> Iterator[Metric]:
    bearers: dict[tuple[str, str], int] = {}
    skill: dict[tuple[str, str], float] = {}
    alarms: dict[str, int] = {}
    models: dict[tuple[str, str, str], float] = {}
    for node, engine in engines.items():
        latest, run = engine.latest, engine.run
        for source in Source:
            count = 0 if latest is None else int((latest.source == source).sum())
            bearers[node, source.name.lower()] = count
        by_point = engine.skill()
        for row, quantity in enumerate(engine.layout.quantities):
            known = by_point[row][np.isfinite(by_point[row])]
            if len(known):
                skill[node, quantity.value] = float(np.mean(known))
        alarms[node] = run.drift.alarms if run.drift is not None else 0
        name = run.model.name if run.model is not None else "persistence"
        models[node, name, engine.warming_up] = 1.0
    text = "Bearers with a forecast, by source."
    yield gauge(f"{_P}bearers", text, ("node", "source"), bearers)
    text = "Skill of forecasts against the best simple one, mean over horizons; below 0: worse."
    yield gauge(f"{_P}skill_ratio", text, ("node", "quantity"), skill)
    text = "Alarms of Page's test on the model's loss over that of the best simple forecaster."
    yield counter(f"{_P}drift_alarms", text, ("node",), alarms)
    text = "Active model and model being warmed up, per node."
    yield gauge(f"{_P}node_model_info", text, ("node", "model", "warming_up"), models)


def _by_horizon(engines: Mapping[str, Forecaster]) -> Iterator[Metric]:
    fallback: Counter[str] = Counter({reason.name.lower(): 0 for reason in list(Fallback)[1:]})
    outside: dict[str, float] = {}
    skills: dict[tuple[str, str], list[float]] = {}
    for engine in engines.values():
        latest, drift, by_point = engine.latest, engine.run.drift, engine.skill()
        for reason in list(Fallback)[1:]:
            here = 0 if latest is None else int((latest.fallback == reason).sum())
            fallback[reason.name.lower()] += here
        if drift is not None:
            for feature, share in zip(FEATURES, drift.outside.tolist(), strict=True):
                outside[feature] = max(share, outside.get(feature, 0.0))
        for names, row, point in _points(engine.layout):
            if np.isfinite(by_point[row, point]):
                skills.setdefault(names, []).append(float(by_point[row, point]))
    text = "Bearers served persistence, by reason."
    yield gauge(f"{_P}fallback_bearers", text, ("reason",), fallback)
    text = "Share of samples outside the range of the training part: the features with most."
    most = dict(sorted(outside.items(), key=lambda each: each[1], reverse=True)[:_OUTSIDE])
    yield gauge(f"{_P}outside_training_ratio", text, ("feature",), most)
    text = "Skill of forecasts against the best simple one at a horizon, mean over the nodes."
    mean = {names: sum(values) / len(values) for names, values in skills.items()}
    yield gauge(f"{_P}skill_by_horizon_ratio", text, ("quantity", "horizon"), mean)
