"""Plan of a run: a scenario and its place in the data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run.

    Attributes:
        cell: Partition.
        mobility: Partition.
        run: Partition; unique in the plan.
        scenario: The lab's scenario in YAML, with seed and duration.
        seed: The scenario's seed.
        duration_us: Virtual time to simulate.
    """

    cell: str
    mobility: str
    run: str
    scenario: str
    seed: int
    duration_us: int

    @classmethod
    def of(
        cls, cell: str, mobility: str, run: str, scenario: Mapping[str, Any], seed: int
    ) -> RunPlan:
        """A plan from a scenario without name and seed, which are added."""
        duration_us = round(float(scenario["duration_s"]) * 1e6)
        whole = {"name": f"{cell}-{mobility}-{run}", "seed": seed, **scenario}
        text = yaml.safe_dump(whole, sort_keys=False, default_flow_style=None, width=100)
        return cls(cell, mobility, run, text, seed, duration_us)

    @property
    def name(self) -> str:
        """Name in output."""
        return f"{self.cell}/{self.mobility}/{self.run}"


def seed_of(base: int, *parts: str) -> int:
    """Seed of a part of a plan, independent of other parts."""
    digest = hashlib.sha256("/".join([str(base), *parts]).encode()).digest()
    # 53 bits are exact in every YAML reader.
    return int.from_bytes(digest[:8], "big") >> 11
