"""The interface to FlexRIC's SDK, which the child process calls.

FlexRIC's xApp library allows one process, one `init` and one caller at a time, and so does `Sdk`.
The native module implements it with the library; tests implement it in Python.

Reports leave through a stream socket as blocks of records, little-endian and packed: `BLOCK_HEAD`,
then one `RECORD_HEAD` and the message for each report. RLC, MAC and TC messages are FlexRIC's plain
layouts; a KPM message is u32 granularity period in ms, u32 number of UEs, and for each UE u8
identities that are known (bits in the order of `ue_identities.IN_KPM`), u64 for each of these, u32
number of values, and for each value u8 length of the name, the name, f64; or `KPM_UNREADABLE` and,
as text, what is wrong with the report. A report
of E2SM-TC v1 is `V1_HEAD`, the indication header and the indication message; its time of collection
is in the header, and 0 in the record.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

BLOCK_HEAD: Final = struct.Struct("<I")
"""u32 length of the block in bytes."""
NO_MORE: Final = 0
"""Length in place of a block: no more reports, the SDK has lost the RIC."""

RECORD_HEAD: Final = struct.Struct("<IIQQI")
"""u32 handle of the subscription, u32 length of the message in bytes, u64 collected at and u64
received at (wall clock, µs since the Unix epoch), u32 reports of this handle that were dropped
since its last record because they were not read in time."""

KPM_UNREADABLE: Final = 0xFFFF_FFFF
"""Period of a KPM report that does not decode."""

V1_HEAD: Final = struct.Struct("<H")
"""u16 length of the indication header."""
V1_REFUSED: Final = b"\xff"
"""Header of a report that says, as text, why a subscription of E2SM-TC v1 was refused."""

MAX_TOGETHER: Final = 16
"""Controls that may be in flight at once."""

SdkErrorKind = Literal[
    "no-such-node",
    "no-such-function",
    "refused",
    "bad-message",
    "timeout",
    "closed",
    "mismatch",
    "no-sctp",
    "absent",
    "no-nodes",
]


class SdkError(Exception):
    """A failed call of the SDK; `kind` is for programs, `detail` for people.

    - `no-such-node`, `no-such-function`: the node or its RAN function does not exist;
    - `refused`: the node or the RIC refused;
    - `bad-message`: bytes that do not decode as the service model's, with the field;
    - `timeout`: no answer, or the RIC cannot be reached;
    - `closed`: the SDK is not open, or the handle is not one of its subscriptions; of `open`, that
      the RIC ended the association instead of answering;
    - `mismatch`: the native module was built for another FlexRIC than the one it finds;
    - `no-sctp`: this process cannot create an SCTP socket;
    - `absent`: nothing accepts an association at the RIC's address;
    - `no-nodes`: the RIC has no E2 node yet. A RIC of 2023 aborts instead, which is `closed`.
    """

    def __init__(self, kind: SdkErrorKind, detail: str) -> None:
        super().__init__(f"FlexRIC: {kind}: {detail}")
        self.kind: SdkErrorKind = kind
        self.detail = detail


@dataclass(frozen=True)
class RanFunction:
    """One RAN function as a node announced it."""

    id: int
    oid: str
    revision: int
    definition: bytes


@dataclass(frozen=True)
class E2Node:
    """One E2 node as the RIC listed it when the SDK was opened."""

    id: str
    """"gnb-001-01-0xe00"; with "-cu-0x1" or "-du-0x1" where the node has a CU or DU id."""
    type: str
    """"gnb", "gnb-cu", "gnb-du", "enb", …"""
    mcc: int
    mnc: int
    mnc_digits: int
    nb_id: int
    cu_du_id: int | None
    functions: tuple[RanFunction, ...]


@dataclass(frozen=True)
class SdkVersions:
    """The FlexRIC that the native module was built for."""

    e2ap: str
    kpm: str
    struct_bytes: dict[str, int] = field(default_factory=dict)
    """Size in bytes of the C structures that both sides must agree on, by name."""
    s_nssai: Literal["octet-string", "integer"] = "octet-string"
    """Encoding of a slice in a KPM condition by the installed FlexRIC: OCTET STRING follows
    E2SM-KPM; that of 2023 expects an INTEGER."""
    library: str = ""
    """File name of FlexRIC's library."""


