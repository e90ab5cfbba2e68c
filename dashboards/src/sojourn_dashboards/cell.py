"""Cell: delay, queues and pipelines of one gNB."""

from __future__ import annotations

from sojourn_dashboards.colours import BOUND, SERIES
from sojourn_dashboards.frame import (
    NODE,
    Board,
    Row,
    board_url,
    by_owner,
    rate,
    selector,
    with_slice,
)
from sojourn_dashboards.panels import STEADY, Query, card, density, lines, number, rows, timeline
from sojourn_dashboards.service import (
    BEARER_COLUMNS,
    COMPLIANCE_SECONDS,
    NO_CONTROLLER,
    UP_CONTROLLER,
    bearer_table,
    bearers,
    compliance_share,
)
from sojourn_dashboards.states import (
    COMPLIANCE,
    FAULTS,
    LEASE_LEFT,
    MET_SHARE,
    NONE_IS_GOOD,
    OWNED,
)

_HERE = 'node=~"$node"'
_TILE = (4, 4)
_QUIET = f"No sparse traffic in this cell, so nothing waits. If that is wrong: {NO_CONTROLLER}"
NO_GNB = (
    "This gNB exports no metrics of its own: only gnb-lab and flexric-node do. Add their "
    "--metrics-listen address to the scrape job gnb-lab."
)
_BUCKETS = rate("sojourn_controller_sojourn_seconds_bucket", _HERE)


def quantile(q: float) -> str:
    """Quantile of the sojourn in this cell, over all slices and rules."""
    return f"histogram_quantile({q}, sum by (le) ({_BUCKETS}))"


def mean(summary: str) -> str:
    """Mean of the observations of a summary in this cell."""
    return f"sum({rate(summary + '_sum', _HERE)}) / sum({rate(summary + '_count', _HERE)})"


def gnb_delay(part: str) -> str:
    """Mean delay of a part of the gNB, per delivered packet."""
    delay = rate("sojourn_gnb_delay_seconds_total", _HERE, part)
    return f"sum({delay}) / sum({rate('sojourn_gnb_delivered_packets_total', _HERE)})"


