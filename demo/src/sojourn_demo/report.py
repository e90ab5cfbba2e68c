"""``report.html``: one self-contained file with plots, table and decisions."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from rich.table import Table

from sojourn_demo.recording import Recording, Series

mpl.use("svg")
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["svg.hashsalt"] = "sojourn"

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

BLUE, ORANGE, GREY = "#0b6fa4", "#d5740f", "#9aa5ad"
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
body{color:#1c2530}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
th,td{padding:.3rem .6rem;border-bottom:1px solid #dde3e8}
th{text-align:left;font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.c{font-weight:700}svg{width:100%;height:auto}code{background:#f1f4f6;padding:.1em .3em}
.lead{font-size:1.05rem}.muted{color:#63707c}
"""


def write_report(
    path: Path, title: str, recording: Recording, without: Recording, summary: dict[str, Any]
) -> None:
    """Writes the page."""
    before, after = summary["phases"]
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p class=lead>{_lead(summary)}</p>",
        _plots(recording, without, summary),
        "<h2>Before and after</h2>",
        _table(summary, before, after),
        "<h2>The loop</h2>",
        _loop(summary["loop"]),
        "<h2>Decisions</h2>",
        _decisions(summary["decisions"]),
        "<p class=muted>Grey: simulation of the same scenario and seed without control. "
        "<code>summary.json</code> has the data of this page.</p>",
    ]
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>{''.join(body)}</html>"
    )
    path.write_text(page, encoding="utf-8")


def _lead(summary: dict[str, Any]) -> str:
    before, after = summary["phases"]
    p95 = (before["ping_rtt_ms"]["p95"], after["ping_rtt_ms"]["p95"])
    ratio = summary["ratios"]["goodput_with_over_without_control"]
    if not summary["decisions"] or None in (*p95, ratio):
        return "The controller made no decision in this run."
    return (
        f"Ping p95 went from <b>{p95[0]:,.0f} ms</b> to <b>{p95[1]:,.1f} ms</b>; the goodput of the"
        f" bulk flow is <b>{ratio:.0%}</b> of that without control in the same seconds."
    )


def _plots(recording: Recording, without: Recording, summary: dict[str, Any]) -> str:
    figure = Figure(figsize=(10, 9), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    _line(axes[0], without.rtt_ms, GREY, "without control")
    _line(axes[0], recording.rtt_ms, BLUE, "ping round trip")
    axes[0].set(yscale="log", ylabel="ms")
    axes[0].set_title("Delay, by send time of the ping", loc="left")
    _line(axes[1], _thin(recording.rlc_mb), ORANGE, "RLC buffer")
    _line(axes[1], _thin(recording.tc_mb), BLUE, "TC pipeline")
    axes[1].set_ylabel("MB")
    axes[1].set_title("Queues", loc="left")
    _line(axes[2], _smooth(without.delivered_mbps), GREY, "without control")
    _line(axes[2], _smooth(recording.delivered_mbps), BLUE, "bulk goodput")
    axes[2].set(ylabel="Mbit/s", ylim=(0, None))
    axes[2].set_title("Throughput, mean of 500 ms", loc="left")
    _line(axes[3], _smooth(recording.used_rb_pct), BLUE, "used resource blocks")
    axes[3].set(ylabel="%", ylim=(0, 105), xlabel="s")
    axes[3].set_title("Radio, mean of 500 ms", loc="left")
    for axis in axes:
        for decision in summary["decisions"]:
            axis.axvline(decision["at_s"], color="#b03050", linewidth=1, linestyle=":")
        axis.grid(alpha=0.25)
        # Beside the title, where it hides no line.
        axis.legend(
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderpad=0.2,
            ncols=2,
            frameon=False,
            fontsize=9,
        )
    for number, decision in enumerate(summary["decisions"]):
        axes[0].annotate(
            decision["template"],
            (decision["at_s"], 1),
            xycoords=("data", "axes fraction"),
            # Staggered, because decisions may be close together.
            xytext=(3, -12 - 11 * (number % 6)),
            textcoords="offset points",
            color="#b03050",
            fontsize=9,
        )
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :]


