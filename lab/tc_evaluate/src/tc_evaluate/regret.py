"""Regret: the controller against the best static template of each situation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tc_evaluate.axes import AXES, Axis, Point, Regret, front, geometric_mean, regret, shared_axes
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
    #: Axes that all arms have.
    axes: tuple[Axis, ...]
    #: The axes of each arm, means over the seeds.
    points: dict[str, Point]
    #: Templates that no other dominates.
    front: frozenset[str]
    #: Regret of each arm against the templates.
    regrets: dict[str, Regret]
    #: Power of all flows of each arm over that of the best template.
    relative_power_of_all: dict[str, float]

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
            powers = [seed[name].power for name in arms if name not in (CONTROLLER, NONE)]
            best = max(powers, default=0.0)
            ratios.append(seed[arm].power / best if best else 0.0)
        relative[arm] = geometric_mean(ratios)
    templates = [arm for arm in arms if arm not in (CONTROLLER, NONE)]
    results = {arm: tuple(seed[arm] for seed in seeds) for arm in arms}
    points = {arm: _point(each) for arm, each in results.items()}
    axes = shared_axes(points.values())
    static = {arm: points[arm] for arm in templates}
    of_all = {arm: _power_of_all(each) for arm, each in results.items()}
    most = max((of_all[arm] for arm in templates), default=0.0)
    return Comparison(
        situation=situation,
        relative_power=relative,
        best=max(templates, key=lambda arm: relative[arm], default=""),
        results=results,
        axes=axes,
        points=points,
        front=front(static, axes),
        regrets={
            arm: regret(point, {name: static[name] for name in static if name != arm}, axes)
            for arm, point in points.items()
        },
        relative_power_of_all={arm: power / most if most else 0.0 for arm, power in of_all.items()},
    )


def _point(results: Sequence[Result]) -> Point:
    """Means over the seeds of the axes that each has."""
    point = {}
    for axis in AXES:
        values = [
            None if result.measures is None else getattr(result.measures, axis.name)
            for result in results
        ]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            point[axis.name] = math.fsum(known) / len(known)
    return point


def _power_of_all(results: Sequence[Result]) -> float:
    return geometric_mean([0.0 if r.measures is None else r.measures.power_of_all for r in results])
