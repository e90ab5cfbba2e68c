"""Settings of an experiment: a YAML file; every field has a default."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from ric.bounded_yaml import YamlError, parse_yaml
from ric.files import UnreadableFile, read_file
from rlc_model import Quantity
from rlc_model.horizon import MAX_POINTS

from rlc_train.baselines import BASELINES
from rlc_train.baselines.mix import FALLBACK, MIX
from rlc_train.errors import TrainError
from rlc_train.estimators.make import spec_of
from rlc_train.estimators.spec import READY, EstimatorSpec
from rlc_train.horizon import (
    DEFAULT_QUANTILES,
    LEAST_REACH_US,
    Layout,
    first_point_us,
    graded_points,
)
from rlc_train.lstm.shape import KINDS, FitSettings, NetworkShape
from rlc_train.splits import Shares

_MAX_BYTES: Final = 1 << 20
NETWORK: Final = "network"
"""The model that is trained unless settings name an estimator."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HorizonSettings(_Section):
    """Horizon of forecasts: the first point ``T_RD + T_m + T_RC`` ahead (stolidis2024 §III-C), then
    more in steps that grow (:func:`rlc_train.horizon.graded_points`), unless points are given."""

    t_rd_us: Annotated[float, Field(ge=0, description="DU to Near-RT RIC, µs.")] = 10_000
    t_rc_us: Annotated[float, Field(ge=0, description="Near-RT RIC to CU, µs.")] = 0
    t_c_us: Annotated[
        float | None,
        Field(
            ge=0,
            description="CU to DU over F1-U, µs: points reach 2 T_c + T_m, and the arrival of what"
            " the CU sends by a forecast. Null: they end at 100 ms.",
        ),
    ] = None
    t_m_us: Annotated[
        float | None, Field(gt=0, description="Inference, µs; measured on this machine if null.")
    ] = None
    points_us: Annotated[
        tuple[int, ...] | None,
        Field(
            min_length=1,
            max_length=MAX_POINTS,
            description="The points, µs after a sample, in whole milliseconds; null: by the times"
            " above, to 100 ms or further.",
        ),
    ] = None

    def points(self, t_m_us: float, period_us: int) -> tuple[int, ...]:
        """The points, for a measured T_m.

        Raises:
            TrainError: The first one given is before the forecast arrives.
        """
        first = first_point_us(self.t_rd_us, t_m_us, self.t_rc_us, period_us)
        if self.points_us is None:
            t_c_us = self.t_c_us or 0.0
            reach = max(LEAST_REACH_US, first + t_c_us, 2 * t_c_us + t_m_us)
            return graded_points(first, reach)
        if self.points_us[0] < first:
            raise TrainError(
                "horizon.points_us",
                f"begins {self.points_us[0]} µs after a sample, before the forecast arrives;"
                f" expected {first} µs or later",
            )
        return self.points_us


class SplitSettings(_Section):
    """Training, validation and test parts."""

    seed: Annotated[int, Field(ge=0, lt=2**31, description="Of the draw of radios.")] = 1
    train: float = 0.7
    validation: float = 0.2
    held_out_cells: list[str] = []
    held_out_mobility: list[str] = []
    held_out_radios: list[str] = []
    held_out_radio_share: Annotated[
        float, Field(ge=0, lt=1, description="Share of the recorded radios of each source.")
    ] = 0
    validation_radios: Annotated[
        list[str],
        Field(description="Neither trained on nor held out: the best epoch is chosen by them too."),
    ] = []
    validation_radio_share: Annotated[
        float, Field(ge=0, lt=1, description="The same, as a share of each source.")
    ] = 0

    @property
    def shares(self) -> Shares:
        """The shares in order of time."""
        return Shares(self.train, self.validation)


