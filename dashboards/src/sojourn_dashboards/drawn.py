"""Panels as Grafana's: the style of their kind, filled in from their row of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import Dataquery, PromQueryFormat

from sojourn_dashboards.kinds import DRAW
from sojourn_dashboards.names import NAMES, Steps, Words
from sojourn_dashboards.page import Column, Panel, Query, Tile
from sojourn_dashboards.queries import legend, located, promql

SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
FORMATS: Final = {"table": PromQueryFormat.TABLE, "heatmap": PromQueryFormat.HEATMAP}
"""Formats of answers by type of panel, where they are not series."""
INSTANT: Final = {"table", "bargauge"}
"""Types of panel that show the newest values alone."""
DASHED: Final = {
    "color": {"mode": "fixed", "fixedColor": NAMES["colours"]["bound"]},
    "custom.lineStyle": {"fill": "dash", "dash": [8, 6]},
    "custom.fillOpacity": 0,
    "custom.lineWidth": 2,
}


def drawn(panel: Panel) -> models.Panel:
    """The panel, without a place."""
    made = DRAW[panel.kind](panel).build()
    made.title, made.description, made.datasource = panel.title, panel.about, SOURCE
    newest = made.type_val in INSTANT or (isinstance(panel, Tile) and panel.names is not None)
    made.targets = [
        _target(
            panel, letter, query, newest=newest or query.instant, form=FORMATS.get(made.type_val)
        )
        for letter, query in panel.lettered()
    ]
    config = made.field_config = made.field_config or models.FieldConfigSource()
    config.overrides = list(_overrides(panel))
    defaults = config.defaults
    defaults.unit, defaults.decimals, defaults.no_value = panel.unit, panel.decimals, panel.empty
    if panel.steps:
        defaults.thresholds = _thresholds(panel.steps)
    if panel.words:
        defaults.mappings = [_mapping(panel.words)]
    return made


def _target(
    panel: Panel, letter: str, query: Query, *, newest: bool, form: PromQueryFormat | None
) -> Dataquery:
    expr = located(promql(query)) if panel.located else promql(query)
    target = prometheus.Dataquery().expr(expr).ref_id(letter).datasource(SOURCE)
    target.legend_format(legend(query))
    if form:
        target.format(form)
    return (target.instant() if newest else target.range()).build()


def _overrides(panel: Panel) -> Iterator[models.DashboardFieldConfigSourceOverrides]:
    for letter, query in panel.lettered():
        if query.dashed:
            yield _override("byFrameRefID", letter, DASHED)
        elif query.colour:
            yield _override("byFrameRefID", letter, {"color": _fixed(query.colour)})
    if panel.links:
        yield _override("byRegexp", "/.*/", {"links": _links(panel.links)})
    for name, (shown, colour) in (panel.names or {}).items():
        yield _override("byName", name, {"displayName": shown, "color": _fixed(colour)})
    for column in panel.shown:
        yield _override("byName", column.title, _column(column))


def _override(
    by: str, what: str, properties: Mapping[str, object]
) -> models.DashboardFieldConfigSourceOverrides:
    return models.DashboardFieldConfigSourceOverrides(
        matcher=models.MatcherConfig(id_val=by, options=what),
        properties=[models.DynamicConfigValue(name, value) for name, value in properties.items()],
    )


def _column(column: Column) -> dict[str, object]:
    properties: dict[str, object] = {
        # Else an empty cell shows the text of a panel without data.
        "noValue": "–",
        "unit": column.unit,
        "custom.width": column.width,
        "decimals": column.decimals,
        "mappings": [_mapping(column.words)] if column.words else None,
        "thresholds": _thresholds(column.steps) if column.steps else None,
        "color": {"mode": "thresholds"} if column.steps else None,
    }
    if column.bar_to is not None:
        bar = {"type": "gauge", "mode": "basic"}
        properties |= {"custom.cellOptions": bar, "min": 0, "max": column.bar_to}
    elif column.steps or column.words:
        properties["custom.cellOptions"] = {"type": "color-text"}
    properties["links"] = _links(column.links) if column.links else None
    return {name: value for name, value in properties.items() if value is not None}


def _fixed(colour: str) -> dict[str, str]:
    return {"mode": "fixed", "fixedColor": colour}


def _links(links: Mapping[str, str]) -> list[dict[str, object]]:
    return [{"title": title, "url": url, "targetBlank": False} for title, url in links.items()]


def _thresholds(steps: Steps) -> models.ThresholdsConfig:
    listed = [models.Threshold(value, colour) for value, colour in steps]
    return models.ThresholdsConfig(models.ThresholdsMode.ABSOLUTE, listed)


def _mapping(words: Words) -> models.ValueMap:
    results = {
        value: models.ValueMappingResult(text=shown, color=colour, index=place)
        for place, (value, (shown, colour)) in enumerate(words.items())
    }
    return models.ValueMap(options=results)
