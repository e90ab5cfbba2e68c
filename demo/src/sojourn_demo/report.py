"""``report.html``: one self-contained file with plots, tables and decisions."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sojourn_demo import responsiveness
from sojourn_demo.colours import (
    DECISION,
    DRAINED,
    GOODPUT,
    PING,
    RADIO,
    RLC,
    STYLE,
    TC,
    line,
)
from sojourn_demo.figures import both, figure_of, new_plot, plain, shown_decisions
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

PAGE: Final = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:68rem;margin:1.5rem auto;padding:0 1rem}
body{color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem;line-height:1.2;margin-bottom:.3rem}h2{font-size:1.15rem;margin-top:2rem}
.plots{display:grid;gap:1rem 2rem}
.plots{grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}
figure{margin:0}figcaption{font-size:.9rem}figcaption b{display:block}
figcaption span{margin-right:.9em;white-space:nowrap}
.s::before,.d::before{content:"";display:inline-block;width:1.6em;margin-right:.4em}
.s::before,.d::before{vertical-align:middle;border-top:2.5px solid}
.d::before{border-top-style:dashed}
svg{display:block;width:100%;height:auto}.t{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{padding:.3rem .5rem;border-bottom:1px solid var(--grid);text-align:left;white-space:pre-line}
td.w{min-width:12rem}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:pre}
th{font-weight:600}td.c{font-weight:700}code{background:var(--shade);padding:.1em .3em}
.lead{font-size:1.05rem}.muted{color:var(--muted)}
"""
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
    applications: Iterable[str] = (),
) -> None:
    """Writes the page of `runs`, with control and without; `applications` are more figures, of what
    applications measured."""
    recording, without = runs
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p class=lead>{lead(summary)}</p>",
        *(f"<p class=muted>{html.escape(sentence)}</p>" for sentence in footnote.notes),
        f"<div class=plots>{''.join([*applications, *_plots(recording, without, summary)])}</div>",
        f"<h2>{html.escape(first_title(summary))}</h2>",
        _first_seconds(summary),
        f"<h2>{BEFORE_AND_AFTER}</h2>",
        _phases(summary),
        *_scores(summary),
        "<h2>The loop</h2>",
        _loop(summary["loop"]),
        "<h2>Decisions</h2>",
        _decisions(summary["decisions"]),
        f"<p class=muted>Without control (dashed): {html.escape(footnote.twin)}."
        f" {html.escape(footnote.clock)}. Goodput counts bytes that the bulk flow handed to the"
        f" application, TCP in order; drained bytes are {html.escape(footnote.drained)}."
        " <code>summary.json</code> has the data of this page.</p>",
    ]
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}{PAGE}</style>{''.join(body)}</html>"
    )
    path.write_text(page, encoding="utf-8")


# ------------------------------------------------------------------------------ plots


def _plots(recording: Recording, without: Recording, summary: dict[str, Any]) -> Iterable[str]:
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
    yield figure_of(figure, "Ping round trip, by the time of sending", both(PING))

    figure, axis = new_plot({}, "ms")
    for run, controlled in runs:
        line(axis, _distribution(run, from_s), PING, controlled=controlled)
    axis.set(xscale="log", ylim=(0, 101), ylabel="% of pings sent")
    plain(axis.xaxis)
    yield figure_of(figure, "Ping round trip from the decision on, distribution", both(PING))
    yield responsiveness.plot(summary)

    figure, axis = new_plot(summary, "s")
    span = np.arange(max(0.0, from_s - BEFORE_S), min(from_s + AFTER_S, recording.duration_s), 0.1)
    for run, controlled in runs:
        for counter, colour in ((run.drained_mbit, DRAINED), (run.goodput_mbit, GOODPUT)):
            line(axis, _rates(counter, span), colour, controlled=controlled)
    axis.set(ylabel="Mbit/s", ylim=(0, None))
    throughput = (*both(GOODPUT, "goodput, "), *both(DRAINED, "drained, "))
    yield figure_of(figure, "Throughput around the decision, each 100 ms", throughput)

    figure, axis = new_plot(summary, "s")
    edges = np.arange(0, min(recording.duration_s, without.duration_s), 0.5)
    for run, controlled in runs:
        for counter, colour in ((run.drained_mbit, DRAINED), (run.goodput_mbit, GOODPUT)):
            line(axis, _rates(counter, edges), colour, controlled=controlled)
    axis.set(ylabel="Mbit/s", ylim=(0, None))
    yield figure_of(figure, "Throughput, each 500 ms", throughput)

    figure, axis = new_plot(summary, "s")
    line(axis, _thin(without.rlc_mb), RLC, controlled=False)
    line(axis, _thin(recording.rlc_mb), RLC)
    line(axis, _thin(recording.tc_mb), TC)
    axis.set(ylabel="MB", ylim=(0, None))
    keys = (*both(RLC, "RLC buffer, "), (TC, True, "TC pipeline"))
    yield figure_of(figure, "Queues", keys)

    figure, axis = new_plot(summary, "s")
    for run, controlled in runs:
        used = run.used_rb_pct(edges)
        line(axis, Series(edges[1:], used), RADIO, controlled=controlled)
    axis.set(ylabel="%", ylim=(0, 105))
    yield figure_of(figure, "Used resource blocks, each 500 ms", both(RADIO))


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


