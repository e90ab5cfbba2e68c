"""Reads the parts of the bridge when the registry is scraped; `metrics` describes the families."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from ric.clock import Clock
from ric.metrics import Histogram, counter, gauge, histogram

from flexric_bridge.budget import Budget, Use
from flexric_bridge.controls import ControlQueue
from flexric_bridge.hub import Hub
from flexric_bridge.metrics import Flow, Metrics
from flexric_bridge.nodes import NodeRegistry
from flexric_bridge.ric_state import RicState
from flexric_bridge.session import Session
from flexric_bridge.traffic_control import TrafficControl

_P = "sojourn_flexric_"


@dataclass(eq=False, slots=True)
class BridgeCollector(Collector):
    """All families with their current values."""

    budget: Budget
    session: Session
    nodes: NodeRegistry
    hub: Hub
    queue: ControlQueue[Any]
    traffic: TrafficControl
    metrics: Metrics
    clock: Clock

    def collect(self) -> Iterator[Metric]:
        """See the class."""
        yield from self._bridge()
        yield from self._ric()
        yield from self._reports()
        yield from self._controls()

    def _bridge(self) -> Iterator[Metric]:
        session, nodes = self.session, self.nodes
        for name, text, value in (
            ("up", "1 while there is a session with the RIC.", float(session.up)),
            ("nodes", "E2 nodes connected.", len(nodes.messages())),
            ("subscriptions", "RIC subscriptions.", self.hub.subscriptions),
            ("controls_waiting", "Controls in the queue.", self.queue.length),
        ):
            yield gauge(_P + name, text, (), {(): value})
        states = {state.value: float(state is session.state) for state in RicState}
        yield gauge(f"{_P}ric_state", "1 for the current state.", ("state",), states)
        text = "1 for a node whose TC function is a stub and is not used."
        stubs = {known.id: 1.0 for known in nodes.known.values() if known.present and known.no_tc}
        yield gauge(f"{_P}tc_stub", text, ("node",), stubs)
        text = "The FlexRIC that the native module was built for."
        v = session.versions
        built = {} if v is None else {(v.e2ap, v.kpm, v.s_nssai): 1.0}
        yield gauge(f"{_P}build_info", text, ("e2ap", "kpm", "s_nssai"), built)
        text = "New sessions after one was lost, or for new nodes."
        yield counter(f"{_P}restarts", text, ("reason",), session.restarts)
        text = "Short sessions that ask the RIC for its nodes."
        yield counter(f"{_P}node_queries", text, ("outcome",), self.metrics.node_queries)
        text = "Controls that a later one replaced."
        yield counter(f"{_P}controls_superseded", text, (), {(): self.queue.superseded})
        text = "Transactions that the node refused in part and that were undone."
        undone = {
            node_id: served.function.undone
            for node_id, served in self.traffic.served.items()
            if nodes.present(node_id)
        }
        yield counter(f"{_P}undone", text, ("node",), undone)

    def _ric(self) -> Iterator[Metric]:
        budget, metrics = self.budget, self.metrics
        spent = {use.value: budget.spent.get(use, 0) for use in Use}
        yield counter(f"{_P}requests", "Requests sent to the RIC.", ("use",), spent)
        for make, name, text, value in (
            (gauge, "request_budget", "Requests that the RIC can number.", budget.total),
            (gauge, "request_budget_left", "Requests left until the RIC restarts.", budget.left),
            (gauge, "sessions", "SDK sessions since the RIC's start.", budget.sessions),
            (gauge, "readers", "Open Subscribe streams.", metrics.readers),
        ):
            yield make(_P + name, text, (), {(): value})
        text = "Indications dropped because an xApp was slow."
        yield counter(f"{_P}indications_dropped", text, (), {(): metrics.dropped})
        text = "Indications replaced by newer ones because an xApp that wants these was late."
        yield counter(f"{_P}indications_coalesced", text, (), {(): metrics.coalesced})
        text = "Reports without a subscription: it is not known yet, or was ended."
        yield counter(f"{_P}reports_unknown", text, (), {(): metrics.unknown_reports})

    def _reports(self) -> Iterator[Metric]:
        every, present = self.metrics.flows, self.nodes.present
        flows = {key: flow for key, flow in every.items() if present(key[0])}
        labels = ("node", "ran_function")
        received = {key: flow.reports for key, flow in flows.items()}
        yield counter(f"{_P}reports", "Reports of a node.", labels, received)
        missing = {key: flow.missing.count for key, flow in flows.items()}
        text = "Periods of a node without a report."
        yield counter(f"{_P}reports_missing", text, labels, missing)
        text = "Reports without room for another bearer: the node reports the others in turn."
        full = {key: flow.full for key, flow in flows.items()}
        yield counter(f"{_P}reports_full", text, labels, full)
        of_node: dict[str, list[Flow]] = {}
        for (node, _), flow in flows.items():
            of_node.setdefault(node, []).append(flow)
        lost = {node: sum(flow.lost for flow in own) for node, own in of_node.items()}
        bad = {node: sum(flow.bad for flow in own) for node, own in of_node.items()}
        for name, text, counts in (
            ("lost", "Reports dropped in the SDK before the bridge read them.", lost),
            ("bad", "Reports that do not decode.", bad),
        ):
            yield counter(f"{_P}reports_{name}", text, ("node",), counts)
        now_s, now_ns = self.clock.now_us() / 1e6, self.clock.monotonic_ns()
        newest_ns = {node: max(flow.last_ns for flow in own) for node, own in of_node.items()}
        read = {node: now_s - (now_ns - ns) / 1e9 for node, ns in newest_ns.items() if ns}
        text = "Unix time at which the newest report of a node was read."
        yield gauge(f"{_P}last_report_timestamp_seconds", text, ("node",), read)
        text = "Time from the node to the SDK."
        delays = {(): Histogram.total(flow.delay for flow in every.values())}
        yield histogram(f"{_P}report_delay_seconds", text, (), delays)
        text = "Excess of the delay over the smallest one, of the RAN function that lags most."
        lags = {node: max(flow.lag.us for flow in own) / 1e6 for node, own in of_node.items()}
        yield gauge(f"{_P}report_lag_seconds", text, ("node",), lags)

    def _controls(self) -> Iterator[Metric]:
        text = "Controls by outcome."
        yield counter(f"{_P}controls", text, ("outcome",), self.metrics.controls)
        times = {(): self.metrics.control_time}
        yield histogram(f"{_P}control_seconds", "Round trip of a control.", (), times)
