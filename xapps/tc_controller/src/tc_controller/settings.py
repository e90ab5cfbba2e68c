"""Settings of the controller; the policy is a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator
from ric.settings import Section, XAppSettings, is_local, split_address


class DecisionLogSettings(Section):
    """Where decisions are told."""

    path: Path | None = Field(
        default=None, description="Decision log, JSON lines. None is kept when absent."
    )
    max_bytes: int = Field(
        default=16 << 20, ge=4096, description="Size at which the file is rotated, bytes."
    )
    keep: int = Field(default=3, ge=0, le=100, description="Rotated files kept.")


class ControllerSettings(XAppSettings):
    """Keep 5G bearers within their sojourn objective."""

    policy: Path | None = Field(
        default=None, description="Policy file; the built-in default policy when absent."
    )
    policy_poll_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=1.0, description="How often the policy file is looked at for changes, s."
    )
    dry_run: bool = Field(default=False, description="Decide and log, send nothing.")
    observe_for_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0.0,
        description="Only watch for this long after the first RLC report, s. SIGUSR1 ends it.",
    )
    on_stop: Literal["leave", "release"] = Field(
        default="leave",
        description="At a graceful stop, leave the pipelines to their leases (a controller that "
        "starts again in time adopts them) or return every bearer to its safe pipeline.",
    )
    state: Path | None = Field(
        default=None,
        description="File that keeps the desired pipelines over restarts. None when absent.",
    )
    stats: Path | None = Field(
        default=None, description="File for latencies of the loop, JSON, written each second."
    )
    forecaster: str | None = Field(
        default=None, description="Address of the forecast stream, host:port or unix:path."
    )
    decision_log: DecisionLogSettings = Field(
        default_factory=DecisionLogSettings, description="Decision log."
    )

    @field_validator("forecaster")
    @classmethod
    def _forecaster(cls, address: str | None) -> str | None:
        if address is not None:
            split_address(address)
            if not is_local(address):
                raise ValueError(f"plain text to {address}; expected a loopback address")
        return address


#: Short spellings of flags, and what they stand for.
_SHORT: Final[Mapping[str, str]] = {
    "--gateway": "--gateway.address",
    "--metrics-listen": "--http.listen",
    "--decision-log": "--decision_log.path",
    "--observe-for": "--observe_for_s",
    "--start-after": "--observe_for_s",
    "--on-stop": "--on_stop",
}


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Arguments with short spellings replaced by the settings they stand for."""
    spelled = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in ("--dry-run", "--dry_run") and not equals:
            spelled.append("--dry_run=true")
        else:
            spelled.append(_SHORT.get(name, name) + equals + value)
    return spelled
