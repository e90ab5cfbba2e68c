"""Settings of a client from those of the program beside it, as in a container of that program.

A program's settings file and its variables name the servers that it reaches, and its own; its
certificates identify it there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, Field
from pydantic_settings import SettingsConfigDict

from ric.endpoint_settings import ClientSettings, Section, ServerSettings, is_local, split_address
from ric.errors import SettingsError
from ric.settings import GatewaySettings, ProgramSettings
from ric.settings_sources import settings_from

FILES: Final = tuple(
    Path(f"/etc/sojourn/{program}.yaml")
    for program in ("tc-controller", "rlc-forecaster", "flexric-bridge")
)
"""Settings files that are looked for on a host; the first that exists counts."""
_NOTHING: Final = (
    "no settings of a program; expected --config FILE, SOJOURN_CONFIG, or one of "
    f"{', '.join(map(str, FILES))}; or --gateway ADDRESS"
)
_ANY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 - nothing is bound
# The program itself refuses what it does not know.
_LENIENT: Final = ConfigDict(extra="ignore", frozen=True)


class _Client(ClientSettings):
    model_config = _LENIENT


class _Server(ServerSettings):
    model_config = _LENIENT


class _Ric(Section):
    model_config = _LENIENT

    address: str = ""


class _Program(ProgramSettings):
    """What the settings of all programs have in common."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True)

    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    forecasts: _Client = Field(default_factory=_Client)
    http: _Server = Field(default_factory=_Server)
    server: _Server = Field(default_factory=_Server)
    ric: _Ric = Field(default_factory=_Ric)


@dataclass(frozen=True, slots=True)
class Beside:
    """What a program reaches and serves: settings of clients of these, by section."""

    gateway: Mapping[str, Any]
    forecaster: Mapping[str, Any]
    """The forecast stream; empty if the program neither reads nor serves it."""
    http: Mapping[str, Any]
    """The program's own HTTP server; empty without one."""
    controls: bool
    """Whether the program sends controls."""


def beside(given: argparse.Namespace, environment: Mapping[str, str] | None = None) -> Beside:
    """The servers of the program whose settings `--config`, the environment or `FILES` has.

    `given` is of a parser with `add_settings_arguments`. Raises `SettingsError` for settings that
    cannot be read, and where nothing names a gateway.
    """
    variables = os.environ if environment is None else environment
    config = given.config or variables.get("SOJOURN_CONFIG")
    by_flag = getattr(given, "setting:gateway.address", None) is not None
    if not config and not by_flag and "SOJOURN_GATEWAY__ADDRESS" not in variables:
        config = next((str(path) for path in FILES if path.exists()), None)
        if config is None and "SOJOURN_RIC__ADDRESS" not in variables:
            raise SettingsError([_NOTHING])
    program = settings_from(_Program, argparse.Namespace(config=config), environment=variables)
    server = _of_own(program.server)
    if "ric" in program.model_fields_set:
        # A bridge: the gateway is its own server.
        return Beside(server, {}, _of_own(program.http), controls=False)
    forecasts = program.forecasts.model_dump(exclude_unset=True)
    return Beside(
        program.gateway.model_dump(exclude_unset=True),
        server or (forecasts if "address" in forecasts else {}),
        _of_own(program.http),
        controls=not server,
    )


def _of_own(server: ServerSettings) -> dict[str, Any]:
    """Settings of a client of a server on this host; it shows the server's certificate."""
    if not server.listen:
        return {}
    host, port = split_address(server.listen)
    local = host in _ANY_ADDRESS or is_local(server.listen)
    if host.startswith("unix:"):
        address = host
    elif local:
        # The name that a certificate has.
        address = f"localhost:{port}"
    else:
        address = server.listen
    if server.certificate_file is None:
        return {"address": address, "insecure": server.insecure and not is_local(address)}
    tls = {
        "enabled": True,
        "ca_file": server.client_ca_file,
        "certificate_file": server.certificate_file,
        "key_file": server.key_file,
    }
    return {"address": address, "tls": {**tls, "server_name": "localhost" if local else host}}
