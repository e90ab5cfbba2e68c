"""The rungs of a ladder: which template, with which parameters, and when it may be tried."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

QueueCount = Annotated[int, Field(ge=1, le=4096)]
Kbps = Annotated[int, Field(ge=1, le=100_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PacerChoice(_Strict):
    """Stage 6: how much the RLC is given."""

    kind: Literal[
        "bdp5g", "e5g_bdp", "drql", "dql", "dyn_rlc", "just_in_time", "forecast", "none"
    ] = Field(
        default="bdp5g",
        description="bdp5g: irazabal2024's, by the measured drain alone, so it holds on any "
        "channel. e5g_bdp: irazabal2021 Algorithms 1-3, shorter where the capacity of a TTI is "
        "known. drql: about one MTU left after each TTI. dql: a fixed number of bytes. "
        "dyn_rlc: kumar2018. just_in_time: each transport block is filled as the MAC builds it. "
        "forecast: by the forecasts that reach the CU, for one that is far from its DU.",
    )
    mtu_bytes: int = Field(
        default=1500, ge=68, le=9000, description="drql: what stays in the RLC, bytes."
    )
    limit_bytes: int = Field(
        default=15_000, ge=1, le=100_000_000, description="dql: the limit, bytes."
    )
    interval_us: int = Field(
        default=10_000, ge=1000, le=1_000_000, description="dyn_rlc: update period."
    )
    target_us: int = Field(
        default=3_000, ge=100, le=1_000_000, description="dyn_rlc: delay target."
    )
    stale_us: int = Field(
        default=500_000,
        ge=1_000,
        le=10_000_000,
        description="forecast: without a newer one for so long it goes by its own measure.",
    )


class CodelParameters(_Strict):
    """CoDel (RFC 8289 §4)."""

    target_us: int = Field(
        default=5_000, ge=100, le=1_000_000, description="Standing sojourn accepted."
    )
    interval_us: int = Field(
        default=100_000, ge=1_000, le=10_000_000, description="About a worst-case RTT."
    )
    ecn: bool = Field(
        default=True, description="Mark ECN-capable packets instead of dropping them."
    )


class Buffer(_Strict):
    """Bound on all queues of a pipeline together."""

    packets: int = Field(default=10_240, ge=1, le=10_000_000, description="Packets.")
    bytes: int = Field(default=32_000_000, ge=1500, le=2_000_000_000, description="Bytes.")


class Condition(_Strict):
    """When a rung may be tried. A quantity that is not known yet meets no condition on it."""

    min_active_flows: int | None = Field(
        default=None, ge=0, description="Fewest flows in the inventory."
    )
    max_active_flows: int | None = Field(
        default=None, ge=0, description="Most flows in the inventory."
    )
    min_greedy_flows: int | None = Field(default=None, ge=0, description="Fewest greedy flows.")
    ect1_traffic: bool | None = Field(
        default=None, description="Whether ECT(1) traffic must be seen."
    )


class _Rung(_Strict):
    when: Condition = Field(default_factory=Condition)
    pacer: PacerChoice = Field(default_factory=PacerChoice)
    buffer: Buffer = Field(default_factory=Buffer)


class BdpOnly(_Rung):
    """One FIFO and a pacer: the queue moves from the RLC to where it can be managed."""

    template: Literal["bdp_only"]
    drop: Literal["tail", "head"] = Field(
        default="tail", description="Which end a full FIFO drops."
    )


class FqCodel(_Rung):
    """Stochastic hash, CoDel, deficit round robin: RFC 8290."""

    template: Literal["fq_codel"]
    queues: QueueCount = Field(default=1024, description="Hash buckets.")
    scheduler: Literal["deficit_round_robin", "round_robin"] = Field(
        default="deficit_round_robin",
        description="Between the buckets; round_robin, packet by packet, for nodes that have no "
        "other.",
    )
    quantum_bytes: int = Field(default=1514, ge=64, le=1_000_000, description="Deficit per turn.")
    codel: CodelParameters = Field(default_factory=CodelParameters)


class SegregateGreedy(_Rung):
    """The greedy flows of the inventory in a CoDel queue of their own (irazabal2024 §V-C)."""

    template: Literal["segregate_greedy"]
    codel: CodelParameters = Field(default_factory=CodelParameters)
    scheduler: Literal["round_robin", "deficit_round_robin", "strict_priority"] = Field(
        default="deficit_round_robin",
        description="Between the two queues; strict_priority serves the ungreedy one first.",
    )
    quantum_bytes: int = Field(default=1514, ge=64, le=1_000_000, description="Deficit per turn.")


class FlowSlicing(_Rung):
    """The greedy flows behind a shaper (irazabal2024 §V-B1)."""

    template: Literal["flow_slicing"]
    greedy_rate_kbps: Kbps | None = Field(
        default=None, description="Rate left to all greedy flows."
    )
    greedy_share: Annotated[float, Field(gt=0.0, le=1.0)] | None = Field(
        default=None, description="The same as a share of the drain rate measured at the decision."
    )
    burst_ms: int = Field(default=10, ge=1, le=1000, description="Bucket depth at that rate, ms.")

    @model_validator(mode="after")
    def _one_rate(self) -> FlowSlicing:
        if (self.greedy_rate_kbps is None) == (self.greedy_share is None):
            raise ValueError("expected exactly one of greedy_rate_kbps and greedy_share")
        return self


class L4s(_Rung):
    """ECT(1) and CE traffic apart from the rest, marked at once (RFC 9331, RFC 9332)."""

    template: Literal["l4s"]
    threshold_us: int = Field(
        default=1_000, ge=100, le=1_000_000, description="L queues mark above it."
    )
    l4s_queues: QueueCount = Field(default=64, description="Hash buckets of the L traffic.")
    classic_queues: QueueCount = Field(default=960, description="Hash buckets of the rest.")
    quantum_bytes: int = Field(default=1514, ge=64, le=1_000_000, description="Deficit per turn.")
    codel: CodelParameters = Field(default_factory=CodelParameters)


class Sojourn(_Rung):
    """Each flow in a queue of its own, sparse flows first, and transport blocks filled as the MAC
    builds them. What a download makes of its own queue harms nobody else, and keeps a radio busy
    whose rate varies more than a sender can follow."""

    template: Literal["sojourn"]
    queues: QueueCount = Field(default=1024, description="Hash buckets, as many again for L4S.")
    quantum_bytes: int = Field(
        default=300,
        ge=64,
        le=1_000_000,
        description="Deficit per turn: a packet of a call goes in one, one of a download in five.",
    )
    threshold_us: int = Field(
        default=2_000, ge=100, le=1_000_000, description="L4S queues mark above it."
    )
    bulk_bound_ms: int | None = Field(
        default=None,
        ge=1,
        le=60_000,
        description="How long a packet without L4S may wait before it is dropped, of any flow; as "
        "long as its sender lets it when absent.",
    )
    pacer: PacerChoice = Field(default_factory=lambda: PacerChoice(kind="just_in_time"))


Rung = Annotated[
    BdpOnly | FqCodel | SegregateGreedy | FlowSlicing | L4s | Sojourn,
    Field(discriminator="template"),
]
