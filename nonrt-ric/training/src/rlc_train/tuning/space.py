"""The space of a search: settings by dotted name, each with the values that it may have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from ric.bounded_yaml import YamlError, parse_yaml
from ric.files import UnreadableFile, read_file

from rlc_train.errors import TrainError, need
from rlc_train.lstm.backend import choose
from rlc_train.lstm.shape import FitSettings, NetworkShape

_MAX_BYTES: Final = 1 << 20


class Range(BaseModel):
    """Values of one setting: one of ``choice``, ``int``, ``float``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    choice: Annotated[list[int | float | str | bool], Field(min_length=1)] | None = None
    """One of these."""
    int_: Annotated[tuple[int, int] | None, Field(alias="int")] = None
    """A whole number between two, with both."""
    float_: Annotated[tuple[float, float] | None, Field(alias="float")] = None
    """A number between two, with both."""
    step: Annotated[float, Field(gt=0)] | None = None
    """Distance of the values of a range; none for all."""
    sampling: Literal["linear", "log"] = "linear"
    """Whether values or their logarithms are drawn evenly."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [one for one in (self.choice, self.int_, self.float_) if one is not None]
        if len(given) != 1:
            raise ValueError(f"has {len(given)} of choice, int and float; expected one")
        for bounds in (self.int_, self.float_):
            if bounds is not None and not bounds[0] < bounds[1]:
                raise ValueError(f"{list(bounds)}; expected a lower and a higher bound")
        if self.sampling == "log" and self.step is not None:
            raise ValueError("step and sampling: log; expected one of them")
        return self


Name = Annotated[str, Field(pattern=r"^(network|fit)(\.[a-z_]\w*)+$")]
"""Dotted name of a setting, in ``network`` or ``fit``."""
Space = Mapping[str, Range]
"""Ranges by dotted name."""
_SPACE: Final[TypeAdapter[dict[str, Range]]] = TypeAdapter(
    Annotated[dict[Name, Range], Field(min_length=1)]
)


class _Trial(BaseModel):
    network: NetworkShape
    fit: FitSettings


DEFAULT_SPACE: Final[Space] = {
    "network.layers": Range.model_validate({"int": (1, 2)}),
    "network.units": Range(choice=[16, 32, 64, 128]),
    # stolidis2024 §IV-C.
    "network.dropout": Range.model_validate({"float": (0.0, 0.5), "step": 0.1}),
    "fit.learning_rate": Range.model_validate({"float": (5e-4, 1e-2), "sampling": "log"}),
}
"""What is searched without a file."""


def read(path: Path) -> Space:
    """The space of a YAML file.

    Raises:
        TrainError: Names the entry, and what was expected.
    """
    try:
        return _SPACE.validate_python(parse_yaml(read_file(path, _MAX_BYTES).decode()))
    except UnreadableFile as error:
        raise TrainError(str(path), error.problem) from error
    except (YamlError, UnicodeDecodeError) as error:
        raise TrainError(str(path), str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part != "[key]")
        message = first["msg"].removeprefix("Value error, ")
        raise TrainError(f"{path}: {where}" if where else str(path), message) from error


def hyperparameters(space: Space) -> Any:
    """The space as KerasTuner has it."""
    hp = need("keras_tuner", choose()).HyperParameters()
    for name, one in space.items():
        if one.choice is not None:
            hp.Choice(name, list(one.choice))
        elif one.int_ is not None:
            step = None if one.sampling == "log" else int(one.step or 1)
            hp.Int(name, *one.int_, step=step, sampling=one.sampling)
        elif one.float_ is not None:
            hp.Float(name, *one.float_, step=one.step, sampling=one.sampling)
    return hp


def changes_of(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a trial's values; steps of a tenth are no sums of rounded tenths."""
    return {
        name: round(float(values[name]), 9) if one.float_ is not None and one.step else values[name]
        for name, one in space.items()
    }


def first_of(space: Space) -> dict[str, Any]:
    """The first value of each range."""
    given = {name: one.choice or one.int_ or one.float_ for name, one in space.items()}
    return {name: values[0] for name, values in given.items() if values}


def merged(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A document with other values at dotted names."""
    found = dict(document)
    for name, value in changes.items():
        first, _, rest = name.partition(".")
        found[first] = merged(found.get(first) or {}, {rest: value}) if rest else value
    return found


def changed_settings(
    shape: NetworkShape, settings: FitSettings, changes: Mapping[str, Any]
) -> tuple[NetworkShape, FitSettings]:
    """Network and training of a trial.

    Raises:
        TrainError: There is no such setting, or it may not have the value.
    """
    document = merged({"network": shape.model_dump(), "fit": settings.model_dump()}, changes)
    try:
        found = _Trial.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TrainError(f"--space: {where}", str(first["msg"])) from error
    return found.network, found.fit
