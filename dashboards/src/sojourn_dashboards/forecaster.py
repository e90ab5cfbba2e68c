"""Forecaster: does a model serve, is it better than persistence, is it in time."""

from __future__ import annotations

from sojourn_dashboards.colours import BAD, BOUND, GOOD, SERIES, WARNING
from sojourn_dashboards.frame import Board, Event, Row, board_url, events, quantile, rate, selector
from sojourn_dashboards.panels import (
    STEADY,
    Column,
    Query,
    card,
    history,
    lines,
    number,
    ranking,
    rows,
)
from sojourn_dashboards.process import connection_row, process_row
from sojourn_dashboards.states import MODEL, NONE_IS_GOOD, SOME_IS_A_WARNING

_P = "sojourn_forecaster_"
_BY_MODEL = 'source="model"'
_CELL = board_url("cell", node="${__data.fields.Node}")
_TILE = (4, 4)
_DRIFT = selector(_P + "drift_alarms_total")
_ABSENT = (
    "No rlc-forecaster is scraped: check `up` of the job rlc-forecaster and the variables above."
)
_NO_MODEL = (
    "No model is loaded: naive forecasts are served. Set --model, or see the log for a refusal."
)
_JUDGED = (
    "Nothing judged yet: skill and coverage need some seconds of traffic after a forecast was made."
)
SKILL = ((None, BAD), (0.0, WARNING), (0.05, GOOD))
"""Skill against persistence; below 0 the model is worse."""
COVERAGE = ((None, BAD), (0.65, WARNING), (0.75, GOOD))
"""Share of values within the 80 % interval."""


def _covered(by: str) -> str:
    covered, checked = (rate(f"{_P}interval_{n}_total") for n in ("covered", "checked"))
    return f"sum by ({by}) ({covered}) / sum by ({by}) ({checked})"


