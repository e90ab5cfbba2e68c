"""Cell: delay, queues and pipelines of one gNB."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import NODE, board, board_url
from sojourn_dashboards.colours import SERIES
from sojourn_dashboards.kinds import density, lines, log_lines, number, timeline, trend
from sojourn_dashboards.queries import bound, by_owner, owned, quantile, with_slice
from sojourn_dashboards.service import (
    HERE,
    NO_CONTROLLER,
    UP_CONTROLLER,
    bearer_table,
    bearers,
    met_share,
)
from sojourn_dashboards.states import (
    COMPLIANCE,
    FAULTS,
    LEASE_LEFT,
    MET_SHARE,
    NONE_IS_GOOD,
    OWNED,
)
from sojourn_dashboards.table import Query, Row

_NO_GNB = (
    "This gNB exports no metrics of its own: only gnb-lab and flexric-node do. Add their "
    "--metrics-listen address to the scrape job gnb-lab."
)
_LEASES = f"sojourn_controller_lease_remaining_seconds{HERE}"
_COUNTED = f"{HERE}[$__rate_interval]"
_SOJOURN = f"sojourn_controller_sojourn_seconds_bucket{HERE}"
_WATCHED_RULES = f"max by (rule) (sojourn_controller_bearers_watched{HERE} > 0)"


def _mean(summary: str) -> str:
    """Mean of the observations of a summary in this cell."""
    return f"sum(rate({summary}_sum{_COUNTED})) / sum(rate({summary}_count{_COUNTED}))"


def _gnb_delay(part: str) -> str:
    """Mean delay of a part of the gNB, per delivered packet."""
    delay = f'sojourn_gnb_delay_seconds_total{{node=~"$node", {part}}}[$__rate_interval]'
    return f"sum(rate({delay})) / sum(rate(sojourn_gnb_delivered_packets_total{_COUNTED}))"


def _by_kind(kind: str, colour: str) -> Query:
    """Longest mean delay over 5 minutes of a kind of packet, over slices and rules."""
    delay = f'sojourn_controller_sdu_delay_dl_5m_seconds{{node=~"$node", kind="{kind}"}}'
    return Query(f"max({by_owner(delay)})", kind, colour)


_PDCP = _mean("sojourn_controller_pdcp_sdu_delay_dl_seconds")
_RLC = _mean("sojourn_controller_rlc_sdu_delay_dl_seconds")
_SCORE = 'sojourn_qoo_segment_score{node=~"$node", window="5m"}'
_PIPELINE_BEARERS = owned(
    "max by (node, slice, rule, template)", f"sojourn_controller_pipeline_bearers{HERE}"
)
_NOW = Row(
    "Now",
    number(
        "Fault",
        Query(owned("max by (fault)", f"sojourn_controller_node_fault{HERE}"), "{{fault}}"),
        "Fault of the node that no pipeline mends, or none.",
        names=FAULTS,
    ),
    number(
        "Owner",
        f"max(sojourn_controller_node_owner{HERE})",
        "Whether a controller holds the node's lease.",
        steps=NONE_IS_GOOD,
        words=OWNED,
    ),
    trend(
        "Bearers of the cell",
        bearers("watched", HERE),
        "Bearers that a rule of the policy matches.",
    ),
    trend(
        "In violation",
        bearers("violating", HERE),
        "Bearers above their bound now.",
        steps=NONE_IS_GOOD,
    ),
    number(
        "Objective met",
        Query(met_share('node=~"$node", '), instant=True),
        "Bearer seconds that met their objective, of those that met or violated it, in the "
        "selected time.",
        unit="percentunit",
        decimals=2,
        steps=MET_SHARE,
        empty="Nobody sends: nothing judged",
    ),
    trend(
        "Least lease remaining",
        f"min({by_owner(_LEASES)})",
        "Of the node lease and the leases of its pipelines. At 0 the safe pipelines return.",
        unit="s",
        decimals=1,
        steps=LEASE_LEFT,
        empty="No leases: bases stay in the gNB",
    ),
    empty=UP_CONTROLLER,
)
_DELAY = Row(
    "How long sparse traffic waits",
    log_lines(
        "Sojourn against bound",
        [
            Query(quantile(0.5, _SOJOURN), "p50", SERIES[3]),
            Query(quantile(0.95, _SOJOURN), "p95", SERIES[0]),
            Query(quantile(0.99, _SOJOURN), "p99", SERIES[1]),
            bound(
                f"max by (rule) (sojourn_controller_bound_seconds) and on (rule) {_WATCHED_RULES}",
                "bound of {{rule}}",
            ),
        ],
        "Sojourn of sparse traffic in front of the radio: age of the RLC head of line plus sojourn "
        "in the pipeline. A percentile is the upper edge of a bucket or between two edges: 5, 10, "
        "20, 50, 100, 200, 500 ms, 1 s.",
        unit="s",
        size=(14, 9),
    ),
    density(
        "Spread of the sojourn",
        Query(f"sum by (le) (increase({_SOJOURN}[$__rate_interval]))", "{{le}}"),
        "Samples of the sojourn by bucket: bright cells have most.",
        unit="s",
        size=(10, 9),
    ),
    empty=f"No sparse traffic in this cell, so nothing waits. If that is wrong: {NO_CONTROLLER}",
)
_GAINED = Row(
    "Sparse, bulk and inherited packets",
    log_lines(
        "Mean delay by kind",
        [
            _by_kind("sparse", SERIES[0]),
            _by_kind("bulk", SERIES[1]),
            _by_kind("inherited", SERIES[2]),
            bound(
                f"max(node_slice_rule:cu_du_delay_dl_seconds:mean_rate5m{HERE})", "all (TS 28.552)"
            ),
        ],
        "Over 5 minutes, in pipeline and RLC. Sparse: packets of flows below their fair share, "
        "what users feel. Bulk: of others. Inherited: waited when the pipeline took effect; no "
        "line while there are none. `All` is DRB.PdcpSduDelayDl + DRB.RlcSduDelayDl, which is "
        "nearly that of bulk.",
        unit="s",
        empty=f"No bearer sends, or the node reports no flows. Else: {NO_CONTROLLER}",
        size=(24, 8),
    ),
)
_PARTS = Row(
    "Where it waits",
    lines(
        "Mean delay, from E2 reports",
        [
            Query(_PDCP, "CU-UP", SERIES[2]),
            Query(_RLC, "DU (RLC)", SERIES[1]),
            bound(f"{_PDCP} + {_RLC}", "their sum"),
        ],
        "DRB.PdcpSduDelayDl and DRB.RlcSduDelayDl (TS 28.552, 5.1.3.3). A pipeline moves the queue "
        "from the DU to the CU-UP: judge the sum.",
        unit="s",
        empty=f"No bearer sends. If that is wrong: {NO_CONTROLLER}",
    ),
    lines(
        "Mean delay, from the gNB",
        [
            Query(_gnb_delay('part="pdcp"'), "CU-UP", SERIES[2]),
            Query(_gnb_delay('part="f1"'), "F1-U", SERIES[0]),
            Query(_gnb_delay('part="rlc"'), "DU (RLC)", SERIES[1]),
            bound(_gnb_delay('part=~".+"'), "their sum"),
        ],
        "Measured per packet in the gNB: DRB.PdcpSduDelayDl, DRB.GtpF1DelayDl, DRB.RlcSduDelayDl "
        "and their sum.",
        unit="s",
        empty=_NO_GNB,
    ),
    lines(
        "Drops and marks",
        [
            Query(
                f"sum by (cause) (rate(sojourn_gnb_dropped_packets_total{_COUNTED}))",
                "dropped by {{cause}}",
            ),
            Query(f"sum(rate(sojourn_gnb_marked_packets_total{_COUNTED}))", "marked CE", SERIES[2]),
        ],
        "Of the gNB. `aqm` drops signal senders to slow down and are intended; `overflow` and "
        "`rlc` are full queues. They raise DRB.PdcpPacketDropRateDl.",
        unit="pps",
        empty=_NO_GNB,
    ),
    lines(
        "Drops and marks, from E2 reports",
        [
            Query(
                "sum by (cause) (max by (node, slice, rule, cause) ("
                f"rate(sojourn_controller_dropped_packets_total{_COUNTED})))",
                "dropped by {{cause}}",
            ),
            Query(
                "sum(max by (node, slice, rule) ("
                f"rate(sojourn_controller_marked_packets_total{_COUNTED})))",
                "marked CE",
                SERIES[2],
            ),
        ],
        "Of the pipelines, from E2SM-TC status: `queue` is AQM and limits together.",
        unit="pps",
        empty=NO_CONTROLLER,
    ),
    size=(12, 8),
)
_SERVICE = Row(
    "What users get",
    lines(
        "Bearers by compliance",
        Query(
            "sum by (state) (max by (node, slice, rule, state) ("
            f"rate(sojourn_controller_compliance_seconds_total{_COUNTED})))",
            "{{state}}",
        ),
        "Bearers in each state, as bearer seconds per second.",
        names=COMPLIANCE,
        empty=NO_CONTROLLER,
    ),
    lines(
        "Quality of Outcome of the segment",
        Query(
            with_slice(owned("min by (slice, rule, profile)", _SCORE)),
            "{{rule}} ({{slice}}): {{profile}}",
        ),
        "Score over 5 minutes (draft-ietf-ippm-qoo) of RLC and CU queue alone; 0 to 100.",
        maximum=100,
        empty="No score: too few samples, or no profile in the policy.",
    ),
    lines(
        "Radio",
        Query(f"max(sojourn_prb_used_ratio{HERE})", "PRBs used", SERIES[0]),
        "Share of the downlink PRBs that carry data. A queue grows when it nears 100 %.",
        unit="percentunit",
        maximum=1,
        empty=_NO_GNB,
    ),
)
_PIPELINES = Row(
    "Pipelines and bearers",
    timeline(
        "Pipelines in force",
        Query(f"sum by (template) ({_PIPELINE_BEARERS})", "{{template}}"),
        "Bearers with a pipeline of the controller, by template.",
        empty="No pipeline of the controller: it only observes, or the node has a fault.",
        size=(24, 5),
    ),
    bearer_table("Bearers of this cell, worst first", HERE, 9),
)
BOARD: Final = board(
    "Cell",
    "One gNB: how long sparse traffic waits, where, and what users get.",
    (_NOW, _DELAY, _GAINED, _PARTS, _SERVICE, _PIPELINES),
    variables=(NODE,),
    drill={"Controller": board_url("controller")},
)
