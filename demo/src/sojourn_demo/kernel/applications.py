"""What the programs of a run measured: figures of its phases, and plots for the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sojourn_report import Key, Plot
from sojourn_report.colours import MUTED

from sojourn_demo import DemoError
from sojourn_demo.colours import DECISION, PAGES, VIDEO, line
from sojourn_demo.figures import SIZE, both, new_plot, shown_decisions
from sojourn_demo.kernel.media import LADDER_KBPS
from sojourn_demo.kernel.qoe import Session, page_figures
from sojourn_demo.kernel.setup import BROWSER, MEASURED
from sojourn_demo.load.radio_clock import RadioClock
from sojourn_demo.load.rows import Row, in_radio_time, read_rows, write_rows
from sojourn_demo.recording import APPLICATIONS, MBIT_PER_BYTE, Counter, Series

FAINTEST: Final = 0.15
"""Opacity of the lowest rate; the highest has 1."""
Loads = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Browsed:
    """A phase of the browser."""

    video: Session
    pages: Loads


@dataclass(frozen=True, slots=True)
class Measured:
    """One run.

    Attributes:
        clock: That of the gNB.
        later_s: What is added to its times.
        downloads: Bytes of each download by its congestion control, Mbit over s of the run.
        browsed: The phases of the browser, in their order; none without a browser.
    """

    clock: RadioClock
    downloads: dict[str, Counter]
    browsed: tuple[Browsed, ...]
    later_s: float = 0.0

    @classmethod
    def read(cls, folder: Path, clock: RadioClock) -> Measured:
        """Reads what the programs wrote to `folder`, and writes the rows of those beside the
        browser there as a recording has them.

        Raises:
            DemoError: A file is missing or invalid.
        """
        try:
            rows = list(in_radio_time(read_rows(folder / MEASURED), clock))
            browser = folder / BROWSER
            phases = json.loads(browser.read_text())["phases"] if browser.exists() else []
            browsed = tuple(Browsed(Session.of(p["video"]), p["pages"]) for p in phases)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise DemoError(f"{folder}: no measurements of applications: {error!r}") from error
        write_rows(folder / APPLICATIONS, rows)
        return cls(clock, _downloads(rows), browsed)

    def figures(self, phase: Mapping[str, Any], number: int) -> dict[str, Any]:
        """What to add to a phase of the summary; `number` is that of the browser's phase."""
        from_s, to_s = float(phase["from_s"]), float(phase["to_s"])
        rates = {name: counter.rate(from_s, to_s) for name, counter in self.downloads.items()}
        found: dict[str, Any] = {
            "downloads_mbps": {
                name: None if rate is None else round(rate, 3) for name, rate in rates.items()
            }
        }
        if number < len(self.browsed):
            browsed = self.browsed[number]
            found["video"] = browsed.video.figures()
            found.update(page_figures(browsed.pages))
        return found

    def s(self, unix_ms: float) -> float:
        """A time of the run, s."""
        return float(self.clock.at(1e3 * unix_ms)) / 1e6 + self.later_s

    def later(self, by_s: float) -> Measured:
        """The same, later by `by_s`."""
        downloads = {name: counter.later(by_s) for name, counter in self.downloads.items()}
        return replace(self, downloads=downloads, later_s=self.later_s + by_s)


def plots(controlled: Measured, without: Measured, summary: Mapping[str, Any]) -> Iterable[Plot]:
    """Plots: what the screen had, the player's buffer, page loads."""
    if not (controlled.browsed and without.browsed):
        return
    runs = ((without, False), (controlled, True))
    yield _strip(controlled, without, summary)

    figure, axis = new_plot(summary, "s")
    for run, solid in runs:
        for browsed in run.browsed:
            at_ms, buffer_s = browsed.video.buffer()
            at_s = np.array([run.s(ms) for ms in at_ms])
            line(axis, Series(at_s, np.array(buffer_s)), VIDEO, controlled=solid)
    axis.set(ylabel="s of video", ylim=(0, None))
    yield Plot.of(figure, "Buffer of the video player", both(VIDEO))

    figure, axis = new_plot(summary, "s")
    for run, solid in runs:
        for browsed in run.browsed:
            _page_marks(axis, run, browsed.pages, solid=solid)
    axis.set(ylabel="s to load", ylim=(0, None))
    caption = "Page loads by their start (filled: with control; triangle: not over by the end)"
    yield Plot.of(figure, caption)


def _page_marks(axis: Axes, run: Measured, loads: Loads, *, solid: bool) -> None:
    for load in loads:
        done = "load_ms" in load
        axis.plot(
            run.s(load["started_us"] / 1e3),
            load["load_ms" if done else "waited_ms"] / 1e3,
            marker="o" if done else "^",
            color=PAGES,
            fillstyle="full" if solid else "none",
        )


def _strip(controlled: Measured, without: Measured, summary: Mapping[str, Any]) -> Plot:
    """What the screen had at each time: its rate by the depth of the colour, or that it waited."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axis = figure.subplots()
    rows = (("with control", controlled), ("without", without))
    for row, (_, run) in enumerate(rows):
        for browsed in run.browsed:
            began_ms = browsed.video.began_ms()
            for shown in browsed.video.shown():
                waits = began_ms is not None and shown.from_ms >= began_ms
                colour = VIDEO if shown.rate is not None else DECISION if waits else MUTED
                axis.barh(
                    row,
                    (shown.to_ms - shown.from_ms) / 1e3,
                    left=run.s(shown.from_ms),
                    height=0.7,
                    color=colour,
                    alpha=1.0 if shown.rate is None else _opacity(shown.rate),
                    linewidth=0,
                )
    axis.set(yticks=range(len(rows)), yticklabels=[name for name, _ in rows], xlabel="s")
    axis.set(ylim=(len(rows) - 0.5, -0.5))
    axis.grid(visible=False)
    for decision in shown_decisions(summary):
        axis.axvline(decision["at_s"], color=DECISION, linewidth=1, linestyle=":")
    low, high = LADDER_KBPS[0] / 1e3, LADDER_KBPS[-1] / 1e3
    keys = (
        Key(VIDEO, True, f"plays, the deeper the higher the rate, {low:g} to {high:g} Mbit/s"),
        Key(MUTED, True, "before the first picture"),
        Key(DECISION, True, "stalled"),
    )
    return Plot.of(figure, "What the video showed; it begins anew with each phase", keys)


def _opacity(rate: int) -> float:
    return FAINTEST + (1 - FAINTEST) * rate / (len(LADDER_KBPS) - 1)


def _downloads(rows: Iterable[Row]) -> dict[str, Counter]:
    found: dict[str, tuple[list[float], list[float]]] = {}
    for flow, _, quantity, at_us, value in rows:
        if quantity == "goodput_bytes":
            at_s, total = found.setdefault(flow, ([], []))
            at_s.append(at_us / 1e6)
            total.append(value * MBIT_PER_BYTE)
    return {flow: Counter(np.array(at_s), np.array(total)) for flow, (at_s, total) in found.items()}
