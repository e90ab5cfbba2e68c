"""Settings of the controller; the policy is a separate file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from ric.flags import Flag, FormerName
from ric.settings import ClientSettings, HttpServerSettings, Section, XAppSettings

SiteName = Annotated[str, Field(pattern="^[ -~]{1,64}$")]


class DecisionLogSettings(Section):
    """The decision log."""

    path: Path | None = Field(default=None, description="Decision log, JSON lines; off if unset.")
    max_bytes: int = Field(
        default=16 << 20, ge=4096, description="Size at which the file is rotated, bytes."
    )
    keep: int = Field(default=3, ge=1, le=100, description="Number of rotated files kept.")


class A1Settings(HttpServerSettings):
    """The A1-P server."""

    section: ClassVar[str] = "a1"
    label: ClassVar[str] = "a1"

    listen: Annotated[str, Flag("a1-listen")] = Field(
        default="",
        description="Address of the A1-P server, host:port or unix:path; port 0 takes a free one; "
        "off if empty.",
    )
    notify_hosts: tuple[str, ...] = Field(
        default=("localhost", "127.0.0.1", "::1"),
        description="Hosts that may be notified of policy statuses, names or IP addresses as "
        "written in notificationDestination, with * and ? as wildcards.",
    )
    notify_ca_file: Path | None = Field(
        default=None,
        description="CA certificates for https destinations of notifications, PEM; those of the "
        "system if unset. Reread when changed.",
    )
    identities: Annotated[Path | None, Flag("a1-identities")] = Field(
        default=None,
        description="File that maps UE identifiers to node and RNTI, and 5QIs to QFIs, YAML.",
    )
    state: Annotated[Path | None, Flag("a1-state")] = Field(
        default=None, description="File that keeps A1 policies over restarts; off if unset."
    )


class ForecastsSettings(ClientSettings):
    """The forecast stream."""

    section: ClassVar[str] = "forecasts"

    address: str | None = Field(
        default=None,
        description="Address of the forecast stream, host:port or unix:path; without forecasts if "
        "unset.",
    )


class PeersSettings(ClientSettings):
    """The controllers of the same nodes."""

    section: ClassVar[str] = "peers"

    address: str | None = Field(
        default=None,
        description="host:port; each address that the name has is the HTTP server of a controller,"
        " as of a headless Service. This controller alone if unset.",
    )


class SiteSettings(ClientSettings):
    """The controllers of another site."""

    section: ClassVar[str] = "fleet.sites"

    name: SiteName = Field(description="Name of the site on the live page.")
    address: str | None = Field(
        description="host:port of the HTTP server of a controller there; of several addresses of "
        "the name, the first that answers is asked.",
    )


class FleetSettings(Section):
    """What the live page shows beside the nodes of this controller: its `peers`, and sites."""

    site: Literal[""] | SiteName = Field(
        default="", description="Name of the site of this controller on the live page."
    )
    sites: tuple[SiteSettings, ...] = Field(
        default=(), max_length=64, description="Other sites that the live page shows."
    )

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [self.site, *(each.name for each in self.sites)]
        for name in {each for each in names if names.count(each) > 1}:
            raise ValueError(f"two sites of the name {name}; expected a name for each")
        return self


class LiveSettings(Section):
    """The live page, at `/live/` of the HTTP endpoint."""

    max_viewers: Annotated[int, Flag("live-max-viewers")] = Field(
        default=16,
        ge=0,
        le=256,
        description="Browsers that may watch at once; 0 disables the page.",
    )
    history_s: Annotated[int, Flag("live-history-s")] = Field(
        default=300,
        ge=60,
        le=3600,
        description="Length of the curves, s. Each second takes 12 bytes of memory per bearer.",
    )


class ReplicaSettings(Section):
    """Number of this controller among equal ones that share the nodes."""

    index: Annotated[int, Field(ge=0), Flag("replica-index")] = Field(
        default=0, description="Number of this controller, from 0; in a StatefulSet its ordinal."
    )
    count: Annotated[int, Field(ge=1, le=1000), Flag("replica-count")] = Field(
        default=1,
        description="Number of controllers. Each node has one that should own it: it asks first,"
        " and others give the node back to it.",
    )
    standbys: Annotated[int, Field(ge=0), Flag("replica-standbys")] = Field(
        default=1,
        description="Replicas that watch a node besides the one that should own it, to take over."
        " The others leave the node alone, so that replicas share the load.",
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.index >= self.count:
            raise ValueError(f"index {self.index} of {self.count}; expected less than count")
        return self


class MetricsSettings(Section):
    """Metrics of single bearers."""

    top_bearers: Annotated[int, Flag("metrics-top-bearers")] = Field(
        default=20,
        ge=0,
        le=1000,
        description="Number of bearers that have series of their own, seven each: the worst by "
        "their sojourn over 15 minutes. 0: none.",
    )


class TracingSettings(Section):
    """Traces of OpenTelemetry."""

    enabled: Annotated[bool, Flag("tracing")] = Field(
        default=False,
        description="Trace decisions from the report to the acknowledged control, over OTLP/gRPC. "
        "Endpoint, TLS, headers and sampling: the environment variables of OpenTelemetry "
        "(`OTEL_EXPORTER_OTLP_ENDPOINT`, …). Needs the optional dependency `tracing`.",
    )


class ControllerSettings(XAppSettings):
    """Keep 5G bearers within the sojourn time objective of their policy."""

    policy: Path | None = Field(
        default=None, description="Policy file, YAML; the built-in default policy if unset."
    )
    policy_poll_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=1.0, description="Period of checking the policy file for changes, s."
    )
    identity: Annotated[str | None, Field(pattern="^[ -~]{1,64}$")] = Field(
        default=None,
        description="Identity among the controllers of the same nodes, unique, printable ASCII. "
        "Host name and start time if unset.",
    )
    replica: ReplicaSettings = Field(
        default_factory=ReplicaSettings, title="Replicas", description="Replicas share the nodes."
    )
    peers: PeersSettings = Field(
        default_factory=PeersSettings,
        title="Peers",
        description="The controllers of the same nodes, for the live page and for commands to all "
        "of them.",
    )
    fleet: FleetSettings = Field(
        default_factory=FleetSettings, title="Fleet", description="Sites on the live page."
    )
    mode: Annotated[Literal["off", "observe", "act"], FormerName("dry_run")] = Field(
        default="act",
        description="act: keep bearers within the objectives; observe: decide and log, send"
        " nothing; off: return every bearer to the initial pipeline of its gNB, then send nothing.",
    )
    mode_file: Path | None = Field(
        default=None,
        description="File with the mode, one word, in place of `mode`; reread when it changes.",
    )
    mode_state: Path | None = Field(
        default=None,
        description="File that keeps a mode set over HTTP over restarts; off if unset.",
    )
    observe_for_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0.0,
        description="Only observe for this long after the first RLC report, s. SIGUSR1 ends it.",
    )
    on_stop: Literal["leave", "release"] = Field(
        default="leave",
        description="At a graceful stop: leave the pipelines in force, rungs until their leases "
        "end (a controller that starts before that adopts them), or release every bearer to its "
        "initial pipeline, the one of before any control.",
    )
    state: Path | None = Field(
        default=None,
        description="File that keeps the desired pipelines over restarts; off if unset.",
    )
    stats: Path | None = Field(
        default=None, description="Latencies of the loop, JSON, written each second; off if unset."
    )
    forecasts: Annotated[ForecastsSettings, FormerName("forecaster", in_environment=False)] = Field(
        default_factory=ForecastsSettings, title="Forecasts", description="The forecast stream."
    )
    decision_log: DecisionLogSettings = Field(
        default_factory=DecisionLogSettings, title="Decision log", description="Decision log."
    )

    metrics: MetricsSettings = Field(
        default_factory=MetricsSettings, title="Metrics", description="Metrics of single bearers."
    )
    tracing: TracingSettings = Field(
        default_factory=TracingSettings, title="Tracing", description="Traces of OpenTelemetry."
    )

    a1: A1Settings = Field(
        default_factory=A1Settings, title="A1", description="Policies of a Non-RT RIC over A1-P."
    )

    live: LiveSettings = Field(
        default_factory=LiveSettings, title="Live page", description="The live page."
    )
