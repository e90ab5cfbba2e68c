"""Settings of an xApp: one schema, filled from a file, the environment and flags.

Later ones win: defaults, YAML file (`--config FILE` or `SOJOURN_CONFIG`), environment
(`SOJOURN_GATEWAY__ADDRESS`), flags (`--gateway`). All problems are reported at once, one line each,
with the place the value came from: `settings.yaml: gateway.address: …`,
`SOJOURN_GATEWAY__ADDRESS: …` or `--gateway: …`.

An xApp extends `XAppSettings` with fields of its own and calls `load_settings`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ric.endpoint_settings import (
    AccessSettings,
    ClientSettings,
    HttpServerSettings,
    Section,
    ServerSettings,
    TlsSettings,
    is_local,
    read_pem,
    split_address,
)
from ric.explain import PlacedError
from ric.flags import Flag, ProgramParser, add_settings_arguments
from ric.settings_sources import load_settings, printable, read_yaml_mapping, settings_from

__all__ = [
    "AccessSettings",
    "ClientSettings",
    "Flag",
    "GatewaySettings",
    "HttpServerSettings",
    "HttpSettings",
    "LogSettings",
    "ProgramParser",
    "ProgramSettings",
    "Section",
    "ServerSettings",
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


class GatewaySettings(ClientSettings):
    """How to reach the E2 gateway, its timeouts and back-off."""

    address: str = Field(
        default="127.0.0.1:36421",
        description="Address of the E2 gateway, host:port, [IPv6]:port or unix:path. The default "
        "port is E2AP's, 36421.",
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

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.backoff_max_s < self.backoff_initial_s:
            raise ValueError("backoff_max_s below backoff_initial_s; expected at least that")
        return self


METRICS_LISTEN: Final = (
    "Address of /metrics, /healthz and /readyz, host:port or unix:path; port 0 takes a free one;"
    ' "" disables them.'
)


class HttpSettings(HttpServerSettings):
    """The HTTP server of metrics, probes and pages."""

    section: ClassVar[str] = "http"
    label: ClassVar[str] = "http"

    listen: Annotated[str, Flag("metrics-listen")] = Field(
        default="127.0.0.1:9100", description=METRICS_LISTEN
    )
    fresh_within_s: Annotated[PositiveSeconds, Flag("fresh-within-s")] = Field(
        default=3.0, description="Age of the newest indication up to which /readyz is 200, s."
    )


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
    access: AccessSettings = Field(
        default_factory=AccessSettings,
        title="Access",
        description="Who may do what, and the audit log.",
    )
    log: LogSettings = Field(default_factory=LogSettings, title="Logging", description="Logging.")
    nice: int | None = Field(
        default=None,
        ge=-20,
        le=19,
        description="Nice value of the program's threads; unset: as it was started. Below that it"
        " gets a core before other programs and needs CAP_SYS_NICE or RLIMIT_NICE; refused, it is a"
        " warning, and sojourn_process_nice stays.",
    )
    stop_timeout_s: PositiveSeconds = Field(
        default=5.0,
        description="Longest time a graceful stop may take, s; what runs then is cancelled.",
    )

    def servers(self) -> dict[str, ServerSettings]:
        """The program's servers by section."""
        sections = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: each for name, each in sections if isinstance(each, ServerSettings)}

    def clients(self) -> list[ClientSettings]:
        """The program's connections to servers."""
        sections = (getattr(self, name) for name in type(self).model_fields)
        return [each for each in sections if isinstance(each, ClientSettings)]

    @model_validator(mode="after")
    def _clients_identified(self) -> Self:
        """TLS alone keeps nobody out."""
        for name, server in self.servers().items():
            if (
                server.exposed
                and server.certificate_file is not None
                and server.client_ca_file is None
                and self.access.file is None
            ):
                raise PlacedError(
                    (name,),
                    f"every client may use {server.listen}; expected client_ca_file or access.file",
                )
        return self


class XAppSettings(ServiceSettings):
    """What every xApp needs; extend it with your own fields."""

    gateway: GatewaySettings = Field(
        default_factory=GatewaySettings, title="Gateway", description="The E2 gateway."
    )
