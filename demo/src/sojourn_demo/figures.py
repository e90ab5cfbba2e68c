"""Figures of the report: a plot over time or delay, its caption, and what its lines are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from sojourn_demo.colours import DECISION, VARIABLES, themed

SIZE: Final = (5.6, 2.7)
"""Inches of a plot: half a page or a whole phone wide, so that its text is legible on both."""


def plain(axis: Axis) -> None:
    """Ticks of a logarithmic axis as 0.1, 1, 10, 100, 1,000."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


Key = tuple[str, bool, str]
"""Colour, solid line, text."""


def both(colour: str, what: str = "") -> tuple[Key, Key]:
    """Keys of the lines with and without control."""
    return (colour, True, f"{what}with control"), (colour, False, f"{what}without")


def new_plot(summary: Mapping[str, Any], unit: str) -> tuple[Figure, Axes]:
    """An empty plot over `unit`, with a line where each decision of `summary` was made before the
    end of its phases."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axis = figure.subplots()
    axis.set_xlabel(unit)
    for decision in shown_decisions(summary):
        axis.axvline(decision["at_s"], color=DECISION, linewidth=1, linestyle=":")
    return figure, axis


def shown_decisions(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The decisions of `summary` before the end of its phases."""
    decisions = summary.get("decisions", ())
    return [d for d in decisions if d["at_s"] <= summary["phases"][1]["to_s"]]


def figure_of(figure: Figure, caption: str, keys: Iterable[Key]) -> str:
    """The HTML of a plot with its caption and what its lines are."""
    names = {light: name for name, (light, _) in VARIABLES.items()}
    shown = "".join(
        f"<span class={'s' if solid else 'd'} style='color:var(--{names[colour]})'>{text}</span>"
        for colour, solid, text in keys
    )
    return f"<figure><figcaption><b>{caption}</b>{shown}</figcaption>{themed(figure)}</figure>"
