"""The flows of a bearer: which are greedy, whether ECT(1) traffic is among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ric.sm import tc

from tc_controller.core.inputs import Flow, FlowId, FlowInventory
from tc_controller.core.policy.schema import GreedyFlows

#: ECN codepoints of L4S traffic (RFC 9331 §5.1): ECT(1), and CE, which may have been ECT(1).
ECT1 = "ect1"

#: What the scheduler ``inelastic_first`` decided about a flow (E2SM-TC v1 §6.3), for people.
INELASTIC = {
    "admitted": "inelastic, goes first",
    "over_part": "inelastic, refused: exceeds the part of the bearer for such flows",
    "grew": "refused as inelastic: sent more once it went first",
    "unsteady": "marked as inelastic, keeps no rate",
}


def label(flow: Flow) -> str:
    """Text for people: ``tcp 10.0.0.1:443 > 10.1.0.2:5001``."""
    source, destination, sport, dport, protocol = flow.five_tuple
    name = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}.get(protocol, f"proto {protocol}")
    if not sport and not dport:
        return f"{name} {source} > {destination}"
    return f"{name} {_endpoint(source, sport)} > {_endpoint(destination, dport)}"


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class FlowView:
    """The flow inventory of one bearer.

    Args:
        collected_at_us: node time of the inventory.
        active: flows seen in its window; at least those reported.
        reported: the flows, in any order.
        greedy_until_us: node time until which each greedy flow counts as such.
        max_set_apart: greedy flows that a pipeline may set apart.
    """

    def __init__(
        self,
        collected_at_us: int,
        active: int,
        reported: Sequence[Flow],
        greedy_until_us: Mapping[FlowId, int],
        max_set_apart: int,
    ) -> None:
        self.collected_at_us = collected_at_us
        self.active = active
        self.reported = reported
        self.greedy_until_us = greedy_until_us
        self._max_set_apart = max_set_apart

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The flows, the fastest first."""
        return tuple(sorted(self.reported, key=lambda flow: (-flow.rate_kbps, flow.five_tuple)))

    @cached_property
    def greedy(self) -> tuple[Flow, ...]:
        """Those that are not sparse, the fastest first."""
        if not self.greedy_until_us:
            return ()
        return tuple(flow for flow in self.flows if flow.five_tuple in self.greedy_until_us)

    @property
    def set_apart(self) -> tuple[Flow, ...]:
        """The greedy flows that a pipeline may set apart: as many as the policy allows."""
        return self.greedy[: self._max_set_apart]

    @property
    def ect1(self) -> bool:
        """Whether ECT(1) traffic is among them."""
        return any(flow.ecn == ECT1 and flow.rate_kbps > 0 for flow in self.reported)

    @cached_property
    def queues_of_ungreedy(self) -> tuple[int, ...] | None:
        """Queues that an ungreedy flow used last; ``None`` if no flow is reported."""
        if not self.reported:
            return None
        greedy = self.greedy_until_us
        flows = (flow for flow in self.reported if flow.five_tuple not in greedy)
        return tuple({flow.queue for flow in flows})

    def in_queue(self, queue: int, queues: int) -> int:
        """Flows that one of ``queues`` has, at least 1; those not reported are spread evenly."""
        unreported = max(0, self.active - len(self.reported))
        return max(1, self._in_queue[queue] + -(-unreported // queues))

    @cached_property
    def _in_queue(self) -> Counter[int]:
        return Counter(flow.queue for flow in self.reported)

    def sparse_share(self, queue: int) -> float:
        """Part of the packets of a queue that are of sparse flows. A queue without a reported flow
        has only flows below the largest: 1."""
        sparse, greedy = self._packet_rates.get(queue, (1.0, 0.0))
        return sparse / (sparse + greedy)

    @cached_property
    def _packet_rates(self) -> dict[int, tuple[float, float]]:
        """Packets/s of the sparse and of the greedy flows of each queue."""
        rates: dict[int, tuple[float, float]] = {}
        for flow in self.reported:
            # One that sends nothing now may have a backlog.
            rate = max(1e-3, flow.rate_kbps * 125.0 / max(1, flow.mean_packet_bytes))
            sparse, greedy = rates.get(flow.queue, (0.0, 0.0))
            if flow.five_tuple in self.greedy_until_us:
                rates[flow.queue] = sparse, greedy + rate
            else:
                rates[flow.queue] = sparse + rate, greedy
        return rates

    def qfis(self) -> frozenset[int]:
        """QoS flow identifiers seen."""
        return frozenset(flow.qfi for flow in self.reported if flow.qfi is not None)

    def summary(self) -> dict[str, Any]:
        """Summary in the decision log: at most the five largest flows."""
        return {
            "active_flows": self.active,
            "ect1_traffic": self.ect1,
            "top": [
                {
                    "flow": label(flow),
                    "rate_kbps": flow.rate_kbps,
                    "backlog_bytes": flow.backlog_bytes,
                    "ecn": flow.ecn,
                    "greedy": flow.five_tuple in self.greedy_until_us,
                    "inelastic": INELASTIC.get(flow.inelastic or ""),
                }
                for flow in self.flows[:5]
            ],
        }


def read_inventory(
    collected_at_us: int,
    inventory: FlowInventory,
    rule: GreedyFlows,
    former: FlowView | None = None,
) -> FlowView:
    """The view of one E2SM-TC ``FlowInventory``.

    A flow that was greedy in a ``former`` inventory stays so for the rule's dwell time: rates of
    equal flows cross each other many times a second.
    """
    flows = inventory.flows
    now = {flow.five_tuple for flow in greedy_flows(flows, rule)}
    until_us = {} if former is None else former.greedy_until_us
    greedy_until_us: dict[FlowId, int] = {}
    if now or until_us:
        end_us = collected_at_us + rule.dwell_ms * 1000
        for flow in flows:
            five_tuple = flow.five_tuple
            if five_tuple in now:
                greedy_until_us[five_tuple] = end_us
            elif until_us.get(five_tuple, 0) > collected_at_us:
                greedy_until_us[five_tuple] = until_us[five_tuple]
    return FlowView(collected_at_us, inventory.active_flows, flows, greedy_until_us, rule.max_flows)


def greedy_flows(flows: Sequence[Flow], rule: GreedyFlows) -> tuple[Flow, ...]:
    """The flows that are not sparse; see `ric.sm.tc.greedy_flows`."""
    are_greedy = tc.greedy_flows(
        [(flow.rate_kbps, flow.backlog_bytes) for flow in flows],
        fair_share_ratio=rule.fair_share_ratio,
        min_rate_kbps=rule.min_rate_kbps,
        min_backlog_bytes=rule.min_backlog_bytes,
    )
    return tuple(flow for flow, greedy in zip(flows, are_greedy, strict=True) if greedy)