@dataclass(frozen=True)
class SNssai:
    """A network slice (3GPP TS 23.003 clause 28.4); raises `ValueError` out of range."""

    sst: int
    """Slice/service type, 0 to 255."""
    sd: int | None = None
    """Slice differentiator, 0 to 0xffffff."""

    def __post_init__(self) -> None:
        for name, value, most in (("sst", self.sst, 0xFF), ("sd", self.sd or 0, 0xFFFFFF)):
            if not 0 <= value <= most:
                raise ValueError(f"{name}: {value}; expected 0 to {most}")

    def __str__(self) -> str:
        return f"SST {self.sst}" + ("" if self.sd is None else f" SD {self.sd:#08x}")


@dataclass(frozen=True, slots=True)
class Connection:
    """How the SDK connects to the RIC."""

    address: str
    """IP address of the RIC."""
    configuration: str
    """FlexRIC's configuration file; may be empty: nothing of it is needed."""
    libraries: str
    """Directory of FlexRIC's service models; if empty, where FlexRIC installs them."""
    blocks_per_s: float
    """Mean rate of blocks, 1/s; each has the reports since the previous one. Unread reports are
    dropped, oldest first, and counted."""
    setup_delay_s: float = 0.0
    """Time from the association to the setup request, s, with a RIC that was absent: its nodes need
    it to reconnect, and a RIC of 2023 aborts without nodes."""
    ric_was_away: bool = False
    """Whether the RIC was absent before this process started."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A subscription to the reports of a RAN function."""

    node_id: str
    function_id: int
    period_ms: int
    """1 to 10,000."""
    kpm_measurements: tuple[str, ...] = ()
    kpm_slice: SNssai | None = None
    """KPM reports the UEs of this slice; if None, of SST 1."""
    trigger: bytes = b""
    """Event trigger of E2SM-TC v1; of KPM, where it is not to be encoded as the installed FlexRIC
    does it."""
    action: bytes = b""
    """Action definition of the same; of E2SM-TC v1, without one the subscription is for the
    outcomes of controls, and none is reported: `Sdk.control` returns them."""


class Sdk(Protocol):
    """FlexRIC's SDK.

    Calls block without holding the GIL and raise `SdkError`. One caller at a time.
    """

    def versions(self) -> SdkVersions:
        """The FlexRIC it was built for; may be called before `open`."""
        ...

    def load(self) -> None:
        """Load FlexRIC's library, without connecting; raises `SdkError` of kind `mismatch`."""
        ...

    def open(self, connection: Connection, reports: int) -> None:
        """Connect to the RIC; once in the life of a process.

        `reports` is the descriptor of the stream socket for reports; it stays open as long as the
        process. While nothing accepts an association it is retried for 5 s.
        """
        ...

    def nodes(self) -> list[E2Node]:
        """The nodes that were connected when the SDK was opened; FlexRIC lists no others."""
        ...

    def subscribe(self, request: ReportRequest) -> int:
        """Start reports; returns the handle of the subscription, above 0."""
        ...

    def unsubscribe(self, handle: int) -> None:
        """End a subscription."""
        ...

    def control(self, node_id: str, function_id: int, header: bytes, message: bytes) -> bytes:
        """One RIC control of E2SM-TC; returns the control outcome. That of v0 is empty where the
        RIC does not forward it, that of v1 where there is no subscription to outcomes."""
        ...

    def controls(
        self, node_id: str, function_id: int, header: bytes, messages: tuple[bytes, ...]
    ) -> tuple[tuple[bool, ...], SdkError | None]:
        """Several of `control` in this order, at most `MAX_TOGETHER`, each sent without waiting for
        the answer to the previous one. Returns which were acknowledged, and the error of the first
        that was not; those after it were sent as well."""
        ...

    def close(self) -> None:
        """Disconnect; nothing else may be called afterwards."""
        ...
