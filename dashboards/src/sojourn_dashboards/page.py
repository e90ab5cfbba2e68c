"""What a page says: rows of panels, their queries and columns."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sojourn_dashboards.names import SITE, Colour, Number, Steps, Words

Kind = Literal[
    "lines",
    "signed_lines",
    "log_lines",
    "bars",
    "number",
    "trend",
    "ranking",
    "history",
    "timeline",
    "density",
    "table",
]
"""Ways to draw a panel (`kinds`)."""
Links = dict[str, str]
"""Title → URL."""
Size = tuple[int, int]
"""Columns of 24 by rows."""
NO_LABEL = "^$"
"""Stands for a label that a series lacks: as the value of a variable it selects such series."""


class Part(BaseModel):
    """A part of a page: no keys but those named here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Query(Part):
    """A query of a panel: `expr`, or events of a counter."""

    expr: str = ""
    """PromQL, at the selected jobs and instances (`queries.scoped`)."""
    events: str = ""
    """Counter whose events in each interval are shown."""
    by: str = "job"
    """Label of these events."""
    zeros: bool = False
    """Shown in intervals without events, too."""
    legend: str = ""
    """Name of a series; `{{label}}` is replaced."""
    colour: Colour | None = None
    """Colour of all its series; by default one of Grafana's palette for each series name."""
    dashed: bool = False
    """Drawn dashed and without fill, in the colour of bounds: a bound, an objective, a sum."""
    instant: bool = False


class Column(Part):
    """A column of a table: a label or the value of a query."""

    field: str
    """Label, or `Value #A` for the value of query A."""
    title: str
    unit: str | None = None
    width: int | None = None
    decimals: int | None = None
    steps: Steps | None = None
    words: Words | None = None
    links: Links = {}
    bar_to: Number | None = None
    """Shown as a bar from 0 to this value."""


_SITE_COLUMNS = [
    Column(field=label, title=label.capitalize(), width=110, words={NO_LABEL: ("–", "unknown")})
    for label in SITE
]


def _listed(given: object) -> object:
    """Queries as a list; one that is only an expression has no legend."""
    listed = given if isinstance(given, list) else [given]
    return [{"expr": query} if isinstance(query, str) else query for query in listed]


class Panel(Part):
    """A panel."""

    title: str
    kind: Kind = "lines"
    queries: Annotated[list[Query], BeforeValidator(_listed)]
    about: str
    unit: str = "none"
    decimals: int | None = None
    steps: Steps | None = None
    words: Words | None = None
    """Words shown in place of values."""
    names: Words | None = None
    """Words for series by their names; a tile shows the name in place of the value."""
    maximum: Number | None = None
    columns: list[Column] = []
    sort: str = ""
    """Title of a column."""
    descending: bool = False
    links: Links = {}
    """Offered on each value."""
    empty: str = ""
    """Shown without data: why, and what to do; by default the row's."""
    size: Size | None = None
    """Width and height; the row's by default."""

    @property
    def located(self) -> bool:
        """Whether it is a table of nodes or slices, which are of a site."""
        return any(column.field in ("node", "slice") for column in self.columns)

    @property
    def shown(self) -> list[Column]:
        """Its columns, those of the site included."""
        return [*_SITE_COLUMNS, *self.columns] if self.located else self.columns

    def lettered(self) -> Iterator[tuple[str, Query]]:
        """The queries, as Grafana numbers them."""
        return zip(ascii_uppercase, self.queries, strict=False)


class Tile(Panel):
    """A small panel of one value."""

    kind: Literal["number", "trend"] = "number"
    steps: Steps = Field("steady", validate_default=True)


class Row(Part):
    """A row of tiles, then panels, under a heading."""

    title: str
    tiles: list[Tile] = []
    panels: list[Panel] = []
    empty: str = ""
    empty_tile: str = ""
    """A tile has room for 40 characters."""
    size: Size | None = None
    collapsed: bool = False

    def sized(self) -> Iterator[tuple[Panel, Size]]:
        """Its panels with their sizes, and with a text for no data."""
        for tile in self.tiles:
            empty = tile.empty or self.empty_tile or self.empty
            yield tile.model_copy(update={"empty": empty}), tile.size or self.size or (4, 4)
        for panel in self.panels:
            empty = panel.empty or self.empty
            yield panel.model_copy(update={"empty": empty}), panel.size or self.size or (8, 8)


class Variable(Part):
    """A variable of a page: one value of a label, or a text that its reader sets."""

    name: str
    label: str
    about: str
    values: str = ""
    """`SELECTOR, LABEL`."""
    several: bool = False
    """Several values may be chosen, all by default."""
    may_lack: bool = False
    """Series without the label are among all."""
    default: str = ""


class Event(Part):
    """A mark wherever the expression has a value above 0."""

    name: str
    expr: str
    title: str
    about: str
    colour: Colour


class Page(Part):
    """A dashboard."""

    title: str
    about: str
    span: str = "now-1h"
    refresh: str = "30s"
    let: dict[str, str] = {}
    """Texts put where the page has their `<name>`."""
    drill: Links
    """Dashboards that lead further down."""
    variables: list[Variable] = []
    """Beside data source, job and instance."""
    events: list[Event] = []
    rows: list[Row]
