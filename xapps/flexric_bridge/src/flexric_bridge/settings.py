"""Settings of the bridge: one schema, filled from a file, the environment and flags."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, field_validator, model_validator
from ric.door import DoorSettings
from ric.settings import HttpSettings, LogSettings, Section

from flexric_bridge.sdk import MAX_TOGETHER

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class GatewayDoor(DoorSettings):
    """Where the E2 gateway is served, and how it is protected."""

    listen: str = Field(
        default="127.0.0.1:36421",
        description="Address of the E2 gateway, host:port or unix:path; port 0 takes a free one.",
    )
    queue_depth: int = Field(
        default=64,
        ge=1,
        le=100_000,
        description="Indications held for a slow reader that asks for no number of its own.",
    )
    max_queue_depth: int = Field(
        default=4096, ge=1, le=100_000, description="Most indications held for one reader."
    )


class RicSettings(Section):
    """The near-RT RIC and how its SDK is run."""

    address: str = Field(
        default="127.0.0.1", description="IPv4 address of FlexRIC's near-RT RIC (E42, port 36422)."
    )
    libraries: Path | None = Field(
        default=None,
        description="Directory of FlexRIC's service models; FlexRIC's default when absent.",
    )
    configuration: Path | None = Field(
        default=None, description="FlexRIC's configuration file; FlexRIC's default when absent."
    )
    sdk: str = Field(
        default="flexric_bridge_native:FlexricSdk",
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="What makes the SDK in the child process, module:name.",
    )
    preload: Path | None = Field(
        default=None,
        description="Shared object loaded into the child process before all others (LD_PRELOAD),"
        " for one a host without SCTP needs.",
    )
    open_timeout_s: Seconds = Field(default=15.0, description="Longest wait for the RIC, s.")
    command_timeout_s: Seconds = Field(
        default=5.0,
        description="Longest wait for the SDK's answer to anything else, s; then its process is"
        " killed. FlexRIC gives up after 3 s.",
    )
    blocks_per_s: Annotated[float, Field(ge=100, le=100_000)] = Field(
        default=2000.0,
        description="How often the SDK's process hands over the reports it has, in the long run,"
        " 1/s. Those that come in between wait for the next: each hand-over wakes the bridge and"
        " its xApps, which costs a small machine more than the reports do.",
    )
    controls_together: int = Field(
        default=1,
        ge=1,
        le=MAX_TOGETHER,
        description="How many controls of a transaction may be on the way at once, of those that"
        " need not wait for one another. More than 1 only for a RIC and gNBs that were started"
        " with libflexric_level_triggered.so preloaded: others leave all but the first unread.",
    )
    nodes_come_within_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = Field(
        default=3.0,
        description="How long gNBs take to come back to a RIC that was restarted, s. A RIC of 2023"
        " that has no node yet does not survive an xApp that connects, so it is left alone for so"
        " long after it has returned, and twice as long each time that it ended itself"
        " nevertheless.",
    )
    backoff_initial_s: Seconds = Field(
        default=0.5, description="First delay before the SDK is started again, s."
    )
    backoff_max_s: Seconds = Field(default=30.0, description="Longest such delay, s.")

    @field_validator("address")
    @classmethod
    def _address(cls, address: str) -> str:
        try:
            ipaddress.IPv4Address(address)
        except ValueError:
            raise ValueError(
                "not an address; expected IPv4 without a port: FlexRIC resolves no names"
            ) from None
        return address

    @field_validator("preload", "libraries", "configuration")
    @classmethod
    def _there(cls, path: Path | None) -> Path | None:
        if path is not None and not path.exists():
            raise ValueError("not there; expected a file or directory that exists")
        return path


class NodeSettings(Section):
    """How nodes are found and how long one may be silent."""

    stale_after_s: Seconds = Field(
        default=2.0,
        description="A node that is subscribed to and reports nothing for this long, or for three"
        " of its periods where that is longer, is gone, s.",
    )
    look_again_s: float = Field(
        default=60.0,
        ge=0,
        allow_inf_nan=False,
        description="How often nodes that came after the start are looked for, s; 0: never. A node"
        " that vanished is looked for sooner.",
    )
    max_nodes: int = Field(
        default=11,
        ge=1,
        le=1000,
        description="With as many nodes the RIC is not asked for its list again: it does not"
        " survive an answer above 32 KiB, which 12 nodes with all service models make.",
    )


class SubscriptionSettings(Section):
    """How subscriptions are shared."""

    linger_s: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="How long a subscription that nobody reads is kept, s: an xApp that starts"
        " again costs no request.",
    )


class ControlSettings(Section):
    """How fast controls may go."""

    per_s: Annotated[float, Field(gt=0, le=10_000)] = Field(
        default=10.0,
        description="E2SM-TC v0 controls to the RIC in the long run, 1/s. 10 use up the RIC's life"
        " in under two hours.",
    )
    burst: int = Field(
        default=200,
        ge=1,
        le=10_000,
        description="Controls that may go at once: a pipeline of eight queues takes ten.",
    )


class BudgetSettings(Section):
    """The requests the RIC has in its life."""

    requests: int = Field(
        default=64_500, ge=1, le=64_514, description="Requests in one life of the RIC."
    )
    reserve: int = Field(
        default=2_000,
        ge=0,
        description="Kept from controls, for subscriptions and safe pipelines.",
    )

    @model_validator(mode="after")
    def _within(self) -> Self:
        if self.reserve >= self.requests:
            raise ValueError(
                f"reserve is {self.reserve}; expected less than requests, {self.requests}"
            )
        return self


class Bearer(Section):
    """The bearer that a node's E2SM-TC v0 pipeline is of."""

    node: str = Field(default="*", description="Node id; a trailing * matches any ending.")
    rnti: Annotated[int, Field(ge=0, le=65_535)] | None = Field(
        default=None, description="C-RNTI; any when absent."
    )
    drb: Annotated[int, Field(ge=1, le=32)] | None = Field(
        default=None, description="DRB identity; any when absent."
    )


