"""One colour per quantity, in report, picture and terminal.

The run without control has the colour of the quantity too, and dashed lines.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from sojourn_report import colours

from sojourn_demo.recording import Series

PING, GOODPUT, DRAINED = colours.BLUE, colours.GREEN, colours.VIOLET
RLC, TC, RADIO, DECISION = colours.ORANGE, colours.MAGENTA, colours.BROWN, colours.RED
VIDEO, PAGES, RESPONSIVENESS = colours.INDIGO, colours.OLIVE, colours.TEAL


def line(axis: Axes, series: Series, colour: str, *, controlled: bool = True) -> None:
    """Draws a series: solid with control, dashed without."""
    axis.plot(
        series.at_s,
        series.value,
        color=colour,
        linewidth=1.6 if controlled else 1.2,
        linestyle="-" if controlled else (0, (3, 2)),
    )
