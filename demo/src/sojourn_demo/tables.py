"""The tables of report and terminal, from the same cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rich.table import Table

from sojourn_demo import responsiveness

ROWS: Final = (
    ("ping round trip p50", "ms", ("ping_rtt_ms", "p50")),
    ("ping round trip p95", "ms", ("ping_rtt_ms", "p95")),
    ("ping round trip p99", "ms", ("ping_rtt_ms", "p99")),
    ("VoIP one-way p95", "ms", ("voip_one_way_ms", "p95")),
    ("RLC head-of-line age p95", "ms", ("rlc_hol_ms", "p95")),
    ("bulk goodput", "Mbit/s", ("goodput_mbps",)),
    ("drained by the MAC, all flows", "Mbit/s", ("drained_mbps",)),
    ("used resource blocks", "%", ("used_rb_pct",)),
)
APPLICATION_ROWS: Final = (
    ("download by Cubic", "Mbit/s", ("downloads_mbps", "cubic")),
    ("download by BBR", "Mbit/s", ("downloads_mbps", "bbr")),
    ("video: time to the first picture", "ms", ("video", "startup_ms")),
    ("video: stalls", "", ("video", "stalls")),
    ("video: stalled", "s", ("video", "stalled_s")),
    ("video: played", "s", ("video", "played_s")),
    ("video: mean rate", "Mbit/s", ("video", "mean_mbps")),
    ("video: switches of the rate", "", ("video", "switches")),
    ("page load p50", "ms", ("page_load_ms", "p50")),
    ("page load p95", "ms", ("page_load_ms", "p95")),
    ("first byte of a page p50", "ms", ("page_first_byte_ms", "p50")),
    ("pages loaded", "", ("pages_loaded",)),
    ("pages begun", "", ("pages_begun",)),
)
"""Where applications ran; those that none of the columns has are left out."""
UNANSWERED: Final = "pings not answered by the end"
WITH, WITHOUT = "with", "without"
FIRST_HEADS: Final = (
    ("goodput, Mbit/s", (WITH, WITHOUT, "kept")),
    ("drained, Mbit/s", (WITH, WITHOUT)),
    ("max ping, ms", (WITH, WITHOUT)),
)
"""Groups of columns of the first seconds, after their time."""
AFTER: Final = "s after it"
BEFORE_AND_AFTER: Final = "Before and after"
RESPONSIVENESS: Final = "Responsiveness under load"
RESPONSIVENESS_HEADS: Final = ("with control", "without")


def spans(summary: dict[str, Any]) -> tuple[str, str, str]:
    """Heads of the columns of `cells`."""
    before, after = summary["phases"]
    return (
        f"uncontrolled\n{_span(before)}",
        f"controlled\n{_span(after)}",
        f"without control\n{_span(summary['without_control'])}",
    )


def cells(summary: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Rows of name, unit, uncontrolled, controlled, and the same seconds without control."""
    columns = (*summary["phases"], summary["without_control"])
    rows = [
        (name, unit, *(number(_value(column, path)) for column in columns))
        for name, unit, path in (*ROWS, *_flow_rows(columns), *_application_rows(summary))
    ]
    unanswered = (f"{_unanswered(column)} of {column['pings_sent']}" for column in columns)
    rows.insert(3, (UNANSWERED, "", *unanswered))
    return rows  # type: ignore[return-value]


def _flow_rows(columns: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The delay of each bulk flow's own packets, which a ping beside it does not see."""
    names = sorted({name for column in columns for name in column.get("own_one_way_ms", {})})
    for name in names:
        for percentile in ("p50", "p95"):
            path = ("own_one_way_ms", name, percentile)
            yield f"{name} one-way {percentile}, its own packets", "ms", path


def _application_rows(summary: dict[str, Any]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for row in APPLICATION_ROWS:
        here: Any = summary["phases"][1]
        for key in row[2]:
            here = here.get(key, {}) if isinstance(here, dict) else {}
        if here != {}:
            yield row


def first_cells(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the first seconds: time after the change, then the columns of `FIRST_HEADS`."""
    rows: list[tuple[str, ...]] = []
    for step in summary["first_seconds"]:
        with_control, without = step["with_control"], step["without_control"]
        over, under = with_control["goodput_mbps"], without["goodput_mbps"]
        start_s, end_s = step["after_s"]
        rows.append(
            (
                f"{start_s:.1f}–{end_s:.1f}",
                number(over),
                number(under),
                f"{over / under:.1%}" if under else "–",
                number(with_control["drained_mbps"]),
                number(without["drained_mbps"]),
                number(with_control["ping_rtt_max_ms"]),
                number(without["ping_rtt_max_ms"]),
            )
        )
    return rows


def tables(summary: dict[str, Any]) -> Iterator[Table]:
    """The tables for the terminal."""
    phases = Table(title=BEFORE_AND_AFTER, title_style="bold", title_justify="left")
    phases.add_column("")
    phases.add_column("unit")
    for head, style in zip(spans(summary), (None, "bold", None), strict=True):
        phases.add_column(head, justify="right", style=style)
    for row in cells(summary):
        phases.add_row(*row)
    first = Table(title=first_title(summary), title_style="bold", title_justify="left")
    first.add_column(AFTER, justify="right")
    for group, columns in FIRST_HEADS:
        for column in columns:
            # The group is named above its first column only: the terminal has 80 columns.
            what, _, unit = group.partition(", ")
            head = f"{what}\n{unit}\n{column}" if column == WITH else f"\n\n{column}"
            first.add_column(head, justify="right", style="bold" if column == WITH else None)
    for cells_of_row in first_cells(summary):
        first.add_row(*cells_of_row)
    yield from (phases, first)
    if rows := responsiveness.cells(summary):
        scores = Table(title=RESPONSIVENESS, title_style="bold", title_justify="left")
        scores.add_column("")
        for head, style in zip(RESPONSIVENESS_HEADS, ("bold", None), strict=True):
            scores.add_column(head, justify="right", style=style)
        for score in rows:
            scores.add_row(*score)
        yield scores


def first_title(summary: dict[str, Any]) -> str:
    """Title of the table of the first seconds."""
    if summary["switched_s"] is None:
        return "The first seconds of control: no pipeline changed"
    return f"The first seconds after the pipeline changed at {summary['switched_s']:.3f} s"


def number(value: float | None) -> str:
    """A value with one decimal, or none from 1000 on."""
    return "–" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def _unanswered(phase: Mapping[str, Any]) -> int:
    return max(0, int(phase["pings_sent"]) - int(phase["pings_answered"]))


def _value(phase: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = phase
    for key in path:
        value = None if value is None else value.get(key)
    return None if value is None else float(value)


def _span(phase: Mapping[str, Any]) -> str:
    return f"{phase['from_s']:.1f}–{phase['to_s']:.1f} s"
