"""Settings of the forecaster: those of every xApp, and its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Self

import grpc
from pydantic import Field, field_validator, model_validator
from ric.errors import SettingsError
from ric.settings import Section, XAppSettings, is_local, split_address

from rlc_forecaster.core import Hysteresis

DEFAULT_MODEL: Final = Path(__file__).parent / "models" / "default"
"""Made by ``make default-model``."""


class ForecastDoor(Section):
    """Where forecasts are served, and how they are protected."""

    listen: str = Field(
        default="127.0.0.1:36422",
        description="Address of the forecast stream, host:port; port 0 takes a free one.",
    )
    certificate_file: Path | None = Field(
        default=None, description="Certificate chain of the door, PEM; TLS is spoken with one."
    )
    key_file: Path | None = Field(default=None, description="Its private key, PEM, not encrypted.")
    client_ca_file: Path | None = Field(
        default=None,
        description="Certificates that may sign a consumer's, PEM; with it, mutual TLS.",
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, listen: str) -> str:
        split_address(listen)
        return listen

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("one without the other; expected certificate_file and key_file both")
        if self.client_ca_file is not None and self.certificate_file is None:
            raise ValueError("client_ca_file without TLS; expected certificate_file and key_file")
        if self.certificate_file is None and not is_local(self.listen):
            raise ValueError(
                f"plain text on {self.listen}; expected certificate_file and key_file,"
                " or a loopback address"
            )
        return self

    def credentials(self) -> grpc.ServerCredentials | None:
        """TLS credentials; None for plain text.

        Raises:
            SettingsError: A file cannot be read.
        """
        if self.certificate_file is None or self.key_file is None:
            return None
        ca = _pem("client_ca_file", self.client_ca_file) if self.client_ca_file else None
        pair = (
            _pem("key_file", self.key_file),
            _pem("certificate_file", self.certificate_file),
        )
        return grpc.ssl_server_credentials(
            [pair], root_certificates=ca, require_client_auth=ca is not None
        )


class FallbackRule(Section):
    """When persistence is served in place of a model that does worse.

    Skill is 1 - loss(model) / loss(persistence), pinball loss of the bearer's last 200 outcomes.
    """

    below: Annotated[float, Field(gt=-10, le=0)] = Field(
        default=-0.05, description="A bearer's model is set aside when its skill falls below this."
    )
    back_above: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="It is back when its skill rises above this."
    )
    least_outcomes: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=200,
        description="Outcomes of a bearer before the first change, and between two. One report"
        " is one outcome.",
    )

    def hysteresis(self) -> Hysteresis:
        """As the core takes it."""
        return Hysteresis(self.below, self.back_above, self.least_outcomes)


class ForecasterSettings(XAppSettings):
    """rlc-forecaster: streaming forecasts of RLC queue state, served over gRPC.

    Subscribes to the RLC of every node of the E2 gateway and forecasts each bearer's queue with
    the model, or with persistence when there is none.
    """

    forecast: ForecastDoor = Field(default_factory=ForecastDoor, description="The forecast stream.")
    model: Path = Field(
        default=Path("default"),
        description="Model directory (model.onnx, manifest.json, SHA256SUMS). It is read again"
        " when its digests change; a model that is refused leaves the present one in place."
        " 'default' is the one that comes with the forecaster, 'none' is persistence.",
    )
    period_ms: Annotated[int, Field(ge=1, le=10)] = Field(
        default=1, description="Period of the RLC reports asked for, ms (1, 2, 5 or 10)."
    )
    context_period_ms: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None,
        description="Period of the MAC reports (MCS, transport block) and of the TC pipeline"
        " status (queue limit) asked for, ms; 0 asks for none. They are features of the model, and"
        " the queue limit is forecast only where it is told. By default as in the model's training,"
        " 20 without a model. Values are held for 250 ms. A pipeline status costs 5 µs of CPU per"
        " bearer: with 1000 of them ask for 50 ms or more.",
    )
    model_max_age_h: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="A model whose SHA256SUMS was written longer ago than this, h, is stale:"
        " persistence is served until a newer one comes or the file is touched. Never by default.",
    )
    fallback: FallbackRule = Field(
        default_factory=FallbackRule,
        description="When a bearer goes from the model to persistence, and back.",
    )

    @property
    def model_directory(self) -> Path | None:
        """Where the model is; None for persistence."""
        match str(self.model):
            case "default":
                return DEFAULT_MODEL
            case "none":
                return None
            case _:
                return self.model

    model_check_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=2.0, description="How often the model directory is looked at, s."
    )


def _pem(field: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError([f"forecast.{field}: {path}: {error.strerror}"]) from error
