"""Gauges of trials: the effect of the base with its interval, blocks, state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric
from ric.metrics import gauge

from tc_controller.core.trials.effect import Effect
from tc_controller.core.trials.run import Phase, TrialRun

Runs = Iterable[tuple[str, str, TrialRun]]


def trial_gauges(prefix: str, runs: Runs) -> Iterator[Metric]:
    """The families of the trials, given with node and rule. A bound that is not known yet is
    infinite."""
    runs = list(runs)
    effects = {(node, rule): run.effects for node, rule, run in runs}
    rates = {key: each.log_rate and each.log_rate.relative() for key, each in effects.items()}
    name, labels = f"{prefix}trial_effect_", ("node", "rule", "bound")
    yield gauge(
        f"{name}sojourn_seconds",
        "Sojourn under the base less that under the pipeline it is tried against.",
        labels,
        _bounds({key: each.sojourn_us for key, each in effects.items()}, 1e-6),
    )
    yield gauge(
        f"{name}rate_ratio",
        "Drained rate under the base, relative to the pipeline it is tried against, less 1.",
        labels,
        _bounds(rates, 1.0),
    )
    yield gauge(
        f"{name}drops_per_megabyte",
        "Packets dropped per MB drained under the base, less those of the pipeline it is tried "
        "against.",
        labels,
        _bounds({key: each.drops_per_mb for key, each in effects.items()}, 1.0),
    )
    yield gauge(
        f"{prefix}trial_blocks",
        "Pairs of periods, or periods of a trial of bearers, that gave a result.",
        ("node", "rule"),
        {(node, rule): run.results.blocks for node, rule, run in runs},
    )
    yield gauge(
        f"{prefix}trial_state",
        "1: the trial is in this state.",
        ("node", "rule", "state"),
        {
            (node, rule, phase.value): int(run.phase is phase)
            for node, rule, run in runs
            for phase in Phase
        },
    )


def _bounds(
    effects: dict[tuple[str, str], Effect | None], scale: float
) -> dict[tuple[str, ...], float]:
    return {
        (*key, bound): getattr(effect, bound) * scale
        for key, effect in effects.items()
        if effect is not None
        for bound in ("estimate", "low", "high")
    }
