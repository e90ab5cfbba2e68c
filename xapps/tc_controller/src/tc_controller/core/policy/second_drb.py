"""A second DRB for sparse and inelastic QoS flows, where the CU is apart from the DU."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tc_controller.core.policy.rung import Strict
from tc_controller.core.policy.selectors import like

_Ms = Annotated[int, Field(ge=1, le=600_000)]


class SecondDrb(Strict):
    """QoS flows that are sparse or inelastic beside a greedy flow go to a DRB that the MAC serves
    first (E2SM-TC v1 §7.8). For nodes whose CU and DU are apart: there a pipeline cannot keep the
    RLC short, since what the CU knows of it is old."""

    nodes: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="Ids of the nodes whose CU and DU are apart, which E2SM-TC does not report; a "
        "trailing * matches any ending. Nodes without `qos_flow_mapping` keep their flows.",
    )
    drb: int = Field(
        default=2,
        ge=1,
        le=32,
        description="DRB that takes the flows; its logical channel has a higher priority than the "
        "others. UEs without it keep their flows.",
    )
    confirm_ms: _Ms = Field(
        default=500,
        description="A QoS flow is moved when for this long each of its flows was sparse, or "
        "admitted as inelastic, while its DRB had a greedy flow of another, ms.",
    )
    verify_ms: _Ms = Field(
        default=2_000, description="Observation after a move is accepted, ms; then it is judged."
    )
    max_sojourn_ratio: float = Field(
        default=1.0,
        gt=0.0,
        le=1000.0,
        description="A move is harm if the p95 of the sojourn on the second DRB exceeds this "
        "multiple of that on the first before it, and `sojourn_floor_ms`: it is moved back.",
    )
    sojourn_floor_ms: float = Field(
        default=20.0, ge=0.0, le=60_000.0, description="Sojourns below this are never harm, ms."
    )
    cool_down_ms: _Ms = Field(
        default=60_000,
        description="A QoS flow that was moved back or refused stays for this long, ms; each "
        "further time doubles it, up to 64 times.",
    )
    dry_run: bool = Field(default=False, description="Decide and log, send nothing.")

    def of_node(self, node_id: str) -> bool:
        """Whether it is for the node."""
        return any(like(name, node_id) for name in self.nodes)
