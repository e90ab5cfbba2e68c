"""Service of bearers: texts, links and queries that Fleet, Cell and Bearer share."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import board_url
from sojourn_dashboards.kinds import table
from sojourn_dashboards.queries import by_owner, owned, with_blocker
from sojourn_dashboards.states import BLOCKERS, COMPLIANCE, TO_BOUND
from sojourn_dashboards.table import Column, Panel

HERE: Final = '{node=~"$node"}'
"""Matchers of one cell."""
NO_CONTROLLER: Final = (
    "No tc-controller is scraped: check `up` of the job tc-controller and the variables above."
)
UP_CONTROLLER: Final = "No data: is tc-controller up?"
"""For a tile, which has little room."""
NO_RULES: Final = (
    "Recorded series are missing: load dashboards/rules/recording.yaml into this Prometheus; "
    "the first values come after a minute."
)
CELL_LINK: Final = {"Cell": board_url("cell", node="${__data.fields.Node}")}
_BEARER_LINK = {
    "Bearer ${__data.fields.UE} DRB ${__data.fields.DRB}": board_url(
        "bearer",
        node="${__data.fields.Node}",
        ue="${__data.fields.UE}",
        drb="${__data.fields.DRB}",
    )
}
_BEARER = "node, ue, drb, slice, rule"


def bearer_table(title: str, here: str, height: int) -> Panel:
    """The worst bearers, those with the matchers `here` alone."""
    state = f"sojourn_bearer_state_since_timestamp_seconds{here}"
    held = f"bearer:sojourn_15m_seconds:held{here or '{}'}"
    return table(
        title,
        [
            f"{held} / on (rule) group_left () max by (rule) (sojourn_controller_bound_seconds)",
            held,
            owned(f"max by ({_BEARER})", f"sojourn_bearer_sojourn_seconds{here}"),
            f"time() - max by ({_BEARER}, state, blocker) ({by_owner(with_blocker(state))})",
            owned(f"max by ({_BEARER}, template)", f"sojourn_bearer_pipeline_revision{here}"),
        ],
        "The worst bearers by sojourn in front of the radio over 15 minutes, at the percentile of "
        "their objective, as a share of their bound. The value moves only when it changes by 20 % "
        "or more, so rows stay in place. UE is the C-RNTI, decimal. `Holds it` is why the "
        "controller takes no decision now.",
        columns=(
            Column("node", "Node", links=CELL_LINK),
            Column("ue", "UE", width=80, links=_BEARER_LINK),
            Column("drb", "DRB", width=60, links=_BEARER_LINK),
            Column("slice", "Slice", width=110),
            Column("rule", "Rule", width=120),
            Column("Value #A", "Of bound", "percentunit", decimals=0, steps=TO_BOUND, bar_to=2.0),
            Column("Value #B", "Sojourn 15 min", "s", width=130, decimals=1),
            Column("Value #C", "Sojourn now", "s", width=120, decimals=1),
            Column("state", "State", width=150, words=COMPLIANCE),
            Column("Value #D", "Since", "s", width=110, decimals=0),
            Column("blocker", "Holds it", width=220, words=BLOCKERS),
            Column("template", "Pipeline", width=140),
        ),
        sort="Of bound",
        descending=True,
        empty="No bearers: the controller watches none that a rule matches, or "
        "metrics.top_bearers is 0. Run `tc-controller explain --state`. If other panels have "
        f"data: {NO_RULES}",
        size=(24, height),
    )


def met_share(here: str = "") -> str:
    """Share of bearer seconds that met the objective, of those that met or violated it.

    `here`: further matchers, each with a comma behind it.
    """
    seconds = "sojourn_controller_compliance_seconds_total"
    met = f'sum(rate({seconds}{{{here}state="met"}}[$__range]))'
    return f'{met} / sum(rate({seconds}{{{here}state=~"met|violated"}}[$__range]))'


def bearers(kind: str, here: str = "") -> str:
    """Number of bearers `watched` or `violating`, each counted once over all controllers."""
    return f"sum(max by (node, slice, rule) (sojourn_controller_bearers_{kind}{here}))"
