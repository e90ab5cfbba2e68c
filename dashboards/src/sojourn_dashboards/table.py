"""Rows of the tables that pages are: a panel, its queries and columns, and a row of panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models

Steps = Sequence[tuple[float | None, str]]
"""Thresholds: from this value on, this colour; the first is `None`."""
Words = Mapping[str, tuple[str, str]]
"""Value as text → what to show for it, and its colour."""


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL query of a panel, at the selected jobs and instances (`queries.scoped`)."""

    expr: str
    legend: str = ""
    """Name of a series; `{{label}}` is replaced."""
    colour: str | None = None
    """Colour of all its series; by default one of Grafana's palette for each series name."""
    dashed: bool = False
    """Drawn dashed and without fill: a bound, an objective."""
    instant: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: a label or the value of a query."""

    field: str
    """Label, or `Value #A` for the value of query A."""
    title: str
    unit: str | None = None
    width: int | None = None
    decimals: int | None = None
    steps: Steps | None = None
    words: Words | None = None
    links: Mapping[str, str] | None = None
    """Title → URL, offered on each value."""
    bar_to: float | None = None
    """Shown as a bar from 0 to this value."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel; `kinds` has a constructor for each way to draw one."""

    draw: Callable[[Panel], Builder[models.Panel]]
    """The panel's style in Grafana's terms; all else is filled in from here."""
    title: str
    queries: str | Query | Sequence[str | Query]
    about: str
    unit: str = "none"
    decimals: int | None = None
    steps: Steps | None = None
    words: Words | None = None
    """Of values."""
    names: Words | None = None
    """Of series, by their names."""
    maximum: float | None = None
    columns: Sequence[Column] = ()
    sort: str = ""
    """Title of a column."""
    descending: bool = False
    links: Mapping[str, str] | None = None
    """Title → URL, offered on each value."""
    empty: str = ""
    """Shown without data: why, and what to do. A tile has room for 40 characters."""
    size: tuple[int, int] | None = None
    """Columns of 24 by rows."""
    tile: bool = False
    """Small: one value."""

    @property
    def asked(self) -> dict[str, Query]:
        """The queries by letter; one that is only an expression has no legend."""
        given = [self.queries] if isinstance(self.queries, str | Query) else self.queries
        listed = [Query(query) if isinstance(query, str) else query for query in given]
        return dict(zip(ascii_uppercase, listed, strict=False))


class Row:
    """A row of panels under a heading, with a size and texts for panels that have none."""

    def __init__(
        self,
        title: str,
        *panels: Panel,
        empty: str = "",
        empty_tile: str = "",
        size: tuple[int, int] | None = None,
        collapsed: bool = False,
    ) -> None:
        self.title = title
        self.collapsed = collapsed
        texts = {True: empty_tile or empty, False: empty}
        self.panels = [
            replace(panel, empty=panel.empty or texts[panel.tile], size=panel.size or size)
            for panel in panels
        ]
