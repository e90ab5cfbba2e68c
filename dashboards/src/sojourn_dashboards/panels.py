"""Panels in the one style of all dashboards.

Each has a title, a description, a unit and a text for the case that there is no data, which says
why and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    statushistory,
    table,
    text,
    timeseries,
)
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmaps
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.text import TextMode

from sojourn_dashboards import colours

SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
AnyPanel = (
    timeseries.Panel
    | stat.Panel
    | bargauge.Panel
    | table.Panel
    | statushistory.Panel
    | statetimeline.Panel
    | heatmap.Panel
    | text.Panel
)
P = TypeVar(
    "P",
    timeseries.Panel,
    stat.Panel,
    bargauge.Panel,
    table.Panel,
    statushistory.Panel,
    statetimeline.Panel,
    heatmap.Panel,
)
BAR_INTERVAL: Final = "1m"
"""Least time of a bar: its events are the increase over `$__interval`."""
Steps = Sequence[tuple[float | None, str]]
"""Thresholds: from this value on, this colour; the first is `None`."""
Words = Mapping[str, tuple[str, str]]
"""Value as text → what to show for it, and its colour."""


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL query of a panel."""

    expr: str
    legend: str = ""
    """Name of a series; `{{label}}` is replaced."""
    colour: str | None = None
    """Colour of all its series; by default one of Grafana's palette for each series name."""
    dashed: bool = False
    """Drawn dashed and without fill: a bound, an objective."""
    instant: bool = False
    table: bool = False
    """As a table with one column per label."""
    buckets: bool = False
    """A histogram's buckets by `le`, for a heat map."""


@dataclass(frozen=True, slots=True)
class Card:
    """What every panel has."""

    title: str
    description: str
    unit: str
    queries: Sequence[Query]
    empty: str
    """Shown without data: why, and what to do."""
    width: int = 12
    height: int = 8
    decimals: int | None = None
    links: Mapping[str, str] | None = None
    """Title → URL, offered on each value."""


def card(
    title: str,
    unit: str,
    *queries: Query | str,
    about: str,
    empty: str,
    size: tuple[int, int] = (12, 8),
    decimals: int | None = None,
    links: Mapping[str, str] | None = None,
) -> Card:
    """A card; a query that is only an expression has no legend. `size` is columns of 24 by rows."""
    listed = tuple(Query(q) if isinstance(q, str) else q for q in queries)
    return Card(title, about, unit, listed, empty, *size, decimals, links)


def threshold_steps(steps: Steps) -> builders.ThresholdsConfig:
    """Absolute thresholds."""
    return (
        builders.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=colour) for value, colour in steps])
    )


def word_map(words: Words) -> models.ValueMap:
    """A mapping of values to words and colours."""
    return models.ValueMap(
        options={
            value: models.ValueMappingResult(text=shown, color=colour, index=i)
            for i, (value, (shown, colour)) in enumerate(words.items())
        }
    )


def link_list(links: Mapping[str, str]) -> list[dict[str, object]]:
    """Data links as they stand in a panel's JSON."""
    return [{"title": title, "url": url, "targetBlank": False} for title, url in links.items()]


def _filled(panel: P, card: Card) -> P:
    """The panel with everything that a card says."""
    panel.title(card.title).description(card.description).unit(card.unit).no_value(card.empty)
    panel.datasource(SOURCE).span(card.width).height(card.height)
    if card.decimals is not None:
        panel.decimals(card.decimals)
    for letter, query in zip(ascii_uppercase, card.queries, strict=False):
        target = prometheus.Dataquery().expr(query.expr).ref_id(letter).datasource(SOURCE)
        target.legend_format(query.legend)
        if query.instant:
            target.instant()
        else:
            target.range()
        if query.table or query.buckets:
            target.format(PromQueryFormat.TABLE if query.table else PromQueryFormat.HEATMAP)
        panel.with_target(target)
        properties = []
        if query.colour:
            properties.append(_property("color", {"mode": "fixed", "fixedColor": query.colour}))
        if query.dashed:
            properties += [
                _property("custom.lineStyle", {"fill": "dash", "dash": [8, 6]}),
                _property("custom.fillOpacity", 0),
                _property("custom.lineWidth", 2),
            ]
        if properties:
            panel.override_by_query(letter, properties)
    if card.links:
        panel.override_by_regexp("/.*/", [_property("links", link_list(card.links))])
    return panel


