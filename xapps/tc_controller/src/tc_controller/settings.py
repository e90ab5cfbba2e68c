"""Settings of the controller; the policy is a separate file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from ric.settings import Section, XAppSettings, is_local, split_address


class DecisionLogSettings(Section):
    """The decision log."""

    path: Path | None = Field(default=None, description="Decision log, JSON lines; off if unset.")
    max_bytes: int = Field(
        default=16 << 20, ge=4096, description="Size at which the file is rotated, bytes."
    )
    keep: int = Field(default=3, ge=1, le=100, description="Number of rotated files kept.")


class ControllerSettings(XAppSettings):
    """Keep 5G bearers within the sojourn time objective of their policy."""

    policy: Path | None = Field(
        default=None, description="Policy file, YAML; the built-in default policy if unset."
    )
    policy_poll_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=1.0, description="Period of checking the policy file for changes, s."
    )
    dry_run: bool = Field(default=False, description="Decide and log, but send no control.")
    observe_for_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0.0,
        description="Only observe for this long after the first RLC report, s. SIGUSR1 ends it.",
    )
    on_stop: Literal["leave", "release"] = Field(
        default="leave",
        description="At a graceful stop: leave the pipelines in force until their leases end (a "
        "controller that starts before that adopts them), or release every bearer to its safe "
        "pipeline.",
    )
    state: Path | None = Field(
        default=None,
        description="File that keeps the desired pipelines over restarts; off if unset.",
    )
    stats: Path | None = Field(
        default=None, description="Latencies of the loop, JSON, written each second; off if unset."
    )
    forecaster: str | None = Field(
        default=None,
        description="Address of the forecast stream, host:port or unix:path; without forecasts if "
        "unset.",
    )
    decision_log: DecisionLogSettings = Field(
        default_factory=DecisionLogSettings, title="Decision log", description="Decision log."
    )

    @field_validator("forecaster")
    @classmethod
    def _forecaster(cls, address: str | None) -> str | None:
        if address is not None:
            split_address(address)
            if not is_local(address):
                raise ValueError(f"plain text to {address}; expected a loopback address")
        return address
