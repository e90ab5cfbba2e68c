"""What all dashboards share: variables, links between them, time range and layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from sojourn_dashboards.drawn import SOURCE, drawn
from sojourn_dashboards.page import Event, Page, Row, Variable
from sojourn_dashboards.queries import scoped

TAG: Final = "sojourn"
UID_PREFIX: Final = "sojourn-"
WIDTH: Final = 24
"""Columns of the grid."""


class _Annotation(models.AnnotationQuery):
    """An annotation with what Grafana keeps of one of Prometheus and the SDK's type lacks."""

    def __init__(self, event: Event) -> None:
        super().__init__(event.name, SOURCE, icon_color=event.colour, expr=scoped(event.expr))
        self.words = {"titleFormat": event.title, "textFormat": event.about}

    def to_json(self) -> dict[str, object]:
        return super().to_json() | self.words | {"step": "15s"}


def _scope() -> Iterator[Variable]:
    """Variables of every dashboard beside the data source: site, job, instance. Each lists the
    values that those before it leave."""
    chosen: list[str] = []
    for name, about, none in (
        ("cluster", "Kubernetes clusters, or what the scrape configuration calls so.", True),
        ("namespace", "Namespaces; without Kubernetes, sites.", True),
        ("release", "Releases of the chart.", True),
        ("job", "Scrape jobs of Sojourn's programs.", False),
        ("instance", "Replicas of the programs.", False),
    ):
        within = f"{{{', '.join(chosen)}}}" if chosen else ""
        yield Variable(
            name=name,
            label=name.capitalize(),
            about=about,
            values=f"sojourn_build_info{within}, {name}",
            several=True,
            may_lack=none,
        )
        chosen.append(f'{name}=~"${name}"')


def board(page: Page) -> models.Dashboard:
    """The dashboard of a page."""
    made = builders.Dashboard(f"Sojourn / {page.title}").uid(UID_PREFIX + page.title.lower())
    made.description(page.about).tags([TAG]).readonly().timezone("utc")
    made.time(page.span, "now").refresh(page.refresh).tooltip(models.DashboardCursorSync.CROSSHAIR)
    source = builders.DatasourceVariable("datasource").label("Data source").type("prometheus")
    made.variables([source, *map(_variable, (*_scope(), *page.variables))])
    others = builders.DashboardLink("Sojourn").type(models.DashboardLinkType.DASHBOARDS)
    made.link(others.tags([TAG]).as_dropdown(True).keep_time(True).include_vars(True))
    for name, url in page.drill.items():
        link = builders.DashboardLink(name).type(models.DashboardLinkType.LINK).url(url)
        made.link(link.icon("external link").tooltip(name))
    whole = made.build()
    whole.annotations.list_val = [_Annotation(event) for event in page.events]
    whole.panels = _placed(page.rows)
    return whole


def _variable(variable: Variable) -> builders.QueryVariable | builders.TextBoxVariable:
    if variable.default:
        text = builders.TextBoxVariable(variable.name).label(variable.label)
        chosen = models.VariableOption(text=variable.default, value=variable.default)
        return text.description(variable.about).default_value(variable.default).current(chosen)
    query = builders.QueryVariable(variable.name).label(variable.label).datasource(SOURCE)
    query.description(variable.about).query(f"label_values({variable.values})")
    query.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    query.sort(models.VariableSort.NATURAL_ASC)
    if variable.several:
        everything = models.VariableOption(selected=True, text="All", value="$__all")
        every = ".*" if variable.may_lack else ".+"
        query.multi(True).include_all(True).all_value(every).current(everything)
    return query


def _placed(rows: Sequence[Row]) -> list[models.Panel | models.RowPanel]:
    """Rows and panels from left to right and from top to bottom, numbered.

    The SDK would leave room for the panels of a collapsed row, and gives no numbers.
    """
    placed: list[models.Panel | models.RowPanel] = []
    numbers = count(1)
    y = 0
    for row in rows:
        heading = models.RowPanel(row.collapsed, row.title, id_val=next(numbers))
        heading.grid_pos = models.GridPos(1, WIDTH, 0, y)
        panels = []
        x, below = 0, y + 1
        for panel, (width, height) in row.sized():
            made = drawn(panel)
            made.id_val = next(numbers)
            made.grid_pos = models.GridPos(height, width, x, below)
            panels.append(made)
            x = (x + width) % WIDTH
            below += 0 if x else height
        placed.append(heading)
        if row.collapsed:
            heading.panels = panels
            y += 1
        else:
            placed += panels
            y = below
    return placed


def text(dashboard: models.Dashboard) -> str:
    """The dashboard as Grafana imports it."""
    written = json.dumps(dashboard, cls=JSONEncoder, indent=1, ensure_ascii=False, sort_keys=True)
    return written + "\n"
