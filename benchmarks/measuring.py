"""Parts that benchmarks share: processes, percentiles, results."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def cpu_s(pid: int) -> float:
    """CPU time of a process, s; NaN if it has ended."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """p50 and p99; NaN without values."""
    if not len(values):
        return float("nan"), float("nan")
    return float(np.percentile(values, 50)), float(np.percentile(values, 99))


def write(folder: Path | None, name: str, result: object) -> None:
    """Writes a result as JSON, if there is a folder."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(result, indent=2) + "\n")