def _property(name: str, value: object) -> models.DynamicConfigValue:
    return models.DynamicConfigValue(id_val=name, value=value)


def _colour_mode(mode: models.FieldColorModeId) -> builders.FieldColor:
    return builders.FieldColor().mode(mode)


def _named(panel: P, names: Words | None) -> None:
    """Words and colours of the series of these names."""
    for name, (shown, colour) in (names or {}).items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        panel.override_by_name(name, [_property("displayName", shown), _property("color", fixed)])


def lines(
    card: Card,
    *,
    minimum: float | None = 0,
    maximum: float | None = None,
    logarithmic: bool = False,
    bars: bool = False,
    statistics: Sequence[str] = (),
    steps: bool = False,
    names: Words | None = None,
) -> timeseries.Panel:
    """Series over time, not stacked.

    With `statistics` the legend is a table of them. `names`: words and colours by series name.
    """
    panel = _filled(timeseries.Panel(), card)
    legend = common.VizLegendOptions().show_legend(True)
    legend.placement(options.LegendPlacement.BOTTOM).calcs(list(statistics))
    legend.display_mode(
        options.LegendDisplayMode.TABLE if statistics else options.LegendDisplayMode.LIST
    )
    tooltip = common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI)
    panel.legend(legend).tooltip(tooltip.sort(options.SortOrder.DESCENDING))
    panel.color_scheme(_colour_mode(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    # Filled areas of several series hide each other.
    alone = len(card.queries) == 1 and not card.queries[0].legend.startswith("{{")
    panel.line_width(2).fill_opacity(60 if bars else 15 if alone else 0).axis_border_show(False)
    panel.show_points(options.VisibilityMode.NEVER).span_nulls(False)
    if bars:
        panel.draw_style(options.GraphDrawStyle.BARS).line_width(1).interval(BAR_INTERVAL)
    if steps:
        panel.line_interpolation(options.LineInterpolation.STEP_AFTER)
    if logarithmic:
        scale = common.ScaleDistributionConfig().type(options.ScaleDistribution.LOG).log(10)
        panel.scale_distribution(scale)
    elif minimum is not None:
        panel.min(minimum)
    if maximum is not None:
        panel.max(maximum)
    _named(panel, names)
    return panel


def number(
    card: Card,
    steps: Steps,
    *,
    words: Words | None = None,
    sparkline: bool = True,
    names: Words | None = None,
) -> stat.Panel:
    """The newest value, large, coloured by thresholds or by its words.

    With `names` the name of the series is shown instead, in these words and colours. The text for
    no data is shrunk to the width of the tile: at most 40 characters.
    """
    panel = _filled(stat.Panel(), card)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel.graph_mode(
        options.BigValueGraphMode.AREA if sparkline else options.BigValueGraphMode.NONE
    )
    panel.color_mode(options.BigValueColorMode.VALUE)
    panel.text_mode(
        options.BigValueTextMode.VALUE if names is None else options.BigValueTextMode.NAME
    )
    _named(panel, names)
    panel.color_scheme(_colour_mode(models.FieldColorModeId.THRESHOLDS))
    panel.thresholds(threshold_steps(steps))
    if words:
        panel.mappings([word_map(words)])
    return panel


def ranking(
    card: Card, steps: Steps, *, maximum: float | None = None, names: Words | None = None
) -> bargauge.Panel:
    """Bars one below the other, each with its value; `names`: words and colours by series name."""
    panel = _filled(bargauge.Panel(), card)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel.orientation(options.VizOrientation.HORIZONTAL)
    panel.display_mode(options.BarGaugeDisplayMode.BASIC).min(0)
    panel.color_scheme(_colour_mode(models.FieldColorModeId.THRESHOLDS))
    panel.thresholds(threshold_steps(steps))
    if maximum is not None:
        panel.max(maximum)
    _named(panel, names)
    return panel


def history(
    card: Card, steps: Steps, *, last: str, every: str, words: Words | None = None
) -> statushistory.Panel:
    """A row per series, a cell per interval, coloured by thresholds; the value is in the cell."""
    panel = _filled(statushistory.Panel(), card)
    panel.show_value(options.VisibilityMode.AUTO).time_from(last).interval(every)
    panel.row_height(0.9).col_width(0.95).fill_opacity(80).line_width(0)
    panel.legend(common.VizLegendOptions().show_legend(False))
    panel.tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.SINGLE))
    panel.color_scheme(_colour_mode(models.FieldColorModeId.THRESHOLDS))
    panel.thresholds(threshold_steps(steps))
    if words:
        panel.mappings([word_map(words)])
    return panel


