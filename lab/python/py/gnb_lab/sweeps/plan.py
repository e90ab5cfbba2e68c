"""The runs of axes and seeds, all checked before the first begins."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gnb_lab._native import Scenario, ScenarioError
from gnb_lab.results import SweepError
from gnb_lab.sweeps.axis import Axis, canonical, label

DEFAULT_MAX_RUNS: Final = 10_000
"""Runs of a sweep unless more are allowed."""
_MAX_NAME: Final = 120
"""Longest readable part of a folder's name."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a sweep.

    Attributes:
        values: Value of each axis.
        seed: Seed of the run.
        name: Name of its folder.
        combination: The scenario with the values, but for the seed.
    """

    values: tuple[Any, ...]
    seed: int
    name: str
    combination: Scenario

    def scenario(self) -> Scenario:
        """The scenario of the run."""
        return self.combination.replaced([("seed", self.seed)])


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of a sweep in order: the last axis varies fastest, then the seed.

    Attributes:
        axes: Elements that vary.
        base: The scenario without their values.
        runs: All runs.
    """

    axes: tuple[Axis, ...]
    base: Scenario
    runs: tuple[Run, ...]


def plan(
    scenario: Path,
    axes: Sequence[Axis],
    *,
    seeds: int = 1,
    overrides: Mapping[str, Any] | None = None,
    max_runs: int = DEFAULT_MAX_RUNS,
) -> Plan:
    """Reads a scenario and checks every combination of values.

    Args:
        scenario: Its file.
        axes: Elements that vary.
        seeds: Per combination of values, from the scenario's seed on.
        overrides: Elements replaced in all runs, by path.
        max_runs: Most runs.

    Raises:
        SweepError: Axes that contradict each other or make too many runs; a scenario or a value
            that the model refuses.
    """
    _check(axes, seeds, max_runs)
    paths = [axis.path for axis in axes]
    runs: list[Run] = []
    try:
        base = Scenario.read(scenario).replaced(list((overrides or {}).items()))
        for values in itertools.product(*(axis.values for axis in axes)):
            combination, first = base.varied(list(zip(paths, values, strict=True)))
            for repeat in range(seeds):
                seed = (first + repeat) % (1 << 64)
                runs.append(Run(values, seed, _folder_name(paths, values, seed), combination))
    except ScenarioError as error:
        raise SweepError(str(error), is_input=True) from error
    return Plan(tuple(axes), base, tuple(runs))


def _check(axes: Sequence[Axis], seeds: int, max_runs: int) -> None:
    paths = [axis.path for axis in axes]
    if "seed" in paths:
        message = "--over: seed: use --seeds N, and --seed S for the first"
        raise SweepError(message, is_input=True)
    if twice := [path for path in paths if paths.count(path) > 1]:
        raise SweepError(f"--over: {twice[0]}: is given twice", is_input=True)
    sizes = [len(axis.values) for axis in axes]
    if (runs := math.prod(sizes) * seeds) > max_runs:
        message = f"{' × '.join(map(str, sizes))} values and {seeds} seeds are {runs} runs"
        raise SweepError(f"--over: {message}; at most {max_runs} (--max-runs)", is_input=True)


def _folder_name(paths: Sequence[str], values: Sequence[Any], seed: int) -> str:
    """Readable, the same in every call, different for different runs."""
    settings = dict(zip(paths, values, strict=True))
    readable = "".join(f"{path.split('.')[-1]}={label(settings[path])}," for path in paths)
    plain = re.sub(r"[^a-zA-Z0-9._=,-]", "_", readable)[:_MAX_NAME]
    digest = hashlib.sha256(canonical(settings).encode()).hexdigest()
    return f"{plain}seed={seed}-{digest[:8]}"
