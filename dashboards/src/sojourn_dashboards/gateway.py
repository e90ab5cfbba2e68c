"""Gateway: what connects the xApps to the gNBs, FlexRIC bridge or emulated gNB."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import board, board_url
from sojourn_dashboards.colours import BAD, GOOD, SERIES, WARNING
from sojourn_dashboards.kinds import density, lines, log_lines, number, timeline, trend
from sojourn_dashboards.process import process_row
from sojourn_dashboards.queries import percentiles, rates
from sojourn_dashboards.states import NONE_IS_GOOD, RAN_FUNCTIONS, UP
from sojourn_dashboards.table import Query, Row


def _lost(counter: str, legend: str) -> Query:
    """Reports per second that did not come, by node."""
    return Query(f"sum by (node) (rate({counter}[$__rate_interval]))", f"{{{{node}}}} {legend}")


_LAB = Row(
    "Emulated gNB",
    trend(
        "Load of the emulation",
        "max(rate(sojourn_gateway_step_busy_seconds_total[$__rate_interval]))",
        "Share of a core that the steps take. At 100 % it falls behind the wall clock: use fewer "
        "UEs or a faster core.",
        unit="percentunit",
        decimals=0,
        steps=((None, GOOD), (0.7, WARNING), (1.0, BAD)),
    ),
    number(
        "Time given up",
        "sum(increase(sojourn_gateway_skipped_seconds_total[$__range]))",
        "Virtual time that was skipped in the selected time, because the emulation fell behind.",
        unit="s",
        decimals=1,
        steps=((None, GOOD), (0.1, WARNING), (1, BAD)),
    ),
    trend(
        "Indication streams",
        "sum(sojourn_gateway_indication_streams)",
        "Open streams of indications to xApps.",
    ),
    number(
        "Indications dropped",
        "sum(increase(sojourn_gateway_indications_dropped_total[$__range]))",
        "Dropped in the selected time, for an xApp that read too slowly.",
        decimals=0,
        steps=NONE_IS_GOOD,
    ),
    trend(
        "Bearers paced by forecasts",
        'sum(sojourn_cu_paced_bearers{by="forecast"})',
        "Bearers whose pacer uses forecasts now.",
        empty="None: no pacer uses forecasts",
    ),
    number(
        "Forecast stream",
        "min(sojourn_cu_forecast_stream_open)",
        "Whether the CU receives forecasts.",
        steps=NONE_IS_GOOD,
        words=UP,
        empty="Not asked for: use --forecasts",
    ),
    lines(
        "Indications",
        rates("sojourn_gateway_indications_total", "ran_function_oid"),
        "Indications handed to streams, by RAN function.",
        unit="cps",
        names=RAN_FUNCTIONS,
    ),
    lines(
        "Controls by outcome",
        rates("sojourn_gateway_controls_total", "outcome"),
        "Control requests by outcome: acknowledged, failed, or a gRPC status.",
        unit="cps",
    ),
    log_lines(
        "Start of steps after their time",
        percentiles("sojourn_gateway_step_lateness_seconds_bucket"),
        "Lateness of the steps of the emulation; it adds to the age of reports.",
        unit="s",
    ),
    empty="No gnb-lab is scraped: not needed with FlexRIC; otherwise add its --metrics-listen "
    "address to the scrape job gnb-lab.",
    empty_tile="No data: is gnb-lab up?",
)
_BRIDGE = Row(
    "FlexRIC bridge",
    number(
        "RIC",
        "min(sojourn_flexric_up)",
        "Whether the bridge has a session with the near-RT RIC.",
        steps=NONE_IS_GOOD,
        words=UP,
    ),
    trend("Nodes at the RIC", "sum(sojourn_flexric_nodes)", "E2 nodes that the RIC lists."),
    trend(
        "Request budget left",
        "min(sojourn_flexric_request_budget_left / sojourn_flexric_request_budget)",
        "FlexRIC gives each request an identifier and stops when they are used up: plan a restart "
        "of the nearRT-RIC below 10 %.",
        unit="percentunit",
        decimals=0,
        steps=((None, BAD), (0.1, WARNING), (0.25, GOOD)),
    ),
    number(
        "Restarts of the SDK",
        "sum(increase(sojourn_flexric_restarts_total[$__range]))",
        "New sessions in the selected time: the last one was lost or could not be opened, or a "
        "node joined.",
        decimals=0,
        steps=NONE_IS_GOOD,
    ),
    trend(
        "Controls waiting",
        "sum(sojourn_flexric_controls_waiting)",
        "Controls that wait for the RIC; they are sent one by one.",
        steps=((None, GOOD), (10, WARNING), (100, BAD)),
    ),
    number(
        "TC functions without effect",
        "count(sojourn_flexric_tc_stub == 1) or 0 * sum(sojourn_flexric_up)",
        "Nodes whose TC function acknowledges controls and does nothing.",
        steps=NONE_IS_GOOD,
    ),
    lines(
        "Reports from the RIC",
        Query(
            "sum by (node, ran_function) (rate(sojourn_flexric_reports_total[$__rate_interval]))",
            "{{node}} {{ran_function}}",
        ),
        "Reports of each RAN function of each node.",
        unit="cps",
    ),
    lines(
        "Reports that did not come",
        [
            _lost("sojourn_flexric_reports_lost_total", "lost"),
            _lost("sojourn_flexric_reports_missing_total", "missing"),
            _lost("sojourn_flexric_reports_bad_total", "bad"),
            Query(
                "sum(rate(sojourn_flexric_indications_dropped_total[$__rate_interval]))",
                "dropped for xApps",
                BAD,
            ),
        ],
        "Lost: dropped in the SDK's ring. Missing: not sent by the node in its period. Bad: not "
        "decodable. Dropped: an xApp read too slowly.",
        unit="cps",
    ),
    lines(
        "RIC behind",
        Query("max by (node) (sojourn_flexric_report_lag_seconds)", "{{node}}"),
        "Delay of reports above the smallest seen: the RIC is behind when it grows.",
        unit="s",
    ),
    density(
        "Spread of the report delay",
        Query(
            "sum by (le) (increase(sojourn_flexric_report_delay_seconds_bucket[$__rate_interval]))",
            "{{le}}",
        ),
        "Time of reports from node to SDK, with the offset of the clocks.",
        unit="s",
    ),
    lines(
        "Controls through the RIC",
        [
            rates("sojourn_flexric_controls_total", "outcome"),
            Query(
                "sum(rate(sojourn_flexric_undone_total[$__rate_interval]))",
                "undone by the node",
                BAD,
            ),
        ],
        "Controls by outcome. Undone: transactions that the node refused in part; the bridge took "
        "back the accepted part.",
        unit="cps",
    ),
    log_lines(
        "Time of controls",
        percentiles("sojourn_flexric_control_seconds_bucket"),
        "From the request of the xApp to the answer of the RIC.",
        unit="s",
    ),
    timeline(
        "State of the RIC",
        Query("max by (state) (sojourn_flexric_ric_state) == 1", "{{state}}"),
        "State of the session with the near-RT RIC.",
        words={"1": ("now", SERIES[0])},
        size=(24, 5),
    ),
    empty="No flexric-bridge is scraped: not needed with gnb-lab; otherwise check `up` of the job "
    "flexric-bridge.",
    empty_tile="No FlexRIC: no bridge is scraped",
)
BOARD: Final = board(
    "Gateway",
    "E2 gateway, emulated gNB or FlexRIC bridge: are indications and controls carried without loss "
    "and delay?",
    (
        _LAB,
        _BRIDGE,
        process_row("gnb-lab", "Process of gnb-lab"),
        process_row("flexric-bridge", "Process of flexric-bridge"),
    ),
    drill={"Controller": board_url("controller")},
)
