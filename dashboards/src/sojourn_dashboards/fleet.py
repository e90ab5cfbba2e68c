"""Fleet: the wall of a NOC. Who suffers, where, since when, and what the controller does."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import board, board_url
from sojourn_dashboards.kinds import bars, history, number, ranking, table, trend
from sojourn_dashboards.queries import by_owner, happened, owned, with_blocker, with_slice
from sojourn_dashboards.service import (
    CELL_LINK,
    NO_CONTROLLER,
    NO_RULES,
    UP_CONTROLLER,
    bearer_table,
    bearers,
    met_share,
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
from sojourn_dashboards.table import Column, Query, Row

_OWNERS = "max by (node) (sojourn_controller_node_owner)"
_LAST = "max by (node) (sojourn_e2_last_indication_timestamp_seconds)"
_FIRING = 'ALERTS{alertname=~"Sojourn.*", alertstate="firing"}'
_BY_PROFILE = "by (node, slice, rule, profile"
_VIOLATED = 'sojourn_bearer_state_since_timestamp_seconds{state="violated"}'


def _by_kind(kind: str) -> str:
    delay = f'sojourn_controller_sdu_delay_dl_5m_seconds{{kind="{kind}"}}'
    return owned("max by (node, slice, rule)", delay)


_NOW = Row(
    "Now",
    number(
        "Nodes without indications",
        f"count(time() - {_LAST} > 10) or 0 * count({_OWNERS})",
        "gNBs whose newest indication is older than 10 s.",
        steps=NONE_IS_GOOD,
    ),
    number(
        "Nodes without an owner",
        f"count({_OWNERS} == 0) or 0 * count({_OWNERS})",
        "gNBs that no controller owns. When the leases end, their pipelines return to the safe "
        "ones.",
        steps=NONE_IS_GOOD,
    ),
    trend("Bearers watched", bearers("watched"), "Bearers that a rule of the policy matches."),
    trend(
        "Bearers in violation",
        bearers("violating"),
        "Bearers above their bound now.",
        steps=NONE_IS_GOOD,
    ),
    number(
        "Objective met",
        Query(met_share(), instant=True),
        "Bearer seconds that met their objective, of those that met or violated it, in the "
        "selected time. Idle bearers, radio outages and infeasible contracts are left out.",
        unit="percentunit",
        decimals=2,
        steps=MET_SHARE,
        empty="Nobody sends: nothing judged",
    ),
    number(
        "Alerts firing",
        f"count({_FIRING})",
        "Alerts of Sojourn that fire now.",
        steps=SOME_IS_A_WARNING,
        empty="None fires. Rules loaded?",
    ),
    empty=UP_CONTROLLER,
)
_WORST = Row("Who suffers", bearer_table("Bearers, worst first", "", 11))
_CELLS = Row(
    "Where",
    history(
        "Cells and slices, last 15 minutes",
        Query(
            with_slice(
                "node_slice:sojourn_to_bound:ratio_rate1m and on (node, slice) "
                "topk(20, node_slice:sojourn_to_bound:held)"
            ),
            "{{node}} {{slice}}",
        ),
        "95th percentile of the sojourn in front of the radio, as a share of the bound, per "
        "minute; the 20 worst cells and slices. 100 % is the bound. No cell means no sparse "
        "traffic in that minute.",
        unit="percentunit",
        decimals=0,
        steps=TO_BOUND,
        links={"Cell": board_url("cell", node="${__field.labels.node}")},
        empty=NO_RULES,
        size=(24, 9),
    ),
)
_GAINED = Row(
    "What was gained",
    table(
        "Delay of sparse, bulk and inherited packets",
        [
            *map(_by_kind, ("sparse", "bulk", "inherited")),
            "node_slice_rule:cu_du_delay_dl_seconds:mean_rate5m",
        ],
        "Means over 5 minutes in pipeline and RLC. Sparse: packets of flows below their fair "
        "share, what users feel. Bulk: of others. Inherited: waited when the pipeline took effect. "
        "`All` is DRB.PdcpSduDelayDl + DRB.RlcSduDelayDl (TS 28.552), which bulk dominates.",
        unit="s",
        columns=(
            Column("node", "Node", links=CELL_LINK),
            Column("slice", "Slice"),
            Column("rule", "Rule"),
            Column("Value #A", "Sparse", "s", decimals=1),
            Column("Value #B", "Bulk", "s", decimals=1),
            Column("Value #C", "Inherited", "s", decimals=1),
            Column("Value #D", "All", "s", decimals=1),
        ),
        sort="Sparse",
        descending=True,
        empty=NO_RULES,
        size=(24, 7),
    ),
)
_LIMIT = Row(
    "What limits them",
    table(
        "Quality of Outcome of the segment, worst first",
        [
            owned(f"min {_BY_PROFILE})", 'sojourn_qoo_segment_score{window="15m"}'),
            owned(f"max {_BY_PROFILE})", 'sojourn_qoo_segment_samples{window="15m"}'),
            owned(f"max {_BY_PROFILE}, limit)", "sojourn_qoo_segment_limit_info"),
        ],
        "Score of draft-ietf-ippm-qoo over 15 minutes, of this segment alone: RLC and CU queue. "
        "100: as good as the application can use. 0: unacceptable. `Limited by` is the "
        "percentile, loss or throughput that sets the score.",
        columns=(
            Column("node", "Node", links=CELL_LINK),
            Column("slice", "Slice"),
            Column("rule", "Rule"),
            Column("profile", "Profile"),
            Column("Value #A", "Score", "none", decimals=0, steps=SCORE, bar_to=100),
            Column("limit", "Limited by"),
            Column("Value #B", "Samples", "short"),
        ),
        sort="Score",
        empty="No score: too few samples in 15 minutes, or no profile in the policy. "
        "`tc-controller explain --state` shows the samples.",
        size=(14, 8),
    ),
    table(
        "Faults of nodes",
        owned("max by (node, fault)", "sojourn_controller_node_fault"),
        "Faults that no pipeline mends. What to do: `tc-controller explain --state`.",
        columns=(
            Column("node", "Node", links=CELL_LINK),
            Column("fault", "Fault", words=FAULTS),
        ),
        sort="Fault",
        descending=True,
        empty=NO_CONTROLLER,
        size=(10, 8),
    ),
)
_CONTROLLER = Row(
    "What the controller does",
    bars(
        "Decisions",
        happened("sojourn_controller_decisions_total", "template"),
        "Decisions in each interval, by the template decided for.",
        links={"Controller": board_url("controller")},
        empty="None: every bearer keeps its pipeline. If bearers are in violation, see "
        "`What holds it`.",
        size=(14, 8),
    ),
    ranking(
        "What holds it",
        Query(f"count by (blocker) ({with_blocker(by_owner(_VIOLATED))})", "{{blocker}}"),
        "Bearers in violation, by why the controller takes no decision for them now.",
        names=BLOCKERS,
        empty="Nothing: no bearer is in violation.",
        size=(10, 8),
    ),
)
_ALERTS = Row(
    "Alerts",
    table(
        "Alerts that fire",
        f"max by (alertname, perceived_severity, node, slice, job) ({_FIRING})",
        "With the perceived severity of TS 28.532. The runbook of an alert is the page of its name "
        "in docs/runbooks.",
        columns=(
            Column("perceived_severity", "Severity", words=SEVERITIES, width=140),
            Column("alertname", "Alert"),
            Column("node", "Node", links=CELL_LINK),
            Column("slice", "Slice"),
            Column("job", "Job"),
        ),
        sort="Severity",
        empty="No alert fires. If that is wrong: load dashboards/rules into this Prometheus.",
        size=(24, 6),
    ),
)
BOARD: Final = board(
    "Fleet",
    "Who suffers, where, since when, what limits them, what the controller does and what holds it. "
    "Rows lead to the cell and the bearer.",
    (_NOW, _WORST, _CELLS, _GAINED, _LIMIT, _CONTROLLER, _ALERTS),
    drill={"Error budget": board_url("slo")},
)