class TcSettings(Section):
    """E2SM-TC v1 in front of nodes that speak v0."""

    v1: bool = Field(
        default=True, description="Whether nodes with E2SM-TC v0 are offered with v1 as well."
    )
    bearers: tuple[Bearer, ...] = Field(
        default=(),
        description="Which bearer a node's one v0 pipeline is of, the first that matches the node;"
        " without, the only bearer in its RLC reports.",
    )
    max_queues: int = Field(
        default=64, ge=1, le=200, description="Most queues of a pipeline: one control makes each."
    )
    max_filters: int = Field(default=64, ge=0, le=256, description="Most filters of a pipeline.")


class BridgeSettings(Section):
    """flexric-bridge: the E2 gateway in front of a FlexRIC near-RT RIC.

    One sidecar for one RIC. A child process owns FlexRIC's SDK; xApps talk to the gateway.
    """

    door: GatewayDoor = Field(default_factory=GatewayDoor, description="The E2 gateway.")
    ric: RicSettings = Field(default_factory=RicSettings, description="The near-RT RIC.")
    nodes: NodeSettings = Field(default_factory=NodeSettings, description="E2 nodes.")
    subscriptions: SubscriptionSettings = Field(
        default_factory=SubscriptionSettings, description="Subscriptions."
    )
    controls: ControlSettings = Field(default_factory=ControlSettings, description="Controls.")
    budget: BudgetSettings = Field(default_factory=BudgetSettings, description="Request budget.")
    tc: TcSettings = Field(default_factory=TcSettings, description="Traffic control.")
    state: Path | None = Field(
        default=None,
        description="File that keeps request budget and pipelines over restarts. None when absent.",
    )
    http: HttpSettings = Field(default_factory=HttpSettings, description="Health and metrics.")
    log: LogSettings = Field(default_factory=LogSettings, description="Logging.")
    stop_timeout_s: Seconds = Field(
        default=20.0, description="Longest time a graceful stop may take, s."
    )


SHORT: Final[Mapping[str, str]] = {
    "--listen": "--door.listen",
    "--ric": "--ric.address",
    "--libraries": "--ric.libraries",
    "--metrics-listen": "--http.listen",
}
"""Short spellings of flags, and what they stand for."""


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Arguments with short spellings replaced by the settings they stand for."""
    spelled = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        spelled.append(SHORT.get(name, name) + equals + value)
    return spelled
