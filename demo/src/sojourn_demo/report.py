"""``report.html``: one self-contained file with plots, tables and decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from sojourn_report import Column, Key, Note, Plot, Plots, Section, Table, page, plain

from sojourn_demo import responsiveness
from sojourn_demo.colours import DECISION, DRAINED, GOODPUT, PING, RADIO, RLC, TC, line
from sojourn_demo.figures import both, new_plot, shown_decisions
from sojourn_demo.lead import lead
from sojourn_demo.measure import FIRST_SECONDS
from sojourn_demo.recording import Counter, Floats, Recording, Series
from sojourn_demo.tables import (
    AFTER,
    BEFORE_AND_AFTER,
    FIRST_HEADS,
    RESPONSIVENESS,
    RESPONSIVENESS_HEADS,
    WITH,
    cells,
    first_cells,
    first_title,
    spans,
)

BEFORE_S, AFTER_S = 1.0, 4.0
"""Span around the change in the plot of its seconds."""


class Footnote(NamedTuple):
    """What the page says of its figures."""

    twin: str
    """What the run without control is."""
    drained: str
    """Which bytes count as drained."""
    clock: str
    """Which clock times are of; a sentence."""
    notes: Sequence[str] = ()
    """Sentences of what bounds the figures: programs that are missing, a machine that was late."""


def write_report(
    path: Path,
    title: str,
    runs: tuple[Recording, Recording],
    summary: dict[str, Any],
    footnote: Footnote,
    *,
    applications: Iterable[Plot] = (),
) -> None:
    """Writes the page of `runs`, with control and without; `applications` are more plots, of what
    applications measured."""
    plots = [*applications, *_plots(*runs, summary)]
    sections = [
        Section("", [*(Note(text, muted=True) for text in footnote.notes), Plots(plots)]),
        Section(first_title(summary), [_first_seconds(summary)]),
        Section(BEFORE_AND_AFTER, [_phases(summary)]),
        *_scores(summary),
        Section("The loop", [_loop(summary["loop"])]),
        Section("Decisions", [_decisions(summary["decisions"]), _closing(footnote)]),
    ]
    words = Markup(lead(summary))  # noqa: S704  # of numbers and words of ours
    path.write_text(page(title, words, sections), encoding="utf-8")


def _closing(footnote: Footnote) -> Note:
    text = Markup(
        "Without control (dashed): {}. {}. Goodput counts bytes that the bulk flow handed to the"
        " application, TCP in order; drained bytes are {}. <code>summary.json</code> has the data"
        " of this page."
    )
    return Note(text.format(footnote.twin, footnote.clock, footnote.drained), muted=True)


# ------------------------------------------------------------------------------ plots


def _plots(recording: Recording, without: Recording, summary: dict[str, Any]) -> Iterator[Plot]:
    from_s = summary["phases"][1]["from_s"]
    runs = ((without, False), (recording, True))

    figure, axis = new_plot(summary, "s")
    for run, controlled in runs:
        line(axis, run.rtt_ms, PING, controlled=controlled)
    # Room above the lines for the names of templates.
    highest_ms = max((run.rtt_ms.value.max(initial=1.0) for run, _ in runs), default=1.0)
    axis.set(yscale="log", ylim=(None, 4 * highest_ms), ylabel="ms")
    plain(axis.yaxis)
    for number, decision in enumerate(shown_decisions(summary)):
        axis.annotate(
            decision["template"],
            (decision["at_s"], 1),
            xycoords=("data", "axes fraction"),
            # Staggered, because decisions may be close together.
            xytext=(3, -10 - 11 * (number % 6)),
            textcoords="offset points",
            color=DECISION,
            fontsize=9,
        )
    yield Plot.of(figure, "Ping round trip, by the time of sending", both(PING))

    figure, axis = new_plot({}, "ms")
    for run, controlled in runs:
        line(axis, _distribution(run, from_s), PING, controlled=controlled)
    axis.set(xscale="log", ylim=(0, 101), ylabel="% of pings sent")
    plain(axis.xaxis)
    yield Plot.of(figure, "Ping round trip from the decision on, distribution", both(PING))
    yield from responsiveness.plots(summary)

    figure, axis = new_plot(summary, "s")
    span = np.arange(max(0.0, from_s - BEFORE_S), min(from_s + AFTER_S, recording.duration_s), 0.1)
    for run, controlled in runs:
        for counter, colour in ((run.drained_mbit, DRAINED), (run.goodput_mbit, GOODPUT)):
            line(axis, _rates(counter, span), colour, controlled=controlled)
    axis.set(ylabel="Mbit/s", ylim=(0, None))
    throughput = (*both(GOODPUT, "goodput, "), *both(DRAINED, "drained, "))
    yield Plot.of(figure, "Throughput around the decision, each 100 ms", throughput)

    figure, axis = new_plot(summary, "s")
    edges = np.arange(0, min(recording.duration_s, without.duration_s), 0.5)
    for run, controlled in runs:
        for counter, colour in ((run.drained_mbit, DRAINED), (run.goodput_mbit, GOODPUT)):
            line(axis, _rates(counter, edges), colour, controlled=controlled)
    axis.set(ylabel="Mbit/s", ylim=(0, None))
    yield Plot.of(figure, "Throughput, each 500 ms", throughput)

    figure, axis = new_plot(summary, "s")
    line(axis, _thin(without.rlc_mb), RLC, controlled=False)
    line(axis, _thin(recording.rlc_mb), RLC)
    line(axis, _thin(recording.tc_mb), TC)
    axis.set(ylabel="MB", ylim=(0, None))
    keys = (*both(RLC, "RLC buffer, "), Key(TC, True, "TC pipeline"))
    yield Plot.of(figure, "Queues", keys)

    figure, axis = new_plot(summary, "s")
    for run, controlled in runs:
        used = run.used_rb_pct(edges)
        line(axis, Series(edges[1:], used), RADIO, controlled=controlled)
    axis.set(ylabel="%", ylim=(0, 105))
    yield Plot.of(figure, "Used resource blocks, each 500 ms", both(RADIO))


def _distribution(run: Recording, from_s: float) -> Series:
    """Share of the pings sent from `from_s` on that were answered within a time, percent."""
    sent = int(np.count_nonzero(run.pings_s >= from_s))
    rtt_ms = np.sort(run.rtt_ms.value[run.rtt_ms.at_s >= from_s])
    return Series(rtt_ms, 100 * np.arange(1, len(rtt_ms) + 1) / max(sent, len(rtt_ms), 1))


def _rates(counter: Counter, edges_s: Floats) -> Series:
    """Mean rates between the edges, each at the end of its span: none shows before it happened."""
    if len(edges_s) < 2:
        return Series(np.array([]), np.array([]))
    return Series(edges_s[1:], counter.rates(edges_s))


def _thin(series: Series, step: int = 20) -> Series:
    """Maximum of every `step` values."""
    rows = len(series.value) // step
    return Series(
        series.at_s[: rows * step : step],
        series.value[: rows * step].reshape(rows, step).max(axis=1),
    )


# ----------------------------------------------------------------------------- tables


def _phases(summary: dict[str, Any]) -> Table:
    before, after, without = spans(summary)
    columns = [
        Column(""),
        Column(before, "number"),
        Column(after, "number", strong=True),
        Column(without, "number"),
    ]
    rows = [
        (f"{name}, {unit}" if unit else name, *values) for name, unit, *values in cells(summary)
    ]
    return Table(columns, rows)


def _scores(summary: dict[str, Any]) -> Iterator[Section]:
    if rows := responsiveness.cells(summary):
        with_control, without = RESPONSIVENESS_HEADS
        columns = [
            Column(""),
            Column(with_control, "number", strong=True),
            Column(without, "number"),
        ]
        test = Note(summary[responsiveness.KIND]["test"])
        yield Section(RESPONSIVENESS, [test, Table(columns, rows)])


def _first_seconds(summary: dict[str, Any]) -> Table | Note:
    if not (rows := first_cells(summary)):
        return Note(f"The run ended within {FIRST_SECONDS} s.")
    heads = [head for _, group in FIRST_HEADS for head in group]
    columns = [Column(head, "number", strong=head == WITH) for head in heads]
    groups = [("", 1), *((group, len(heads)) for group, heads in FIRST_HEADS)]
    return Table([Column(AFTER, "number"), *columns], rows, groups)


def _loop(loop: dict[str, Any]) -> Table:
    names = {
        "indication_latency_us": ("indication, gNB to xApp", "µs"),
        "detect_to_ack_ms": ("detection to acknowledged control", "ms"),
        "control_ms": ("control round trip", "ms"),
    }
    columns = [Column(""), Column("unit"), Column("p50", "number"), Column("p99", "number")]
    rows = [
        (name, unit, _number(loop[key]["p50"]), _number(loop[key]["p99"]))
        for key, (name, unit) in names.items()
    ]
    return Table(columns, rows)


def _decisions(decisions: list[dict[str, Any]]) -> Table | Note:
    if not decisions:
        return Note("None.")
    columns = [
        Column("at", "number"),
        *map(Column, ("id", "template", "trigger")),
        Column("ack, ms", "number"),
        Column("verdict"),
        Column("reason", "wide"),
    ]
    rows = [
        (
            f"{d['at_s']:.3f} s",
            Markup("<code>{}</code>").format(d["id"]),
            d["template"],
            d["trigger"],
            _number(d.get("detect_to_ack_ms")),
            d.get("verdict", "–"),
            "; ".join(d["reasons"]),
        )
        for d in decisions
    ]
    return Table(columns, rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
