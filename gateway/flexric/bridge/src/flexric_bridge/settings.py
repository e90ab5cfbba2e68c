"""Settings of the bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator
from ric.flags import Flag, FormerName
from ric.grpc_server import GrpcServerSettings
from ric.settings import METRICS_LISTEN, HttpSettings, Section, ServiceSettings

from flexric_bridge.kpm_units import AMBIGUOUS
from flexric_bridge.ric_address import check_host
from flexric_bridge.sdk import MAX_TOGETHER

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class GatewayServerSettings(GrpcServerSettings):
    """The gRPC server of the E2 gateway."""

    listen: Annotated[str, Flag("listen")] = Field(
        default="127.0.0.1:36421",
        description="Address of the E2 gateway, host:port or unix:path; port 0 takes a free one.",
    )
    queue_depth: int = Field(
        default=64,
        ge=1,
        le=100_000,
        description="Indications queued for a reader that asks for no number of its own; the oldest"
        " are dropped.",
    )
    max_queue_depth: int = Field(
        default=4096,
        ge=1,
        le=100_000,
        description="Largest queue a reader may ask for, indications.",
    )
    max_queued_bytes: int = Field(
        default=256 * 2**20,
        ge=2**20,
        description="Indications queued for all readers, bytes. A client may have as many as are"
        " free; beyond that it loses its oldest.",
    )
    max_report_load_bytes_per_s: Annotated[float, Field(ge=1e6, allow_inf_nan=False)] = Field(
        default=400e6,
        description="Load of all subscriptions, bytes/s: bytes of a report and 8192, times reports"
        " a second. A client may have twice what is free.",
    )


class BridgeHttp(HttpSettings):
    """The HTTP server of metrics and probes."""

    listen: Annotated[str, Flag("metrics-listen")] = Field(
        default="127.0.0.1:9102", description=METRICS_LISTEN
    )


class RicSettings(Section):
    """The near-RT RIC and how its SDK is run."""

    address: str = Field(
        default="127.0.0.1",
        description="Host of FlexRIC's near-RT RIC (E42, port 36422): IPv4 address, or name that is"
        " resolved at each connection.",
    )
    libraries: Annotated[Path | None, Flag("libraries")] = Field(
        default=None,
        description="Directory of FlexRIC's service models; FlexRIC's default if unset.",
    )
    configuration: Path | None = Field(
        default=None, description="FlexRIC's configuration file; FlexRIC's default if unset."
    )
    sdk: str = Field(
        default="flexric_bridge_native:FlexricSdk",
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="Class of the SDK in the child process, module:name.",
    )
    preload: Path | None = Field(
        default=None,
        description="Shared object preloaded into the child process (LD_PRELOAD), for example SCTP"
        " over TCP on a host without SCTP.",
    )
    open_timeout_s: Seconds = Field(
        default=15.0, description="Timeout of connecting to the RIC, s."
    )
    command_timeout_s: Seconds = Field(
        default=5.0,
        description="Timeout of any other call of the SDK, s; then its process is killed. FlexRIC"
        " gives up after 3 s.",
    )
    blocks_per_s: Annotated[float, Field(ge=100, le=100_000)] = Field(
        default=2000.0,
        description="Mean rate at which the SDK's process passes blocks of reports to the bridge,"
        " 1/s. Reports in between wait for the next block: each block wakes the bridge and its"
        " xApps, which costs a small machine more CPU than the reports.",
    )
    controls_together: int = Field(
        default=1,
        ge=1,
        le=MAX_TOGETHER,
        description="Independent controls of a transaction that may be outstanding at once. More"
        " than 1 only for a RIC and gNBs that were started with libflexric_level_triggered.so"
        " preloaded: others leave all but the first unread.",
    )
    nodes_come_within_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = Field(
        default=3.0,
        description="Time gNBs need to reconnect to a restarted RIC, s. A FlexRIC RIC of 2023"
        " without nodes aborts when an xApp connects, so the bridge waits this long after the RIC"
        " is back, and twice as long after each abort.",
    )
    backoff_initial_s: Seconds = Field(
        default=0.5, description="First delay before the SDK is restarted, s."
    )
    backoff_max_s: Seconds = Field(default=30.0, description="Longest such delay, s.")

    @field_validator("address")
    @classmethod
    def _address(cls, address: str) -> str:
        return check_host(address)

    @field_validator("preload", "libraries", "configuration")
    @classmethod
    def _exists(cls, path: Path | None) -> Path | None:
        if path is not None and not path.exists():
            raise ValueError("does not exist; expected a file or directory that exists")
        return path


class NodeSettings(Section):
    """Discovery of nodes, and when a silent node counts as disconnected."""

    stale_after_s: Seconds = Field(
        default=2.0,
        description="A subscribed node without reports for this long, s, or for three of its"
        " periods if that is longer, counts as disconnected.",
    )
    query_period_s: Annotated[float, FormerName("look_again_s")] = Field(
        default=60.0,
        ge=0,
        allow_inf_nan=False,
        description="Period of the queries for nodes that connected after the start, s; 0 disables"
        " them. Queries are more frequent while a known node is disconnected.",
    )
    max_nodes: int = Field(
        default=11,
        ge=1,
        le=1000,
        description="From this number of nodes on the RIC is not asked for its node list: it aborts"
        " on an answer above 32 KiB, which 12 nodes with all service models make.",
    )


class SubscriptionSettings(Section):
    """Shared subscriptions."""

    linger_s: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="Time a subscription without readers is kept, s, so that an xApp that restarts"
        " costs no request to the RIC.",
    )


class ControlSettings(Section):
    """Rate limit of controls."""

    per_s: Annotated[float, Field(gt=0, le=10_000)] = Field(
        default=10.0,
        description="Mean rate of E2SM-TC v0 controls to the RIC, 1/s. 10 use up the request budget"
        " of the RIC in under two hours.",
    )
    burst: int = Field(
        default=200,
        ge=1,
        le=10_000,
        description="Burst of controls: a pipeline of eight queues takes ten.",
    )


class BudgetSettings(Section):
    """The request budget: FlexRIC aborts after some 65,000 requests."""

    requests: int = Field(
        default=64_500,
        ge=1,
        le=64_514,
        description="Requests the RIC survives between two restarts.",
    )
    reserve: int = Field(
        default=2_000,
        ge=0,
        description="Requests reserved for subscriptions and safe pipelines; controls get none of"
        " them.",
    )

    @model_validator(mode="after")
    def _within(self) -> Self:
        if self.reserve >= self.requests:
            raise ValueError(
                f"reserve is {self.reserve}; expected less than requests, {self.requests}"
            )
        return self


class OfNode(Section):
    """An entry for one node or several."""

    node: str = Field(default="*", description="Node id; a trailing * matches any ending.")

    def matches(self, node_id: str) -> bool:
        """Whether the entry is for this node."""
        if self.node.endswith("*"):
            return node_id.startswith(self.node[:-1])
        return self.node == node_id


class KpmUnit(OfNode):
    """The unit in which a node reports a KPM measurement."""

    measurement: str = Field(description="Name of the measurement (3GPP TS 28.552).")
    unit: str = Field(description="Its unit: us, 0.1 ms, kbit, Mbit, PRB or %.")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        units = AMBIGUOUS.get(self.measurement)
        if units is None:
            raise ValueError(
                f"measurement is {self.measurement!r}; expected one of {', '.join(AMBIGUOUS)},"
                " whose units differ between gNBs"
            )
        if self.unit not in units:
            raise ValueError(f"unit is {self.unit!r}; expected {' or '.join(units)}")
        return self


class KpmSettings(Section):
    """E2SM-KPM, which carries no units."""

    units: tuple[KpmUnit, ...] = Field(
        default=(),
        description="Units that a node does not prove by what it announces and reports, and that"
        " are otherwise unknown: the first entry that matches node and measurement.",
    )

    def of_node(self, node_id: str) -> dict[str, str]:
        """Unit by measurement, of those stated for this node."""
        matching = [each for each in self.units if each.matches(node_id)]
        return {each.measurement: each.unit for each in reversed(matching)}


class Bearer(OfNode):
    """The bearer of a node's E2SM-TC v0 pipeline."""

    rnti: Annotated[int, Field(ge=0, le=65_535)] | None = Field(
        default=None, description="C-RNTI; any if unset."
    )
    drb: Annotated[int, Field(ge=1, le=32)] | None = Field(
        default=None, description="DRB identity; any if unset."
    )


