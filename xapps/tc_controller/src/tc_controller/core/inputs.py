"""Inputs of the controller: reports of nodes, outcomes of controls, events of nodes.

Every report carries two times. ``collected_at_us`` is the node's clock when the report was
taken; windows and rates are computed on it. The ``now_us`` given with it to the controller is
the controller's own clock; leases, time-outs and latencies are measured on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: JSON shape of an E2SM-TC v1 information element (the serde names of the codec).
Ie: TypeAlias = Mapping[str, Any]
#: JSON shape of the E2SM-TC v1 ``Pipeline``.
Pipeline: TypeAlias = dict[str, Any]


class BearerKey(NamedTuple):
    """One data radio bearer of one UE of one E2 node."""

    node_id: str
    #: C-RNTI (38.321 §7.1).
    rnti: int
    #: DRB identity, 1..=32 (38.331).
    drb: int

    def __str__(self) -> str:
        return f"{self.node_id}/0x{self.rnti:04x}/drb{self.drb}"

    def ie(self) -> dict[str, Any]:
        """The E2SM-TC ``BearerId``."""
        return {"ue": {"rnti": self.rnti}, "drb": self.drb}

    def as_dict(self) -> dict[str, Any]:
        """The bearer as the decision log has it."""
        return {"node": self.node_id, "rnti": self.rnti, "drb": self.drb}

    @classmethod
    def from_ie(cls, node_id: str, ie: Ie) -> BearerKey | None:
        """Bearer of a report; ``None`` when the UE is not identified by its C-RNTI.

        RLC reports identify a UE by its C-RNTI alone, so another identity matches no report.
        """
        rnti = ie["ue"].get("rnti")
        return None if rnti is None else cls(node_id, int(rnti), int(ie["drb"]))


class RlcReport(NamedTuple):
    """RLC statistics of all bearers of a node.

    ``message`` is that of the service model (`ric.sm.rlc`), which `ric.sm.rlc.check` found sound.
    """

    node_id: str
    collected_at_us: int
    message: bytes


class MacReport(NamedTuple):
    """MAC statistics of all UEs of a node; ``message`` as in `RlcReport` (`ric.sm.mac`)."""

    node_id: str
    collected_at_us: int
    message: bytes


@dataclass(frozen=True, slots=True)
class KpmReport:
    """KPM measurements per UE, by their 28.552 name."""

    node_id: str
    collected_at_us: int
    period_ms: int
    ues: Mapping[int, Mapping[str, float]]
    units: Mapping[str, str] = field(default_factory=dict)
    """Units by name of the measurement; absent if unknown."""


class QueueStatus(Protocol):
    """An E2SM-TC ``QueueStatus``."""

    @property
    def id(self) -> int: ...
    @property
    def backlog_bytes(self) -> int: ...
    @property
    def forwarded_bytes(self) -> int: ...
    @property
    def forwarded_packets(self) -> int: ...
    @property
    def dropped_packets(self) -> int: ...
    @property
    def marked_packets(self) -> int: ...
    @property
    def mean_sojourn_us(self) -> int: ...
    @property
    def last_sojourn_us(self) -> int: ...


class PipelineStatus(Protocol):
    """An E2SM-TC ``PipelineStatus``; ``rnti`` is ``None`` for a UE identified otherwise."""

    @property
    def rnti(self) -> int | None: ...
    @property
    def drb(self) -> int: ...
    @property
    def revision(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> int | None: ...
    @property
    def safe(self) -> bool: ...
    @property
    def lease_left_ms(self) -> int | None: ...
    @property
    def owner(self) -> str | None: ...
    @property
    def head_of_line_age_us(self) -> int: ...
    @property
    def by_default(self) -> tuple[int, int, int] | None: ...
    @property
    def qos(self) -> tuple[Sequence[int], tuple[int, int | None] | None]: ...
    @property
    def qos_flows(self) -> tuple[int, list[int]] | None: ...
    @property
    def dropped_packets(self) -> int: ...
    @property
    def queues(self) -> Sequence[QueueStatus]: ...
    def ungreedy_queues(self, used: Sequence[int] | None, /) -> Sequence[QueueStatus]: ...
    def ungreedy_sojourn_us(self, used: Sequence[int] | None, /) -> int: ...


class UngreedyQueues(Protocol):
    """The queues that ungreedy flows of bearers use, by inventories."""

    def set(self, rnti: int, drb: int, queues: Sequence[int] | None, /) -> None: ...


class PipelineStatuses(Protocol):
    """The E2SM-TC ``PipelineStatus`` of each bearer of a report (`ric.sm.tc.status_rows`)."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[PipelineStatus]: ...
    def __getitem__(self, row: int, /) -> PipelineStatus: ...
    def changed_since(self, former: Any, /) -> list[int] | None: ...
    def rows(self, used: Any, /) -> bytes: ...


