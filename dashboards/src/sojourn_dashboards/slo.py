"""SLO: how much of the error budget is spent, how fast, and by which slice."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import board, board_url
from sojourn_dashboards.colours import BAD, BOUND, GOOD, SERIES, WARNING
from sojourn_dashboards.kinds import history, lines, number, signed_lines, table
from sojourn_dashboards.queries import bound, with_slice
from sojourn_dashboards.service import CELL_LINK, NO_RULES
from sojourn_dashboards.states import VIOLATED_SHARE
from sojourn_dashboards.table import Column, Panel, Query, Row

_EMPTY = f"No bearer sent in this window, so nothing is judged. If that is wrong: {NO_RULES}"
_BUDGET_LEFT = ((None, BAD), (0.0, WARNING), (0.25, GOOD))
"""Share of the error budget of 30 days that is left."""
_LEFT = "sojourn:error_budget_remaining:ratio30d"
_LEFT_OF_SLICE = with_slice("slice:error_budget_remaining:ratio30d")


def _burn(window: str) -> str:
    return f"sojourn:violation:ratio_rate{window} / (1 - scalar(sojourn:slo:target))"


def _burn_rate(long: str, short: str, factor: float) -> Panel:
    """Burn rate over a long window, with the short window and the rate that alert.

    Site Reliability Workbook, chapter 5.
    """
    return number(
        f"Burn rate, {long}",
        _burn(long),
        f"Budget spent in {long}, as a multiple of even spending. {factor:g} and more, in the last "
        f"{short} too, raises the alert SojournErrorBudgetBurn.",
        decimals=1,
        steps=((None, GOOD), (factor / 2, WARNING), (factor, BAD)),
    )


_NOW = Row(
    "Budget of 30 days",
    number(
        "Target",
        "sojourn:slo:target",
        "Share of the judged bearer seconds that meet their objective, over 30 days. Set in "
        "dashboards/rules/slo.yaml.",
        unit="percentunit",
        decimals=1,
        empty="No rules: load slo.yaml",
    ),
    number(
        "Met in 30 days",
        "1 - sojourn:violation:ratio_rate30d",
        "Share of the judged bearer seconds that met their objective. Idle bearers, radio outages "
        "and infeasible contracts are left out: no pipeline mends them.",
        unit="percentunit",
        decimals=3,
    ),
    number(
        "Error budget left",
        _LEFT,
        "100 %: nothing is spent. Below 0: overspent.",
        unit="percentunit",
        decimals=1,
        steps=_BUDGET_LEFT,
    ),
    _burn_rate("1h", "5m", 14.4),
    _burn_rate("6h", "30m", 6.0),
    _burn_rate("1d", "2h", 3.0),
    empty="Nothing judged: is slo.yaml loaded?",
    size=(4, 5),
)
_OVER_TIME = Row(
    "How fast it is spent",
    signed_lines(
        "Error budget left over time",
        [Query(_LEFT, "all slices", BOUND), Query(_LEFT_OF_SLICE, "{{slice}}")],
        "Budget left at each time. It falls while bearers are in violation and rises when old "
        "violations leave the 30 days.",
        unit="percentunit",
    ),
    lines(
        "Burn rate",
        [
            Query(_burn("1h"), "1 h", SERIES[0]),
            Query(_burn("6h"), "6 h", SERIES[1]),
            Query(_burn("1d"), "1 day", SERIES[2]),
            bound("vector(14.4)", "alert at 1 h"),
        ],
        "Multiples of even spending. At 1 the budget lasts 30 days, at 14.4 two days.",
    ),
    empty=_EMPTY,
    size=(12, 8),
)
_BY_SLICE = Row(
    "Who spends it",
    history(
        "Violation by slice, last 15 minutes",
        Query(with_slice("slice:violation:ratio_rate5m"), "{{slice}}"),
        "Share of the judged bearer seconds in violation, over 5 minutes, each minute.",
        unit="percentunit",
        decimals=1,
        steps=VIOLATED_SHARE,
    ),
    table(
        "Slices, most spent first",
        [
            _LEFT_OF_SLICE,
            with_slice("slice:violation:ratio_rate30d"),
            with_slice("slice:violation:ratio_rate1h"),
            with_slice("slice:measured_bearer_seconds:1h / 3600"),
        ],
        "Budget left, violation over 30 days and the last hour, and how many bearers were judged "
        "on average in the last hour.",
        columns=(
            Column("slice", "Slice"),
            Column("Value #A", "Budget left", "percentunit", decimals=1, steps=_BUDGET_LEFT),
            Column("Value #B", "30 days", "percentunit", decimals=3),
            Column("Value #C", "Last hour", "percentunit", decimals=3, steps=VIOLATED_SHARE),
            Column("Value #D", "Bearers judged", "none", decimals=1),
        ),
        sort="Budget left",
    ),
    table(
        "Cells, slices and rules, most violated first",
        "topk(50, node_slice_rule:violation:ratio_rate15m)",
        "Share of the judged bearer seconds in violation, over 15 minutes.",
        columns=(
            Column("node", "Node", links=CELL_LINK),
            Column("slice", "Slice"),
            Column("rule", "Rule"),
            Column("Value", "In violation", "percentunit", decimals=2, steps=VIOLATED_SHARE),
        ),
        sort="In violation",
        descending=True,
        size=(24, 8),
    ),
    empty=_EMPTY,
    size=(12, 8),
)
BOARD: Final = board(
    "SLO",
    "How much of the error budget is spent, how fast, and by which slice and cell?",
    (_NOW, _OVER_TIME, _BY_SLICE),
    span="now-24h",
    refresh="1m",
    drill={"Fleet": board_url("fleet")},
)