class TcSettings(Section):
    """E2SM-TC v1 for nodes that have v0 alone."""

    v1: bool = Field(default=True, description="Offer E2SM-TC v1 for nodes that have v0 alone.")
    bearers: tuple[Bearer, ...] = Field(
        default=(),
        description="Bearer of a node's v0 pipeline: the first entry that matches the node. If"
        " empty, the only bearer in its RLC reports.",
    )
    max_queues: int = Field(
        default=64, ge=1, le=200, description="Most queues of a pipeline; each takes one control."
    )
    max_filters: int = Field(default=64, ge=0, le=256, description="Most filters of a pipeline.")


class BridgeSettings(ServiceSettings):
    """Serve the E2 gateway from a FlexRIC near-RT RIC, one bridge for one RIC.

    A child process owns FlexRIC's SDK; xApps connect to the gateway.
    """

    http: BridgeHttp = Field(
        default_factory=BridgeHttp, title="Metrics and health", description="Metrics and health."
    )
    server: Annotated[GatewayServerSettings, FormerName("door")] = Field(
        default_factory=GatewayServerSettings, title="Gateway", description="The E2 gateway."
    )
    ric: RicSettings = Field(
        default_factory=RicSettings, title="Near-RT RIC", description="The near-RT RIC."
    )
    nodes: NodeSettings = Field(default_factory=NodeSettings, description="E2 nodes.")
    subscriptions: SubscriptionSettings = Field(
        default_factory=SubscriptionSettings, description="Subscriptions."
    )
    controls: ControlSettings = Field(default_factory=ControlSettings, description="Controls.")
    budget: BudgetSettings = Field(
        default_factory=BudgetSettings, title="Request budget", description="Request budget."
    )
    kpm: KpmSettings = Field(
        default_factory=KpmSettings, title="KPM", description="Units of KPM measurements."
    )
    tc: TcSettings = Field(
        default_factory=TcSettings, title="Traffic control", description="Traffic control."
    )
    state: Path | None = Field(
        default=None,
        description="File that keeps request budget and pipelines over restarts; off if unset.",
    )
    stop_timeout_s: Seconds = Field(
        default=20.0,
        description="Longest time a graceful stop may take, s; longer than an xApp's, because the"
        " SDK deletes each subscription.",
    )
