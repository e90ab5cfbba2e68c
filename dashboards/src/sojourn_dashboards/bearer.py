"""Bearer: sojourn against bound, queue, throughput and pipeline of one DRB of one UE."""

from __future__ import annotations

from sojourn_dashboards.colours import BOUND, SERIES
from sojourn_dashboards.frame import (
    NODE,
    Board,
    Event,
    Row,
    Setting,
    Variable,
    board_url,
    by_owner,
    rate,
    selector,
)
from sojourn_dashboards.panels import STEADY, Query, card, lines, number, timeline
from sojourn_dashboards.states import BLOCKERS, COMPLIANCE, TO_BOUND

_HERE = ('node=~"$node"', 'ue=~"$ue"', 'drb=~"$drb"')
_ABSENT = (
    "This bearer is not among the worst: raise metrics.top_bearers of the controller, or choose "
    "another."
)
_TILE = (4, 4)
_LISTED = 'sojourn_bearer_sojourn_seconds{job=~"$job", instance=~"$instance", node=~"$node"'


def owned(metric: str, *matchers: str) -> str:
    """A gauge of this bearer, from the controller that owns the node."""
    return by_owner(selector(metric, *_HERE, *matchers))


_SINCE = "sojourn_bearer_state_since_timestamp_seconds"
_NOW_S = f"max by (rule) ({owned('sojourn_bearer_sojourn_seconds')})"
_BOUND_S = f"max by (rule) ({selector('sojourn_controller_bound_seconds')})"
_IN_RLC = owned("sojourn_bearer_queued_bytes", 'place="rlc"')
_IN_PIPELINE = owned("sojourn_bearer_queued_bytes", 'place="pipeline"')
_REVISION = selector("sojourn_bearer_pipeline_revision", *_HERE)
_NOW = Row(
    "Now",
    (
        number(
            card(
                "State",
                "none",
                Query(f"topk(1, max by (state) ({owned(_SINCE)}))", "{{state}}", instant=True),
                about="Compliance with the objective of the bearer's rule.",
                empty="Not listed: raise top_bearers",
                size=_TILE,
            ),
            STEADY,
            sparkline=False,
            names=COMPLIANCE,
        ),
        number(
            card(
                "In this state for",
                "s",
                f"time() - max({owned(_SINCE)})",
                about="Time since the bearer entered its state.",
                empty="Not listed: raise top_bearers",
                size=_TILE,
                decimals=0,
            ),
            STEADY,
            sparkline=False,
        ),
        number(
            card(
                "Holds the controller",
                "none",
                Query(
                    "topk(1, max by (blocker) (label_replace("
                    f'{owned(_SINCE)}, "blocker", "nothing", "blocker", "")))',
                    "{{blocker}}",
                    instant=True,
                ),
                about="Why the controller takes no decision for this bearer now.",
                empty="Not listed: raise top_bearers",
                size=_TILE,
            ),
            STEADY,
            sparkline=False,
            names=BLOCKERS,
        ),
        number(
            card(
                "Pipeline",
                "none",
                Query(
                    f"topk(1, max by (template) ({owned('sojourn_bearer_pipeline_revision')}))",
                    "{{template}}",
                    instant=True,
                ),
                about="Name of the pipeline in force.",
                empty="Not listed: raise top_bearers",
                size=_TILE,
            ),
            STEADY,
            sparkline=False,
            names={},
        ),
        number(
            card(
                "Sojourn now",
                "s",
                f"max({owned('sojourn_bearer_sojourn_seconds')})",
                about="Sojourn in front of the radio at the percentile of the objective.",
                empty="Not listed: raise top_bearers",
                size=_TILE,
                decimals=1,
            ),
            STEADY,
        ),
        number(
            card(
                "Of its bound",
                "percentunit",
                f"max({_NOW_S} / on (rule) group_left () {_BOUND_S})",
                about="Sojourn as a share of the bound of the rule.",
                empty="Not listed: raise top_bearers",
                size=_TILE,
                decimals=0,
            ),
            TO_BOUND,
        ),
    ),
)
_DELAY = Row(
    "How long it waits",
    (
        lines(
            card(
                "Sojourn against bound",
                "s",
                Query(f"max({owned('sojourn_bearer_sojourn_seconds')})", "sojourn now", SERIES[0]),
                Query(
                    f"max({owned('sojourn_bearer_sojourn_15m_seconds')})",
                    "over 15 minutes",
                    SERIES[2],
                ),
                Query(
                    f"max({selector('sojourn_rlc_hol_seconds', *_HERE)})",
                    "RLC head of line (gNB)",
                    SERIES[1],
                ),
                Query(
                    f"{_BOUND_S} and on (rule) {_NOW_S}", "bound of {{rule}}", BOUND, dashed=True
                ),
                about="Marks are changes of the pipeline. The RLC head of line comes from gnb-lab "
                "and has no line for other gNBs.",
                empty=_ABSENT,
                size=(24, 10),
            ),
            logarithmic=True,
        ),
    ),
)
_TRAFFIC = Row(
    "What it carries",
    (
        lines(
            card(
                "Queue",
                "decbytes",
                Query(f"max({_IN_RLC})", "RLC (DU)", SERIES[1]),
                Query(f"max({_IN_PIPELINE})", "pipeline (CU)", SERIES[2]),
                about="Bytes queued. The pipeline keeps the queue in the CU, where flows can be "
                "told apart; the RLC holds what the next TTIs send.",
                empty=_ABSENT,
            ),
        ),
        lines(
            card(
                "Throughput",
                "bps",
                Query(
                    f"8 * max({rate('sojourn_bearer_sent_bytes_total', *_HERE)})",
                    "taken by the MAC",
                    SERIES[0],
                ),
                about="Bits per second that the MAC takes from the RLC.",
                empty=_ABSENT,
            ),
        ),
    ),
)
_DECISIONS = Row(
    "What the controller did",
    (
        timeline(
            card(
                "Compliance",
                "none",
                Query(f"max by (state) ({owned(_SINCE)}) > bool 0", "{{state}}"),
                about="The bearer's state over time.",
                empty=_ABSENT,
                size=(12, 6),
            ),
            words={"1": ("yes", SERIES[3])},
            names=COMPLIANCE,
        ),
        timeline(
            card(
                "Pipeline and revision",
                "none",
                Query(
                    f"max by (template) ({owned('sojourn_bearer_pipeline_revision')})",
                    "{{template}}",
                ),
                about="Template in force, with its revision. A revision counts the transactions "
                "accepted for the bearer; `tc-controller explain --list` shows each decision.",
                empty=_ABSENT,
                size=(12, 6),
            ),
            words=None,
            names=None,
        ),
    ),
)

BOARD = Board(
    name="bearer",
    title="Sojourn / Bearer",
    description="One bearer: sojourn against bound, queue, throughput, pipeline and what changed "
    "it.",
    rows=(_NOW, _DELAY, _TRAFFIC, _DECISIONS),
    variables=(
        NODE.single(),
        Variable(
            "ue",
            "UE (C-RNTI)",
            "C-RNTIs of the worst bearers of the node, decimal.",
            f"label_values({_LISTED}}}, ue)",
            many=False,
        ),
        Variable(
            "drb",
            "DRB",
            "DRBs of the UE.",
            f'label_values({_LISTED}, ue=~"$ue"}}, drb)',
            many=False,
        ),
        Setting(
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
