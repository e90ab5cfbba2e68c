"""Settings of the forecaster: those of every xApp, and its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Final

from pydantic import Field
from ric.door import DoorSettings
from ric.settings import Section, XAppSettings

from rlc_forecaster.core import Hysteresis

DEFAULT_MODEL: Final = Path(__file__).parent / "models" / "default"
"""Made by ``make default-model``."""


class ForecastDoor(DoorSettings):
    """Where forecasts are served, and how they are protected."""

    section: ClassVar[str] = "forecast"

    listen: str = Field(
        default="127.0.0.1:36422",
        description="Address of the forecast stream, host:port; port 0 takes a free one.",
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
