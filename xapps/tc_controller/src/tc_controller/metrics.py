"""Prometheus metrics of the controller, read from the core's counters at scrape time.

`tc_controller.service_metrics` has what bearers get, `tc_controller.worst_bearers` single bearers.

| metric | type | labels |
|---|---|---|
| `sojourn_controller_node_owner` | gauge (1: this controller controls the node) | `node` |
| `sojourn_controller_node_fault` | gauge, always 1 | `node`, `fault` |
| `sojourn_controller_lease_remaining_seconds` | gauge: least of node and pipelines | `node` |
| `sojourn_controller_node_default_rules` | gauge | `node` |
| `sojourn_controller_transactions_per_bearer_hour` | gauge (largest of the node) | `node` |
| `sojourn_controller_nodes` | gauge | `role` |
| `sojourn_controller_role_changes_total` | counter | `role` |
| `sojourn_controller_bound_seconds` | gauge: bound of the objective | `rule` |
| `sojourn_controller_objective_ratio` | gauge: its percentile, 0 to 1 | `rule` |
| `sojourn_controller_violations_total` | counter | `rule` |
| `sojourn_controller_class_compliance_seconds_total` | counter | `rule`, `class`, `state` |
| `sojourn_controller_decisions_total` | counter | `trigger`, `template`, `result` |
| `sojourn_controller_verdicts_total` | counter | `verdict` |
| `sojourn_controller_rollbacks_total` | counter | |
| `sojourn_controller_controls_total` | counter | `purpose`, `result` |
| `sojourn_controller_lease_renewals_total` | counter | `result` |
| `sojourn_controller_reconciliations_total` | counter | `kind` |
| `sojourn_controller_ignored_total` | counter | `reason` |
| `sojourn_controller_bearers_gone_total` | counter | |
| `sojourn_controller_clock_resets_total` | counter | |
| `sojourn_controller_trial_effect_sojourn_seconds` | gauge | `node`, `rule`, `bound` |
| `sojourn_controller_trial_effect_rate_ratio` | gauge | `node`, `rule`, `bound` |
| `sojourn_controller_trial_effect_drops_per_megabyte` | gauge | `node`, `rule`, `bound` |
| `sojourn_controller_trial_blocks` | gauge | `node`, `rule` |
| `sojourn_controller_trial_state` | gauge (1: in this state) | `node`, `rule`, `state` |
| `sojourn_controller_acting` | gauge | |
| `sojourn_controller_mode` | gauge (1: in this mode) | `mode` |
| `sojourn_controller_controls_in_flight` | gauge | |
| `sojourn_controller_policy_reloads_total` | counter | `result` |
| `sojourn_controller_policy_refused` | gauge (1: the newest policy is not in force) | |
| `sojourn_controller_policy_loaded_timestamp_seconds` | gauge | |
| `sojourn_controller_log_records_lost_total` | counter | |
| `sojourn_controller_detect_to_ack_seconds` | histogram | |
| `sojourn_controller_handling_seconds` | histogram | |

`node_owner` is 0 while another controller may hold the node, and absent where there is nothing to
control. `node_default_rules` counts the rules by which the node sets up bearers to come, as this
controller set them; it is absent where the node has no node default. `fault` is `none`, or each
fault that is present. `result` of controls and renewals is `accepted`, `unanswered` or the cause of
the refusal (E2SM-TC `Cause`, `not_owner` among them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from ric.metrics import counter, gauge, histogram

from tc_controller.core.act.ownership import Role
from tc_controller.core.controller import Controller
from tc_controller.core.mode import Mode
from tc_controller.core.node.node import Node
from tc_controller.latency import LoopLatencies
from tc_controller.policy_source import PolicySource
from tc_controller.service_metrics import service_metrics
from tc_controller.trial_metrics import trial_gauges
from tc_controller.worst_bearers import WorstBearers, worst_bearers

_P = "sojourn_controller_"
_NODE, _RULE = ("node",), ("rule",)


@dataclass(eq=False, slots=True)
class ControllerCollector(Collector):
    """Reads the controller when the registry is scraped."""

    controller: Controller
    policy: PolicySource
    latencies: LoopLatencies
    records_lost: Callable[[], int]
    now_us: Callable[[], int]
    worst: WorstBearers

    def collect(self) -> Iterator[Metric]:
        """All metric families with their present values."""
        now_us = self.now_us()
        yield from service_metrics(self.controller, now_us)
        yield from worst_bearers(self.controller, self.worst, now_us)
        yield from self._rules()
        yield from self._nodes()
        yield from self._counters()
        yield from self._program()
        yield from self._histograms()

    def _counters(self) -> Iterator[Metric]:
        counters = self.controller.counters
        renewals = {
            (result,): count
            for (purpose, result), count in counters.controls.items()
            if purpose == "renew"
        }
        rollbacks = sum(
            count for (purpose, _), count in counters.controls.items() if purpose == "roll_back"
        )
        decision, control = ("trigger", "template", "result"), ("purpose", "result")
        violations = {r.name: counters.violations[r.name] for r in self.controller.policy.rules}
        kinds = {"foreign": 0, **counters.reconciliations}
        lost, gone = {(): self.records_lost()}, {(): counters.bearers_gone}
        resets = {(): counters.clock_resets}
        for name, text, labels, values in (
            ("violations", "Violations that began.", _RULE, violations),
            ("decisions", "Decisions by result.", decision, counters.decisions),
            ("verdicts", "Verifications by verdict.", ("verdict",), counters.verdicts),
            ("rollbacks", "Rollbacks, answered or not.", (), {(): rollbacks}),
            ("controls", "Controls by outcome.", control, counters.controls),
            ("lease_renewals", "Lease renewals by outcome.", ("result",), renewals),
            (
                "reconciliations",
                "Pipelines in force that were not the desired ones.",
                ("kind",),
                kinds,
            ),
            (
                "role_changes",
                "Changes of the role at a node, by the new role.",
                ("role",),
                counters.roles,
            ),
            ("ignored", "Reports and answers that were not used.", ("reason",), counters.ignored),
            ("bearers_gone", "Bearers that were removed.", (), gone),
            ("clock_resets", "Clocks of nodes that were set back.", (), resets),
            (
                "class_compliance_seconds",
                "Seconds of classes of traffic against their objective.",
                ("rule", "class", "state"),
                counters.class_compliance,
            ),
            ("policy_reloads", "Reads of the policy.", ("result",), self.policy.reloads),
            ("log_records_lost", "Decision records not written.", (), lost),
        ):
            yield counter(_P + name, text, labels, values)

    def _rules(self) -> Iterator[Metric]:
        rules = self.controller.policy.rules
        bounds = {rule.name: rule.objective.bound_ms / 1e3 for rule in rules}
        yield gauge(f"{_P}bound_seconds", "Bound of the objective on the sojourn.", _RULE, bounds)
        text = "Share of the sojourns that are to be within the bound."
        ratios = {rule.name: rule.objective.percentile / 100.0 for rule in rules}
        yield gauge(f"{_P}objective_ratio", text, _RULE, ratios)

    def _nodes(self) -> Iterator[Metric]:
        nodes = list(self.controller.nodes.items())
        roles = {i: node.ownership.role for i, node in nodes}
        owner = {
            i: float(role in (Role.OWNER, Role.UNLEASED))
            for i, role in roles.items()
            if role is not Role.OBSERVER
        }
        text = "1: this controller controls the node; 0: another may."
        yield gauge(f"{_P}node_owner", text, _NODE, owner)
        faults = {(i, f.word): 1.0 for i, node in nodes for f in node.faults.present}
        faults |= {(i, "none"): 1.0 for i, node in nodes if not node.faults.present}
        text = "1: the node has this fault, which no pipeline mends, or none."
        yield gauge(f"{_P}node_fault", text, ("node", "fault"), faults)
        now_us = self.now_us()
        left_us = {i: _lease_left_us(node, now_us) for i, node in nodes}
        text = "Least that is left of a lease: of the node or of a pipeline."
        left_s = {i: us / 1e6 for i, us in left_us.items() if us is not None}
        yield gauge(f"{_P}lease_remaining_seconds", text, _NODE, left_s)
        rules = {
            i: float(len(node.default.in_force or ()))
            for i, node in nodes
            if node.default.supported
        }
        text = "Rules of this controller by which the node sets up bearers to come."
        yield gauge(f"{_P}node_default_rules", text, _NODE, rules)
        most = {
            i: max((len(bearer.change.sent_us) for bearer in node.bearers.values()), default=0)
            for i, node in nodes
        }
        text = "Transactions of the last hour of the bearer that has most."
        yield gauge(f"{_P}transactions_per_bearer_hour", text, _NODE, most)
        counts = Counter(roles.values())
        text = "Nodes by the role of this controller."
        yield gauge(f"{_P}nodes", text, ("role",), {(r.label,): counts[r] for r in Role})
        runs = [(i, name, run) for i, n in nodes for name, run in n.trials.runs.items()]
        if runs:
            yield from trial_gauges(_P, runs)

    def _program(self) -> Iterator[Metric]:
        policy, mode = self.policy, self.controller.mode
        modes = {(each.value,): float(each is mode) for each in Mode}
        yield gauge(
            f"{_P}mode", "1: in this mode; `off` and `observe` send nothing.", ("mode",), modes
        )
        for name, text, value in (
            (
                "acting",
                "1: installs pipelines; 0: only observes, mode, dry run, or all rules watch only.",
                float(self.controller.acting and self.controller.policy.acts),
            ),
            (
                "controls_in_flight",
                "Controls not answered yet.",
                self.controller.controls_in_flight,
            ),
            (
                "policy_refused",
                "1: the newest policy was refused, an older one is in force.",
                float(policy.refused),
            ),
            (
                "policy_loaded_timestamp_seconds",
                "Unix time at which the policy in force was read.",
                policy.loaded_at_us / 1e6,
            ),
        ):
            yield gauge(_P + name, text, (), {(): value})

    def _histograms(self) -> Iterator[Metric]:
        latencies = self.latencies
        for name, text, recent in (
            (
                "detect_to_ack",
                "From the start of handling the report that triggered a decision to the answer.",
                latencies.detect_to_ack,
            ),
            ("handling", "Handling of one RLC report.", latencies.handling),
        ):
            yield histogram(f"{_P}{name}_seconds", text, (), {(): recent.histogram})


def _lease_left_us(node: Node, now_us: int) -> int | None:
    left = [node.ownership.lease_left_us(now_us)]
    at_us = node.windows.newest_us()
    for pipeline in node.pipelines.values():
        if pipeline.lease_left_ms is not None:
            age_us = max(0, at_us - pipeline.collected_at_us)
            left.append(max(0, pipeline.lease_left_ms * 1000 - age_us))
    return min((each for each in left if each is not None), default=None)
