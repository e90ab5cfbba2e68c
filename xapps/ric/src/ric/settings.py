"""Settings of an xApp: one schema, filled from a file, the environment and flags.

Later ones win: defaults, YAML file (`--config FILE` or `<PREFIX>_CONFIG`), environment
(`SOJOURN_GATEWAY__ADDRESS`), flags (`--gateway.address`). Every problem is told at once, one line
each, with the place the value came from: `settings.yaml: gateway.address: …`.

An xApp extends `XAppSettings` with fields of its own and calls `load_settings`.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from ric.settings_sources import load_settings, printable, read_yaml_mapping

__all__ = [
    "GatewaySettings",
    "HttpSettings",
    "LogSettings",
    "Section",
    "TlsSettings",
    "XAppSettings",
    "load_settings",
    "printable",
    "read_yaml_mapping",
    "split_address",
]

PositiveSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    """Base of every group of settings: immutable, no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsSettings(Section):
    """TLS towards the gateway; with certificate and key, mutual TLS."""

    enabled: bool = Field(
        default=False,
        description="Speak TLS. Plain text is allowed on loopback and Unix sockets only.",
    )
    ca_file: Path | None = Field(
        default=None,
        description="Certificates that may sign the gateway's, PEM. The system's when absent.",
    )
    certificate_file: Path | None = Field(
        default=None, description="Our certificate chain for mutual TLS, PEM."
    )
    key_file: Path | None = Field(default=None, description="Our private key, PEM, not encrypted.")
    server_name: str | None = Field(
        default=None,
        description="Name expected in the gateway's certificate when it is not the address.",
    )

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("one without the other; expected certificate_file and key_file both")
        return self


class GatewaySettings(Section):
    """How to reach the E2 gateway and how patient to be with it."""

    address: str = Field(
        default="127.0.0.1:36421",
        description="Address of the E2 gateway, host:port, [IPv6]:port or unix:path. The default "
        "port is E2AP's (36421), for no other protocol uses it.",
    )
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS towards the gateway.")
    token: SecretStr | None = Field(
        default=None,
        description="Bearer token sent with each call. Needs TLS.",
    )
    backoff_initial_s: PositiveSeconds = Field(
        default=0.05,
        description="First delay before connecting or subscribing again, s. Short, for most losses "
        "are a restart next door.",
    )
    backoff_max_s: PositiveSeconds = Field(
        default=5.0,
        description="Longest such delay, s. A controller that is away for longer than a lease "
        "leaves the gNB to its safe pipeline, so keep it near the lease.",
    )
    backoff_factor: float = Field(
        default=2.0, gt=1, le=10, description="Growth of the delay from one failure to the next."
    )
    connect_timeout_s: PositiveSeconds = Field(
        default=3.0, description="Longest wait for an answer to a request that reads state, s."
    )
    control_timeout_s: PositiveSeconds = Field(
        default=1.0,
        description="Longest wait for a RIC control outcome, s. FlexRIC gives up after 3 s.",
    )
    reconcile_s: PositiveSeconds = Field(
        default=10.0,
        description="Period of asking for the whole node list, s, in case an event was lost.",
    )
    keepalive_s: PositiveSeconds = Field(
        default=10.0,
        description="Period of HTTP/2 pings, s: finds a gateway that vanished without a word.",
    )
    keepalive_timeout_s: PositiveSeconds = Field(
        default=3.0, description="Longest wait for the answer to such a ping, s."
    )
    max_message_bytes: int = Field(
        default=16 * 1024 * 1024,
        ge=64 * 1024,
        le=1 << 30,
        description="Largest message accepted, bytes. 1000 bearers of RLC are 152 kB.",
    )

    @field_validator("address")
    @classmethod
    def _address(cls, address: str) -> str:
        split_address(address)
        return address

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if not self.tls.enabled and not is_local(self.address):
            raise ValueError(
                f"plain text to {self.address}; expected tls.enabled: true, or a loopback address"
            )
        if self.token is not None and not self.tls.enabled and not self.address.startswith("unix:"):
            raise ValueError("token over plain text; expected tls.enabled: true")
        if self.backoff_max_s < self.backoff_initial_s:
            raise ValueError("backoff_max_s below backoff_initial_s; expected at least that")
        return self


class HttpSettings(Section):
    """Where health and metrics are served."""

    listen: str = Field(
        default="127.0.0.1:9100",
        description="Address of /metrics, /healthz and /readyz, host:port; port 0 takes a free "
        'one; "" serves none.',
    )
    fresh_within_s: PositiveSeconds = Field(
        default=3.0,
        description="Ready means connected and an indication not older than this, s.",
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, listen: str) -> str:
        if listen:
            split_address(listen)
        return listen


class LogSettings(Section):
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severity that is logged."
    )
    format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="json is one object a line; auto is console on a terminal, json elsewhere.",
    )


class XAppSettings(Section):
    """What every xApp needs; extend it with your own fields."""

    gateway: GatewaySettings = Field(default_factory=GatewaySettings, description="The E2 gateway.")
    http: HttpSettings = Field(default_factory=HttpSettings, description="Health and metrics.")
    log: LogSettings = Field(default_factory=LogSettings, description="Logging.")
    stop_timeout_s: PositiveSeconds = Field(
        default=5.0,
        description="Longest time a graceful stop may take, s; what runs then is cancelled.",
    )


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[IPv6]:port`; ("unix:path", 0) of a Unix socket.

    Raises `ValueError` saying what was expected.
    """
    if address.startswith("unix:") and len(address) > len("unix:"):
        return address, 0
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not host or not colon or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        raise ValueError("not an address; expected host:port, [IPv6]:port or unix:path")
    return host, int(port)


def is_local(address: str) -> bool:
    """Whether `address` cannot leave this machine."""
    host, _ = split_address(address)
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
