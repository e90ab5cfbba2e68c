"""Parts that benchmarks share: processes, percentiles, tables, results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def cpu_s(pid: int) -> float:
    """CPU time of a process, s; NaN if it has ended."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fixed_loop_s(runs: int = 5) -> float:
    """Least CPU time of a fixed loop of Python on this machine: the reference of CPU times."""
    spent_s = []
    for _ in range(runs):
        began_s, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number & 7
        spent_s.append(time.process_time() - began_s)
    return min(spent_s)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that never wait for anything, as `stress --cpu` starts them."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def busy_s() -> float:
    """CPU time of all processes and the kernel since the start of this machine, s."""
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int, key: str = "VmRSS") -> float:
    """Resident memory of a process; with `VmHWM`, the most it has had."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(key)) / 1024


def counted(text: str, name: str) -> float:
    """Sum of a metric over its series."""
    found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """p50 and p99; NaN without values."""
    if not len(values):
        return float("nan"), float("nan")
    return float(np.percentile(values, 50)), float(np.percentile(values, 99))


def show(rows: Sequence[DataclassInstance | Mapping[str, object]]) -> None:
    """Prints records of one kind as a table in Markdown: a column for each of their fields."""
    if not rows:
        return
    records = [dict(row) if isinstance(row, Mapping) else asdict(row) for row in rows]
    head = [name.replace("_", " ") for name in records[0]]
    lines = [head, *([shown(value) for value in record.values()] for record in records)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        cells = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("|", " | ".join(cells), "|")


def shown(value: object) -> str:
    """A cell of a table: numbers with four significant digits, lists without brackets."""
    match value:
        case None:
            return "–"
        case float():
            return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
        case Mapping():
            return ", ".join(f"{name} {shown(each)}" for name, each in value.items())
        case list() | tuple():
            return ", ".join(map(shown, value))
    return str(value)


def write(folder: Path | None, name: str, result: object) -> None:
    """Writes a result as JSON, if there is a folder."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(result, default=asdict, indent=2) + "\n")
