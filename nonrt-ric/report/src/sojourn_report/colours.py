"""Colours for a light and a dark background, and the look of figures that are drawn in them.

Figures are drawn in the light colours; in SVG they become CSS variables, so that one file serves
both.
"""

from __future__ import annotations

from typing import Final

import matplotlib as mpl
from cycler import cycler

BLUE, ORANGE, GREEN, MAGENTA, VIOLET = "#0b6fa4", "#b85c00", "#00805f", "#a0357a", "#7a4fb5"
BROWN, OLIVE, TEAL, INDIGO, RED = "#7b5b3a", "#6b7300", "#00758a", "#3949ab", "#b03050"
INK, MUTED, GRID, PAPER, SHADE = "#1c2530", "#5b6772", "#dde3e8", "#ffffff", "#f1f4f6"
VARIABLES: Final = {
    "blue": (BLUE, "#5ab4ec"),
    "orange": (ORANGE, "#f0a04b"),
    "green": (GREEN, "#3fc79a"),
    "magenta": (MAGENTA, "#ee8ccb"),
    "violet": (VIOLET, "#b79cf0"),
    "brown": (BROWN, "#cda982"),
    "olive": (OLIVE, "#c3cc4a"),
    "teal": (TEAL, "#4fd0e0"),
    "indigo": (INDIGO, "#93a1ff"),
    "red": (RED, "#ff7a93"),
    "ink": (INK, "#e6ebf0"),
    "muted": (MUTED, "#9aa7b3"),
    "grid": (GRID, "#333d47"),
    "paper": (PAPER, "#12171c"),
    "shade": (SHADE, "#1d252d"),
}
"""Name, light colour, dark colour."""
LINES: Final = (BLUE, ORANGE, GREEN, MAGENTA, VIOLET, BROWN, OLIVE, TEAL, INDIGO, RED)
"""Colours of lines that choose none, in this order."""
NAMES: Final = {light: name for name, (light, _) in VARIABLES.items()}
_LIGHT = "".join(f"--{name}:{light};" for name, (light, _) in VARIABLES.items())
_DARK = "".join(f"--{name}:{dark};" for name, (_, dark) in VARIABLES.items())
STYLE: Final = f":root{{{_LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
"""CSS that defines the variables by the colour scheme that the reader prefers."""

mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        # Equal figures have equal identifiers.
        "svg.hashsalt": "sojourn",
        "font.size": 11,
        "text.color": INK,
        "axes.edgecolor": MUTED,
        "axes.facecolor": "none",
        "axes.labelcolor": MUTED,
        "axes.prop_cycle": cycler(color=LINES),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "figure.facecolor": "none",
        "grid.color": GRID,
        "legend.frameon": False,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
    }
)
