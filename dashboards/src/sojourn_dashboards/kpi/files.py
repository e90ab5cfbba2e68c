"""The report as a page and as a table of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure
from sojourn_report import Column, Key, Note, Plot, Plots, Section, Table, page, plain
from sojourn_report.colours import LINES

from sojourn_dashboards.kpi.measures import MEASURES, Row, change_percent, sentence, shown, worst
from sojourn_dashboards.kpi.totals import Period, Site

HEAD: Final = ("kpi", "ts_28552", "unit", "before", "after", "change_percent")
_PLOTTED: Final = 8
_READING: Final = (
    "Sparse packets are those of flows below half their fair share of the bearer: calls, games, "
    "requests. Judge by them. Bulk packets wait in their own queue, inherited ones are of a "
    "backlog that a new pipeline took over. Control moves the queue from the gNB-DU to the CU-UP: "
    "DRB.PdcpSduDelayDl rises by design, and only the sum counts. Drops of an AQM are its signal "
    "to senders. A percentile of 1,000 ms stands for all beyond: the histogram ends there."
)
Course = Mapping[Site, Sequence[tuple[int, float]]]
"""Mean delay of sparse packets of each site, ms, at the end of each piece."""


def write_csv(path: Path, found: Sequence[Row]) -> None:
    """A line for each site and figure; no value where nothing was measured."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow((*Site._fields, *HEAD))
        for row in found:
            for measure, before, after in zip(MEASURES, row.before, row.after, strict=True):
                values = (before, after, change_percent(before, after))
                cells = ("" if value is None else f"{value:.6g}" for value in values)
                table.writerow((*row.site, measure.name, measure.standard, measure.unit, *cells))


def write_page(
    path: Path, found: Sequence[Row], periods: Sequence[Period], course: Course, source: str
) -> None:
    """Everything that a reader without Prometheus needs."""
    before, after = periods
    columns = [
        Column("", strong=True),
        Column("unit"),
        *(Column(head, "number") for head in ("before", "after", "change")),
        Column("in TS 28.552", "wide"),
    ]
    sections = [Section("Course", [Plots([_plot(found, course)])])]
    sections += [Section(str(row.site), [Table(columns, _cells(row))]) for row in found]
    sections.append(
        Section(
            "How to read it",
            [
                Note(_READING),
                Note(f"From {source}: {_text(before)}; {_text(after)}. UTC.", muted=True),
            ],
        )
    )
    lead = f"{len(found)} sites, the worst first. {sentence(found[0])}."
    title = "Sojourn: what control gained"
    path.write_text(page(title, lead, sections), encoding="utf-8")


def _text(period: Period) -> str:
    start, end = (
        datetime.fromtimestamp(each, UTC).strftime("%Y-%m-%d %H:%M")
        for each in (period.start_s, period.end_s)
    )
    when = {None: "", True: ", while a controller acted", False: ", while no controller acted"}
    return f"{period.name} is {start} to {end}{when[period.acting]}"


def _cells(row: Row) -> list[list[str]]:
    made = []
    for measure, before, after in zip(MEASURES, row.before, row.after, strict=True):
        change = change_percent(before, after)
        percent = "–" if change is None else f"{change:+.0f} %"
        figures = [shown(before), shown(after), percent]
        made.append([measure.name, measure.unit, *figures, measure.standard])
    return made


def _plot(found: Sequence[Row], course: Course) -> Plot:
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots()
    keys = []
    for colour, site in zip(LINES, worst(found, _PLOTTED), strict=False):
        points = course.get(site, ())
        times = [at_s / 86_400 for at_s, _ in points]
        axes.plot(times, [value for _, value in points], marker=".", color=colour)
        keys.append(Key(colour, True, str(site)))
    axes.xaxis_date()
    axes.set_yscale("log")
    plain(axes.yaxis)
    axes.set_ylabel("ms")
    figure.autofmt_xdate()
    text = "Mean delay of sparse packets at the worst sites, a point for each six hours with any."
    return Plot.of(figure, text, keys)
