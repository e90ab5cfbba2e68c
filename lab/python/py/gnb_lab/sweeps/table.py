"""`runs.parquet`, `runs.csv` and `runs.json`: a row per run and subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from gnb_lab._native import write_table
from gnb_lab.measures import Subject
from gnb_lab.sweeps.axis import label
from gnb_lab.sweeps.plan import Plan, Run

Kind = Literal["int", "float", "text"]
Column = tuple[str, Kind, bool, Sequence[Any]]
"""Name, type, whether a row may lack it, values."""


def write(
    out: Path, plan: Plan, outcomes: Sequence[Mapping[Subject, Mapping[str, float]] | str]
) -> None:
    """Writes the tables of all runs.

    Args:
        out: Folder of the sweep.
        plan: Its runs.
        outcomes: Measures of each subject of a run, or why the run failed.

    Raises:
        OSError: A file cannot be written.
    """
    rows: list[tuple[Run, str | None, Subject | tuple[None, None], Mapping[str, float]]] = []
    for run, outcome in zip(plan.runs, outcomes, strict=True):
        if isinstance(outcome, str):
            rows.append((run, outcome, (None, None), {}))
        else:
            rows += [(run, None, subject, values) for subject, values in outcome.items()]
    axes = [
        (axis.path, *_typed([run.values[index] for run, *_ in rows]))
        for index, axis in enumerate(plan.axes)
    ]
    seeds = _typed([run.seed for run, *_ in rows])
    # In the order of their first occurrence.
    measures = dict.fromkeys(name for *_, values in rows for name in values)
    columns: list[Column] = [
        *((path, kind, True, values) for path, kind, values in axes),
        ("seed", seeds[0], False, seeds[1]),
        ("run", "text", False, [run.name for run, *_ in rows]),
        ("error", "text", True, [error for _, error, *_ in rows]),
        ("scope", "text", True, [scope for _, _, (scope, _), _ in rows]),
        ("name", "text", True, [name for _, _, (_, name), _ in rows]),
        *((name, "float", True, [each.get(name) for *_, each in rows]) for name in measures),
    ]
    write_table(out, "runs", columns)


def _typed(values: Sequence[Any]) -> tuple[Kind, Sequence[Any]]:
    """The type that all values have, and the values in it."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return "text", [label(value) for value in values]
    is_whole = all(isinstance(value, int) and abs(value) < 1 << 63 for value in values)
    return ("int", values) if is_whole else ("float", [float(value) for value in values])
