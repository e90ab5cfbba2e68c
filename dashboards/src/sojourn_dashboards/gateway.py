"""Gateway: what connects the xApps to the gNBs, FlexRIC bridge or emulated gNB."""

from __future__ import annotations

from sojourn_dashboards import colours
from sojourn_dashboards.frame import Board, Row, Variable, rate, selector
from sojourn_dashboards.panels import STEADY, Card, Query, lines, number

_NODE = Variable(
    "node",
    "Node",
    "gNBs, as the E2 gateway lists them.",
    'label_values(sojourn_gnb_delivered_packets_total{job=~"$job", instance=~"$instance"}, node)',
)
_NO_LAB = "No gnb-lab is scraped: add its --http-listen address to the scrape job gnb-lab."
_LAB = Row(
    "Emulated gNB",
    (
        number(
            Card(
                "Load of the emulation",
                "Time that steps of the emulated gNB take, per core. At 100 % it falls behind the "
                "wall clock: use fewer UEs or a faster core.",
                "percentunit",
                (Query(rate("sojourn_gateway_step_busy_seconds_total"), "{{instance}}"),),
                _NO_LAB,
                width=4,
                height=5,
                decimals=0,
            ),
            ((None, colours.GOOD), (0.7, colours.WARNING), (1.0, colours.BAD)),
        ),
        number(
            Card(
                "Indication streams",
                "Open streams of indications to xApps.",
                "short",
                (Query(selector("sojourn_gateway_indication_streams"), "{{instance}}"),),
                _NO_LAB,
                width=4,
                height=5,
            ),
            STEADY,
        ),
        lines(
            Card(
                "Indications",
                "Indications handed to streams, by RAN function.",
                "cps",
                (
                    Query(
                        f"sum by (ran_function_oid) ({rate('sojourn_gateway_indications_total')})",
                        "{{ran_function_oid}}",
                    ),
                ),
                _NO_LAB,
                width=16,
                height=5,
            )
        ),
    ),
)

BOARD = Board(
    name="gateway",
    title="Sojourn / Gateway",
    description="E2 gateway: FlexRIC bridge and emulated gNB. Are indications and controls carried "
    "without loss and delay?",
    rows=(_LAB,),
    variables=(_NODE,),
)
