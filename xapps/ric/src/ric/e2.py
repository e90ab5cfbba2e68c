"""The E2 vocabulary of an xApp: nodes, RAN functions, indications, control answers.

`E2Gateway` is the interface xApps are written against. `ric.gateway.E2GatewayClient` implements
it over a link to a gateway; `ric.testing.FakeRic` gives the same client over an in-memory link.
Times are µs since the Unix epoch.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class NodeType(enum.Enum):
    """Kind of E2 node."""

    UNKNOWN = "unknown"
    GNB = "gnb"
    GNB_CU = "gnb-cu"
    GNB_DU = "gnb-du"
    ENB = "enb"
    GNB_CU_CP = "gnb-cu-cp"
    GNB_CU_UP = "gnb-cu-up"


@dataclass(frozen=True, slots=True)
class RanFunction:
    """One RAN function a node offers. xApps find it by `oid`, never by `id`."""

    id: int
    oid: str
    revision: int = 1
    definition: bytes = b""
    announced_oid: str = ""
    """OID as the node announces it, where it is another: that of KPM names its version."""


@dataclass(frozen=True, slots=True)
class Node:
    """One E2 node; `id` is unique within the gateway."""

    id: str
    type: NodeType = NodeType.GNB
    mcc: int = 0
    mnc: int = 0
    nb_id: int = 0
    ran_functions: tuple[RanFunction, ...] = ()
    base_station_id: str = ""
    """Id of the base station that it is a part of: O-DU, O-CU-CP and O-CU-UP of one gNB have the
    same; "" where the gateway does not say."""
    part_id: int | None = None
    """gNB-DU-ID or gNB-CU-UP-ID of a part that has one."""

    def ran_function(self, oid: str) -> RanFunction | None:
        """The RAN function with this OID, `None` when the node lacks it."""
        return next((function for function in self.ran_functions if function.oid == oid), None)


class NodeEventKind(enum.Enum):
    """Kind of a node event."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    UPDATED = "updated"
    """Its RAN functions changed."""


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A node connected, disconnected or changed."""

    kind: NodeEventKind
    node: Node


@dataclass(frozen=True, slots=True)
class KpmUe:
    """Measurements of one UE: name of 28.552 → value in the unit of `KpmReport.units`.

    Its identities are those that its node reports, and those that other parts of the gNB report of
    the same UE; `None`: unknown.
    """

    rnti: int
    """C-RNTI; 0: unknown, since KPM does not have it."""
    values: dict[str, float]
    amf_ue_ngap_id: int | None = None
    gnb_cu_ue_f1ap_id: int | None = None
    gnb_cu_cp_ue_e1ap_id: int | None = None
    ran_ue_id: int | None = None
    """Its eight octets as a number, the first octet highest."""


@dataclass(frozen=True, slots=True)
class KpmReport:
    """One E2SM-KPM report, typed by the gateway."""

    period_ms: int
    ues: tuple[KpmUe, ...] = ()
    unsupported: tuple[str, ...] = ()
    """Requested measurements this node does not have."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Name → "kbit", "Mbit", "PRB", "%", "us" or "kbit/s"; unknown units are left out."""


@dataclass(frozen=True, slots=True)
class SNssai:
    """A network slice (3GPP TS 23.003 clause 28.4)."""

    sst: int
    """Slice/service type, 0 to 255."""
    sd: int | None = None
    """Slice differentiator, 0 to 0xffffff."""


class Reading(enum.Enum):
    """What a reader gets that is late."""

    HISTORY = "history"
    """Every indication, in order; the oldest are lost once a queue is full."""
    NEWEST = "newest"
    """The newest: an indication replaces those that wait for the reader once the oldest of them is
    10 ms older. For reports of state, of which each makes those before it needless; not for events,
    and not for what needs every sample."""


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """One RIC subscription: RAN function, event trigger, actions."""

    node_id: str
    oid: str
    event_trigger: bytes = b""
    actions: tuple[bytes, ...] = ()
    kpm_measurements: tuple[str, ...] = ()
    queue_depth: int = 0
    """Indications the gateway queues before it drops the oldest; 0: the gateway's default."""
    kpm_slice: SNssai | None = None
    """KPM only: the slice whose UEs are reported; `None`: the gateway chooses, by default SST 1."""
    reading: Reading = Reading.HISTORY


@dataclass(slots=True)
class Indication:
    """One RIC indication as passed to an xApp's handler.

    Not frozen only because a frozen dataclass costs several µs to make, and this one is made for
    every message; treat it as immutable.
    """

    node_id: str
    ran_function_id: int
    oid: str
    sequence: int
    """Grows by one per indication within one `subscription`."""
    header: bytes
    message: bytes
    """The service model's bytes; empty for KPM."""
    kpm: KpmReport | None
    collected_at_us: int
    """Wall clock of the node when the report was taken."""
    received_at_us: int
    """Wall clock of the gateway when it received the report."""
    handled_at_us: int = 0
    """Wall clock of this xApp when the indication reached it."""
    dropped: int = 0
    """Dropped by the gateway since `subscription` began, because this reader was slow."""
    coalesced: int = 0
    """Replaced by newer ones since `subscription` began, by the gateway and here
    (`Reading.NEWEST`)."""
    missed: int = 0
    """Indications lost right before this one (a gap in `sequence`, or our own bounded buffer)."""
    subscription: int = 1
    """1 for the first RIC subscription of an iterator, plus 1 after each resubscription: the
    counters of the node may have restarted from 0."""


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """Answer to a RIC control. A refusal by the RAN function is an answer, not an error."""

    acknowledged: bool
    outcome: bytes = b""
    """RIC control outcome in the service model's encoding; may be empty."""
    detail: str = ""
    """Text for people."""
    sent_at_us: int = 0
    answered_at_us: int = 0


class E2Gateway(Protocol):
    """The gateway as seen by an xApp; see `ric.gateway.E2GatewayClient` for the behaviour."""

    @property
    def connected(self) -> bool:
        """Whether the gateway is connected."""
        ...

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes last known."""
        ...

    def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """The known nodes as `CONNECTED` events, then every change, without end."""
        ...

    def subscribe(
        self,
        node_id: str,
        oid: str,
        event_trigger: bytes = b"",
        actions: Sequence[bytes] = (),
        kpm_measurements: Sequence[str] = (),
        *,
        queue_depth: int = 0,
        keep_newest: int = 0,
        kpm_slice: SNssai | None = None,
        reading: Reading = Reading.HISTORY,
    ) -> AsyncGenerator[Indication]:
        """Indications of one RAN function, without end, across losses of node or gateway.

        Close the iterator (`contextlib.aclosing`) to end the RIC subscription.
        """
        ...

    async def control(
        self,
        node_id: str,
        oid: str,
        header: bytes,
        message: bytes,
        *,
        timeout_s: float | None = None,
    ) -> ControlAnswer:
        """One RIC control procedure, never retried by itself."""
        ...