def _phases(summary: dict[str, Any]) -> str:
    head = "".join(f"<th class=n>{head}</th>" for head in spans(summary))
    rows = "".join(
        f"<tr><td>{name}{', ' if unit else ''}{unit}</td><td class=n>{a}</td>"
        f"<td class='n c'>{b}</td><td class=n>{c}</td></tr>"
        for name, unit, a, b, c in cells(summary)
    )
    return _table(f"<tr><th></th>{head}</tr>", rows)


def _scores(summary: dict[str, Any]) -> Iterable[str]:
    if not (rows := responsiveness.cells(summary)):
        return
    test = summary[responsiveness.KIND]
    yield f"<h2>{RESPONSIVENESS}</h2><p>{html.escape(test['test'])}</p>"
    head = "".join(f"<th class=n>{head}</th>" for head in RESPONSIVENESS_HEADS)
    cells_of_rows = (
        f"<tr><td>{name}</td><td class='n c'>{a}</td><td class=n>{b}</td></tr>"
        for name, a, b in rows
    )
    yield _table(f"<tr><th></th>{head}</tr>", "".join(cells_of_rows))


def _first_seconds(summary: dict[str, Any]) -> str:
    groups = "".join(f"<th class=n colspan={len(c)}>{group}</th>" for group, c in FIRST_HEADS)
    columns = [column for _, group in FIRST_HEADS for column in group]
    bold = [" c" if column == WITH else "" for column in columns]
    heads = "".join(f"<th class=n>{column}</th>" for column in columns)
    rows = "".join(
        f"<tr><td class=n>{after}</td>"
        + "".join(f"<td class='n{c}'>{cell}</td>" for c, cell in zip(bold, row, strict=True))
        + "</tr>"
        for after, *row in first_cells(summary)
    )
    if not rows:
        return f"<p>The run ended within {FIRST_SECONDS} s.</p>"
    return _table(f"<tr><th></th>{groups}</tr><tr><th class=n>{AFTER}</th>{heads}</tr>", rows)


def _loop(loop: dict[str, Any]) -> str:
    names = {
        "indication_latency_us": ("indication, gNB to xApp", "µs"),
        "detect_to_ack_ms": ("detection to acknowledged control", "ms"),
        "control_ms": ("control round trip", "ms"),
    }
    rows = "".join(
        f"<tr><td>{name}</td><td>{unit}</td><td class=n>{_number(loop[key]['p50'])}</td>"
        f"<td class=n>{_number(loop[key]['p99'])}</td></tr>"
        for key, (name, unit) in names.items()
    )
    head = "<tr><th></th><th>unit</th><th class=n>p50</th><th class=n>p99</th></tr>"
    return _table(head, rows)


def _decisions(decisions: list[dict[str, Any]]) -> str:
    if not decisions:
        return "<p>None.</p>"
    rows = "".join(
        f"<tr><td class=n>{d['at_s']:.3f} s</td><td><code>{d['id']}</code></td>"
        f"<td>{d['template']}</td><td>{d['trigger']}</td>"
        f"<td class=n>{_number(d.get('detect_to_ack_ms'))}</td><td>{d.get('verdict', '–')}</td>"
        f"<td class=w>{html.escape('; '.join(d['reasons']))}</td></tr>"
        for d in decisions
    )
    head = (
        "<tr><th class=n>at</th><th>id</th><th>template</th><th>trigger</th>"
        "<th class=n>ack, ms</th><th>verdict</th><th>reason</th></tr>"
    )
    return _table(head, rows)


def _table(head: str, rows: str) -> str:
    return f"<div class=t><table>{head}{rows}</table></div>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
