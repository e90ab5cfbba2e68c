"""Results of the probes.

Times are µs; wall clocks are µs since the Unix epoch.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ric.e2 import Node

KPM_MEASUREMENT: Final = "RRU.PrbTotDl"
"""The KPM measurement that the xApps of this suite use."""
STATUS: Final = "pipeline_status"
INVENTORY: Final = "flow_inventory"
"""Report styles of E2SM-TC v1 that are examined."""


class Door(enum.Enum):
    """What was found at an address."""

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
class Spread:
    """The range and two quantiles of a series, in the series' unit."""

    least: float
    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, series: Sequence[float]) -> Spread | None:
        """`None` for an empty series."""
        if not series:
            return None
        ordered = sorted(series)
        last = len(ordered) - 1
        return cls(ordered[0], ordered[last // 2], ordered[round(last * 0.99)], ordered[last])


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a gRPC server is at an address."""

    address: str
    door: Door
    tls: bool = False
    detail: str = ""
    connect_us: int = 0
    code: str = ""
    """gRPC status of the first procedure, "OK" when it answered, "" when it was never called."""
    answers_us: tuple[int, ...] = ()
    """How long procedures that only read took."""

    @property
    def usable(self) -> bool:
        """Whether procedures can be called."""
        return self.door is Door.ANSWERS and self.code == "OK"


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds on an offset of two clocks, µs."""

    low: int
    high: int

    def both(self, other: Interval) -> Interval:
        """The intersection of both."""
        return Interval(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True, slots=True)
class Offsets:
    """Clocks of node and gateway against each other and against ours, as far as known.

    Positive: the first is ahead of the second.
    """

    node_here: Interval
    gateway_here: Interval

    @property
    def node_gateway(self) -> Interval:
        """Node against gateway, derived from the other two."""
        return Interval(
            self.node_here.low - self.gateway_here.high, self.node_here.high - self.gateway_here.low
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Counts over the records of reports."""

    bearers: int = 0
    """Most bearers (MAC: UEs) of one report."""
    repeated: int = 0
    """Reports that name a bearer twice."""
    backlogged: int = 0
    """Records with bytes in the transmission buffer."""
    delays: int = 0
    """Those of them with an age or a sojourn time above 0."""
    steps: int = 0
    """Records with a predecessor."""
    steps_back: int = 0
    """Those of them whose cumulative counters went backwards."""


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
    """Why it ended before: "refused", "unknown", "gone", "unavailable", "protocol"."""
    detail: str = ""
    received: int = 0
    missed: int = 0
    """Gaps in the sequence."""
    dropped: int = 0
    """Dropped by the gateway because the reader was slow."""
    disordered: int = 0
    """Indications whose sequence did not grow."""
    late: int = 0
    """Indications collected earlier than one received before."""
    undecodable: int = 0
    first_error: str = ""
    first_after_us: int = 0
    """From the request to the first indication."""
    listened_us: int = 0
    """From the first indication to the end."""
    longest_gap_us: int = 0
    node_to_gateway_us: Spread | None = None
    gateway_to_here_us: Spread | None = None
    node_to_here_us: Spread | None = None
    collected_span_us: int = 0
    """From the first to the last report, by the node's clock."""
    handled_span_us: int = 0
    """The same by ours."""
    distinct: int = 0
    """Different times of collection."""
    tstamp_off_us: int = 0
    """Largest distance of the time within the message from the time of collection."""
    offsets: Offsets | None = None
    rows: Rows | None = None
    unsupported: tuple[str, ...] = ()
    """KPM measurements the node lacks."""
    without_unit: bool = False
    """The newest value of `KPM_MEASUREMENT` has no unit."""


class Tried(enum.Enum):
    """Result of a dry-run control."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    FAILED = "failed"
    """RIC control failure without an outcome."""
    UNDECODABLE = "undecodable"
    TIMEOUT = "timeout"
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
class Forecasts:
    """A forecaster and its stream for a few seconds."""

    reach: Reach
    health: str = ""
    """Of the gRPC health service: "SERVING", "NOT_SERVING", …, or a gRPC status."""
    ended: str = ""
    batches: int = 0
    nodes: tuple[str, ...] = ()
    forecasts: int = 0
    by_model: int = 0
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    """Forecasts without the model, by reason."""
    models: tuple[str, ...] = ()
    age_us: Spread | None = None
    """Age of the sample of a forecast on arrival; includes the offset of the node's clock."""
    on_the_way_us: Spread | None = None
    """From the forecaster to here; includes the offset of its clock."""
    window_us: int = 0


Sample = tuple[str, tuple[tuple[str, str], ...], float]
"""Name, labels in order, value."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """A Prometheus endpoint, read before and after everything else."""

    url: str
    error: str = ""
    before: tuple[Sample, ...] = ()
    after: tuple[Sample, ...] = ()
    apart_us: int = 0
    """Between the two readings."""

    def values(self, name: str) -> dict[str, float]:
        """The last values of a metric by their labels as text."""
        return _values(self.after, name)

    def growth(self, name: str) -> dict[str, float]:
        """What was added to a counter between the two readings, by its labels as text."""
        before = _values(self.before, name)
        return {
            labels: value - before.get(labels, 0.0)
            for labels, value in _values(self.after, name).items()
        }


def _values(samples: Sequence[Sample], name: str) -> dict[str, float]:
    return {
        ", ".join(value for _, value in labels): value
        for sample, labels, value in samples
        if sample == name
    }


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts."""

    gateway: Reach
    nodes: Nodes | None = None
    """`None` when the gateway was not usable."""
    passed_over: tuple[str, ...] = ()
    """Nodes beyond the limit, not subscribed to."""
    definitions: tuple[Definition, ...] = ()
    streams: tuple[Stream, ...] = ()
    dry_runs: tuple[DryRun, ...] = ()
    here_late_us: Spread | None = None
    """How late this program's own timers were."""
    forecasts: Forecasts | None = None
    metrics: tuple[Metrics, ...] = ()
