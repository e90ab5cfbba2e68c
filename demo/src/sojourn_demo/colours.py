"""One colour per quantity, for a light and a dark background: of report, picture and terminal.

Figures are drawn in the light colours; `themed` makes them CSS variables, so that one SVG serves
both. The run without control has the colour of the quantity too, and dashed lines.
"""

from __future__ import annotations

import io
import re
from typing import Final

import matplotlib as mpl

mpl.use("svg")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn_demo.recording import Series

PING, GOODPUT, DRAINED = "#0b6fa4", "#00805f", "#7a4fb5"
RLC, TC, RADIO, DECISION = "#b85c00", "#a0357a", "#7b5b3a", "#b03050"
VIDEO, PAGES, RESPONSIVENESS = "#3949ab", "#6b7300", "#00758a"
INK, MUTED, GRID, PAPER, SHADE = "#1c2530", "#5b6772", "#dde3e8", "#ffffff", "#f1f4f6"
VARIABLES: Final = {
    "ping": (PING, "#5ab4ec"),
    "goodput": (GOODPUT, "#3fc79a"),
    "drained": (DRAINED, "#b79cf0"),
    "rlc": (RLC, "#f0a04b"),
    "tc": (TC, "#ee8ccb"),
    "radio": (RADIO, "#cda982"),
    "decision": (DECISION, "#ff7a93"),
    "video": (VIDEO, "#93a1ff"),
    "pages": (PAGES, "#c3cc4a"),
    "responsiveness": (RESPONSIVENESS, "#4fd0e0"),
    "ink": (INK, "#e6ebf0"),
    "muted": (MUTED, "#9aa7b3"),
    "grid": (GRID, "#333d47"),
    "paper": (PAPER, "#12171c"),
    "shade": (SHADE, "#1d252d"),
}
"""Name, light colour, dark colour."""
_NAMES: Final = {light: name for name, (light, _) in VARIABLES.items()}
_LIGHT = "".join(f"--{name}:{light};" for name, (light, _) in VARIABLES.items())
_DARK = "".join(f"--{name}:{dark};" for name, (_, dark) in VARIABLES.items())
STYLE: Final = f":root{{{_LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
"""CSS that defines the variables by the colour scheme that the reader prefers."""

mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "sojourn",
        "font.size": 11,
        "text.color": INK,
        "axes.edgecolor": MUTED,
        "axes.facecolor": "none",
        "axes.labelcolor": MUTED,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "grid.color": GRID,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
    }
)


def themed(figure: Figure) -> str:
    """The SVG element of a figure, its colours as CSS variables."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Groups have the same identifiers in each figure of a page; only those of <defs> are used.
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), svg)


def _variable(colour: str) -> str:
    name = _NAMES.get(colour)
    return f"var(--{name})" if name else colour


def line(axis: Axes, series: Series, colour: str, *, controlled: bool = True) -> None:
    """Draws a series: solid with control, dashed without."""
    axis.plot(
        series.at_s,
        series.value,
        color=colour,
        linewidth=1.6 if controlled else 1.2,
        linestyle="-" if controlled else (0, (3, 2)),
    )
