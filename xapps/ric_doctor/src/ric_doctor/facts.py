"""Results of the probes.

Times are µs; wall clocks are µs since the Unix epoch.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ric.e2 import Node

KPM_MEASUREMENT: Final = "RRU.PrbTotDl"
"""The KPM measurement that the xApps of this suite use."""
STATUS: Final = "pipeline_status"
INVENTORY: Final = "flow_inventory"
"""Report styles of E2SM-TC v1 that are examined."""


class PortState(enum.Enum):
    """State of the port at an address."""

    ANSWERS = "answers"
    """HTTP/2, with or without TLS as in the settings."""
    NAME_UNKNOWN = "name unknown"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    NO_ANSWER = "no answer"
    """The connection was neither accepted nor refused."""
    SILENT = "silent"
    """The connection opens, but no data arrives."""
    CLOSES = "closes"
    """The connection opens and is closed without data."""
    TLS_WANTED = "TLS wanted"
    """The settings say plain text, the port serves TLS."""
    PLAIN_TEXT = "plain text"
    """The settings say TLS, the port serves plain HTTP/2."""
    HTTP1 = "HTTP/1"
    NOT_HTTP2 = "not HTTP/2"
    CERTIFICATE = "certificate"
    """The server's certificate is not accepted."""
    CLIENT_CERTIFICATE = "client certificate"
    """The server requires a client certificate, or another one."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a gRPC server is at an address."""

    address: str
    port: PortState
    tls: bool = False
    detail: str = ""
    code: str = ""
    """gRPC status of the first procedure, "OK" when it answered, "" when it was never called."""
    answered_us: int = 0
    """How long it took."""

    @property
    def usable(self) -> bool:
        """Whether procedures can be called."""
        return self.port is PortState.ANSWERS and self.code == "OK"


@dataclass(frozen=True, slots=True)
class Age:
    """Ages of reports on arrival, by the difference of two clocks, µs."""

    least_us: int
    """Below 0 the other clock is ahead of ours by this at least."""
    median_us: int


@dataclass(frozen=True, slots=True)
class Stream:
    """One RIC subscription for a few seconds."""

    node_id: str
    oid: str
    period_ms: int
    window_us: int
    """How long it was listened to."""
    style: str = ""
    """Report style, where the RAN function has several."""
    ended: str = ""
    """Why it ended before: "refused", "denied", "unknown", "gone", "unavailable", "protocol"."""
    detail: str = ""
    received: int = 0
    undecodable: int = 0
    first_error: str = ""
    node_age: Age | None = None
    """Age by the time of collection; `None` without a report."""
    gateway_age: Age | None = None
    """Age by the time at which the gateway had the report."""
    tstamp_off_us: int = 0
    """Largest distance of the time within the message from the time of collection."""
    bearers: int | None = None
    """Most bearers of one report; `None` for reports without rows of bearers."""
    backlogged: int = 0
    """Rows of RLC with bytes in the transmission buffer."""
    delays: int = 0
    """Those of them with an age or a sojourn time above 0."""


class Tried(enum.Enum):
    """Result of a dry-run control."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    FAILED = "failed"
    """RIC control failure without an outcome."""
    UNDECODABLE = "undecodable"
    TIMEOUT = "timeout"
    DENIED = "denied"
    """The gateway does not let this client control the node."""
    GONE = "gone"
    UNAVAILABLE = "unavailable"
    NO_CODEC = "no codec"


@dataclass(frozen=True, slots=True)
class DryRun:
    """One E2SM-TC v1 transaction in dry run.

    `bearer` is "" when the node named none; it was then sent for a bearer that cannot be there.
    """

    node_id: str
    tried: Tried
    bearer: str = ""
    took_us: int = 0
    expected_revision: int | None = None
    revision: int | None = None
    cause: str = ""
    element: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """The RAN function definition of TC v1."""

    node_id: str
    error: str = ""
    capabilities: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nodes:
    """Node list and node watch of the gateway."""

    listed: tuple[Node, ...] = ()
    watched: tuple[str, ...] | None = ()
    """Ids that a node watch began with; `None` when the watch failed."""
    watch_error: str = ""
    only: str | None = None
    """The only node to examine; "" for all."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The metrics endpoint of a program."""

    url: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts."""

    gateway: Reach
    nodes: Nodes | None = None
    """`None` when the gateway was not usable."""
    passed_over: tuple[str, ...] = ()
    """Nodes beyond the limit, not subscribed to."""
    core_wait_us: float | None = None
    """Mean wait of this process for a core while nodes were listened to; `None`: not counted."""
    definitions: tuple[Definition, ...] = ()
    streams: tuple[Stream, ...] = ()
    dry_runs: tuple[DryRun, ...] = ()
    forecaster: Reach | None = None
    """`None` when it was not asked for."""
    metrics: tuple[Endpoint, ...] = ()