def _line(axis: Axes, series: Series, colour: str, label: str) -> None:
    axis.plot(series.at_s, series.value, color=colour, linewidth=1.2, label=label)


def _thin(series: Series, step: int = 20) -> Series:
    """Maximum of every `step` values."""
    rows = len(series.value) // step
    return Series(
        series.at_s[: rows * step : step],
        series.value[: rows * step].reshape(rows, step).max(axis=1),
    )


def _smooth(series: Series, bins: int = 5) -> Series:
    rows = len(series.value) // bins
    return Series(
        series.at_s[: rows * bins : bins],
        np.asarray(series.value[: rows * bins].reshape(rows, bins).mean(axis=1)),
    )


def _table(summary: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> str:
    heads = (
        f"uncontrolled, {before['from_s']:.0f}–{before['to_s']:.0f} s",
        f"controlled, {after['from_s']:.0f}–{after['to_s']:.0f} s",
        "same seconds without control",
    )
    head = "".join(f"<th class=n>{h}</th>" for h in heads)
    rows = "".join(
        f"<tr><td>{name}</td><td>{unit}</td><td class=n>{a}</td><td class='n c'>{b}</td>"
        f"<td class=n>{c}</td></tr>"
        for name, unit, a, b, c in cells(summary)
    )
    return f"<table><tr><th></th><th>unit</th>{head}</tr>{rows}</table>"


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
    return f"<table>{head}{rows}</table>"


def _decisions(decisions: list[dict[str, Any]]) -> str:
    if not decisions:
        return "<p>None.</p>"
    rows = "".join(
        f"<tr><td class=n>{d['at_s']:.3f} s</td><td><code>{d['id']}</code></td>"
        f"<td>{d['template']}</td><td>{d['trigger']}</td>"
        f"<td class=n>{_number(d.get('detect_to_ack_ms'))}</td><td>{d.get('verdict', '–')}</td>"
        f"<td>{html.escape('; '.join(d['reasons']))}</td></tr>"
        for d in decisions
    )
    return (
        "<table><tr><th class=n>at</th><th>id</th><th>template</th><th>trigger</th>"
        f"<th class=n>ack, ms</th><th>verdict</th><th>reason</th></tr>{rows}</table>"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


ROWS = (
    ("ping round trip p50", "ms", ("ping_rtt_ms", "p50")),
    ("ping round trip p95", "ms", ("ping_rtt_ms", "p95")),
    ("ping round trip p99", "ms", ("ping_rtt_ms", "p99")),
    ("VoIP one-way p95", "ms", ("voip_one_way_ms", "p95")),
    ("RLC head-of-line age p95", "ms", ("rlc_hol_ms", "p95")),
    ("bulk goodput", "Mbit/s", ("goodput_mbps",)),
    ("used resource blocks", "%", ("used_rb_pct",)),
)


def cells(summary: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Rows of name, unit, uncontrolled, controlled, and the same seconds without control."""
    before, after = summary["phases"]
    columns = (before, after, summary["without_control"])
    return [
        (name, unit, *(_cell(_value(column, path)) for column in columns))  # type: ignore[misc]
        for name, unit, path in ROWS
    ]


def table(summary: dict[str, Any]) -> Table:
    """The table for the terminal."""
    before, after = summary["phases"]
    table = Table(title="Before and after", title_style="bold", title_justify="left")
    table.add_column("")
    table.add_column("unit")
    table.add_column(f"uncontrolled\n{_span(before)}", justify="right")
    table.add_column(f"controlled\n{_span(after)}", justify="right", style="bold")
    table.add_column(f"without control\n{_span(summary['without_control'])}", justify="right")
    for row in cells(summary):
        table.add_row(*row)
    return table


def _value(phase: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = phase
    for key in path:
        value = value[key]
    return None if value is None else float(value)


def _span(phase: dict[str, Any]) -> str:
    return f"{phase['from_s']:.0f}–{phase['to_s']:.0f} s"


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
