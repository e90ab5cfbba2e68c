"""What all dashboards share: variables, links between them, time range, and how JSON is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from sojourn_dashboards.panels import SOURCE, AnyPanel

TAG = "sojourn"
UID_PREFIX = "sojourn-"


def selector(metric: str, *matchers: str) -> str:
    """The metric at the selected jobs and instances, with more matchers of labels.

    Example: `selector("up", 'node=~"$node"')`.
    """
    listed = ", ".join(('job=~"$job"', 'instance=~"$instance"', *matchers))
    return f"{metric}{{{listed}}}"


def rate(metric: str, *matchers: str) -> str:
    """Increase of a counter per second over the rate interval."""
    return f"rate({selector(metric, *matchers)}[$__rate_interval])"


def quantile(q: float, histogram: str) -> str:
    """Quantile of a histogram over the rate interval, over all its series."""
    return f"histogram_quantile({q}, sum by (le) ({rate(histogram + '_bucket')}))"


def events(metric: str, *by: str) -> str:
    """Events of a counter in each `$__interval`, by labels.

    Not `increase`: a series appears with its first event, which `increase` does not see.
    """
    counter = selector(metric)
    counted = f"clamp_min({counter} - {counter} offset $__interval or {counter}, 0)"
    return f"sum by ({', '.join(by)}) ({counted})"


def by_owner(expr: str) -> str:
    """An expression by node and instance, of the controllers that own the nodes.

    Every replica watches every node. Where one of them owns it, the others are left out.
    """
    owner = selector("sojourn_controller_node_owner")
    owned = f"on (node) (max by (node) ({owner}) == 1)"
    return f"({expr}) unless on (node, instance) ({owner} == 0 and {owned})"


def with_slice(expr: str) -> str:
    """An expression by slice, with words where the policy defines none."""
    return f'label_replace({expr}, "slice", "no slice", "slice", "")'


def board_url(board: str, **variables: str) -> str:
    """URL of another dashboard, at the same time range and data source, with these variables."""
    chosen = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return f"/d/{UID_PREFIX}{board}?${{__url_time_range}}&${{datasource:queryparam}}{chosen}"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a dashboard: values of a label."""

    name: str
    label: str
    description: str
    query: str
    """`label_values(SELECTOR, LABEL)`."""
    many: bool = True
    """Several values may be chosen, all by default; otherwise exactly one."""

    def single(self) -> Variable:
        """The same variable with exactly one value."""
        return replace(self, many=False)


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable of a dashboard: a text that its reader sets."""

    name: str
    label: str
    description: str
    default: str


JOB = Variable(
    "job",
    "Job",
    "Scrape jobs of Sojourn's programs.",
    "label_values(sojourn_build_info, job)",
)
NODE = Variable(
    "node",
    "Node",
    "gNBs, as the E2 gateway lists them.",
    'label_values(sojourn_controller_node_owner{job=~"$job", instance=~"$instance"}, node)',
)
INSTANCE = Variable(
    "instance",
    "Instance",
    "Replicas of the programs.",
    'label_values(sojourn_build_info{job=~"$job"}, instance)',
)


@dataclass(frozen=True, slots=True)
class Event:
    """An annotation from metrics: a mark wherever the query has a value above 0."""

    name: str
    expr: str
    title: str
    text: str
    colour: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of panels under a heading."""

    title: str
    panels: Sequence[AnyPanel]
    collapsed: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard."""

    name: str
    """File name without `.json`; with the prefix `sojourn-` also the uid."""
    title: str
    description: str
    rows: Sequence[Row]
    variables: Sequence[Variable | Setting] = ()
    """Beside data source, job and instance."""
    events: Sequence[Event] = ()
    span: str = "now-1h"
    refresh: str = "30s"
    drill: Mapping[str, str] = field(default_factory=dict)
    """Title → URL of the dashboards that lead further down."""

    def json(self) -> str:
        """The dashboard as Grafana imports it."""
        built: Any = json.loads(json.dumps(self._built(), cls=JSONEncoder))
        for number, panel in enumerate(_panels(built["panels"]), start=1):
            panel["id"] = number
        _close_gaps(built["panels"])
        # Grafana keeps these of a Prometheus annotation beside `expr`; the SDK's type lacks them.
        for event, annotation in zip(self.events, built["annotations"]["list"], strict=True):
            annotation |= {"titleFormat": event.title, "textFormat": event.text, "step": "15s"}
        return json.dumps(built, indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    def _built(self) -> models.Dashboard:
        board = builders.Dashboard(self.title).uid(UID_PREFIX + self.name).tags([TAG])
        board.description(self.description).readonly().timezone("utc")
        board.time(self.span, "now").refresh(self.refresh)
        board.tooltip(models.DashboardCursorSync.CROSSHAIR)
        board.with_variable(
            builders.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
        for variable in (JOB, INSTANCE, *self.variables):
            board.with_variable(_variable(variable))
        board.link(
            builders.DashboardLink("Sojourn")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(True)
            .keep_time(True)
            .include_vars(True)
        )
        for title, url in self.drill.items():
            board.link(
                builders.DashboardLink(title)
                .type(models.DashboardLinkType.LINK)
                .url(url)
                .icon("external link")
                .tooltip(title)
            )
        board.annotations([_annotation(event) for event in self.events])
        for row in self.rows:
            section = builders.Row(row.title).collapsed(row.collapsed)
            if row.collapsed:
                for panel in row.panels:
                    section.with_panel(panel)
                board.with_row(section)
                continue
            board.with_row(section)
            for panel in row.panels:
                board.with_panel(panel)
        return board.build()


def _annotation(event: Event) -> builders.AnnotationQuery:
    query = builders.AnnotationQuery().name(event.name).datasource(SOURCE).enable(True)
    return query.icon_color(event.colour).expr(event.expr)


def _variable(variable: Variable | Setting) -> builders.QueryVariable | builders.TextBoxVariable:
    if isinstance(variable, Setting):
        text = builders.TextBoxVariable(variable.name).label(variable.label)
        chosen = models.VariableOption(text=variable.default, value=variable.default)
        text.description(variable.description).default_value(variable.default).current(chosen)
        return text
    query = builders.QueryVariable(variable.name).label(variable.label)
    query.description(variable.description).datasource(SOURCE).query(variable.query)
    query.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    query.sort(models.VariableSort.NATURAL_ASC)
    if variable.many:
        everything = models.VariableOption(selected=True, text="All", value="$__all")
        query.multi(True).include_all(True).all_value(".+").current(everything)
    return query


def _close_gaps(panels: list[dict[str, Any]]) -> None:
    """Moves panels up by the height of the collapsed rows above them, which the SDK reserves."""
    reserved = 0
    for panel in panels:
        panel["gridPos"]["y"] -= reserved
        inner = [nested["gridPos"] for nested in panel.get("panels", [])]
        if inner:
            top = min(grid["y"] for grid in inner)
            reserved += max(grid["y"] + grid["h"] for grid in inner) - top


def _panels(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All panels, those in collapsed rows included."""
    return [p for panel in listed for p in (panel, *_panels(panel.get("panels", [])))]
