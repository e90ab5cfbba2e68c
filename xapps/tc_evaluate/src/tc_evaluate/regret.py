"""Regret: the controller against the best static template of each situation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tc_evaluate.run import CONTROLLER, NONE, Result


@dataclass(frozen=True, slots=True)
class Comparison:
    """The arms of one situation, means over its seeds."""

    situation: str
    #: Power of each arm over that of the best template; geometric means over the seeds.
    relative_power: dict[str, float]
    #: The template whose mean relative power is highest.
    best: str
    results: dict[str, tuple[Result, ...]]

    def mean(self, arm: str, name: str) -> float:
        """Mean of a figure over the seeds."""
        values = [float(getattr(result, name)) for result in self.results[arm]]
        return math.fsum(values) / len(values)


def compare(results: Iterable[Result]) -> list[Comparison]:
    """One comparison a situation, in the order of the first result of each."""
    grouped: dict[str, dict[int, dict[str, Result]]] = defaultdict(lambda: defaultdict(dict))
    for result in results:
        grouped[result.situation][result.seed][result.arm] = result
    return [_compare(name, list(seeds.values())) for name, seeds in grouped.items()]


def _compare(situation: str, seeds: Sequence[dict[str, Result]]) -> Comparison:
    arms = [arm for arm in seeds[0] if all(arm in seed for seed in seeds)]
    relative = {}
    for arm in arms:
        ratios = []
        for seed in seeds:
            static = [seed[name].power for name in arms if name not in (CONTROLLER, NONE)]
            best = max(static, default=0.0)
            ratios.append(seed[arm].power / best if best else 0.0)
        relative[arm] = geometric_mean(ratios)
    templates = [arm for arm in arms if arm not in (CONTROLLER, NONE)]
    return Comparison(
        situation=situation,
        relative_power=relative,
        best=max(templates, key=lambda arm: relative[arm], default=""),
        results={arm: tuple(seed[arm] for seed in seeds) for arm in arms},
    )


def geometric_mean(values: Sequence[float]) -> float:
    """0 if a value is 0 or none is given."""
    if not values or min(values) <= 0.0:
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))
