"""Plan of a run: a scenario and its place in the data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml
from rlc_dataset import SeriesOrigin, TraceOrigin

UNPACED: Final = "transparent"
"""The pipeline without a pacer, which a bearer has if the scenario names none."""


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
        series: Radio and kind of each bearer.
        traces: The parts of recorded radios that are replayed.
        files: Name and text of each file that the scenario names.
    """

    cell: str
    mobility: str
    run: str
    scenario: str
    seed: int
    duration_us: int
    series: tuple[SeriesOrigin, ...] = ()
    traces: tuple[TraceOrigin, ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        cell: str,
        mobility: str,
        run: str,
        scenario: Mapping[str, Any],
        seed: int,
        *,
        traces: Sequence[TraceOrigin] = (),
        files: Mapping[str, str] | None = None,
    ) -> RunPlan:
        """A plan from a scenario without name and seed, which are added.

        With `traces`, which are of one radio, this is the radio of all bearers, else the cell.
        """
        duration_us = round(float(scenario["duration_s"]) * 1e6)
        whole = {"name": f"{cell}-{mobility}-{run}", "seed": seed, **scenario}
        text = yaml.safe_dump(whole, sort_keys=False, default_flow_style=None, width=100)
        series = tuple(
            SeriesOrigin(
                ue=ue["rnti"],
                drb=drb["id"],
                radio=traces[0].radio if traces else cell,
                bearer_kind="unpaced" if drb.get("pipeline", UNPACED) == UNPACED else "paced",
            )
            for ue in scenario["ues"]
            for drb in ue["drbs"]
        )
        parts = tuple(sorted((files or {}).items()))
        return cls(cell, mobility, run, text, seed, duration_us, series, tuple(traces), parts)

    @property
    def name(self) -> str:
        """Name in output."""
        return f"{self.cell}/{self.mobility}/{self.run}"


def seed_of(base: int, *parts: str) -> int:
    """Seed of a part of a plan, independent of other parts."""
    digest = hashlib.sha256("/".join([str(base), *parts]).encode()).digest()
    # 53 bits are exact in every YAML reader.
    return int.from_bytes(digest[:8], "big") >> 11
