"""What all dashboards share: variables, links between them, time range and layout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from sojourn_dashboards.drawn import SOURCE, drawn
from sojourn_dashboards.queries import scoped
from sojourn_dashboards.table import Row

TAG: Final = "sojourn"
UID_PREFIX: Final = "sojourn-"
WIDTH: Final = 24
"""Columns of the grid."""


class Event(models.AnnotationQuery):
    """A mark wherever the query has a value above 0."""

    def __init__(self, name: str, expr: str, title: str, text: str, colour: str) -> None:
        super().__init__(name, SOURCE, icon_color=colour, expr=scoped(expr))
        self.title = title
        self.text = text

    def to_json(self) -> dict[str, object]:
        """With what Grafana keeps of a Prometheus annotation and the SDK's type lacks."""
        words = {"titleFormat": self.title, "textFormat": self.text}
        return super().to_json() | words | {"step": "15s"}


def board_url(board: str, **variables: str) -> str:
    """URL of another dashboard, at the same time range and data source, with these variables."""
    chosen = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return f"/d/{UID_PREFIX}{board}?${{__url_time_range}}&${{datasource:queryparam}}{chosen}"


def variable(name: str, label: str, description: str, values: str) -> builders.QueryVariable:
    """A variable with one value, of those of a label: `values` is `SELECTOR, LABEL`."""
    made = builders.QueryVariable(name).label(label).description(description).datasource(SOURCE)
    made.query(f"label_values({values})").sort(models.VariableSort.NATURAL_ASC)
    return made.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)


def several(name: str, label: str, description: str, values: str) -> builders.QueryVariable:
    """The same with several values, all by default."""
    everything = models.VariableOption(selected=True, text="All", value="$__all")
    made = variable(name, label, description, values).multi(True).include_all(True)
    return made.all_value(".+").current(everything)


def setting(name: str, label: str, description: str, default: str) -> builders.TextBoxVariable:
    """A text that the reader of a dashboard sets."""
    made = builders.TextBoxVariable(name).label(label).description(description)
    return made.default_value(default).current(models.VariableOption(text=default, value=default))


NODE: Final = variable(
    "node",
    "Node",
    "gNBs, as the E2 gateway lists them.",
    'sojourn_controller_node_owner{job=~"$job", instance=~"$instance"}, node',
)
SCOPE: Final = (
    builders.DatasourceVariable("datasource").label("Data source").type("prometheus"),
    several("job", "Job", "Scrape jobs of Sojourn's programs.", "sojourn_build_info, job"),
    several(
        "instance",
        "Instance",
        "Replicas of the programs.",
        'sojourn_build_info{job=~"$job"}, instance',
    ),
)
"""Variables of every dashboard."""


def board(
    title: str,
    description: str,
    rows: Sequence[Row],
    *,
    variables: Sequence[builders.QueryVariable | builders.TextBoxVariable] = (),
    events: Sequence[Event] = (),
    span: str = "now-1h",
    refresh: str = "30s",
    drill: Mapping[str, str],
) -> models.Dashboard:
    """A dashboard; `drill`: title → URL of the dashboards that lead further down."""
    made = builders.Dashboard(f"Sojourn / {title}").uid(UID_PREFIX + title.lower()).tags([TAG])
    made.description(description).readonly().timezone("utc").time(span, "now").refresh(refresh)
    made.tooltip(models.DashboardCursorSync.CROSSHAIR).variables([*SCOPE, *variables])
    others = builders.DashboardLink("Sojourn").type(models.DashboardLinkType.DASHBOARDS)
    made.link(others.tags([TAG]).as_dropdown(True).keep_time(True).include_vars(True))
    for name, url in drill.items():
        link = builders.DashboardLink(name).type(models.DashboardLinkType.LINK).url(url)
        made.link(link.icon("external link").tooltip(name))
    whole = made.build()
    whole.annotations.list_val = list(events)
    whole.panels = _placed(rows)
    return whole


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
        for panel in row.panels:
            width, height = panel.size or ((4, 4) if panel.tile else (8, 8))
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
