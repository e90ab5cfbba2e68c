"""The flows of a bearer: which are greedy, whether ECT(1) traffic is among them."""

from __future__ import annotations

from collections.abc import Sequence
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
    greedy: tuple[Flow, ...]
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


def read_inventory(collected_at_us: int, inventory: Ie, rule: GreedyFlows) -> FlowView:
    """The view of one E2SM-TC ``FlowInventory``."""
    flows = tuple(
        sorted(
            (Flow.from_ie(record) for record in inventory["flows"]),
            key=lambda flow: (-flow.rate_kbps, flow.five_tuple),
        )
    )
    return FlowView(
        collected_at_us=collected_at_us,
        active=int(inventory["active_flows"]),
        flows=flows,
        greedy=greedy_flows(flows, rule),
        ect1=any(flow.ecn == ECT1 and flow.rate_kbps > 0 for flow in flows),
    )


def greedy_flows(flows: Sequence[Flow], rule: GreedyFlows) -> tuple[Flow, ...]:
    """The fewest largest flows that make the rule's share of the arrival rate, and those that make
    it of the backlog: a flow that already backed off still holds the queue it built."""
    by_rate = _cover([(flow.rate_kbps, flow) for flow in flows], rule.share)
    by_backlog = _cover([(flow.backlog_bytes, flow) for flow in flows], rule.share)
    chosen = {flow.five_tuple: flow for flow in by_rate if flow.rate_kbps >= rule.min_rate_kbps}
    for flow in by_backlog:
        if flow.backlog_bytes >= rule.min_backlog_bytes:
            chosen.setdefault(flow.five_tuple, flow)
    return tuple(chosen.values())[: rule.max_flows]


def _cover(weighted: list[tuple[int, Flow]], share: float) -> list[Flow]:
    total = sum(weight for weight, _ in weighted)
    if total <= 0:
        return []
    weighted = sorted(weighted, key=lambda item: (-item[0], item[1].five_tuple))
    covered, chosen = 0, []
    for weight, flow in weighted:
        if covered >= share * total or weight == 0:
            break
        covered += weight
        chosen.append(flow)
    return chosen
