"""``ops.html``: one self-contained file with the delay, the alerts and the timeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from sojourn_report import Column, Key, Note, Plot, Plots, Section, Table, page, plain
from sojourn_report.colours import GRID, MUTED

from sojourn_demo.colours import DECISION, GOODPUT, RADIO, RLC, line
from sojourn_demo.ops.timeline import Event, Timeline
from sojourn_demo.ops.view import WORDS
from sojourn_demo.recording import Series

FLOOR_MS: Final = 0.1
"""Delays below are drawn here: the axis is logarithmic."""
COLOURS: Final = {"pending": RADIO, "firing": DECISION}
Spans = list[tuple[float, float, str]]


def write_report(path: Path, timeline: Timeline, summary: dict[str, Any]) -> None:
    """Writes the page."""
    alerts = [
        (each["alert"], *(_seconds(each[key]) for key in ALERT_COLUMNS))
        for each in summary["alerts"]
    ]
    events = [(f"{event.at_s:.1f} s", _what(event), event.text) for event in timeline.events]
    closing = Markup(
        "States of alerts as Prometheus shows them; notifications as Alertmanager sends them."
        " <code>ops.json</code> has the data of this page."
    )
    columns = [Column(""), *(Column(text, "number") for text in ALERT_COLUMNS.values())]
    sections = [
        Section("", [Plots([_plot(timeline, summary)])]),
        Section("Alerts", [Table(columns, alerts)]),
        Section("Timeline", [Table(TIMELINE, events), Note(closing, muted=True)]),
    ]
    title = "Sojourn for operators: a fault, its alerts, its repair"
    path.write_text(page(title, lead(summary), sections), encoding="utf-8")


ALERT_COLUMNS: Final = {
    "fired_after_s": "fault to firing",
    "notified_after_s": "fault to notification",
    "resolved_after_s": "repair to resolved",
}
TIMELINE: Final = (Column("", "number"), Column(""), Column("", "wide"))


def lead(summary: dict[str, Any]) -> str:
    """The result in one sentence."""
    if summary["passed"]:
        names = ", ".join(each["alert"] for each in summary["alerts"])
        return f"Every expected alert fired and was resolved: {names}."
    missing = [
        f"{each['alert']} {'did not fire' if each['notified_after_s'] is None else 'stayed'}"
        for each in summary["alerts"]
        if None in (each["notified_after_s"], each["resolved_after_s"])
    ]
    return f"Not as expected: {', '.join(missing)}."


def _what(event: Event) -> str:
    return "" if event.kind == "phase" else f"{event.name} {WORDS[event.kind]}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"


def _plot(timeline: Timeline, summary: dict[str, Any]) -> Plot:
    names = [each["alert"] for each in summary["alerts"]]
    end_s = max([event.at_s for event in timeline.events], default=0.0)
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    delay, bars = figure.subplots(2, 1, sharex=True, height_ratios=(3, 0.4 + 0.4 * len(names)))
    samples = np.array(timeline.delay_ms or [(0.0, FLOOR_MS)])
    line(delay, Series(samples[:, 0], np.maximum(samples[:, 1], FLOOR_MS)), RLC)
    delay.set(yscale="log", ylabel="RLC head of line, ms")
    plain(delay.yaxis)
    for row, name in enumerate(names):
        for from_s, to_s, state in spans(timeline, name, end_s):
            bars.barh(row, to_s - from_s, left=from_s, height=0.6, color=COLOURS[state])
    bars.set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5), xlabel="s")
    bars.set(xlim=(0, end_s or 1), yticklabels=names)
    bars.grid(axis="y", color=GRID)
    for phase, colour in (("fault", DECISION), ("repair", GOODPUT)):
        if (at_s := timeline.last("phase", phase)) is not None:
            for axis in (delay, bars):
                axis.axvline(at_s, color=colour, linewidth=1.2, linestyle=":")
            delay.annotate(
                phase, (at_s, 1), xycoords=("data", "axes fraction"), xytext=(0, 4), ha="center",
                textcoords="offset points", color=MUTED,
            )  # fmt: skip
    keys = (Key(RLC, True, "delay"), Key(RADIO, True, "pending"), Key(DECISION, True, "firing"))
    return Plot.of(figure, "Delay of the bearer and states of its alerts", keys)


def spans(timeline: Timeline, name: str, end_s: float) -> Spans:
    """When the alert was pending or firing: from, to, state."""
    found: Spans = []
    events = [
        e for e in timeline.events
        if e.name == name and e.kind in ("pending", "firing", "inactive")
    ]  # fmt: skip
    ends = [event.at_s for event in events[1:]] + [end_s]
    for event, to_s in zip(events, ends, strict=True):
        if event.kind != "inactive":
            found.append((event.at_s, to_s, event.kind))
    return found