_MODEL_SHARE = f"sum({selector(_P + 'bearers', _BY_MODEL)}) / sum({selector(_P + 'bearers')})"
_NOW = Row(
    "Now",
    (
        number(
            card(
                "Bearers forecast",
                "none",
                f"sum({selector(_P + 'bearers')})",
                about="Bearers with a forecast, with the model or without.",
                empty="No data: is rlc-forecaster up?",
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "Served by the model",
                "percentunit",
                _MODEL_SHARE,
                about="Share of the bearers that the model serves. The others get naive forecasts.",
                empty="Nothing forecast: no traffic?",
                size=_TILE,
                decimals=0,
            ),
            ((None, BAD), (0.5, WARNING), (0.9, GOOD)),
        ),
        number(
            card(
                "Skill, worst node",
                "percentunit",
                f"min({selector(_P + 'skill_ratio')})",
                about="1 less the loss of the model over that of persistence; below 0 it is worse "
                "and the mix of what is served leaves it.",
                empty="Not judged yet: is there a model?",
                size=_TILE,
                decimals=1,
            ),
            SKILL,
        ),
        number(
            card(
                "Coverage",
                "percentunit",
                _covered("job"),
                about="Share of the values that came within their 80 % interval.",
                empty="Not judged yet: wait for traffic",
                size=_TILE,
                decimals=1,
            ),
            COVERAGE,
        ),
        number(
            card(
                "Drift alarms",
                "none",
                f"sum(increase({_DRIFT}[$__range]))",
                about="In the selected time: the loss of the model rose against that of "
                "persistence.",
                empty="No data: is rlc-forecaster up?",
                size=_TILE,
                decimals=0,
            ),
            SOME_IS_A_WARNING,
            sparkline=False,
        ),
        number(
            card(
                "Model in service",
                "none",
                f"max({selector(_P + 'model_stale')} + 2 * {selector(_P + 'model_missing')})",
                about="Stale: it exceeds its maximum age. None: one is set, but none was accepted. "
                "Both: naive forecasts are served.",
                empty="No data: is rlc-forecaster up?",
                size=_TILE,
            ),
            NONE_IS_GOOD,
            words=MODEL,
            sparkline=False,
        ),
    ),
)
_GOOD = Row(
    "Is it better than persistence?",
    (
        lines(
            card(
                "Skill by node",
                "percentunit",
                Query(
                    f"min by (node, quantity) ({selector(_P + 'skill_ratio')})",
                    "{{node}} {{quantity}}",
                ),
                about="1 less the loss of the model over that of persistence, mean over horizons. "
                "Below 0: worse; the mix of what is served leaves it there.",
                empty=_JUDGED,
            ),
            minimum=None,
        ),
        history(
            card(
                "Skill by horizon",
                "percentunit",
                Query(
                    f"avg by (quantity, horizon) ({selector(_P + 'skill_by_horizon_ratio')})",
                    "{{quantity}} {{horizon}} s",
                ),
                about="Skill at the first and the last horizon, mean over nodes, per minute of the "
                "last 15.",
                empty=_JUDGED,
                decimals=0,
            ),
            SKILL,
            last="15m",
            every="1m",
        ),
        lines(
            card(
                "Coverage by quantity",
                "percentunit",
                Query(_covered("quantity"), "{{quantity}}"),
                Query("0.8", "nominal", BOUND, dashed=True),
                about="Share of the values within their 80 % interval. Below nominal: intervals "
                "are too narrow; conformal calibration widens them within minutes.",
                empty=_JUDGED,
            ),
            maximum=1,
        ),
        ranking(
            card(
                "Outside of the training data",
                "percentunit",
                Query(
                    f"topk(3, max by (feature) ({selector(_P + 'outside_training_ratio')}))",
                    "{{feature}}",
                    instant=True,
                ),
                about="The three features with most samples outside of the range seen in training. "
                "Many: record data of these cells and train again.",
                empty=_NO_MODEL,
                decimals=0,
            ),
            ((None, GOOD), (0.05, WARNING), (0.25, BAD)),
            maximum=1,
        ),
    ),
)
_FALLBACKS = Row(
    "Fall-backs and drift",
    (
        lines(
            card(
                "Bearers without the model",
                "none",
                Query(f"sum by (reason) ({selector(_P + 'fallback_bearers')})", "{{reason}}"),
                about="Bearers that the model does not serve, by reason.",
                empty="None: the model serves every bearer.",
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Changes",
                "short",
                *(
                    Query(
                        events(f"{_P}{name}_total", "job"),
                        shown,
                        colour,
                    )
                    for name, shown, colour in (
                        ("fallbacks", "fell back", WARNING),
                        ("returns", "returned to the model", GOOD),
                        ("drift_alarms", "drift alarms", BAD),
                        ("swaps", "models swapped in", SERIES[2]),
                    )
                ),
                about="Events in each interval. A drift alarm: the loss of the model rose against "
                "that of persistence.",
                empty=_ABSENT,
                size=(8, 8),
            ),
            bars=True,
        ),
        rows(
            card(
                "Models by node",
                "none",
                Query(
                    f"max by (node, model, warming_up) ({selector(_P + 'node_model_info')})",
                    instant=True,
                    table=True,
                ),
                about="The model that serves each node; warming up: its state is not yet full.",
                empty=_NO_MODEL,
                size=(8, 8),
            ),
            (
                Column("node", "Node", links={"Cell": _CELL}),
                Column("model", "Model"),
                Column("warming_up", "Warming up"),
            ),
            sort="Node",
            descending=False,
        ),
    ),
)
_FAST = Row(
    "Is it in time?",
    (
        lines(
            card(
                "Step of the model",
                "s",
                Query(quantile(0.5, _P + "step_seconds"), "p50", SERIES[3]),
                Query(quantile(0.99, _P + "step_seconds"), "p99", SERIES[1]),
                about="Time from a report to its forecasts for all bearers of a node (T_m).",
                empty=_ABSENT,
                size=(8, 8),
            ),
            logarithmic=True,
        ),
        lines(
            card(
                "Reports",
                "cps",
                Query(f"sum by (result) ({rate(_P + 'reports_total')})", "{{result}}"),
                Query(f"sum({rate(_P + 'reports_missing_total')})", "missing", BAD),
                about="RLC reports by use. Missing ones are bridged by the carried state.",
                empty=_ABSENT,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Consumers and batches",
                "short",
                Query(f"sum({selector(_P + 'consumers')})", "consumers", SERIES[2]),
                Query(f"sum({rate(_P + 'batches_published_total')})", "published /s", SERIES[0]),
                Query(f"sum({rate(_P + 'batches_skipped_total')})", "skipped /s", BAD),
                about="Open forecast streams, batches published, and batches skipped for a slow "
                "consumer.",
                empty=_ABSENT,
                size=(8, 8),
            ),
        ),
    ),
)
BOARD = Board(
    name="forecaster",
    title="Sojourn / Forecaster",
    description="rlc-forecaster: does a model serve, is it better than persistence, is it in time?",
    rows=(
        _NOW,
        _GOOD,
        _FALLBACKS,
        _FAST,
        connection_row("rlc-forecaster"),
        process_row("rlc-forecaster", collapsed=True),
    ),
    events=(
        Event(
            "Model swaps",
            f"sum(increase({selector(_P + 'swaps_total')}[$__rate_interval])) > 0",
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
