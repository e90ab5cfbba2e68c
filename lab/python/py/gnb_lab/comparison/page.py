"""A comparison as one page: distributions, series over time, tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sojourn_report import Column, Key, Note, Plot, Plots, Section, Table, plain
from sojourn_report import page as report_page
from sojourn_report.colours import LINES

from gnb_lab._native import __version__
from gnb_lab.comparison.sides import Comparison, Row, Side
from gnb_lab.comparison.text import COLUMNS, heading, lines, shown
from gnb_lab.measures import Distribution, RecordedRun, Subject

_MAX_LINES: Final = 10
"""Sides in a plot: as many as there are colours."""
_MAX_FLOWS: Final = 8
"""Flows with a plot of their own."""
_MAX_SUBJECTS: Final = 50
"""Subjects with tables; the others are in the JSON alone."""
Bins = tuple[int, NDArray[np.float64]]
"""Width of a bin in µs and values from virtual time 0 on."""
Points = tuple[Sequence[float], Sequence[float]]


def page(comparison: Comparison) -> str:
    """Plots and tables as a page without external resources."""
    first = comparison.sides[0].label
    lead = (
        f"gnb-lab {__version__}. Means over the seeds ± 95 % confidence interval (Student's t)."
        f" Differences are to {first}; where both sides have the same seeds, they are means over"
        " pairs of equal seeds."
    )
    sides = comparison.sides[:_MAX_LINES]
    notes = [Note(f"Plots show the first {_MAX_LINES} of {len(comparison.sides)}.", muted=True)]
    notes *= len(comparison.sides) > _MAX_LINES
    drawn: list[Plot] = []
    for subject in _plotted(comparison):
        cdfs = [_cdf(side, subject) for side in sides]
        if any(xs for xs, _ in cdfs):
            units = ("ms", "share of packets")
            drawn.append(_plot(f"Sojourn time, {heading(subject)}", units, sides, cdfs, log_x=True))
    over_time = [
        _plot(title, ("s", unit), sides, [_mean(side, series) for side in sides])
        for title, unit, series in _SERIES
    ]
    subjects = list(comparison.by_subject())
    more = [Section("", [Note(f"And {len(subjects) - _MAX_SUBJECTS} more in the JSON.")])]
    sections = [
        Section("Sojourn time in SDAP and RLC", [*notes, Plots(drawn)]),
        Section("Over time, mean of the seeds", [Plots(over_time)]),
        *(_tables(comparison, subject, rows) for subject, rows in subjects[:_MAX_SUBJECTS]),
        *(more if len(subjects) > _MAX_SUBJECTS else []),
    ]
    return report_page("Comparison", lead, sections)


def _plotted(comparison: Comparison) -> list[Subject]:
    """The cell and the first flows."""
    subjects = [subject for subject, _ in comparison.by_subject()]
    cells = [subject for subject in subjects if subject[0] == "cell"]
    return cells + [subject for subject in subjects if subject[0] == "flow"][:_MAX_FLOWS]


def _cdf(side: Side, subject: Subject) -> Points:
    """The distribution function over all runs of a side together."""
    packets = Distribution()
    for run in side.runs:
        packets.update(run.sojourn.get(subject, {}))
    points = packets.cdf()
    return [ms for ms, _ in points], [share for _, share in points]


def _goodput_mbps(run: RecordedRun) -> Bins:
    flows: list[Bins] = [
        (flow["bin_us"], np.array(flow["bytes"], float) * 8 / flow["bin_us"])
        for flow in run.curves["goodput"]
    ]
    return add(flows)


def _queued_mb(run: RecordedRun) -> Bins:
    queues = run.curves["queues"]
    return queues["bin_us"], np.add(queues["rlc_bytes"], queues["tc_bytes"]) / 1e6


def _hol_ms(run: RecordedRun) -> Bins:
    queues = run.curves["queues"]
    return queues["bin_us"], np.array(queues["hol_us"], float) / 1e3


_SERIES: Final[tuple[tuple[str, str, Callable[[RecordedRun], Bins]], ...]] = (
    ("Goodput of all flows", "Mbit/s", _goodput_mbps),
    ("Queued in RLC and pipelines", "MB", _queued_mb),
    ("RLC head-of-line age", "ms", _hol_ms),
)


def add(series: Sequence[Bins]) -> Bins:
    """Sums of values in the widest bins, which are multiples of the others; a series is zero
    behind its end."""
    bin_us = max((width for width, _ in series), default=1)
    wide = [_widened(values, bin_us // width) for width, values in series]
    total = np.zeros(max(map(len, wide), default=0))
    for values in wide:
        total[: len(values)] += values
    return bin_us, total


def _widened(values: NDArray[np.float64], per_bin: int) -> NDArray[np.float64]:
    """Means over wider bins."""
    if per_bin == 1:
        return values
    whole = np.pad(values, (0, -len(values) % per_bin))
    return np.asarray(whole.reshape(-1, per_bin).mean(axis=1))


def _mean(side: Side, series: Callable[[RecordedRun], Bins]) -> Points:
    """Mean over the runs of a side: middle of a bin in s, value."""
    bin_us, total = add([series(run) for run in side.runs])
    # Bins without a value are zero to the end of the longest run.
    bins = max(int(np.ceil(run.duration_s * 1e6 / bin_us)) for run in side.runs)
    total = np.pad(total, (0, max(0, bins - len(total))))
    seconds = (np.arange(len(total)) + 0.5) * bin_us / 1e6
    return seconds.tolist(), (total / len(side.runs)).tolist()


def _plot(
    title: str,
    units: tuple[str, str],
    sides: Sequence[Side],
    plotted: Sequence[Points],
    *,
    log_x: bool = False,
) -> Plot:
    """A line per side. Values at or below zero have no place on a logarithmic axis."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes: Any = figure.subplots()
    for (xs, ys), colour in zip(plotted, LINES, strict=False):
        axes.plot(xs, ys, linewidth=1.2, color=colour)
    axes.set_xlabel(units[0])
    axes.set_ylabel(units[1])
    axes.set_ylim(bottom=0)
    if log_x:
        axes.set_xscale("log")
        plain(axes.xaxis)
    keys = [Key(colour, True, side.label) for side, colour in zip(sides, LINES, strict=False)]
    return Plot.of(figure, title, keys if len(sides) > 1 else ())


def _tables(comparison: Comparison, subject: Subject, rows: Sequence[Row]) -> Section:
    """The common measures of a subject, and all measures folded away."""
    columns = [Column("run"), *(Column(head, "number") for head in COLUMNS)]
    cells = [
        [
            row.measure,
            row.side.label,
            str(row.estimate.n),
            shown(row.estimate),
            shown(row.difference, "+") if row.difference else "",
        ]
        for row in rows
    ]
    heads = [Column("measure"), Column("run")]
    heads += [Column(head, "number") for head in ("seeds", "mean", "difference")]
    every = Table(heads, cells, folded="All measures")
    return Section(heading(subject), [Table(columns, list(lines(comparison, rows))), every])