_WATCHED_RULES = f"max by (rule) ({selector('sojourn_controller_bearers_watched', _HERE)} > 0)"
_NOW = Row(
    "Now",
    (
        number(
            card(
                "Fault",
                "none",
                Query(
                    "max by (fault) ("
                    f"{by_owner(selector('sojourn_controller_node_fault', _HERE))})",
                    "{{fault}}",
                    instant=True,
                ),
                about="Fault of the node that no pipeline mends, or none.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            STEADY,
            sparkline=False,
            names=FAULTS,
        ),
        number(
            card(
                "Owner",
                "none",
                f"max({selector('sojourn_controller_node_owner', _HERE)})",
                about="Whether a controller holds the node's lease.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            NONE_IS_GOOD,
            words=OWNED,
            sparkline=False,
        ),
        number(
            card(
                "Bearers of the cell",
                "none",
                bearers("watched", _HERE),
                about="Bearers that a rule of the policy matches.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "In violation",
                "none",
                bearers("violating", _HERE),
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
                Query(compliance_share(_HERE), instant=True),
                about="Bearer seconds that met their objective, of those that met or violated it, "
                "in the selected time.",
                empty="Nobody sends: nothing judged",
                size=_TILE,
                decimals=2,
            ),
            MET_SHARE,
            sparkline=False,
        ),
        number(
            card(
                "Least lease remaining",
                "s",
                "min("
                + by_owner(selector("sojourn_controller_lease_remaining_seconds", _HERE))
                + ")",
                about="Of the node lease and the leases of its pipelines. At 0 the safe pipelines "
                "return.",
                empty="No leases: bases stay in the gNB",
                size=_TILE,
                decimals=1,
            ),
            LEASE_LEFT,
        ),
    ),
)
_DELAY = Row(
    "How long sparse traffic waits",
    (
        lines(
            card(
                "Sojourn against bound",
                "s",
                Query(quantile(0.5), "p50", SERIES[3]),
                Query(quantile(0.95), "p95", SERIES[0]),
                Query(quantile(0.99), "p99", SERIES[1]),
                Query(
                    f"max by (rule) ({selector('sojourn_controller_bound_seconds')}) "
                    f"and on (rule) {_WATCHED_RULES}",
                    "bound of {{rule}}",
                    BOUND,
                    dashed=True,
                ),
                about="Sojourn of sparse traffic in front of the radio: age of the RLC head of "
                "line plus sojourn in the pipeline. A percentile is the upper edge of a bucket "
                "or between two edges: 5, 10, 20, 50, 100, 200, 500 ms, 1 s.",
                empty=_QUIET,
                size=(14, 9),
            ),
            logarithmic=True,
        ),
        density(
            card(
                "Spread of the sojourn",
                "s",
                Query(
                    "sum by (le) (increase("
                    f"{selector('sojourn_controller_sojourn_seconds_bucket', _HERE)}"
                    "[$__rate_interval]))",
                    "{{le}}",
                    buckets=True,
                ),
                about="Samples of the sojourn by bucket: bright cells have most.",
                empty=_QUIET,
                size=(10, 9),
            )
        ),
    ),
)
_KINDS = {"sparse": SERIES[0], "bulk": SERIES[1], "inherited": SERIES[2]}


def by_kind(kind: str) -> str:
    """Longest mean delay over 5 minutes of a kind of packet, over slices and rules."""
    delay = selector("sojourn_controller_sdu_delay_dl_5m_seconds", _HERE, f'kind="{kind}"')
    return f"max({by_owner(delay)})"


_GAINED = Row(
    "Sparse, bulk and inherited packets",
    (
        lines(
            card(
                "Mean delay by kind",
                "s",
                *(Query(by_kind(kind), kind, colour) for kind, colour in _KINDS.items()),
                Query(
                    'max(node_slice_rule:cu_du_delay_dl_seconds:mean_rate5m{node=~"$node"})',
                    "all (TS 28.552)",
                    BOUND,
                    dashed=True,
                ),
                about="Over 5 minutes, in pipeline and RLC. Sparse: packets of flows below their "
                "fair share, what users feel. Bulk: of others. Inherited: waited when the pipeline "
                "took effect; no line while there are none. `All` is DRB.PdcpSduDelayDl + "
                "DRB.RlcSduDelayDl, which is nearly that of bulk.",
                empty=f"No bearer sends, or the node reports no flows. Else: {NO_CONTROLLER}",
                size=(24, 8),
            ),
            logarithmic=True,
        ),
    ),
)
_GNB_MARKED = rate("sojourn_gnb_marked_packets_total", _HERE)
_PARTS = Row(
    "Where it waits",
    (
        lines(
            card(
                "Mean delay, from E2 reports",
                "s",
                Query(mean("sojourn_controller_pdcp_sdu_delay_dl_seconds"), "CU-UP", SERIES[2]),
                Query(mean("sojourn_controller_rlc_sdu_delay_dl_seconds"), "DU (RLC)", SERIES[1]),
                Query(
                    " + ".join(
                        mean(f"sojourn_controller_{part}_sdu_delay_dl_seconds")
                        for part in ("pdcp", "rlc")
                    ),
                    "their sum",
                    BOUND,
                    dashed=True,
                ),
                about="DRB.PdcpSduDelayDl and DRB.RlcSduDelayDl (TS 28.552, 5.1.3.3). A pipeline "
                "moves the queue from the DU to the CU-UP: judge the sum.",
                empty=f"No bearer sends. If that is wrong: {NO_CONTROLLER}",
                size=(12, 8),
            ),
        ),
        lines(
            card(
                "Mean delay, from the gNB",
                "s",
                Query(gnb_delay('part="pdcp"'), "CU-UP", SERIES[2]),
                Query(gnb_delay('part="f1"'), "F1-U", SERIES[0]),
                Query(gnb_delay('part="rlc"'), "DU (RLC)", SERIES[1]),
                Query(gnb_delay('part=~".+"'), "their sum", BOUND, dashed=True),
                about="Measured per packet in the gNB: DRB.PdcpSduDelayDl, DRB.GtpF1DelayDl, "
                "DRB.RlcSduDelayDl and their sum.",
                empty=NO_GNB,
                size=(12, 8),
            ),
        ),
        lines(
            card(
                "Drops and marks",
                "pps",
                Query(
                    f"sum by (cause) ({rate('sojourn_gnb_dropped_packets_total', _HERE)})",
                    "dropped by {{cause}}",
                ),
                Query(
                    f"sum({rate('sojourn_gnb_marked_packets_total', _HERE)})",
                    "marked CE",
                    SERIES[2],
                ),
                about="Of the gNB. `aqm` drops signal senders to slow down and are intended; "
                "`overflow` and `rlc` are full queues. They raise DRB.PdcpPacketDropRateDl.",
                empty=NO_GNB,
            ),
        ),
        lines(
            card(
                "Drops and marks, from E2 reports",
                "pps",
                Query(
                    "sum by (cause) (max by (node, slice, rule, cause) ("
                    f"{rate('sojourn_controller_dropped_packets_total', _HERE)}))",
                    "dropped by {{cause}}",
                ),
                Query(
                    "sum(max by (node, slice, rule) ("
                    f"{rate('sojourn_controller_marked_packets_total', _HERE)}))",
                    "marked CE",
                    SERIES[2],
                ),
                about="Of the pipelines, from E2SM-TC status: `queue` is AQM and limits together.",
                empty=NO_CONTROLLER,
            ),
        ),
    ),
)
_SCORE = by_owner(selector("sojourn_qoo_segment_score", _HERE, 'window="5m"'))
_SERVICE = Row(
    "What users get",
    (
        lines(
            card(
                "Bearers by compliance",
                "none",
                Query(
                    "sum by (state) (max by (node, slice, rule, state) ("
                    f"{rate(COMPLIANCE_SECONDS, _HERE)}))",
                    "{{state}}",
                ),
                about="Bearers in each state, as bearer seconds per second.",
                empty=NO_CONTROLLER,
                size=(8, 8),
            ),
            names=COMPLIANCE,
        ),
        lines(
            card(
                "Quality of Outcome of the segment",
                "none",
                Query(
                    with_slice(f"min by (slice, rule, profile) ({_SCORE})"),
                    "{{rule}} ({{slice}}): {{profile}}",
                ),
                about="Score over 5 minutes (draft-ietf-ippm-qoo) of RLC and CU queue alone; 0 to "
                "100.",
                empty="No score: too few samples, or no profile in the policy.",
                size=(8, 8),
            ),
            maximum=100,
        ),
        lines(
            card(
                "Radio",
                "percentunit",
                Query(f"max({selector('sojourn_prb_used_ratio', _HERE)})", "PRBs used", SERIES[0]),
                about="Share of the downlink PRBs that carry data. A queue grows when it nears "
                "100 %.",
                empty=NO_GNB,
                size=(8, 8),
            ),
            maximum=1,
        ),
    ),
)
_PIPELINES = Row(
    "Pipelines and bearers",
    (
        timeline(
            card(
                "Pipelines in force",
                "none",
                Query(
                    "sum by (template) (max by (node, slice, rule, template) ("
                    f"{by_owner(selector('sojourn_controller_pipeline_bearers', _HERE))}))",
                    "{{template}}",
                ),
                about="Bearers with a pipeline of the controller, by template.",
                empty="No pipeline of the controller: it only observes, or the node has a fault.",
                size=(24, 5),
            ),
            words=None,
            names=None,
        ),
        rows(
            bearer_table("Bearers of this cell, worst first", _HERE, height=9),
            BEARER_COLUMNS,
            sort="Of bound",
            descending=True,
        ),
    ),
)

BOARD = Board(
    name="cell",
    title="Sojourn / Cell",
    description="One gNB: how long sparse traffic waits, where, and what users get.",
    rows=(_NOW, _DELAY, _GAINED, _PARTS, _SERVICE, _PIPELINES),
    variables=(NODE.single(),),
    drill={"Controller": board_url("controller")},
)
