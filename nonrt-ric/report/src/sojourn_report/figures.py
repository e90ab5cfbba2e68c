"""Figures of matplotlib in a page and as files."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from sojourn_report.colours import NAMES, PAPER, STYLE

FORMATS: Final[dict[str, dict[str, Any]]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
}
"""Formats of files, with what keeps the time and place of writing out of them."""
_DPI: Final = 120


class Key(NamedTuple):
    """What a line of a plot is."""

    colour: str
    """One of `sojourn_report.colours`."""
    solid: bool
    """Dashed if false."""
    text: str

    @property
    def variable(self) -> str:
        """Name of the colour's CSS variable."""
        return NAMES[self.colour]


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of a page with its caption and what its lines are."""

    svg: str
    caption: str
    keys: tuple[Key, ...] = ()

    @classmethod
    def of(cls, figure: Figure, caption: str, keys: Iterable[Key] = ()) -> Plot:
        """Draws `figure`."""
        return cls(_themed(figure), caption, tuple(keys))


def plain(axis: Axis) -> None:
    """Ticks of a logarithmic axis as 0.1, 1, 10, 100, 1,000."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the file's ending, one of `FORMATS`.

    An SVG has both colour schemes, the others are on white.

    Raises:
        KeyError: The format is another.
        OSError: The file cannot be written.
    """
    metadata = FORMATS[path.suffix]
    if path.suffix != ".svg":
        figure.savefig(path, dpi=_DPI, facecolor=PAPER, metadata=metadata)
        return
    svg = _themed(figure)
    end = svg.index(">") + 1
    path.write_text(f"{svg[:end]}<style>{STYLE}</style>{svg[end:]}", encoding="utf-8")


def _themed(figure: Figure) -> str:
    """The SVG element of a figure, its colours as CSS variables."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata=FORMATS[".svg"])
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Groups have the same identifiers in each figure of a page; only those of <defs> are used.
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), svg)


def _variable(colour: str) -> str:
    name = NAMES.get(colour)
    return f"var(--{name})" if name else colour
