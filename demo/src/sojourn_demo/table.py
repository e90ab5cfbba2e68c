"""The before/after table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

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
    """For the terminal."""
    before, after = summary["phases"]
    made = Table(title="Before and after", title_style="bold", title_justify="left")
    made.add_column("")
    made.add_column("unit")
    made.add_column(f"uncontrolled\n{_span(before)}", justify="right")
    made.add_column(f"controlled\n{_span(after)}", justify="right", style="bold")
    made.add_column(f"without control\n{_span(summary['without_control'])}", justify="right")
    for row in cells(summary):
        made.add_row(*row)
    return made


def _value(phase: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = phase
    for key in path:
        value = value[key]
    return None if value is None else float(value)


def _span(phase: dict[str, Any]) -> str:
    return f"{phase['from_s']:.0f}–{phase['to_s']:.0f} s"


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
