"""Settings of an xApp: one schema, filled from a file, the environment and flags.

Later ones win: defaults, YAML file (`--config FILE` or `SOJOURN_CONFIG`), environment
(`SOJOURN_GATEWAY__ADDRESS`), flags (`--gateway`). All problems are reported at once, one line each,
with the place the value came from: `settings.yaml: gateway.address: …`,
`SOJOURN_GATEWAY__ADDRESS: …` or `--gateway: …`.

An xApp extends `XAppSettings` with fields of its own and calls `load_settings`.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ric.errors import SettingsError
from ric.flags import Flag, ProgramParser, add_settings_arguments
from ric.settings_sources import load_settings, printable, read_yaml_mapping, settings_from

__all__ = [
    "Flag",
    "GatewaySettings",
    "HttpSettings",
    "LogSettings",
    "ProgramParser",
    "ProgramSettings",
    "Section",
    "ServiceSettings",
    "TlsSettings",
    "XAppSettings",
    "add_settings_arguments",
    "is_local",
    "load_settings",
    "printable",
    "read_pem",
    "read_yaml_mapping",
    "settings_from",
    "split_address",
]

PositiveSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    """Base of every group of settings: immutable, no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProgramSettings(BaseSettings):
    """Base of a program's settings, filled by `load_settings`; made directly it reads no source."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The arguments of the constructor alone."""
        return (init_settings,)


class TlsSettings(Section):
    """TLS towards a server; with certificate and key, mutual TLS."""

    enabled: bool = Field(
        default=False,
        description="Use TLS. Plain text is allowed on loopback and Unix sockets only.",
    )
    ca_file: Path | None = Field(
        default=None,
        description="CA certificates for the server's certificate, PEM; those of the system if "
        "unset.",
    )
    certificate_file: Path | None = Field(
        default=None, description="Client certificate chain for mutual TLS, PEM."
    )
    key_file: Path | None = Field(
        default=None, description="Client private key, PEM, not encrypted."
    )
    server_name: str | None = Field(
        default=None,
        description="Name expected in the server's certificate; the host of the address if unset.",
    )

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("one without the other; expected certificate_file and key_file both")
        return self


class GatewaySettings(Section):
    """How to reach the E2 gateway, its timeouts and back-off."""

    address: str = Field(
        default="127.0.0.1:36421",
        description="Address of the E2 gateway, host:port, [IPv6]:port or unix:path. The default "
        "port is E2AP's, 36421.",
    )
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS towards the gateway.")
    token: SecretStr | None = Field(
        default=None, description="Bearer token sent with each call. Needs TLS."
    )
    backoff_initial_s: PositiveSeconds = Field(
        default=0.05,
        description="First delay before connecting or subscribing again, s. Short, because most "
        "losses are restarts of the gateway.",
    )
    backoff_max_s: PositiveSeconds = Field(
        default=5.0,
        description="Longest such delay, s. Keep it below the lease of a pipeline: when that ends "
        "the gNB returns to its safe pipeline.",
    )
    backoff_factor: float = Field(
        default=2.0, gt=1, le=10, description="Factor of the delay from one failure to the next."
    )
    connect_timeout_s: PositiveSeconds = Field(
        default=3.0, description="Timeout of connecting and of requests that read state, s."
    )
    control_timeout_s: PositiveSeconds = Field(
        default=1.0, description="Timeout of a RIC control, s. FlexRIC gives up after 3 s."
    )
    reconcile_s: PositiveSeconds = Field(
        default=10.0,
        description="Period of reading the whole node list, s, in case an event was lost.",
    )
    keepalive_s: PositiveSeconds = Field(
        default=10.0,
        description="Period of HTTP/2 pings, s; they detect a connection that was cut silently.",
    )
    keepalive_timeout_s: PositiveSeconds = Field(
        default=3.0, description="Timeout of such a ping, s."
    )
    max_message_bytes: int = Field(
        default=16 * 1024 * 1024,
        ge=64 * 1024,
        le=1 << 30,
        description="Largest message accepted, bytes. A report of 1000 RLC bearers has 152 kB.",
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
    """The HTTP endpoint for metrics and health."""

    listen: Annotated[str, Flag("metrics-listen")] = Field(
        default="127.0.0.1:9100",
        description="Address of /metrics, /healthz and /readyz, host:port or unix:path; port 0 "
        'takes a free one; "" disables them.',
    )
    fresh_within_s: Annotated[PositiveSeconds, Flag("fresh-within-s")] = Field(
        default=3.0, description="Age of the newest indication up to which /readyz is 200, s."
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, listen: str) -> str:
        if listen:
            split_address(listen)
        return listen


class LogSettings(Section):
    """Structured logs on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest severity that is logged."
    )
    format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="json: one object a line; auto: console on a terminal, json elsewhere.",
    )


class ServiceSettings(ProgramSettings):
    """What every long-running program needs."""

    http: HttpSettings = Field(
        default_factory=HttpSettings, title="Metrics and health", description="Metrics and health."
    )
    log: LogSettings = Field(default_factory=LogSettings, title="Logging", description="Logging.")
    stop_timeout_s: PositiveSeconds = Field(
        default=5.0,
        description="Longest time a graceful stop may take, s; what runs then is cancelled.",
    )


class XAppSettings(ServiceSettings):
    """What every xApp needs; extend it with your own fields."""

    gateway: GatewaySettings = Field(
        default_factory=GatewaySettings, title="Gateway", description="The E2 gateway."
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


def check_protection(
    listen: str, certificate_file: Path | None, key_file: Path | None, client_ca_file: Path | None
) -> None:
    """Raise `ValueError` for TLS files that do not belong together, or plain text off the host."""
    if (certificate_file is None) != (key_file is None):
        raise ValueError("one without the other; expected certificate_file and key_file both")
    if client_ca_file is not None and certificate_file is None:
        raise ValueError("client_ca_file without TLS; expected certificate_file and key_file")
    if certificate_file is None and not is_local(listen):
        raise ValueError(
            f"plain text on {listen}; expected certificate_file and key_file, or a loopback address"
        )


def is_local(address: str) -> bool:
    """Whether `address` cannot leave this machine."""
    host, _ = split_address(address)
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_pem(setting: str, path: Path) -> bytes:
    """The content of a PEM file that `setting` names; raises `SettingsError` for another file.

    gRPC itself would only report that an address cannot be bound or a server is unavailable.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            [f"{setting}: {path}: {error.strerror}; expected a readable PEM file"]
        ) from None
    if b"-----BEGIN " not in content:
        raise SettingsError([f"{setting}: {path}: not PEM; expected -----BEGIN …-----"])
    return content
