"""The end of a run: summary, report and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from sojourn_report import Plot

from sojourn_demo import report
from sojourn_demo.lead import lead
from sojourn_demo.live import read_decisions
from sojourn_demo.measure import WARM_UP_S, summarise
from sojourn_demo.recording import Recording
from sojourn_demo.tables import tables

TITLE: Final = "Sojourn: one bearer, before and after"
TAG: Final = re.compile(r"</?\w+>")


class Applications(NamedTuple):
    """What applications measured in a run with them."""

    figures: Callable[[Mapping[str, Any], bool], Mapping[str, Any]]
    """Figures of a phase of the summary, of the run with control or that without."""
    plots: Callable[[Mapping[str, Any]], Iterable[Plot]]
    """Plots of the report."""


def conclude(
    out: Path,
    console: Console,
    title: str,
    runs: tuple[Recording, Recording],
    footnote: report.Footnote,
    *,
    control_from_s: float,
    own_revisions: bool,
    measured_from_s: float = WARM_UP_S,
    extra: Mapping[str, Any],
    applications: Applications | None = None,
) -> None:
    """Writes ``summary.json`` and ``report.html`` to `out` and prints the tables.

    Args:
        runs: With control, and the same seconds without.
        control_from_s: As in `summarise`.
        own_revisions, measured_from_s: As in `summarise`.
        extra: What else the summary says of the run.
        applications: What they add to phases and report.
    """
    recording, without = runs
    summary = summarise(
        recording,
        without,
        read_decisions(out / "decisions.jsonl"),
        _json(out / "stats.json"),
        control_from_s=control_from_s,
        own_revisions=own_revisions,
        measured_from_s=measured_from_s,
    )
    summary.update(extra)
    plots: Iterable[Plot] = ()
    if applications is not None:
        for column in summary["phases"]:
            column.update(applications.figures(column, True))
        alone = summary["without_control"]
        alone.update(applications.figures(alone, False))
        plots = applications.plots(summary)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    report.write_report(out / "report.html", title, runs, summary, footnote, applications=plots)
    for table in tables(summary):
        console.print(table)
    console.print(TAG.sub("", lead(summary)))
    loop = summary["loop"]
    console.print(
        f"indication p50 {_show(loop['indication_latency_us']['p50'])} µs, detection to"
        f" acknowledged p50 {_show(loop['detect_to_ack_ms']['p50'])} ms,"
        f" {len(summary['decisions'])} decision(s)"
    )
    console.print(f"report   {out / 'report.html'}\nsummary  {out / 'summary.json'}")


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
