"""SLO: how much of the error budget is spent, how fast, and by which slice."""

from __future__ import annotations

from sojourn_dashboards.colours import BAD, BOUND, GOOD, SERIES, WARNING
from sojourn_dashboards.frame import Board, Row, board_url, with_slice
from sojourn_dashboards.panels import STEADY, Column, Query, card, history, lines, number, rows
from sojourn_dashboards.service import NO_RULES
from sojourn_dashboards.states import VIOLATED_SHARE

_CELL = board_url("cell", node="${__data.fields.Node}")
_TILE = (4, 5)
_BUDGET = "(1 - scalar(sojourn:slo:target))"
_EMPTY = f"No bearer sent in this window, so nothing is judged. If that is wrong: {NO_RULES}"
BUDGET_LEFT = ((None, BAD), (0.0, WARNING), (0.25, GOOD))
"""Share of the error budget of 30 days that is left."""
WINDOWS = (("1h", "5m", 14.4), ("6h", "30m", 6.0), ("1d", "2h", 3.0), ("3d", "6h", 1.0))
"""Long window, short window, burn rate that alerts (Site Reliability Workbook, chapter 5)."""


def _burn(window: str, of: str = "sojourn") -> str:
    return f"{of}:violation:ratio_rate{window} / {_BUDGET}"


_NOW = Row(
    "Budget of 30 days",
    (
        number(
            card(
                "Target",
                "percentunit",
                "sojourn:slo:target",
                about="Share of the judged bearer seconds that meet their objective, over 30 days. "
                "Set in dashboards/rules/slo.yaml.",
                empty="No rules: load slo.yaml",
                size=_TILE,
                decimals=1,
            ),
            STEADY,
            sparkline=False,
        ),
        number(
            card(
                "Met in 30 days",
                "percentunit",
                "1 - sojourn:violation:ratio_rate30d",
                about="Share of the judged bearer seconds that met their objective. Idle bearers, "
                "radio outages and infeasible contracts are left out: no pipeline mends them.",
                empty="Nothing judged: is slo.yaml loaded?",
                size=_TILE,
                decimals=3,
            ),
            STEADY,
            sparkline=False,
        ),
        number(
            card(
                "Error budget left",
                "percentunit",
                "sojourn:error_budget_remaining:ratio30d",
                about="100 %: nothing is spent. Below 0: overspent.",
                empty="Nothing judged: is slo.yaml loaded?",
                size=_TILE,
                decimals=1,
            ),
            BUDGET_LEFT,
            sparkline=False,
        ),
        *(
            number(
                card(
                    f"Burn rate, {long}",
                    "none",
                    _burn(long),
                    about=f"Budget spent in {long}, as a multiple of even spending. {factor:g} and "
                    f"more, in the last {short} too, raises the alert SojournErrorBudgetBurn.",
                    empty="Nothing judged: is slo.yaml loaded?",
                    size=_TILE,
                    decimals=1,
                ),
                ((None, GOOD), (factor / 2, WARNING), (factor, BAD)),
                sparkline=False,
            )
            for long, short, factor in WINDOWS[:3]
        ),
    ),
)
_OVER_TIME = Row(
    "How fast it is spent",
    (
        lines(
            card(
                "Error budget left over time",
                "percentunit",
                Query("sojourn:error_budget_remaining:ratio30d", "all slices", BOUND),
                Query(with_slice("slice:error_budget_remaining:ratio30d"), "{{slice}}"),
                about="Budget left at each time. It falls while bearers are in violation and "
                "rises when old violations leave the 30 days.",
                empty=_EMPTY,
            ),
            minimum=None,
        ),
        lines(
            card(
                "Burn rate",
                "none",
                Query(_burn("1h"), "1 h", SERIES[0]),
                Query(_burn("6h"), "6 h", SERIES[1]),
                Query(_burn("1d"), "1 day", SERIES[2]),
                Query("vector(14.4)", "alert at 1 h", BOUND, dashed=True),
                about="Multiples of even spending. At 1 the budget lasts 30 days, at 14.4 two "
                "days.",
                empty=_EMPTY,
            ),
        ),
    ),
)
_BY_SLICE = Row(
    "Who spends it",
    (
        history(
            card(
                "Violation by slice, last 15 minutes",
                "percentunit",
                Query(with_slice("slice:violation:ratio_rate5m"), "{{slice}}"),
                about="Share of the judged bearer seconds in violation, over 5 minutes, each "
                "minute.",
                empty=_EMPTY,
                decimals=1,
            ),
            VIOLATED_SHARE,
            last="15m",
            every="1m",
        ),
        rows(
            card(
                "Slices, most spent first",
                "none",
                Query(
                    with_slice("slice:error_budget_remaining:ratio30d"), instant=True, table=True
                ),
                Query(with_slice("slice:violation:ratio_rate30d"), instant=True, table=True),
                Query(with_slice("slice:violation:ratio_rate1h"), instant=True, table=True),
                Query(
                    with_slice("slice:measured_bearer_seconds:1h / 3600"), instant=True, table=True
                ),
                about="Budget left, violation over 30 days and the last hour, and how many "
                "bearers were judged on average in the last hour.",
                empty=_EMPTY,
            ),
            (
                Column("slice", "Slice"),
                Column(
                    "Value #A", "Budget left", unit="percentunit", decimals=1, steps=BUDGET_LEFT
                ),
                Column("Value #B", "30 days", unit="percentunit", decimals=3),
                Column(
                    "Value #C", "Last hour", unit="percentunit", decimals=3, steps=VIOLATED_SHARE
                ),
                Column("Value #D", "Bearers judged", unit="none", decimals=1),
            ),
            sort="Budget left",
            descending=False,
        ),
        rows(
            card(
                "Cells, slices and rules, most violated first",
                "none",
                Query(
                    "topk(50, node_slice_rule:violation:ratio_rate15m)",
                    instant=True,
                    table=True,
                ),
                about="Share of the judged bearer seconds in violation, over 15 minutes.",
                empty=_EMPTY,
                size=(24, 8),
            ),
            (
                Column("node", "Node", links={"Cell": _CELL}),
                Column("slice", "Slice"),
                Column("rule", "Rule"),
                Column(
                    "Value", "In violation", unit="percentunit", decimals=2, steps=VIOLATED_SHARE
                ),
            ),
            sort="In violation",
            descending=True,
        ),
    ),
)
BOARD = Board(
    name="slo",
    title="Sojourn / SLO",
    description="How much of the error budget is spent, how fast, and by which slice and cell?",
    rows=(_NOW, _OVER_TIME, _BY_SLICE),
    span="now-24h",
    refresh="1m",
    drill={"Fleet": board_url("fleet")},
)
