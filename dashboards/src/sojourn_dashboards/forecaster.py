"""Forecaster: does a model serve, is it better than persistence, is it in time."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import Event, board, board_url
from sojourn_dashboards.colours import BAD, GOOD, SERIES, WARNING
from sojourn_dashboards.kinds import (
    bars,
    history,
    lines,
    log_lines,
    number,
    ranking,
    signed_lines,
    table,
    trend,
)
from sojourn_dashboards.process import connection_row, process_row
from sojourn_dashboards.queries import bound, events, percentiles, rates
from sojourn_dashboards.service import CELL_LINK
from sojourn_dashboards.states import MODEL, NONE_IS_GOOD, SOME_IS_A_WARNING
from sojourn_dashboards.table import Column, Query, Row

_ABSENT = (
    "No rlc-forecaster is scraped: check `up` of the job rlc-forecaster and the variables above."
)
_NO_MODEL = (
    "No model is loaded: naive forecasts are served. Set --model, or see the log for a refusal."
)
_SKILL = ((None, BAD), (0.0, WARNING), (0.05, GOOD))
"""Skill against persistence; below 0 the model is worse."""
_COVERAGE = ((None, BAD), (0.65, WARNING), (0.75, GOOD))
"""Share of values within the 80 % interval."""
_DRIFT = "sojourn_forecaster_drift_alarms_total"
_ALL = "sum(sojourn_forecaster_bearers)"


def _covered(by: str) -> str:
    covered, checked = (
        f"sum by ({by}) (rate(sojourn_forecaster_interval_{what}_total[$__rate_interval]))"
        for what in ("covered", "checked")
    )
    return f"{covered} / {checked}"


_NOW = Row(
    "Now",
    trend("Bearers forecast", _ALL, "Bearers with a forecast, with the model or without."),
    trend(
        "Served by the model",
        f'sum(sojourn_forecaster_bearers{{source="model"}}) / {_ALL}',
        "Share of the bearers that the model serves. The others get naive forecasts.",
        unit="percentunit",
        decimals=0,
        steps=((None, BAD), (0.5, WARNING), (0.9, GOOD)),
        empty="Nothing forecast: no traffic?",
    ),
    trend(
        "Skill, worst node",
        "min(sojourn_forecaster_skill_ratio)",
        "1 less the loss of the model over that of persistence; below 0 it is worse and the mix of "
        "what is served leaves it.",
        unit="percentunit",
        decimals=1,
        steps=_SKILL,
        empty="Not judged yet: is there a model?",
    ),
    trend(
        "Coverage",
        _covered("job"),
        "Share of the values that came within their 80 % interval.",
        unit="percentunit",
        decimals=1,
        steps=_COVERAGE,
        empty="Not judged yet: wait for traffic",
    ),
    number(
        "Drift alarms",
        f"sum(increase({_DRIFT}[$__range]))",
        "In the selected time: the loss of the model rose against that of persistence.",
        decimals=0,
        steps=SOME_IS_A_WARNING,
    ),
    number(
        "Model in service",
        "max(sojourn_forecaster_model_stale + 2 * sojourn_forecaster_model_missing)",
        "Stale: it exceeds its maximum age. None: one is set, but none was accepted. Both: naive "
        "forecasts are served.",
        steps=NONE_IS_GOOD,
        words=MODEL,
    ),
    empty="No data: is rlc-forecaster up?",
)
_BETTER = Row(
    "Is it better than persistence?",
    signed_lines(
        "Skill by node",
        Query("min by (node, quantity) (sojourn_forecaster_skill_ratio)", "{{node}} {{quantity}}"),
        "1 less the loss of the model over that of persistence, mean over horizons. Below 0: "
        "worse; the mix of what is served leaves it there.",
        unit="percentunit",
    ),
    history(
        "Skill by horizon",
        Query(
            "avg by (quantity, horizon) (sojourn_forecaster_skill_by_horizon_ratio)",
            "{{quantity}} {{horizon}} s",
        ),
        "Skill at the first and the last horizon, mean over nodes, per minute of the last 15.",
        unit="percentunit",
        decimals=0,
        steps=_SKILL,
    ),
    lines(
        "Coverage by quantity",
        [Query(_covered("quantity"), "{{quantity}}"), bound("0.8", "nominal")],
        "Share of the values within their 80 % interval. Below nominal: intervals are too narrow; "
        "conformal calibration widens them within minutes.",
        unit="percentunit",
        maximum=1,
    ),
    ranking(
        "Outside of the training data",
        Query(
            "topk(3, max by (feature) (sojourn_forecaster_outside_training_ratio))", "{{feature}}"
        ),
        "The three features with most samples outside of the range seen in training. Many: record "
        "data of these cells and train again.",
        unit="percentunit",
        decimals=0,
        steps=((None, GOOD), (0.05, WARNING), (0.25, BAD)),
        maximum=1,
        empty=_NO_MODEL,
    ),
    empty="Nothing judged yet: skill and coverage need some seconds of traffic after a forecast "
    "was made.",
    size=(12, 8),
)
_FALLBACKS = Row(
    "Fall-backs and drift",
    lines(
        "Bearers without the model",
        Query("sum by (reason) (sojourn_forecaster_fallback_bearers)", "{{reason}}"),
        "Bearers that the model does not serve, by reason.",
        empty="None: the model serves every bearer.",
    ),
    bars(
        "Changes",
        [
            Query(events("sojourn_forecaster_fallbacks_total", "job"), "fell back", WARNING),
            Query(events("sojourn_forecaster_returns_total", "job"), "returned to the model", GOOD),
            Query(events(_DRIFT, "job"), "drift alarms", BAD),
            Query(events("sojourn_forecaster_swaps_total", "job"), "models swapped in", SERIES[2]),
        ],
        "Events in each interval. A drift alarm: the loss of the model rose against that of "
        "persistence.",
    ),
    table(
        "Models by node",
        "max by (node, model, warming_up) (sojourn_forecaster_node_model_info)",
        "The model that serves each node; warming up: its state is not yet full.",
        columns=(
            Column("node", "Node", links=CELL_LINK),
            Column("model", "Model"),
            Column("warming_up", "Warming up"),
        ),
        sort="Node",
        empty=_NO_MODEL,
    ),
    empty=_ABSENT,
)
_IN_TIME = Row(
    "Is it in time?",
    log_lines(
        "Step of the model",
        percentiles("sojourn_forecaster_step_seconds_bucket"),
        "Time from a report to its forecasts for all bearers of a node (T_m).",
        unit="s",
    ),
    lines(
        "Reports",
        [
            rates("sojourn_forecaster_reports_total", "result"),
            Query(
                "sum(rate(sojourn_forecaster_reports_missing_total[$__rate_interval]))",
                "missing",
                BAD,
            ),
        ],
        "RLC reports by use. Missing ones are bridged by the carried state.",
        unit="cps",
    ),
    lines(
        "Consumers and batches",
        [
            Query("sum(sojourn_forecaster_consumers)", "consumers", SERIES[2]),
            Query(
                "sum(rate(sojourn_forecaster_batches_published_total[$__rate_interval]))",
                "published /s",
                SERIES[0],
            ),
            Query(
                "sum(rate(sojourn_forecaster_batches_skipped_total[$__rate_interval]))",
                "skipped /s",
                BAD,
            ),
        ],
        "Open forecast streams, batches published, and batches skipped for a slow consumer.",
        unit="short",
    ),
    empty=_ABSENT,
)
BOARD: Final = board(
    "Forecaster",
    "rlc-forecaster: does a model serve, is it better than persistence, is it in time?",
    (
        _NOW,
        _BETTER,
        _FALLBACKS,
        _IN_TIME,
        connection_row("rlc-forecaster"),
        process_row("rlc-forecaster"),
    ),
    events=(
        Event(
            "Model swaps",
            "sum(increase(sojourn_forecaster_swaps_total[$__rate_interval])) > 0",
            "New model",
            "A model was swapped in.",
            SERIES[2],
        ),
        Event(
            "Drift alarms",
            f"sum by (node) (increase({_DRIFT}[$__rate_interval])) > 0",
            "Drift at {{node}}",
            "The loss of the model rose against that of persistence.",
            BAD,
        ),
    ),
    drill={"Controller": board_url("controller"), "Gateway": board_url("gateway")},
)
