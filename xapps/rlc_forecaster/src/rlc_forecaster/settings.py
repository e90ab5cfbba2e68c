"""Settings of the forecaster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field
from ric.flags import FormerName
from ric.grpc_server import GrpcServerSettings
from ric.settings import METRICS_LISTEN, Flag, HttpSettings, XAppSettings

DEFAULT_MODEL: Final = Path(__file__).parent / "models" / "default"
"""Made by ``make default-model``."""
PERIODS_MS: Final = (1, 2, 5, 10)
"""Periods of RLC reports that E2 nodes have."""


class ForecastServerSettings(GrpcServerSettings):
    """The gRPC server of the forecast stream."""

    listen: Annotated[str, Flag("listen")] = Field(
        default="127.0.0.1:36422",
        description="Address of the forecast stream, host:port or unix:path; port 0 takes a free"
        " one.",
    )
    max_streams: int = Field(
        default=64,
        ge=4,
        le=4096,
        description="Most streams open at once. A client may hold as many as are free: half if it"
        " is alone, and some are left for others.",
    )
    max_load_bytes_per_s: Annotated[float, Field(ge=1e6, allow_inf_nan=False)] = Field(
        default=400e6,
        description="Rate of forecasts to all clients, bytes/s, with 64 KiB for each message. Half"
        " of it is assured to the streams that came first; the others share the rest as far"
        " as the event loop bears it, and skip forecasts.",
    )


class ForecasterHttp(HttpSettings):
    """The HTTP server of metrics and probes."""

    listen: Annotated[str, Flag("metrics-listen")] = Field(
        default="127.0.0.1:9101", description=METRICS_LISTEN
    )


def _is_period(period_ms: int) -> int:
    if period_ms not in PERIODS_MS:
        raise ValueError("is no period of RLC reports; expected 1, 2, 5 or 10")
    return period_ms


class ForecasterSettings(XAppSettings):
    """Stream forecasts of RLC queue state over gRPC.

    Subscribes to RLC reports of every node of the E2 gateway and forecasts each bearer's queue with
    the model mixed with naive forecasts, or with these alone.
    """

    http: ForecasterHttp = Field(
        default_factory=ForecasterHttp,
        title="Metrics and health",
        description="Metrics and health.",
    )
    server: Annotated[ForecastServerSettings, FormerName("door")] = Field(
        default_factory=ForecastServerSettings,
        title="Forecast stream",
        description="The forecast stream.",
    )
    model: Path = Field(
        default=Path("default"),
        description="Model directory (model.onnx, manifest.json, SHA256SUMS). It is reloaded when"
        " its digests change; if the new model is refused the old one stays. 'default' is the model"
        " of this distribution, 'none' serves naive forecasts only.",
    )
    model_trusted_keys: Path | None = Field(
        default=None,
        description="Ed25519 public keys, PEM, one of which must have signed the model's"
        " SHA256SUMS (SHA256SUMS.sig, rlc-model sign); others are refused, the default model too."
        " No signature is needed if unset. Reread with each model.",
    )
    period_ms: Annotated[int, AfterValidator(_is_period)] = Field(
        default=1, description="Period of the RLC subscription, ms (1, 2, 5 or 10)."
    )
    context_period_ms: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None,
        description="Period of the subscriptions to MAC reports (MCS, transport block size) and to"
        " TC pipeline status (queue limit), ms; 0 disables both. They are features of the model;"
        " the queue limit is forecast only where it is reported. If unset, the period of the"
        " model's training, 20 without a model. Values are held for 250 ms. A pipeline status costs"
        " 5 µs of CPU per bearer: with 1000 bearers use 50 ms or more.",
    )
    cu_feed_period_ms: Annotated[int, Field(ge=5, le=50)] | None = Field(
        default=None,
        description="Period of forecast feeds to the CU of a split gNB, ms: E2SM-TC controls with"
        " the newest forecasts of the RLC of its O-DU, by which its pacers hold packets back. A"
        " pacer that hears nothing for 100 ms lets all pass. FlexRIC's near-RT RIC has 64,500"
        " requests, of which each feed takes one; its bridge passes so many only with a"
        " controls.per_s above their rate. None if unset.",
    )
    model_max_age_h: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Age of a model's SHA256SUMS above which the model is stale, h: naive"
        " forecasts are served until a newer model appears or the file is touched. No limit if"
        " unset.",
    )

    @property
    def model_directory(self) -> Path | None:
        """Directory of the model; `None` without one."""
        match str(self.model):
            case "default":
                return DEFAULT_MODEL
            case "none":
                return None
            case _:
                return self.model

    model_check_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=2.0, description="Period of checking the model directory for changes, s."
    )
