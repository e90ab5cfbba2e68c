"""``manifest.json``: the description of a model, checked before the model is loaded.

The model's identity uses the names of the O-RAN SC AI/ML framework (modelName, modelVersion,
artifactVersion, inputDataType, targetEnvironment), so that its registry accepts the file.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, Self

from bounded_input import JsonError, parse_json
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from rlc_model.errors import ContractError
from rlc_model.features import FEATURES
from rlc_model.horizon import LAST_POINT_US, MAX_POINTS
from rlc_model.scaler import MinMaxScaler


class Quantity(StrEnum):
    """Forecast quantities; the value is the name of the corresponding feature."""

    OCCUPANCY = "occupancy_bytes"
    DRAIN = "drained_bytes_per_ms"
    QUEUE_LIMIT = "queue_limit_bytes"


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )


class Scaler(_Part):
    """Bounds of each feature in the training part, in the order of ``features``."""

    kind: Literal["min_max"] = "min_max"
    minimum: list[FiniteFloat]
    maximum: list[FiniteFloat]


class Horizon(_Part):
    """Points of a forecast, after the newest sample; increasing.

    Occupancy and queue limit are those of the instant; the drain is the mean since the point before
    (:func:`~rlc_model.horizon.spans_us`).
    """

    points_us: Annotated[
        tuple[Annotated[int, Field(ge=1, le=LAST_POINT_US)], ...],
        Field(min_length=1, max_length=MAX_POINTS),
    ]

    @model_validator(mode="before")
    @classmethod
    def _is_no_older_format(cls, value: object) -> object:
        if isinstance(value, dict) and "startUs" in value:
            raise ValueError(
                "startUs, stepUs and points are of an older format; expected pointsUs, the list of"
                " the points: write startUs, startUs + stepUs, … into it and renew SHA256SUMS"
                " (sha256sum model.onnx manifest.json), or train the model again"
            )
        return value

    @model_validator(mode="after")
    def _increases(self) -> Self:
        for number, (before, after) in enumerate(pairwise(self.points_us), 1):
            if after <= before:
                raise ValueError(
                    f"pointsUs[{number}] is {after}, after {before}; expected increasing times"
                )
        return self


class TrainingData(_Part):
    """The training data and its report periods.

    ``samplePeriodUs``: RLC reports. ``contextPeriodUs``: queue limit, MCS and transport block size.
    """

    description: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    sample_period_us: Annotated[int, Field(ge=1)] = 1000
    context_period_us: Annotated[int, Field(ge=1)] = 20_000


class BaselineMetric(_Part):
    """Errors of the model and of one baseline on the test part."""

    baseline: str
    metric: str
    quantity: Quantity
    model_value: FiniteFloat
    baseline_value: FiniteFloat


class ExporterCheck(_Part):
    """Difference between the exported step and the original model."""

    steps: Annotated[int, Field(ge=1)]
    max_abs_difference: Annotated[FiniteFloat, Field(ge=0)]


class Manifest(_Part):
    """The manifest."""

    schema_version: Literal[1] = 1
    model_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    model_version: Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,32}$")]
    artifact_version: Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,32}$")] = "1"
    input_data_type: Literal["rlc_indication"] = "rlc_indication"
    output_data_type: Literal["rlc_forecast"] = "rlc_forecast"
    target_environment: Literal["onnxruntime"] = "onnxruntime"
    description: str = ""

    features: list[str]
    scaler: Scaler
    quantities: Annotated[list[Quantity], Field(min_length=1)]
    target: Literal["residual", "absolute"]
    horizon: Horizon
    quantiles: Annotated[list[FiniteFloat], Field(min_length=1, max_length=32)]
    state_size: Annotated[int, Field(ge=0, le=1_000_000)]
    warm_up_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 100

    training_data: TrainingData
    metrics: list[BaselineMetric] = []
    exporter_check: ExporterCheck
    versions: dict[str, str] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if tuple(self.features) != FEATURES:
            raise ValueError(
                f"features: got {self.features}; expected {list(FEATURES)} in this order"
            )
        if len(self.scaler.minimum) != len(self.features):
            raise ValueError(
                f"scaler.minimum: {len(self.scaler.minimum)} values, {len(self.features)} features"
            )
        MinMaxScaler.of(self.scaler.minimum, self.scaler.maximum)
        if len(set(self.quantities)) != len(self.quantities):
            raise ValueError("quantities: a quantity occurs twice")
        if sorted(set(self.quantiles)) != self.quantiles or not (
            self.quantiles[0] > 0 and self.quantiles[-1] < 1
        ):
            raise ValueError(f"quantiles: {self.quantiles} must increase strictly within (0, 1)")
        return self

    @property
    def name(self) -> str:
        """``name:version``, as in forecasts."""
        return f"{self.model_name}:{self.model_version}"

    def min_max(self) -> MinMaxScaler:
        """The scaler."""
        return MinMaxScaler.of(self.scaler.minimum, self.scaler.maximum)

    def to_json(self) -> bytes:
        """The file's bytes."""
        return (self.model_dump_json(by_alias=True, indent=2) + "\n").encode()


def parse_manifest(data: bytes) -> Manifest:
    """Reads ``manifest.json``.

    Raises:
        ContractError: Names the field, its value and the expectation.
    """
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        place = f"manifest.json: {field}" if field else "manifest.json"
        raise ContractError(place, first["msg"].removeprefix("Value error, ")) from error
    try:
        # Pydantic takes the last value of a key that is given twice.
        parse_json(data)
    except JsonError as error:
        raise ContractError("manifest.json", str(error)) from error
    return manifest
