"""A page in one file: no script, no outside resource, for phones too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sojourn_report.colours import STYLE
from sojourn_report.figures import Plot

_TEMPLATES: Final = Environment(
    loader=PackageLoader("sojourn_report", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    head: str
    kind: Literal["text", "number", "wide"] = "text"
    """Numbers are at the right; a wide text takes what is left."""
    strong: bool = False

    @property
    def css(self) -> str:
        """Classes of a cell."""
        kind = {"text": "", "number": "n", "wide": "w"}[self.kind]
        return " ".join(filter(None, (kind, "c" if self.strong else "")))


@dataclass(frozen=True, slots=True)
class Table:
    """A table; cells are text, or `Markup` where they are HTML."""

    KIND: ClassVar = "table"
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    groups: Sequence[tuple[str, int]] = ()
    """A line above the heads: text and number of columns."""
    folded: str = ""
    """What a reader opens to see it; it is always there if empty."""


@dataclass(frozen=True, slots=True)
class Plots:
    """Plots beside each other, as many as there is room for."""

    KIND: ClassVar = "plots"
    plots: Sequence[Plot]


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph; `text` may be `Markup`."""

    KIND: ClassVar = "note"
    text: str
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks below a heading; no heading if that is empty."""

    heading: str
    blocks: Sequence[Table | Plots | Note] = field(default_factory=list)


def page(title: str, lead: str | Markup, sections: Sequence[Section]) -> str:
    """The HTML of a page; `lead` is the result in a sentence or two, text or `Markup`."""
    made: str = _TEMPLATES.get_template("page.html").render(
        title=title, lead=lead, sections=sections, colours=STYLE
    )
    return made
