"""The picture of a soak: each quantity over time, its slope per hour and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from soak_trend import Sample, Trend
from sojourn_demo.colours import GOODPUT, PING, RLC, SHADE, STYLE, TC, themed

PANELS: Final = {
    "memory_mib": "memory, MiB",
    "threads": "threads",
    "descriptors": "descriptors",
    "cpu_cores": "CPU, cores",
    "indication_age": "age of indications, ms",
    "control_round_trip": "control round trip, ms",
    "forecast_age": "age of forecasts, ms",
}
COLOURS: Final = {"gnb-lab": PING, "rlc-forecaster": GOODPUT, "tc-controller": RLC, "client": TC}


def draw(
    path: Path, title: str, samples: Sequence[Sample], trends: Sequence[Trend], warm_s: float
) -> None:
    """Draws an SVG with a panel for each quantity; the warm-up of each segment is shaded."""
    figure = Figure(figsize=(11, 15), layout="constrained")
    figure.suptitle(title)
    panels = dict(zip(PANELS, figure.subplots(len(PANELS), 1, sharex=True), strict=True))
    begins: dict[int, float] = {}
    for sample in samples:
        begins.setdefault(sample.segment, sample.at_s)
    for key, axes in panels.items():
        axes.set_ylabel(PANELS[key])
        for begin_s in begins.values():
            axes.axvspan(begin_s / 60, (begin_s + warm_s) / 60, color=SHADE)
        for trend in trends:
            if trend.quantity.startswith(key):
                _line(axes, samples, trend)
        axes.set_ylim(bottom=0)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)
    axes.set_xlabel("minutes of running")
    svg = themed(figure)
    end = svg.index(">") + 1
    path.write_text(f"{svg[:end]}<style>{STYLE}</style>{svg[end:]}", encoding="utf-8")


def _line(axes: Axes, samples: Sequence[Sample], trend: Trend) -> None:
    at, values, segment = [], [], None
    for sample in samples:
        if (sample.source, sample.quantity) == (trend.source, trend.quantity):
            if segment not in (None, sample.segment):
                # A gap between segments.
                at.append(sample.at_s / 60)
                values.append(float("nan"))
            segment = sample.segment
            at.append(sample.at_s / 60)
            values.append(sample.value)
    high = "p99" in trend.quantity
    of = next((part for part in ("p50", "p99") if part in trend.quantity), "")
    axes.plot(
        at,
        values,
        color=COLOURS[trend.source],
        linewidth=1.2 if high else 1.6,
        linestyle=(0, (3, 2)) if high else "-",
        label=f"{trend.source} {of}\n{trend.slope:+.2g} per hour: {trend.verdict}",
    )