class Settings(_Section):
    """An experiment of ``rlc-train``."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")] = "rlc-lstm"
    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,32}$")] = "1"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    quantities: list[Quantity] = [Quantity.OCCUPANCY, Quantity.DRAIN, Quantity.QUEUE_LIMIT]
    quantiles: list[float] = list(DEFAULT_QUANTILES)
    context_period_ms: Annotated[
        int,
        Field(ge=1, le=100, description="Report period of limit, MCS and TBS, ms."),
    ] = 20
    horizon: HorizonSettings = HorizonSettings()
    split: SplitSettings = SplitSettings()
    model: Annotated[
        str,
        Field(
            description="What rlc-train train fits: network, or an estimator by its name in"
            " estimators, one that comes with a name, or an import path."
        ),
    ] = NETWORK
    network: NetworkShape = NetworkShape()
    fit: FitSettings = FitSettings()
    estimators: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")], EstimatorSpec],
        Field(description="Estimators by the name that they have among the forecasters."),
    ] = {}
    baselines: Annotated[
        list[str],
        Field(description="Forecasters of the back-test by name or import path."),
    ] = [*BASELINES, *READY]
    origins: Annotated[int, Field(ge=100, description="Origins per split of a back-test.")] = 20_000
    gate_horizons_us: list[int] = [11_000, 30_000]
    gate_against: Annotated[
        list[str],
        Field(
            min_length=1,
            description="Forecasters that a promoted model must beat, or of best-simple and mix:"
            " that must be served better with it.",
        ),
    ] = ["persistence", FALLBACK, MIX]
    gate_each_radio: Annotated[
        bool, Field(description="Refuse a model with which forecasts are worse on any radio.")
    ] = True

    @property
    def context_us(self) -> int:
        """`context_period_ms`, µs."""
        return 1_000 * self.context_period_ms

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.estimators:
            if name in BASELINES or name in KINDS or name == NETWORK:
                raise ValueError(f"estimators.{name}: is the name of another forecaster")
        for index, name in enumerate(self.baselines):
            try:
                spec_of(name, self.estimators)
            except TrainError as error:
                raise ValueError(f"baselines[{index}]: {error}") from error
        if self.model != NETWORK:
            try:
                spec = spec_of(self.model, self.estimators)
            except TrainError as error:
                raise ValueError(f"model: {error}") from error
            if spec is None or not spec.export:
                raise ValueError(
                    f"model: {self.model} is not exported; expected {NETWORK} or an estimator"
                    " with export: true"
                )
        return self

    @property
    def kind(self) -> str:
        """Name of the candidate that is trained: the network's kind, or the estimator's name."""
        return self.network.kind if self.model == NETWORK else self.model

    def layout(self, t_m_us: float) -> Layout:
        """The axes of forecasts, for a measured T_m.

        Raises:
            TrainError: The axes are invalid, lack a horizon of the gate, or end before what a CU
                sends arrives.
        """
        period_us = 1_000
        points = self.horizon.points(t_m_us, period_us)
        layout = Layout(tuple(self.quantities), points, tuple(self.quantiles), period_us)
        if self.horizon.t_c_us is not None:
            layout.check_reach(self.horizon.t_c_us)
        for horizon_us in self.gate_horizons_us:
            layout.point_at(horizon_us)
        return layout


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "small": {
        "network": {"units": 16},
        "fit": {"epochs": 3, "lanes": 16, "steps": 32, "piece_samples": 1024, "xla": False},
        "origins": 2000,
        "baselines": ["persistence", FALLBACK, MIX, "mean-of-5", "linear-quantile"],
    },
}
"""Settings by name."""


def add_experiment_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments for data set and settings."""
    parser.add_argument("--data", type=Path, required=True, help="data set (rlc-train dataset)")
    parser.add_argument("--settings", type=Path, help="YAML that overrides the preset")
    parser.add_argument("--preset", choices=sorted(PRESETS), default="default")


def load(path: Path | None, preset: str = "default", **changes: Any) -> Settings:
    """Reads settings: the preset, overridden by the file, overridden by `changes`.

    Raises:
        TrainError: Names the field, its value and the expectation.
    """
    if preset not in PRESETS:
        raise TrainError("preset", f"{preset!r}; expected of {list(PRESETS)}")
    document: dict[str, Any] = dict(PRESETS[preset])
    place = preset
    if path is not None:
        place = str(path)
        try:
            loaded = parse_yaml(read_file(path, _MAX_BYTES).decode())
        except UnreadableFile as error:
            raise TrainError(place, error.problem) from error
        except (YamlError, UnicodeDecodeError) as error:
            raise TrainError(place, str(error)) from error
        if not isinstance(loaded, dict | None):
            raise TrainError(place, f"is {type(loaded).__name__}; expected a mapping")
        document = _merged(document, loaded or {})
    document = _merged(document, changes)
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise TrainError(f"{place}: {where}" if where else place, message) from error


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = _merged(result[key], value) if both else value
    return result


def json_schema() -> str:
    """The JSON schema of the file."""
    return json.dumps(Settings.model_json_schema(), indent=2) + "\n"
