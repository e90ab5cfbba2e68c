"""The flows of a bearer: which are greedy, whether ECT(1) traffic is among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tc_controller.core.inputs import Ie
from tc_controller.core.policy import GreedyFlows

#: ECN codepoints of L4S traffic (RFC 9331 §5.1): ECT(1), and CE, which may have been ECT(1).
ECT1 = "ect1"

FlowId = tuple[str, str, int, int, int]


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow of the inventory."""

    five_tuple: FlowId
    ecn: str
    qfi: int | None
    rate_kbps: int
    backlog_bytes: int
    queue: int
    #: The E2SM-TC ``FiveTuple``.
    ie: Ie = field(compare=False)

    @classmethod
    def from_ie(cls, record: Ie) -> Flow:
        """A flow of an E2SM-TC ``FlowRecord``."""
        flow = record["flow"]
        return cls(
            five_tuple=(
                str(flow["source"]),
                str(flow["destination"]),
                int(flow["source_port"]),
                int(flow["destination_port"]),
                int(flow["protocol"]),
            ),
            ecn=str(record["ecn"]),
            qfi=record.get("qfi"),
            rate_kbps=int(record["rate_kbps"]),
            backlog_bytes=int(record["backlog_bytes"]),
            queue=int(record["queue"]),
            ie=flow,
        )

    def label(self) -> str:
        """For people: ``tcp 10.0.0.1:443 > 10.1.0.2:5001``."""
        source, destination, sport, dport, protocol = self.five_tuple
        name = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}.get(protocol, f"proto {protocol}")
        if not sport and not dport:
            return f"{name} {source} > {destination}"
        return f"{name} {_endpoint(source, sport)} > {_endpoint(destination, dport)}"


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


@dataclass(frozen=True, slots=True)
class FlowView:
    """The flow inventory of one bearer."""

    collected_at_us: int
    active: int
    flows: tuple[Flow, ...]
    #: Those that are not sparse, the fastest first.
    greedy: tuple[Flow, ...]
    #: The greedy flows that a pipeline may set apart: as many as the policy allows.
    set_apart: tuple[Flow, ...]
    #: Node time until which each greedy flow counts as such.
    greedy_until_us: Mapping[FlowId, int] = field(repr=False)
    ect1: bool

    def greedy_ids(self) -> frozenset[FlowId]:
        """The greedy flows' 5-tuples."""
        return frozenset(flow.five_tuple for flow in self.greedy)

    def queues_of_ungreedy(self) -> frozenset[int]:
        """Queues that an ungreedy flow used last."""
        greedy = self.greedy_ids()
        return frozenset(flow.queue for flow in self.flows if flow.five_tuple not in greedy)

    def qfis(self) -> frozenset[int]:
        """QoS flow identifiers seen."""
        return frozenset(flow.qfi for flow in self.flows if flow.qfi is not None)

    def summary(self) -> dict[str, Any]:
        """For the decision log: at most the five largest flows."""
        greedy = self.greedy_ids()
        return {
            "active_flows": self.active,
            "ect1_traffic": self.ect1,
            "top": [
                {
                    "flow": flow.label(),
                    "rate_kbps": flow.rate_kbps,
                    "backlog_bytes": flow.backlog_bytes,
                    "ecn": flow.ecn,
                    "greedy": flow.five_tuple in greedy,
                }
                for flow in self.flows[:5]
            ],
        }


def read_inventory(
    collected_at_us: int, inventory: Ie, rule: GreedyFlows, former: FlowView | None = None
) -> FlowView:
    """The view of one E2SM-TC ``FlowInventory``.

    A flow that was greedy in a ``former`` inventory stays so for the rule's dwell time: rates of
    equal flows cross each other many times a second.
    """
    flows = tuple(
        sorted(
            (Flow.from_ie(record) for record in inventory["flows"]),
            key=lambda flow: (-flow.rate_kbps, flow.five_tuple),
        )
    )
    until_us = {} if former is None else former.greedy_until_us
    now = {flow.five_tuple for flow in greedy_flows(flows, rule)}
    greedy_until_us = {
        flow.five_tuple: (
            collected_at_us + rule.dwell_ms * 1000
            if flow.five_tuple in now
            else until_us[flow.five_tuple]
        )
        for flow in flows
        if flow.five_tuple in now or until_us.get(flow.five_tuple, 0) > collected_at_us
    }
    greedy = tuple(flow for flow in flows if flow.five_tuple in greedy_until_us)
    return FlowView(
        collected_at_us=collected_at_us,
        active=int(inventory["active_flows"]),
        flows=flows,
        greedy=greedy,
        set_apart=greedy[: rule.max_flows],
        greedy_until_us=greedy_until_us,
        ect1=any(flow.ecn == ECT1 and flow.rate_kbps > 0 for flow in flows),
    )


def greedy_flows(flows: Sequence[Flow], rule: GreedyFlows) -> tuple[Flow, ...]:
    """The flows that are not sparse.

    A sparse flow arrives at well below its max-min fair share of the bearer: what all flows bring,
    less what the smaller ones take, divided among the rest. And a flow that backed off still holds
    the queue it built, so a backlog makes a flow greedy whatever its rate.
    """
    rest_kbps, rest = sum(flow.rate_kbps for flow in flows), len(flows)
    least_kbps = 0.0
    for flow in sorted(flows, key=lambda flow: flow.rate_kbps):
        least_kbps = rule.fair_share_ratio * rest_kbps / rest
        if flow.rate_kbps >= least_kbps:
            break
        rest_kbps -= flow.rate_kbps
        rest -= 1
    least_kbps = max(least_kbps, rule.min_rate_kbps)
    return tuple(
        flow
        for flow in flows
        if flow.rate_kbps >= least_kbps or flow.backlog_bytes >= rule.min_backlog_bytes
    )
