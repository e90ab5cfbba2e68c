"""Service of bearers: queries, texts and the table that Fleet, Cell and Bearer share."""

from __future__ import annotations

from sojourn_dashboards.frame import board_url, by_owner, selector
from sojourn_dashboards.panels import Card, Column, Query, card
from sojourn_dashboards.states import BLOCKERS, COMPLIANCE, TO_BOUND

COMPLIANCE_SECONDS = "sojourn_controller_compliance_seconds_total"
NO_CONTROLLER = (
    "No tc-controller is scraped: check `up` of the job tc-controller and the variables above."
)
UP_CONTROLLER = "No data: is tc-controller up?"
"""For a tile, which has little room."""
NO_BEARERS = (
    "No bearers: the controller watches none that a rule matches, or metrics.top_bearers is 0. "
    "Run `tc-controller explain --state`."
)
NO_RULES = (
    "Recorded series are missing: load dashboards/rules/recording.yaml into this Prometheus; "
    "the first values come after a minute."
)
BEARER = "node, ue, drb, slice, rule"
_BEARER_LINK = {
    "Bearer ${__data.fields.UE} DRB ${__data.fields.DRB}": board_url(
        "bearer",
        node="${__data.fields.Node}",
        ue="${__data.fields.UE}",
        drb="${__data.fields.DRB}",
    )
}
CELL_LINK = {"Cell": board_url("cell", node="${__data.fields.Node}")}


def bearer_gauge(metric: str, labels: str = BEARER, *matchers: str) -> str:
    """A gauge of the worst bearers, from the controller that owns the node."""
    return f"max by ({labels}) ({by_owner(selector(metric, *matchers))})"


def bearer_table(title: str, *matchers: str, height: int = 11) -> Card:
    """Bearers, worst first: the queries behind `BEARER_COLUMNS`."""
    since = selector("sojourn_bearer_state_since_timestamp_seconds", *matchers)
    state = by_owner(f'label_replace({since}, "blocker", "nothing", "blocker", "")')
    now = bearer_gauge("sojourn_bearer_sojourn_seconds", BEARER, *matchers)
    bound = f"max by (rule) ({selector('sojourn_controller_bound_seconds')})"
    held = f"bearer:sojourn_15m_seconds:held{{{', '.join(matchers)}}}"
    queries = (
        f"{held} / on (rule) group_left () {bound}",
        held,
        now,
        f"time() - max by ({BEARER}, state, blocker) ({state})",
        bearer_gauge("sojourn_bearer_pipeline_revision", f"{BEARER}, template", *matchers),
    )
    return card(
        title,
        "none",
        *(Query(query, instant=True, table=True) for query in queries),
        about="The worst bearers by sojourn in front of the radio over 15 minutes, at the "
        "percentile of their objective, as a share of their bound. The value moves only when it "
        "changes by 20 % or more, so rows stay in place. UE is the C-RNTI, decimal. `Holds it` is "
        "why the controller takes no decision now.",
        empty=f"{NO_BEARERS} If other panels have data: {NO_RULES}",
        size=(24, height),
    )


BEARER_COLUMNS = (
    Column("node", "Node", links=CELL_LINK),
    Column("ue", "UE", width=80, links=_BEARER_LINK),
    Column("drb", "DRB", width=60, links=_BEARER_LINK),
    Column("slice", "Slice", width=110),
    Column("rule", "Rule", width=120),
    Column("Value #A", "Of bound", unit="percentunit", decimals=0, steps=TO_BOUND, bar_to=2.0),
    Column("Value #B", "Sojourn 15 min", unit="s", width=130, decimals=1),
    Column("Value #C", "Sojourn now", unit="s", width=120, decimals=1),
    Column("state", "State", width=150, words=COMPLIANCE),
    Column("Value #D", "Since", unit="s", width=110, decimals=0),
    Column("blocker", "Holds it", width=220, words=BLOCKERS),
    Column("template", "Pipeline", width=140),
)


def compliance_share(*matchers: str, window: str = "$__range") -> str:
    """Share of bearer seconds that met the objective, of those that met or violated it."""
    met = selector(COMPLIANCE_SECONDS, *matchers, 'state="met"')
    judged = selector(COMPLIANCE_SECONDS, *matchers, 'state=~"met|violated"')
    return f"sum(rate({met}[{window}])) / sum(rate({judged}[{window}]))"


def bearers(kind: str, *matchers: str) -> str:
    """Number of bearers `watched` or `violating`, each counted once over all controllers."""
    gauge = selector(f"sojourn_controller_bearers_{kind}", *matchers)
    return f"sum(max by (node, slice, rule) ({gauge}))"
