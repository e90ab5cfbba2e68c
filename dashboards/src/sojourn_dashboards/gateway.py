"""Gateway: what connects the xApps to the gNBs, FlexRIC bridge or emulated gNB."""

from __future__ import annotations

from sojourn_dashboards.colours import BAD, GOOD, SERIES, WARNING
from sojourn_dashboards.frame import Board, Row, board_url, quantile, rate, selector
from sojourn_dashboards.panels import STEADY, Query, card, density, lines, number, timeline
from sojourn_dashboards.process import process_row
from sojourn_dashboards.states import NONE_IS_GOOD, RAN_FUNCTIONS, UP

_TILE = (4, 4)
_NO_BRIDGE = (
    "No flexric-bridge is scraped: not needed with gnb-lab; otherwise check `up` of the job "
    "flexric-bridge."
)
_NO_LAB = (
    "No gnb-lab is scraped: not needed with FlexRIC; otherwise add its --metrics-listen address to "
    "the scrape job gnb-lab."
)
_BY_FORECAST = 'by="forecast"'
_G, _F = "sojourn_gateway_", "sojourn_flexric_"


_LAB = Row(
    "Emulated gNB",
    (
        number(
            card(
                "Load of the emulation",
                "percentunit",
                f"max({rate(_G + 'step_busy_seconds_total')})",
                about="Share of a core that the steps take. At 100 % it falls behind the wall "
                "clock: use fewer UEs or a faster core.",
                empty="No data: is gnb-lab up?",
                size=_TILE,
                decimals=0,
            ),
            ((None, GOOD), (0.7, WARNING), (1.0, BAD)),
        ),
        number(
            card(
                "Time given up",
                "s",
                f"sum(increase({selector(_G + 'skipped_seconds_total')}[$__range]))",
                about="Virtual time that was skipped in the selected time, because the emulation "
                "fell behind.",
                empty="No data: is gnb-lab up?",
                size=_TILE,
                decimals=1,
            ),
            ((None, GOOD), (0.1, WARNING), (1, BAD)),
            sparkline=False,
        ),
        number(
            card(
                "Indication streams",
                "none",
                f"sum({selector(_G + 'indication_streams')})",
                about="Open streams of indications to xApps.",
                empty="No data: is gnb-lab up?",
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "Indications dropped",
                "none",
                f"sum(increase({selector(_G + 'indications_dropped_total')}[$__range]))",
                about="Dropped in the selected time, for an xApp that read too slowly.",
                empty="No data: is gnb-lab up?",
                size=_TILE,
                decimals=0,
            ),
            NONE_IS_GOOD,
            sparkline=False,
        ),
        number(
            card(
                "Bearers paced by forecasts",
                "none",
                f"sum({selector('sojourn_cu_paced_bearers', _BY_FORECAST)})",
                about="Bearers whose pacer uses forecasts now.",
                empty="None: no pacer uses forecasts",
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "Forecast stream",
                "none",
                f"min({selector('sojourn_cu_forecast_stream_open')})",
                about="Whether the CU receives forecasts.",
                empty="Not asked for: use --forecasts",
                size=_TILE,
            ),
            NONE_IS_GOOD,
            words=UP,
            sparkline=False,
        ),
        lines(
            card(
                "Indications",
                "cps",
                Query(
                    f"sum by (ran_function_oid) ({rate(_G + 'indications_total')})",
                    "{{ran_function_oid}}",
                ),
                about="Indications handed to streams, by RAN function.",
                empty=_NO_LAB,
                size=(8, 8),
            ),
            names=RAN_FUNCTIONS,
        ),
        lines(
            card(
                "Controls by outcome",
                "cps",
                Query(f"sum by (outcome) ({rate(_G + 'controls_total')})", "{{outcome}}"),
                about="Control requests by outcome: acknowledged, failed, or a gRPC status.",
                empty=_NO_LAB,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Start of steps after their time",
                "s",
                Query(quantile(0.5, _G + "step_lateness_seconds"), "p50", SERIES[3]),
                Query(quantile(0.99, _G + "step_lateness_seconds"), "p99", SERIES[1]),
                about="Lateness of the steps of the emulation; it adds to the age of reports.",
                empty=_NO_LAB,
                size=(8, 8),
            ),
            logarithmic=True,
        ),
    ),
)
_BRIDGE_NOW = Row(
    "FlexRIC bridge",
    (
        number(
            card(
                "RIC",
                "none",
                f"min({selector(_F + 'up')})",
                about="Whether the bridge has a session with the near-RT RIC.",
                empty="No FlexRIC: no bridge is scraped",
                size=_TILE,
            ),
            NONE_IS_GOOD,
            words=UP,
            sparkline=False,
        ),
        number(
            card(
                "Nodes at the RIC",
                "none",
                f"sum({selector(_F + 'nodes')})",
                about="E2 nodes that the RIC lists.",
                empty="No FlexRIC: no bridge is scraped",
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "Request budget left",
                "percentunit",
                f"min({selector(_F + 'request_budget_left')} / {selector(_F + 'request_budget')})",
                about="FlexRIC gives each request an identifier and stops when they are used up: "
                "plan a restart of the nearRT-RIC below 10 %.",
                empty="No FlexRIC: no bridge is scraped",
                size=_TILE,
                decimals=0,
            ),
            ((None, BAD), (0.1, WARNING), (0.25, GOOD)),
        ),
        number(
            card(
                "Restarts of the SDK",
                "none",
                f"sum(increase({selector(_F + 'restarts_total')}[$__range]))",
                about="New sessions in the selected time: the last one was lost or could not be "
                "opened, or a node joined.",
                empty="No FlexRIC: no bridge is scraped",
                size=_TILE,
                decimals=0,
            ),
            NONE_IS_GOOD,
            sparkline=False,
        ),
        number(
            card(
                "Controls waiting",
                "none",
                f"sum({selector(_F + 'controls_waiting')})",
                about="Controls that wait for the RIC; they are sent one by one.",
                empty="No FlexRIC: no bridge is scraped",
                size=_TILE,
            ),
            ((None, GOOD), (10, WARNING), (100, BAD)),
        ),
        number(
            card(
                "TC functions without effect",
                "none",
                f"count({selector(_F + 'tc_stub')} == 1) or 0 * sum({selector(_F + 'up')})",
                about="Nodes whose TC function acknowledges controls and does nothing.",
                empty="No FlexRIC: no bridge is scraped",
                size=_TILE,
            ),
            NONE_IS_GOOD,
            sparkline=False,
        ),
        lines(
            card(
                "Reports from the RIC",
                "cps",
                Query(
                    f"sum by (node, ran_function) ({rate(_F + 'reports_total')})",
                    "{{node}} {{ran_function}}",
                ),
                about="Reports of each RAN function of each node.",
                empty=_NO_BRIDGE,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Reports that did not come",
                "cps",
                Query(f"sum by (node) ({rate(_F + 'reports_lost_total')})", "{{node}} lost"),
                Query(f"sum by (node) ({rate(_F + 'reports_missing_total')})", "{{node}} missing"),
                Query(f"sum by (node) ({rate(_F + 'reports_bad_total')})", "{{node}} bad"),
                Query(f"sum({rate(_F + 'indications_dropped_total')})", "dropped for xApps", BAD),
                about="Lost: dropped in the SDK's ring. Missing: not sent by the node in its "
                "period. Bad: not decodable. Dropped: an xApp read too slowly.",
                empty=_NO_BRIDGE,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "RIC behind",
                "s",
                Query(f"max by (node) ({selector(_F + 'report_lag_seconds')})", "{{node}}"),
                about="Delay of reports above the smallest seen: the RIC is behind when it grows.",
                empty=_NO_BRIDGE,
                size=(8, 8),
            ),
        ),
        density(
            card(
                "Spread of the report delay",
                "s",
                Query(
                    "sum by (le) (increase("
                    f"{selector(_F + 'report_delay_seconds_bucket')}[$__rate_interval]))",
                    "{{le}}",
                    buckets=True,
                ),
                about="Time of reports from node to SDK, with the offset of the clocks.",
                empty=_NO_BRIDGE,
                size=(8, 8),
            )
        ),
        lines(
            card(
                "Controls through the RIC",
                "cps",
                Query(f"sum by (outcome) ({rate(_F + 'controls_total')})", "{{outcome}}"),
                Query(f"sum({rate(_F + 'undone_total')})", "undone by the node", BAD),
                about="Controls by outcome. Undone: transactions that the node refused in part; "
                "the bridge took back the accepted part.",
                empty=_NO_BRIDGE,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Time of controls",
                "s",
                Query(quantile(0.5, _F + "control_seconds"), "p50", SERIES[3]),
                Query(quantile(0.99, _F + "control_seconds"), "p99", SERIES[1]),
                about="From the request of the xApp to the answer of the RIC.",
                empty=_NO_BRIDGE,
                size=(8, 8),
            ),
            logarithmic=True,
        ),
        timeline(
            card(
                "State of the RIC",
                "none",
                Query(f"max by (state) ({selector(_F + 'ric_state')}) == 1", "{{state}}"),
                about="State of the session with the near-RT RIC.",
                empty=_NO_BRIDGE,
                size=(24, 5),
            ),
            words={"1": ("now", SERIES[0])},
            names=None,
        ),
    ),
)

BOARD = Board(
    name="gateway",
    title="Sojourn / Gateway",
    description="E2 gateway, emulated gNB or FlexRIC bridge: are indications and controls carried "
    "without loss and delay?",
    rows=(
        _LAB,
        _BRIDGE_NOW,
        process_row("gnb-lab", "Process of gnb-lab", collapsed=True),
        process_row("flexric-bridge", "Process of flexric-bridge", collapsed=True),
    ),
    drill={"Controller": board_url("controller")},
)
