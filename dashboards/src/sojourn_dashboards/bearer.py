"""Bearer: sojourn against bound, queue, throughput and pipeline of one DRB of one UE."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import NODE, Event, board, board_url, setting, variable
from sojourn_dashboards.colours import SERIES
from sojourn_dashboards.kinds import lines, log_lines, number, timeline, trend
from sojourn_dashboards.queries import bound, by_owner, owned, with_blocker
from sojourn_dashboards.states import BLOCKERS, COMPLIANCE, TO_BOUND
from sojourn_dashboards.table import Query, Row

_MATCHERS = 'node=~"$node", ue=~"$ue", drb=~"$drb"'
_HERE = f"{{{_MATCHERS}}}"
_ABSENT = (
    "This bearer is not among the worst: raise metrics.top_bearers of the controller, or choose "
    "another."
)
_LISTED = 'sojourn_bearer_sojourn_seconds{job=~"$job", instance=~"$instance", node=~"$node"'
_SINCE = f"sojourn_bearer_state_since_timestamp_seconds{_HERE}"
_REVISION = f"sojourn_bearer_pipeline_revision{_HERE}"
_SOJOURN = f"sojourn_bearer_sojourn_seconds{_HERE}"
_IN_RLC = f'sojourn_bearer_queued_bytes{{{_MATCHERS}, place="rlc"}}'
_IN_PIPELINE = f'sojourn_bearer_queued_bytes{{{_MATCHERS}, place="pipeline"}}'
_BLOCKER = with_blocker(by_owner(_SINCE))
_TEMPLATE = owned("max by (template)", _REVISION)
_NOW_S = owned("max by (rule)", _SOJOURN)
_BOUND_S = "max by (rule) (sojourn_controller_bound_seconds)"
_NOW = Row(
    "Now",
    number(
        "State",
        Query(f"topk(1, {owned('max by (state)', _SINCE)})", "{{state}}"),
        "Compliance with the objective of the bearer's rule.",
        names=COMPLIANCE,
    ),
    number(
        "In this state for",
        f"time() - max({by_owner(_SINCE)})",
        "Time since the bearer entered its state.",
        unit="s",
        decimals=0,
    ),
    number(
        "Holds the controller",
        Query(f"topk(1, max by (blocker) ({_BLOCKER}))", "{{blocker}}"),
        "Why the controller takes no decision for this bearer now.",
        names=BLOCKERS,
    ),
    number(
        "Pipeline",
        Query(f"topk(1, {_TEMPLATE})", "{{template}}"),
        "Name of the pipeline in force.",
        names={},
    ),
    trend(
        "Sojourn now",
        f"max({by_owner(_SOJOURN)})",
        "Sojourn in front of the radio at the percentile of the objective.",
        unit="s",
        decimals=1,
    ),
    trend(
        "Of its bound",
        f"max({_NOW_S} / on (rule) group_left () {_BOUND_S})",
        "Sojourn as a share of the bound of the rule.",
        unit="percentunit",
        decimals=0,
        steps=TO_BOUND,
    ),
    empty="Not listed: raise top_bearers",
)
_DELAY = Row(
    "How long it waits",
    log_lines(
        "Sojourn against bound",
        [
            Query(f"max({by_owner(_SOJOURN)})", "sojourn now", SERIES[0]),
            Query(
                f"max({by_owner(f'sojourn_bearer_sojourn_15m_seconds{_HERE}')})",
                "over 15 minutes",
                SERIES[2],
            ),
            Query(f"max(sojourn_rlc_hol_seconds{_HERE})", "RLC head of line (gNB)", SERIES[1]),
            bound(f"{_BOUND_S} and on (rule) {_NOW_S}", "bound of {{rule}}"),
        ],
        "Marks are changes of the pipeline. The RLC head of line comes from gnb-lab and has no "
        "line for other gNBs.",
        unit="s",
    ),
    empty=_ABSENT,
    size=(24, 10),
)
_TRAFFIC = Row(
    "What it carries",
    lines(
        "Queue",
        [
            Query(f"max({by_owner(_IN_RLC)})", "RLC (DU)", SERIES[1]),
            Query(f"max({by_owner(_IN_PIPELINE)})", "pipeline (CU)", SERIES[2]),
        ],
        "Bytes queued. The pipeline keeps the queue in the CU, where flows can be told apart; the "
        "RLC holds what the next TTIs send.",
        unit="decbytes",
    ),
    lines(
        "Throughput",
        Query(
            f"8 * max(rate(sojourn_bearer_sent_bytes_total{_HERE}[$__rate_interval]))",
            "taken by the MAC",
            SERIES[0],
        ),
        "Bits per second that the MAC takes from the RLC.",
        unit="bps",
    ),
    empty=_ABSENT,
    size=(12, 8),
)
_DECISIONS = Row(
    "What the controller did",
    timeline(
        "Compliance",
        Query(f"{owned('max by (state)', _SINCE)} > bool 0", "{{state}}"),
        "The bearer's state over time.",
        words={"1": ("yes", SERIES[3])},
        names=COMPLIANCE,
    ),
    timeline(
        "Pipeline and revision",
        Query(_TEMPLATE, "{{template}}"),
        "Template in force, with its revision. A revision counts the transactions accepted for the "
        "bearer; `tc-controller explain --list` shows each decision.",
    ),
    empty=_ABSENT,
    size=(12, 6),
)
BOARD: Final = board(
    "Bearer",
    "One bearer: sojourn against bound, queue, throughput, pipeline and what changed it.",
    (_NOW, _DELAY, _TRAFFIC, _DECISIONS),
    variables=(
        NODE,
        variable(
            "ue",
            "UE (C-RNTI)",
            "C-RNTIs of the worst bearers of the node, decimal.",
            f"{_LISTED}}}, ue",
        ),
        variable("drb", "DRB", "DRBs of the UE.", f'{_LISTED}, ue=~"$ue"}}, drb'),
        setting(
            "live",
            "Live page at",
            "Address of the controller's HTTP endpoint as this browser reaches it, for example "
            "through kubectl port-forward. The link Live page leads there.",
            "http://localhost:9100",
        ),
    ),
    events=(
        Event(
            "Pipeline changes",
            f"max by (template) (changes({_REVISION}[$__interval]) > 0 or "
            f"{_REVISION} unless {_REVISION} offset $__interval)",
            "Pipeline: {{template}}",
            "A transaction changed the bearer's pipeline.",
            SERIES[1],
        ),
    ),
    drill={
        "Cell": board_url("cell", node="${node}"),
        "Controller": board_url("controller"),
        "Live page": "${live:raw}/live/#${node:percentencode}/${ue}/drb${drb}",
    },
)
