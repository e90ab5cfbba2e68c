"""Ways to draw a panel, each in the one style of all dashboards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    heatmap,
    stat,
    statetimeline,
    statushistory,
    timeseries,
)
from grafana_foundation_sdk.builders import table as tables
from grafana_foundation_sdk.builders.dashboard import FieldColor
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.dashboard import FieldColorModeId
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode

from sojourn_dashboards.page import Kind, Panel
from sojourn_dashboards.queries import legend

BAR_INTERVAL: Final = "1m"
"""Least time of a bar: its events are the increase over `$__interval`."""
BY_NAME: Final = FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME)
BY_THRESHOLD: Final = FieldColor().mode(FieldColorModeId.THRESHOLDS)
NEWEST: Final = common.ReduceDataOptions().calcs(["lastNotNull"])
NO_LEGEND: Final = common.VizLegendOptions().show_legend(False)
ONE_VALUE: Final = common.VizTooltipOptions().mode(options.TooltipDisplayMode.SINGLE)


def _series(panel: Panel) -> timeseries.Panel:
    """Series over time, not stacked, that may be below 0."""
    below = common.VizLegendOptions().show_legend(True).calcs([])
    below.placement(options.LegendPlacement.BOTTOM).display_mode(options.LegendDisplayMode.LIST)
    tooltip = common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI)
    tooltip.sort(options.SortOrder.DESCENDING)
    drawn = timeseries.Panel().legend(below).tooltip(tooltip).color_scheme(BY_NAME)
    # Filled areas of several series hide each other.
    alone = [legend(query).startswith("{{") for query in panel.queries] == [False]
    drawn.line_width(2).fill_opacity(15 if alone else 0).axis_border_show(False)
    drawn.show_points(options.VisibilityMode.NEVER).span_nulls(False)
    return drawn if panel.maximum is None else drawn.max(panel.maximum)


def _lines(panel: Panel) -> timeseries.Panel:
    """Series over time from 0."""
    return _series(panel).min(0)


def _logarithmic(panel: Panel) -> timeseries.Panel:
    """Series over time on a logarithmic scale."""
    scale = common.ScaleDistributionConfig().type(options.ScaleDistribution.LOG).log(10)
    return _series(panel).scale_distribution(scale)


def _bars(panel: Panel) -> timeseries.Panel:
    """Events in each interval."""
    drawn = _lines(panel).draw_style(options.GraphDrawStyle.BARS)
    return drawn.line_width(1).fill_opacity(60).interval(BAR_INTERVAL)


def _tile(panel: Panel, graph: options.BigValueGraphMode) -> stat.Panel:
    """The newest value, large, with or without its course; its name if `names` are given."""
    by_name = panel.names is not None
    text = options.BigValueTextMode.NAME if by_name else options.BigValueTextMode.VALUE
    drawn = stat.Panel().reduce_options(NEWEST).graph_mode(graph).text_mode(text)
    return drawn.color_mode(options.BigValueColorMode.VALUE).color_scheme(BY_THRESHOLD)


def _ranking(panel: Panel) -> bargauge.Panel:
    """Bars one below the other, each with its value."""
    drawn = bargauge.Panel().reduce_options(NEWEST).orientation(options.VizOrientation.HORIZONTAL)
    drawn.display_mode(options.BarGaugeDisplayMode.BASIC).min(0).color_scheme(BY_THRESHOLD)
    return drawn if panel.maximum is None else drawn.max(panel.maximum)


def _history(_: Panel) -> statushistory.Panel:
    """A row per series, a cell per minute of the last 15 with its value, coloured by thresholds."""
    drawn = statushistory.Panel().show_value(options.VisibilityMode.AUTO)
    drawn.time_from("15m").interval("1m").legend(NO_LEGEND).tooltip(ONE_VALUE)
    drawn.row_height(0.9).col_width(0.95).fill_opacity(80).line_width(0)
    return drawn.color_scheme(BY_THRESHOLD)


def _timeline(_: Panel) -> statetimeline.Panel:
    """A row per series, a bar for as long as its value lasts."""
    drawn = statetimeline.Panel().show_value(options.VisibilityMode.ALWAYS).merge_values(True)
    drawn.row_height(0.85).fill_opacity(75).line_width(0).legend(NO_LEGEND).tooltip(ONE_VALUE)
    return drawn.color_scheme(BY_NAME)


def _density(panel: Panel) -> heatmap.Panel:
    """How the observations of a histogram are spread over time."""
    drawn = heatmap.Panel().calculate(False).show_legend().cell_gap(1).show_color_scale(True)
    drawn.y_axis(heatmap.YAxisConfig().unit(panel.unit))
    scheme = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Viridis")
    return drawn.color(scheme.steps(64))


def _table(panel: Panel) -> tables.Panel:
    """Instant queries joined on their labels; columns in the given order."""
    drawn = tables.Panel().show_header(True).cell_height(options.TableCellHeight.SM)
    shown = {column.field: column.title for column in panel.shown}
    order = {field: place for place, field in enumerate(shown)}
    steps: dict[str, object] = {
        "filterFieldsByName": {"include": {"names": list(shown)}},
        "organize": {"indexByName": order, "renameByName": shown},
    }
    if len(panel.queries) > 1:
        steps = {"merge": {}} | steps
    for name, settings in steps.items():
        drawn.with_transformation(models.DataTransformerConfig(id_val=name, options=settings))
    by = common.TableSortByFieldState().display_name(panel.sort).desc(panel.descending)
    return drawn.sort_by([by])


DRAW: Final[Mapping[Kind, Callable[[Panel], Builder[models.Panel]]]] = {
    "lines": _lines,
    "signed_lines": _series,
    "log_lines": _logarithmic,
    "bars": _bars,
    "number": partial(_tile, graph=options.BigValueGraphMode.NONE),
    "trend": partial(_tile, graph=options.BigValueGraphMode.AREA),
    "ranking": _ranking,
    "history": _history,
    "timeline": _timeline,
    "density": _density,
    "table": _table,
}
"""Kind of a panel → its style in Grafana's terms."""
