"""Prometheus metrics of the controller, read from the core's counters at scrape time.

| metric | type | labels |
|---|---|---|
| `sojourn_controller_violations_total` | counter | `rule` |
| `sojourn_controller_decisions_total` | counter | `trigger`, `template`, `result` |
| `sojourn_controller_verdicts_total` | counter | `verdict` |
| `sojourn_controller_rollbacks_total` | counter | |
| `sojourn_controller_controls_total` | counter | `purpose`, `result` |
| `sojourn_controller_lease_renewals_total` | counter | `result` |
| `sojourn_controller_reconciliations_total` | counter | `kind` |
| `sojourn_controller_node_owner` | gauge (1: this controller holds the node) | `node` |
| `sojourn_controller_node_fault` | gauge (1: present) | `node`, `fault` |
| `sojourn_controller_nodes` | gauge | `role` |
| `sojourn_controller_role_changes_total` | counter | `role` |
| `sojourn_controller_ignored_total` | counter | `reason` |
| `sojourn_controller_bearers_gone_total` | counter | |
| `sojourn_controller_bearers_watched`, `…_controlled`, `…_violating` | gauge | `node` |
| `sojourn_controller_bearers_base_kept` | gauge (the base is the safe pipeline) | `node` |
| `sojourn_controller_compliance_seconds_total` | counter (bearer seconds) | `rule`, `state` |
| `sojourn_controller_class_compliance_seconds_total` | counter | `rule`, `class`, `state` |
| `sojourn_controller_bearers` | gauge | `node`, `state` |
| `sojourn_controller_transactions_per_bearer_hour` | gauge (largest of the node) | `node` |
| `sojourn_controller_trial_effect_sojourn_seconds` | gauge | `node`, `rule`, `bound` |
| `sojourn_controller_trial_effect_rate_ratio` | gauge | `node`, `rule`, `bound` |
| `sojourn_controller_trial_effect_drops_per_megabyte` | gauge | `node`, `rule`, `bound` |
| `sojourn_controller_trial_blocks` | gauge | `node`, `rule` |
| `sojourn_controller_trial_state` | gauge (1: in this state) | `node`, `rule`, `state` |
| `sojourn_controller_acting` | gauge | |
| `sojourn_controller_controls_in_flight` | gauge | |
| `sojourn_controller_policy_reloads_total` | counter | `result` |
| `sojourn_controller_policy_loaded_seconds` | gauge (Unix time) | |
| `sojourn_controller_log_records_lost_total` | counter | |
| `sojourn_controller_detect_to_ack_seconds` | histogram | |
| `sojourn_controller_indication_latency_seconds` | histogram | |
| `sojourn_controller_handling_seconds` | histogram | |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from ric.metrics import counter, gauge, histogram

from tc_controller.core.compliance import Compliance
from tc_controller.core.controller import Controller
from tc_controller.core.faults import Fault
from tc_controller.core.ownership import Role
from tc_controller.latency import LoopLatencies
from tc_controller.policy_source import PolicySource
from tc_controller.trial_metrics import trial_gauges

_P = "sojourn_controller_"


@dataclass(eq=False, slots=True)
class ControllerCollector(Collector):
    """Reads the controller when the registry is scraped."""

    controller: Controller
    policy: PolicySource
    latencies: LoopLatencies
    records_lost: Callable[[], int]

    def collect(self) -> Iterator[Metric]:
        """All metric families with their present values."""
        yield from self._counters()
        yield from self._gauges()
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
        lost, gone = {(): self.records_lost()}, {(): counters.bearers_gone}
        for name, text, labels, values in (
            ("violations", "Violations that began.", ("rule",), counters.violations),
            ("decisions", "Decisions by result.", decision, counters.decisions),
            ("verdicts", "Verifications by verdict.", ("verdict",), counters.verdicts),
            ("rollbacks", "Rollbacks, answered or not.", (), {(): rollbacks}),
            ("controls", "Controls by outcome.", control, counters.controls),
            ("lease_renewals", "Lease renewals by outcome.", ("result",), renewals),
            (
                "reconciliations",
                "Pipelines in force that were not the desired ones.",
                ("kind",),
                counters.reconciliations,
            ),
            (
                "role_changes",
                "Changes of the role at a node, by the new role.",
                ("role",),
                counters.roles,
            ),
            ("ignored", "Reports and answers that were not used.", ("reason",), counters.ignored),
            ("bearers_gone", "Bearers that were removed.", (), gone),
            (
                "compliance_seconds",
                "Seconds of bearers against their objective.",
                ("rule", "state"),
                counters.compliance,
            ),
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

    def _gauges(self) -> Iterator[Metric]:
        nodes = list(self.controller.nodes.items())
        for name, text, counts in (
            ("watched", "Bearers matched by a rule.", {i: node.watched() for i, node in nodes}),
            (
                "controlled",
                "Bearers with a pipeline of this controller.",
                {i: sum(b.desired is not None for b in n.bearers.values()) for i, n in nodes},
            ),
            (
                "base_kept",
                "Bearers whose base is the gNB's safe pipeline: it stays without a controller.",
                {i: node.bases_kept() for i, node in nodes},
            ),
            (
                "violating",
                "Bearers above their bound.",
                {i: int(node.detector.violating.sum()) for i, node in nodes},
            ),
        ):
            yield gauge(f"{_P}bearers_{name}", text, ("node",), counts)
        owner = {i: int(node.ownership.role is Role.OWNER) for i, node in nodes}
        yield gauge(f"{_P}node_owner", "1: this controller holds the node.", ("node",), owner)
        faulty = {(i, f.value): int(f in node.faults.present) for i, node in nodes for f in Fault}
        text = "1: the node has this fault, which no pipeline mends."
        yield gauge(f"{_P}node_fault", text, ("node", "fault"), faulty)
        roles = Counter(node.ownership.role for _, node in nodes)
        text = "Nodes by the role of this controller."
        yield gauge(f"{_P}nodes", text, ("role",), {(r.label,): roles[r] for r in Role})
        states = Counter(
            (i, bearer.compliance.value)
            for i, node in nodes
            for bearer in node.bearers.values()
            if bearer.compliance is not None
        )
        every = {(i, state.value): states[i, state.value] for i, _ in nodes for state in Compliance}
        text = "Bearers by compliance with their objective."
        yield gauge(f"{_P}bearers", text, ("node", "state"), every)
        most = {
            i: max((len(bearer.transactions_us) for bearer in node.bearers.values()), default=0)
            for i, node in nodes
        }
        text = "Transactions of the last hour of the bearer that has most: does it flap?"
        yield gauge(f"{_P}transactions_per_bearer_hour", text, ("node",), most)
        runs = [(i, name, run) for i, n in nodes for name, run in n.trials.runs.items()]
        yield from trial_gauges(_P, runs)
        for name, text, value in (
            ("acting", "1: acts on violations; 0: only observes.", float(self.controller.acting)),
            (
                "controls_in_flight",
                "Controls not answered yet.",
                self.controller.controls_in_flight,
            ),
            (
                "policy_loaded_seconds",
                "Unix time at which the policy in force was read.",
                self.policy.loaded_at_us / 1e6,
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
            ("indication_latency", "RLC report: node to xApp.", latencies.indication),
            ("handling", "Handling of one RLC report.", latencies.handling),
        ):
            yield histogram(f"{_P}{name}_seconds", text, (), {(): recent.histogram})
