"""Controller: is it up, does it act, is it fast, and what becomes of what it does."""

from __future__ import annotations

from sojourn_dashboards.colours import BAD, GOOD, SERIES, WARNING
from sojourn_dashboards.frame import Board, Event, Row, board_url, events, quantile, rate, selector
from sojourn_dashboards.panels import STEADY, Query, card, lines, number, timeline
from sojourn_dashboards.process import connection_row, process_row
from sojourn_dashboards.service import NO_CONTROLLER, UP_CONTROLLER
from sojourn_dashboards.states import (
    ACTING,
    LEASE_LEFT,
    NONE_IS_GOOD,
)

_P = "sojourn_controller_"
_TILE = (4, 4)
_ONLY = 'job="tc-controller"'
_OWNER = 'role="owner"'


def _counted(name: str, label: str, *, above_zero: bool = True) -> Query:
    """Events of a counter in each interval, by a label."""
    counted = events(f"{_P}{name}_total", label)
    return Query(f"{counted} > 0" if above_zero else counted, f"{{{{{label}}}}}")


_NOW = Row(
    "Now",
    (
        number(
            card(
                "Controllers up",
                "none",
                f"sum({selector('up', _ONLY)})",
                about="Replicas that Prometheus can scrape.",
                empty="No target: add job tc-controller",
                size=_TILE,
            ),
            ((None, BAD), (1, GOOD)),
            sparkline=False,
        ),
        number(
            card(
                "Acts",
                "none",
                f"min({selector(_P + 'acting')})",
                about="Whether all controllers act on violations, or one only observes (dry run, "
                "shadow mode).",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            NONE_IS_GOOD,
            words=ACTING,
            sparkline=False,
        ),
        number(
            card(
                "Nodes owned",
                "none",
                f"sum({selector(_P + 'nodes', _OWNER)})",
                about="Nodes whose lease one of the controllers holds.",
                empty=UP_CONTROLLER,
                size=_TILE,
            ),
            STEADY,
        ),
        number(
            card(
                "Least lease of all nodes",
                "s",
                f"min({selector(_P + 'lease_remaining_seconds')})",
                about="Of all node leases and leases of pipelines. At 0 the safe pipelines return.",
                empty="No leases: bases stay in the gNB",
                size=_TILE,
                decimals=1,
            ),
            LEASE_LEFT,
        ),
        number(
            card(
                "Pipeline changes per hour",
                "none",
                f"max({selector(_P + 'transactions_per_bearer_hour')})",
                about="Of the bearer with most. Above 20 it flaps: lengthen cool_down_ms.",
                empty=UP_CONTROLLER,
                size=_TILE,
                decimals=0,
            ),
            ((None, GOOD), (10, WARNING), (20, BAD)),
        ),
        number(
            card(
                "Age of the policy",
                "s",
                f"time() - max({selector(_P + 'policy_loaded_timestamp_seconds')})",
                about="Time since the policy in force was read.",
                empty=UP_CONTROLLER,
                size=_TILE,
                decimals=0,
            ),
            STEADY,
            sparkline=False,
        ),
    ),
)
_DECIDES = Row(
    "What it decides, and what becomes of it",
    (
        lines(
            card(
                "Decisions by trigger",
                "short",
                _counted("decisions", "trigger"),
                about="Decisions in each interval, by what triggered them.",
                empty="No decision in this time: every bearer keeps its pipeline.",
                size=(8, 8),
            ),
            bars=True,
        ),
        lines(
            card(
                "Decisions by template",
                "short",
                _counted("decisions", "template"),
                about="Decisions in each interval, by the template decided for.",
                empty="No decision in this time: every bearer keeps its pipeline.",
                size=(8, 8),
            ),
            bars=True,
        ),
        lines(
            card(
                "Verdicts and rollbacks",
                "short",
                _counted("verdicts", "verdict"),
                Query(
                    f"{events(_P + 'rollbacks_total', 'job')} > 0",
                    "rolled back",
                    BAD,
                ),
                about="How changes proved: kept, not better, worse. A rollback returns to the "
                "pipeline before.",
                empty="No verification in this time: no change was made that had to be proven.",
                size=(8, 8),
            ),
            bars=True,
        ),
        lines(
            card(
                "Controls by purpose",
                "cps",
                Query(f"sum by (purpose) ({rate(_P + 'controls_total')})", "{{purpose}}"),
                about="Control requests sent, by purpose; renewals of leases are the steady part.",
                empty=NO_CONTROLLER,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Controls by result",
                "cps",
                Query(f"sum by (result) ({rate(_P + 'controls_total')})", "{{result}}"),
                about="Answers of the gNBs. Other than accepted: the log has cause and element.",
                empty=NO_CONTROLLER,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Reconciliations",
                "short",
                _counted("reconciliations", "kind"),
                about="Pipelines in force that were not the desired ones. `foreign`: somebody "
                "else set them.",
                empty="None: the pipelines in force are the desired ones.",
                size=(8, 8),
            ),
            bars=True,
        ),
    ),
)
_OBJECTIVES = Row(
    "Objectives",
    (
        lines(
            card(
                "Violations that began",
                "short",
                _counted("violations", "rule"),
                about="Violations in each interval, by rule.",
                empty="None: no bearer went above its bound.",
                size=(8, 8),
            ),
            bars=True,
        ),
        timeline(
            card(
                "Roles at the nodes",
                "none",
                Query(f"sum by (role) ({selector(_P + 'nodes')}) > 0", "{{role}}"),
                about="Nodes by the role of the controllers there: owner acts, standby waits for "
                "the lease, candidate applies for it, observer only watches, duplicate has the "
                "identity of another.",
                empty=NO_CONTROLLER,
                size=(8, 8),
            ),
            words=None,
            names=None,
        ),
        lines(
            card(
                "Effect of trials",
                "s",
                Query(
                    f"max by (node, rule, bound) ({selector(_P + 'trial_effect_sojourn_seconds')})",
                    "{{rule}} at {{node}}: {{bound}}",
                ),
                about="Sojourn of the base less that of what it is tried against, with its "
                "confidence interval. Low above 0: the base is slower; change it if the other "
                "keeps the rate, too.",
                empty="No trial: no rule of the policy has one.",
                size=(8, 8),
            ),
            minimum=None,
        ),
    ),
)
_TO_ACK = selector(_P + "detect_to_ack_seconds_bucket")
_LOOP = Row(
    "How fast it is",
    (
        lines(
            card(
                "Report to acknowledged control",
                "s",
                *(
                    Query(
                        f"histogram_quantile({q}, sum by (le) (rate({_TO_ACK}[$__range])))",
                        f"p{100 * q:.0f}",
                        colour,
                    )
                    for q, colour in ((0.5, SERIES[3]), (0.99, SERIES[1]))
                ),
                about="From the start of handling the report that triggered a decision to the "
                "gNB's answer, over as long as the selected time, for decisions are rare. Above "
                "0.1 s at p99: slow control path.",
                empty="No decision was answered in this time.",
                size=(12, 8),
            ),
            logarithmic=True,
        ),
        lines(
            card(
                "Handling of a report",
                "s",
                Query(quantile(0.5, _P + "handling_seconds"), "p50", SERIES[3]),
                Query(quantile(0.99, _P + "handling_seconds"), "p99", SERIES[1]),
                about="Time in the controller's core per RLC report.",
                empty=NO_CONTROLLER,
                size=(12, 8),
            ),
            logarithmic=True,
        ),
    ),
)
_FAILURES = Row(
    "What goes wrong",
    (
        lines(
            card(
                "Lease renewals by result",
                "cps",
                Query(f"sum by (result) ({rate(_P + 'lease_renewals_total')})", "{{result}}"),
                about="Renewals of leases. Other than accepted: the safe pipeline returns when the "
                "lease ends.",
                empty="No renewals: no node is owned, or no pipeline has a lease.",
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Not used",
                "cps",
                Query(f"sum by (reason) ({rate(_P + 'ignored_total')})", "{{reason}}"),
                Query(f"sum({rate(_P + 'log_records_lost_total')})", "log records lost", BAD),
                about="Reports and answers that were not used, by reason, and decision records "
                "that were not written.",
                empty=NO_CONTROLLER,
                size=(8, 8),
            ),
        ),
        lines(
            card(
                "Reads of the policy",
                "short",
                _counted("policy_reloads", "result", above_zero=False),
                about="`rejected`: the file or A1 policy was refused and the last good one stays "
                "in force; the log names the place.",
                empty=NO_CONTROLLER,
                size=(8, 8),
            ),
            bars=True,
        ),
    ),
)
_RELOADED = selector(_P + "policy_loaded_timestamp_seconds")
BOARD = Board(
    name="controller",
    title="Sojourn / Controller",
    description="Is it up, does it act, how fast, and what becomes of its decisions?",
    rows=(
        _NOW,
        _DECIDES,
        _OBJECTIVES,
        _LOOP,
        _FAILURES,
        connection_row("tc-controller"),
        process_row("tc-controller", collapsed=True),
    ),
    events=(
        Event(
            "Policy read",
            f"max(changes({_RELOADED}[$__interval])) > 0",
            "New policy",
            "The controller read its policy anew.",
            SERIES[0],
        ),
    ),
    drill={"Forecaster": board_url("forecaster"), "Gateway": board_url("gateway")},
)
