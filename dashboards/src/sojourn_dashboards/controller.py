"""Controller: is it up, does it act, is it fast, and what becomes of what it does."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.board import Event, board, board_url
from sojourn_dashboards.colours import BAD, GOOD, SERIES, WARNING
from sojourn_dashboards.kinds import bars, lines, log_lines, number, signed_lines, timeline, trend
from sojourn_dashboards.process import connection_row, process_row
from sojourn_dashboards.queries import events, happened, percentiles, rates
from sojourn_dashboards.service import NO_CONTROLLER, UP_CONTROLLER
from sojourn_dashboards.states import ACTING, LEASE_LEFT, NONE_IS_GOOD
from sojourn_dashboards.table import Query, Row

_RELOADED = "sojourn_controller_policy_loaded_timestamp_seconds"
_NOW = Row(
    "Now",
    number(
        "Controllers up",
        'sum(up{job="tc-controller"})',
        "Replicas that Prometheus can scrape.",
        steps=((None, BAD), (1, GOOD)),
        empty="No target: add job tc-controller",
    ),
    number(
        "Acts",
        "min(sojourn_controller_acting)",
        "Whether all controllers act on violations, or one only observes (dry run, shadow mode).",
        steps=NONE_IS_GOOD,
        words=ACTING,
    ),
    trend(
        "Nodes owned",
        'sum(sojourn_controller_nodes{role="owner"})',
        "Nodes whose lease one of the controllers holds.",
    ),
    trend(
        "Least lease of all nodes",
        "min(sojourn_controller_lease_remaining_seconds)",
        "Of all node leases and leases of pipelines. At 0 the safe pipelines return.",
        unit="s",
        decimals=1,
        steps=LEASE_LEFT,
        empty="No leases: bases stay in the gNB",
    ),
    trend(
        "Pipeline changes per hour",
        "max(sojourn_controller_transactions_per_bearer_hour)",
        "Of the bearer with most. Above 20 it flaps: lengthen cool_down_ms.",
        decimals=0,
        steps=((None, GOOD), (10, WARNING), (20, BAD)),
    ),
    number(
        "Age of the policy",
        f"time() - max({_RELOADED})",
        "Time since the policy in force was read.",
        unit="s",
        decimals=0,
    ),
    empty=UP_CONTROLLER,
)
_KEPT = "No decision in this time: every bearer keeps its pipeline."
_DECIDES = Row(
    "What it decides, and what becomes of it",
    bars(
        "Decisions by trigger",
        happened("sojourn_controller_decisions_total", "trigger"),
        "Decisions in each interval, by what triggered them.",
        empty=_KEPT,
    ),
    bars(
        "Decisions by template",
        happened("sojourn_controller_decisions_total", "template"),
        "Decisions in each interval, by the template decided for.",
        empty=_KEPT,
    ),
    bars(
        "Verdicts and rollbacks",
        [
            happened("sojourn_controller_verdicts_total", "verdict"),
            Query(f"{events('sojourn_controller_rollbacks_total', 'job')} > 0", "rolled back", BAD),
        ],
        "How changes proved: kept, not better, worse. A rollback returns to the pipeline before.",
        empty="No verification in this time: no change was made that had to be proven.",
    ),
    lines(
        "Controls by purpose",
        rates("sojourn_controller_controls_total", "purpose"),
        "Control requests sent, by purpose; renewals of leases are the steady part.",
        unit="cps",
    ),
    lines(
        "Controls by result",
        rates("sojourn_controller_controls_total", "result"),
        "Answers of the gNBs. Other than accepted: the log has cause and element.",
        unit="cps",
    ),
    bars(
        "Reconciliations",
        happened("sojourn_controller_reconciliations_total", "kind"),
        "Pipelines in force that were not the desired ones. `foreign`: somebody else set them.",
        empty="None: the pipelines in force are the desired ones.",
    ),
    empty=NO_CONTROLLER,
)
_OBJECTIVES = Row(
    "Objectives",
    bars(
        "Violations that began",
        happened("sojourn_controller_violations_total", "rule"),
        "Violations in each interval, by rule.",
        empty="None: no bearer went above its bound.",
    ),
    timeline(
        "Roles at the nodes",
        Query("sum by (role) (sojourn_controller_nodes) > 0", "{{role}}"),
        "Nodes by the role of the controllers there: owner acts, standby waits for the lease, "
        "candidate applies for it, observer only watches, duplicate has the identity of another.",
        empty=NO_CONTROLLER,
    ),
    signed_lines(
        "Effect of trials",
        Query(
            "max by (node, rule, bound) (sojourn_controller_trial_effect_sojourn_seconds)",
            "{{rule}} at {{node}}: {{bound}}",
        ),
        "Sojourn of the base less that of what it is tried against, with its confidence interval. "
        "Low above 0: the base is slower; change it if the other keeps the rate, too.",
        unit="s",
        empty="No trial: no rule of the policy has one.",
    ),
)
_LOOP = Row(
    "How fast it is",
    log_lines(
        "Report to acknowledged control",
        percentiles("sojourn_controller_detect_to_ack_seconds_bucket", "$__range"),
        "From the start of handling the report that triggered a decision to the gNB's answer, over "
        "as long as the selected time, for decisions are rare. Above 0.1 s at p99: slow control "
        "path.",
        unit="s",
        empty="No decision was answered in this time.",
    ),
    log_lines(
        "Handling of a report",
        percentiles("sojourn_controller_handling_seconds_bucket"),
        "Time in the controller's core per RLC report.",
        unit="s",
        empty=NO_CONTROLLER,
    ),
    size=(12, 8),
)
_FAILURES = Row(
    "What goes wrong",
    lines(
        "Lease renewals by result",
        rates("sojourn_controller_lease_renewals_total", "result"),
        "Renewals of leases. Other than accepted: the safe pipeline returns when the lease ends.",
        unit="cps",
        empty="No renewals: no node is owned, or no pipeline has a lease.",
    ),
    lines(
        "Not used",
        [
            rates("sojourn_controller_ignored_total", "reason"),
            Query(
                "sum(rate(sojourn_controller_log_records_lost_total[$__rate_interval]))",
                "log records lost",
                BAD,
            ),
        ],
        "Reports and answers that were not used, by reason, and decision records that were not "
        "written.",
        unit="cps",
    ),
    bars(
        "Reads of the policy",
        Query(events("sojourn_controller_policy_reloads_total", "result"), "{{result}}"),
        "`rejected`: the file or A1 policy was refused and the last good one stays in force; the "
        "log names the place.",
    ),
    empty=NO_CONTROLLER,
)
BOARD: Final = board(
    "Controller",
    "Is it up, does it act, how fast, and what becomes of its decisions?",
    (
        _NOW,
        _DECIDES,
        _OBJECTIVES,
        _LOOP,
        _FAILURES,
        connection_row("tc-controller"),
        process_row("tc-controller"),
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
