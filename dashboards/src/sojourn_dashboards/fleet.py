"""Fleet: the wall of a NOC. Who suffers, where, since when, and what the controller does."""

from __future__ import annotations

from sojourn_dashboards.frame import Board, Row, board_url, by_owner, events, selector, with_slice
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
from sojourn_dashboards.service import (
    BEARER_COLUMNS,
    CELL_LINK,
    NO_CONTROLLER,
    NO_RULES,
    UP_CONTROLLER,
    bearer_table,
    bearers,
    compliance_share,
)
from sojourn_dashboards.states import (
    BLOCKERS,
    FAULTS,
    MET_SHARE,
    NONE_IS_GOOD,
    SCORE,
    SEVERITIES,
    SOME_IS_A_WARNING,
    TO_BOUND,
)

_CELL_OF_SERIES = {"Cell": board_url("cell", node="${__field.labels.node}")}
_OWNERS = f"max by (node) ({selector('sojourn_controller_node_owner')})"
_LAST = f"max by (node) ({selector('sojourn_e2_last_indication_timestamp_seconds')})"
_TILE = (4, 4)


_NOW = Row(
    "Now",
    (
        number(
            card(
                "Nodes without indications",
                "none",
                f"count(time() - {_LAST} > 10) or 0 * count({_OWNERS})",
                about="gNBs whose newest indication is older than 10 s.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            NONE_IS_GOOD,
            sparkline=False,
        ),
        number(
            card(
                "Nodes without an owner",
                "none",
                f"count({_OWNERS} == 0) or 0 * count({_OWNERS})",
                about="gNBs that no controller owns. When the leases end, their pipelines return "
                "to the safe ones.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            NONE_IS_GOOD,
            sparkline=False,
        ),
        number(
            card(
                "Bearers watched",
                "none",
                bearers("watched"),
                about="Bearers that a rule of the policy matches.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "Bearers in violation",
                "none",
                bearers("violating"),
                about="Bearers above their bound now.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            NONE_IS_GOOD,
        ),
        number(
            card(
                "Objective met",
                "percentunit",
                Query(compliance_share(), instant=True),
                about="Bearer seconds that met their objective, of those that met or violated it, "
                "in the selected time. Idle bearers, radio outages and infeasible contracts are "
                "left out.",
                empty="Nobody sends: nothing judged",
                size=_TILE,
                decimals=2,
            ),
            MET_SHARE,
            sparkline=False,
        ),
        number(
            card(
                "Alerts firing",
                "none",
                'count(ALERTS{alertname=~"Sojourn.*", alertstate="firing"})',
                about="Alerts of Sojourn that fire now.",
                empty="None fires. Rules loaded?",
                size=_TILE,
            ),
            SOME_IS_A_WARNING,
            sparkline=False,
        ),
    ),
)
_WORST = Row(
    "Who suffers",
    (
        rows(
            bearer_table("Bearers, worst first"),
            BEARER_COLUMNS,
            sort="Of bound",
            descending=True,
        ),
    ),
)
_CELLS = Row(
    "Where",
    (
        history(
            card(
                "Cells and slices, last 15 minutes",
                "percentunit",
                Query(
                    with_slice(
                        "node_slice:sojourn_to_bound:ratio_rate1m and on (node, slice) "
                        "topk(20, node_slice:sojourn_to_bound:held)"
                    ),
                    "{{node}} {{slice}}",
                ),
                about="95th percentile of the sojourn in front of the radio, as a share of the "
                "bound, per minute; the 20 worst cells and slices. 100 % is the bound. No cell "
                "means no sparse traffic in that minute.",
                empty=NO_RULES,
                size=(24, 9),
                decimals=0,
                links=_CELL_OF_SERIES,
            ),
            TO_BOUND,
            last="15m",
            every="1m",
        ),
    ),
)
_SCORE = "sojourn_qoo_segment_score"
_LONG = 'window="15m"'
_LIMIT = Row(
    "What limits them",
    (
        rows(
            card(
                "Quality of Outcome of the segment, worst first",
                "none",
                *(
                    Query(query, instant=True, table=True)
                    for query in (
                        "min by (node, slice, rule, profile) ("
                        f"{by_owner(selector(_SCORE, _LONG))})",
                        "max by (node, slice, rule, profile) ("
                        f"{by_owner(selector('sojourn_qoo_segment_samples', _LONG))})",
                        "max by (node, slice, rule, profile, limit) ("
                        f"{by_owner(selector('sojourn_qoo_segment_limit_info'))})",
                    )
                ),
                about="Score of draft-ietf-ippm-qoo over 15 minutes, of this segment alone: RLC "
                "and CU queue. 100: as good as the application can use. 0: unacceptable. "
                "`Limited by` is the percentile, loss or throughput that sets the score.",
                empty="No score: too few samples in 15 minutes, or no profile in the policy. "
                "`tc-controller explain --state` shows the samples.",
                size=(14, 8),
            ),
            (
                Column("node", "Node", links=CELL_LINK),
                Column("slice", "Slice"),
                Column("rule", "Rule"),
                Column("profile", "Profile"),
                Column("Value #A", "Score", unit="none", decimals=0, steps=SCORE, bar_to=100),
                Column("limit", "Limited by"),
                Column("Value #B", "Samples", unit="short"),
            ),
            sort="Score",
            descending=False,
        ),
        rows(
            card(
                "Faults of nodes",
                "none",
                Query(
                    f"max by (node, fault) ({by_owner(selector('sojourn_controller_node_fault'))})",
                    instant=True,
                    table=True,
                ),
                about="Faults that no pipeline mends. What to do: `tc-controller explain --state`.",
                empty=NO_CONTROLLER,
                size=(10, 8),
            ),
            (
                Column("node", "Node", links=CELL_LINK),
                Column("fault", "Fault", words=FAULTS),
            ),
            sort="Fault",
            descending=True,
        ),
    ),
)
_ALERTS = Row(
    "Alerts",
    (
        rows(
            card(
                "Alerts that fire",
                "none",
                Query(
                    "max by (alertname, perceived_severity, node, slice, job) ("
                    'ALERTS{alertname=~"Sojourn.*", alertstate="firing"})',
                    instant=True,
                    table=True,
                ),
                about="With the perceived severity of TS 28.532. The runbook of an alert is the "
                "page of its name in docs/runbooks.",
                empty="No alert fires. If that is wrong: load dashboards/rules into this "
                "Prometheus.",
                size=(24, 6),
            ),
            (
                Column("perceived_severity", "Severity", words=SEVERITIES, width=140),
                Column("alertname", "Alert"),
                Column("node", "Node", links=CELL_LINK),
                Column("slice", "Slice"),
                Column("job", "Job"),
            ),
            sort="Severity",
            descending=False,
        ),
    ),
)


def _by_kind(kind: str) -> str:
    delay = selector("sojourn_controller_sdu_delay_dl_5m_seconds", f'kind="{kind}"')
    return f"max by (node, slice, rule) ({by_owner(delay)})"


_GAINED = Row(
    "What was gained",
    (
        rows(
            card(
                "Delay of sparse, bulk and inherited packets",
                "s",
                *(
                    Query(query, instant=True, table=True)
                    for query in (
                        _by_kind("sparse"),
                        _by_kind("bulk"),
                        _by_kind("inherited"),
                        "node_slice_rule:cu_du_delay_dl_seconds:mean_rate5m",
                    )
                ),
                about="Means over 5 minutes in pipeline and RLC. Sparse: packets of flows below "
                "their fair share, what users feel. Bulk: of others. Inherited: waited when the "
                "pipeline took effect. `All` is DRB.PdcpSduDelayDl + DRB.RlcSduDelayDl "
                "(TS 28.552), which bulk dominates.",
                empty=NO_RULES,
                size=(24, 7),
            ),
            (
                Column("node", "Node", links=CELL_LINK),
                Column("slice", "Slice"),
                Column("rule", "Rule"),
                Column("Value #A", "Sparse", unit="s", decimals=1),
                Column("Value #B", "Bulk", unit="s", decimals=1),
                Column("Value #C", "Inherited", unit="s", decimals=1),
                Column("Value #D", "All", unit="s", decimals=1),
            ),
            sort="Sparse",
            descending=True,
        ),
    ),
)
_VIOLATED = selector("sojourn_bearer_state_since_timestamp_seconds", 'state="violated"')
_CONTROLLER = Row(
    "What the controller does",
    (
        lines(
            card(
                "Decisions",
                "short",
                Query(
                    f"{events('sojourn_controller_decisions_total', 'template')} > 0",
                    "{{template}}",
                ),
                about="Decisions in each interval, by the template decided for.",
                empty="None: every bearer keeps its pipeline. If bearers are in violation, see "
                "`What holds it`.",
                size=(14, 8),
                links={"Controller": board_url("controller")},
            ),
            bars=True,
        ),
        ranking(
            card(
                "What holds it",
                "none",
                Query(
                    "count by (blocker) (label_replace("
                    f"{by_owner(_VIOLATED)}"
                    ', "blocker", "nothing", "blocker", ""))',
                    "{{blocker}}",
                    instant=True,
                ),
                about="Bearers in violation, by why the controller takes no decision for them now.",
                empty="Nothing: no bearer is in violation.",
                size=(10, 8),
            ),
            STEADY,
            names=BLOCKERS,
        ),
    ),
)

BOARD = Board(
    name="fleet",
    title="Sojourn / Fleet",
    description="Who suffers, where, since when, what limits them, what the controller does and "
    "what holds it. Rows lead to the cell and the bearer.",
    rows=(_NOW, _WORST, _CELLS, _GAINED, _LIMIT, _CONTROLLER, _ALERTS),
    drill={"Error budget": board_url("slo")},
)