#: Source and destination address, source and destination port, protocol.
FlowId: TypeAlias = tuple[str, str, int, int, int]


class Flow(Protocol):
    """An E2SM-TC ``FlowRecord``."""

    @property
    def five_tuple(self) -> FlowId: ...
    @property
    def qfi(self) -> int | None: ...
    @property
    def ecn(self) -> str: ...
    @property
    def rate_kbps(self) -> int: ...
    @property
    def mean_packet_bytes(self) -> int: ...
    @property
    def backlog_bytes(self) -> int: ...
    @property
    def queue(self) -> int: ...
    @property
    def inelastic(self) -> str | None: ...


class FlowInventory(Protocol):
    """An E2SM-TC ``FlowInventory``; ``rnti`` as in `PipelineStatus`."""

    @property
    def rnti(self) -> int | None: ...
    @property
    def drb(self) -> int: ...
    @property
    def active_flows(self) -> int: ...
    @property
    def flows(self) -> Sequence[Flow]: ...


class PipelineReport(NamedTuple):
    """E2SM-TC report style 1: one ``PipelineStatus`` per bearer."""

    node_id: str
    collected_at_us: int
    statuses: PipelineStatuses


class FlowReport(NamedTuple):
    """E2SM-TC report style 2: one ``FlowInventory`` per bearer."""

    node_id: str
    collected_at_us: int
    inventories: Sequence[FlowInventory]


class EventReport(NamedTuple):
    """E2SM-TC report style 3: pipelines, leases and bearers that changed."""

    node_id: str
    collected_at_us: int
    events: Sequence[Ie]


@dataclass(frozen=True, slots=True)
class BearerForecast:
    """Forecast of one bearer.

    ``occupancy_bytes`` has shape (points, quantiles); point ``k`` is expected ``points_us[k]`` of
    the report after ``origin_us`` of the node's clock.
    """

    rnti: int
    drb: int
    origin_us: int
    occupancy_bytes: NDArray[np.float32]
    #: False for the persistence fallback, which repeats the present value.
    from_model: bool


@dataclass(frozen=True, slots=True)
class ForecastReport:
    """One batch of the forecast stream."""

    node_id: str
    collected_at_us: int
    quantiles: tuple[float, ...]
    points_us: tuple[int, ...]
    forecasts: Sequence[BearerForecast]


Indication: TypeAlias = (
    RlcReport | MacReport | KpmReport | PipelineReport | FlowReport | EventReport | ForecastReport
)


@dataclass(frozen=True, slots=True)
class NodeUp:
    """A node connected or restarted. ``capabilities`` is its E2SM-TC ``Capabilities``; ``None``:
    it has no TC RAN function, so its bearers are watched but not controlled."""

    node_id: str
    capabilities: Ie | None


@dataclass(frozen=True, slots=True)
class NodeDown:
    """A node is gone or unreachable."""

    node_id: str


NodeEvent: TypeAlias = NodeUp | NodeDown


@dataclass(frozen=True, slots=True)
class Accepted:
    """The RAN function applied the control."""

    revision: int
    lease_ms: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """The RAN function changed nothing and gave the cause."""

    cause: str
    element: str
    detail: str
    #: Revision in force; ``None`` when the bearer is unknown.
    revision: int | None
    #: Holder of the node under the cause ``not_owner``, and for how long unless it renews.
    holder: str | None = None
    holder_left_ms: int = 0


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer; the control may have taken effect."""

    detail: str


@dataclass(frozen=True, slots=True)
class Denied(Unanswered):
    """The gateway did not let the control through to the node: this client lacks the right."""


Outcome: TypeAlias = Accepted | Refused | Unanswered


def parse_outcome(ie: Ie) -> Outcome:
    """The answer in an E2SM-TC ``ControlOutcome``."""
    accepted = ie.get("accepted")
    if accepted is not None:
        return Accepted(int(accepted["revision"]), accepted.get("lease_ms"))
    refused = ie.get("refused")
    if refused is None:
        return Unanswered(f"control outcome of unknown shape: {dict(ie)}")
    holder = refused.get("holder") or {}
    return Refused(
        cause=str(refused["cause"]),
        element=str(refused.get("element", "")),
        detail=str(refused.get("detail", "")),
        revision=refused.get("revision"),
        holder=holder.get("owner"),
        holder_left_ms=int(holder.get("lease_left_ms", 0)),
    )
