"""Figures of the report: an empty plot over time or delay, and what lines of two runs are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sojourn_report import Key

from sojourn_demo.colours import DECISION

SIZE: Final = (5.6, 2.7)
"""Inches of a plot: half a page or a whole phone wide, so that its text is legible on both."""


def both(colour: str, what: str = "") -> tuple[Key, Key]:
    """Keys of the lines with and without control."""
    return Key(colour, True, f"{what}with control"), Key(colour, False, f"{what}without")


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
