"""The sample that is committed: three cells of the wide preset, two mobility patterns, small.

It is there for tests and the tutorial, not for a model of use.
"""

from __future__ import annotations

from typing import Final

from rlc_train.dataset import wide
from rlc_train.dataset.plan import RunPlan

CELLS: Final = ("n78-106prb-7-2", "n78-51prb-3-1", "n1-52prb-fdd")
MOBILITIES: Final = ("pedestrian", "car")


def plan(duration_s: float, seed: int) -> list[RunPlan]:
    """Six runs of one UE."""
    return [
        wide.run_plan((cell, mobility, "00"), duration_s, seed, most_ues=1)
        for cell in CELLS
        for mobility in MOBILITIES
    ]
