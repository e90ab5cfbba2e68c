"""A comparison for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnb_lab.comparison.estimate import Estimate
from gnb_lab.comparison.sides import Comparison, Row
from gnb_lab.measures import Subject
from gnb_lab.sweeps.axis import canonical

_MAX_SUBJECTS: Final = 20
"""Subjects beyond this are in the JSON alone."""

COLUMNS: Final = {
    "goodput Mbit/s": ("goodput_mbps",),
    "sojourn mean ms": ("sojourn_mean_ms",),
    "p50": ("sojourn_p50_ms",),
    "p95": ("sojourn_p95_ms",),
    "p99": ("sojourn_p99_ms",),
    "drops": ("dropped_packets", "lost_packets"),
    "marks": ("marked_packets",),
    "in time %": ("in_time_pct",),
    "RPM": ("rpm",),
    "loaded RPM": ("loaded_rpm",),
}
"""Headings of tables, each with its measures: the first that a subject has."""


def text(comparison: Comparison) -> str:
    """A table per subject with its common measures: a row per side and another with its difference
    to the first."""
    subjects = list(comparison.by_subject())
    out = StringIO()
    console = Console(file=out, width=10_000, color_system=None)
    for subject, rows in subjects[:_MAX_SUBJECTS]:
        table = Table("run", title=Text(heading(subject)), title_justify="left", box=SIMPLE_HEAD)
        for column in COLUMNS:
            table.add_column(column, justify="right", no_wrap=True)
        for cells in lines(comparison, rows):
            table.add_row(*map(Text, cells))
        console.print(table)
    printed = [line.rstrip() for line in out.getvalue().splitlines()]
    if len(subjects) > _MAX_SUBJECTS:
        printed.append(f"and {len(subjects) - _MAX_SUBJECTS} more with --json")
    seeds = max((row.estimate.n for row in comparison.rows), default=0)
    if seeds > 1:
        printed.append(
            f"mean of up to {seeds} seeds ± 95 % confidence interval (Student's t);"
            f" differences to {comparison.sides[0].label}"
        )
    return "\n".join(line for line in printed if line)


def json(comparison: Comparison) -> str:
    """All measures as a JSON array, one per line."""
    return "[\n" + ",\n".join(map(_line, comparison.rows)) + "\n]\n"


def _line(row: Row) -> str:
    scope, name = row.subject
    return canonical(
        {
            "run": row.side.label,
            "axes": row.side.axes,
            "scope": scope,
            "name": name,
            "measure": row.measure,
            "seeds": row.estimate.n,
            "mean": row.estimate.mean,
            "ci95": row.estimate.interval,
            "difference": row.difference and row.difference.mean,
            "difference_ci95": row.difference and row.difference.interval,
        }
    )


def heading(subject: Subject) -> str:
    """What a table is of."""
    return " ".join(part for part in subject if part)


def lines(comparison: Comparison, rows: Sequence[Row]) -> Iterator[list[str]]:
    """The cells of a subject's table: label and `COLUMNS`."""
    for side in comparison.sides:
        own = [row for row in rows if row.side is side]
        if own:
            yield [side.label, *_cells(own, of_difference=False)]
            if side is not comparison.sides[0]:
                yield ["  difference", *_cells(own, of_difference=True)]


def _cells(rows: Sequence[Row], *, of_difference: bool) -> Iterator[str]:
    for measures in COLUMNS.values():
        row = next((row for row in rows if row.measure in measures), None)
        found = row and (row.difference if of_difference else row.estimate)
        yield shown(found, "+" if of_difference else "") if found else "–"


def shown(estimate: Estimate, sign: str = "") -> str:
    """A mean with its interval; `sign` goes before what is not negative."""
    mean = ("" if estimate.mean < 0 else sign) + _number(estimate.mean)
    half = estimate.half_width
    return mean if half is None else f"{mean} ± {_number(half)}"


def _number(value: float) -> str:
    """A value with enough significant digits to tell results apart."""
    digits = 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}" if value else "0"