def timeline(card: Card, *, words: Words | None, names: Words | None) -> statetimeline.Panel:
    """A row per series, a bar for as long as its value lasts."""
    panel = _filled(statetimeline.Panel(), card)
    panel.show_value(options.VisibilityMode.ALWAYS).merge_values(True).row_height(0.85)
    panel.fill_opacity(75).line_width(0)
    panel.legend(common.VizLegendOptions().show_legend(False))
    panel.tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.SINGLE))
    panel.color_scheme(_colour_mode(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    if words:
        panel.mappings([word_map(words)])
    _named(panel, names)
    return panel


def density(card: Card) -> heatmap.Panel:
    """How the observations of a histogram are spread over time."""
    panel = _filled(heatmap.Panel(), card)
    panel.calculate(False).show_legend().cell_gap(1).show_color_scale(True)
    panel.y_axis(heatmap.YAxisConfig().unit(card.unit))
    panel.color(
        heatmap.HeatmapColorOptions()
        .mode(heatmaps.HeatmapColorMode.SCHEME)
        .scheme("Viridis")
        .steps(64)
    )
    return panel


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
    bar_to: float | None = None
    """Shown as a bar from 0 to this value."""


def rows(card: Card, columns: Sequence[Column], *, sort: str, descending: bool) -> table.Panel:
    """A table of instant queries joined on their labels; columns in the given order."""
    panel = _filled(table.Panel(), card)
    panel.show_header(True).cell_height(options.TableCellHeight.SM)
    if len(card.queries) > 1:
        panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        models.DataTransformerConfig(
            id_val="filterFieldsByName",
            options={"include": {"names": [column.field for column in columns]}},
        )
    )
    panel.with_transformation(
        models.DataTransformerConfig(
            id_val="organize",
            options={
                "indexByName": {column.field: i for i, column in enumerate(columns)},
                "renameByName": {column.field: column.title for column in columns},
            },
        )
    )
    panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(descending)])
    for column in columns:
        panel.override_by_name(column.title, _column_properties(column))
    return panel


def _column_properties(column: Column) -> list[models.DynamicConfigValue]:
    # Else an empty cell shows the text of a panel without data.
    properties = [_property("noValue", "–")]
    if column.unit:
        properties.append(_property("unit", column.unit))
    if column.width:
        properties.append(_property("custom.width", column.width))
    if column.decimals is not None:
        properties.append(_property("decimals", column.decimals))
    if column.words:
        properties.append(_property("mappings", [word_map(column.words)]))
    if column.steps:
        properties.append(_property("thresholds", threshold_steps(column.steps).build()))
        properties.append(_property("color", {"mode": "thresholds"}))
    if column.bar_to is not None:
        properties += [
            _property("custom.cellOptions", {"type": "gauge", "mode": "basic"}),
            _property("min", 0),
            _property("max", column.bar_to),
        ]
    elif column.steps or column.words:
        properties.append(_property("custom.cellOptions", {"type": "color-text"}))
    if column.links:
        properties.append(_property("links", link_list(column.links)))
    return properties


def note(title: str, description: str, content: str, *, width: int, height: int) -> text.Panel:
    """A text in Markdown."""
    panel = text.Panel().title(title).description(description).mode(TextMode.MARKDOWN)
    return panel.content(content).span(width).height(height)


STEADY: Final[Steps] = ((None, colours.SERIES[3]),)
"""For a value that is neither good nor bad."""
