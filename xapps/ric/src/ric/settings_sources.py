"""Sources of settings, in order of precedence: YAML file, environment, flags."""

from __future__ import annotations

import argparse
import copy
import inspect
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from ric.bounded_yaml import YamlError, parse_yaml
from ric.errors import SettingsError
from ric.explain import Location, dotted, explain_validation_error
from ric.files import UnreadableFile, read_file
from ric.flags import ProgramParser, add_settings_arguments, settings_of
from ric.version import VERSION

Model = TypeVar("Model", bound=BaseSettings)

MAX_FILE_BYTES: Final = 1024 * 1024
"""Larger files are refused before they are parsed: no settings or policy is near it."""


def load_settings(
    schema: type[Model],
    *,
    prog: str,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    prefix: str = "SOJOURN",
    example: str = "",
) -> Model:
    """Settings from defaults, file, environment and flags; raises `SettingsError`.

    `arguments` and `environment` default to those of the process. `--help` prints every setting
    with its description, ends with `example`, and exits; `--version` prints that of Sojourn.
    """
    description = inspect.cleandoc(schema.__doc__ or "")
    parser = ProgramParser(prog=prog, description=description, example=example, version=VERSION)
    add_settings_arguments(parser, schema, prefix=prefix)
    given = parser.parse_args(arguments)
    return settings_from(schema, given, environment=environment, prefix=prefix)


def settings_from(
    schema: type[Model],
    given: argparse.Namespace,
    *,
    environment: Mapping[str, str] | None = None,
    prefix: str = "SOJOURN",
    in_place_of_file: Mapping[str, Any] | None = None,
) -> Model:
    """Settings from arguments that a parser with `add_settings_arguments` has parsed.

    `in_place_of_file` has what the file would have; then `--config` is not read, and the variables
    of another program, which may have a section of the same name, are passed over.
    """
    variables = os.environ if environment is None else environment
    config = given.config or variables.get(f"{prefix}_CONFIG")
    if in_place_of_file is not None:
        merged = copy.deepcopy(dict(in_place_of_file))
        known = {f"{prefix}_{'__'.join(one.path)}".upper() for one in settings_of(schema)}
        variables = {name: value for name, value in variables.items() if name.upper() in known}
    else:
        merged = read_yaml_mapping(Path(config)) if config else {}
    origins: dict[Location, str] = {}
    source = _Environment(schema, prefix, variables)
    for path, value in _values(source()):
        _put(merged, path, value)
        origins[path] = f"{prefix}_{'__'.join(path).upper()}"
    for setting in settings_of(schema):
        if (value := getattr(given, setting.destination, None)) is not None:
            if setting.optional and value == "":
                value = None
            elif isinstance(value, str) and source.field_is_complex(setting.field):
                value = _parse_text(value)
            _put(merged, setting.path, value)
            origins[setting.path] = setting.flag
    file_name = Path(config).name if config else "settings"
    problems = source.former
    try:
        settings = schema.model_validate(merged)
    except ValidationError as error:
        problems += explain_validation_error(
            error, lambda at: _place(at, origins, file_name, merged), schema, merged
        )
    if problems:
        raise SettingsError(problems)
    return settings


def read_yaml_mapping(path: Path, max_bytes: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """The mapping a YAML file holds; raises `SettingsError` naming the file and the line."""
    name = str(path)
    try:
        value = parse_yaml(read_file(path, max_bytes).decode())
    except UnreadableFile as error:
        raise SettingsError([str(error)]) from None
    except UnicodeDecodeError as error:
        raise SettingsError([f"{name}: byte {error.start} is not text; expected UTF-8"]) from None
    except YamlError as error:
        raise SettingsError([f"{name}: {error}"]) from None
    if value is None:
        raise SettingsError([f"{name}: empty; expected a mapping"])
    if not isinstance(value, dict):
        raise SettingsError([f"{name}: a {type(value).__name__}; expected a mapping"])
    return value


def printable(settings: BaseModel) -> dict[str, Any]:
    """Settings for the log: secrets are stars, paths and enums plain text."""
    dumped: dict[str, Any] = json.loads(settings.model_dump_json())
    return dumped


class _Environment(EnvSettingsSource):
    """Variables of `environment`; collections are YAML, of which JSON is a part.

    An empty variable of an optional setting counts as unset. A section as a whole is not read from
    one variable: another program may have a setting of that name.
    """

    def __init__(
        self, schema: type[BaseSettings], prefix: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(schema, env_prefix=f"{prefix}_", env_nested_delimiter="__")
        settings = list(settings_of(schema))
        optional = {self._name(prefix, s.path) for s in settings if s.optional}
        sections = {
            self._name(prefix, s.path[:depth]) for s in settings for depth in range(1, len(s.path))
        }
        given = {name.lower() for name in environment}
        self.former = [
            f"{self._name(prefix, former.path).upper()}: unknown variable; expected "
            f"{self._name(prefix, setting.path).upper()}"
            for setting in settings
            for former in setting.former
            if former.in_environment and self._name(prefix, former.path) in given
        ]
        """Problems: variables with a former name."""
        self.env_vars = {
            name.lower(): value
            for name, value in environment.items()
            if name.lower() not in sections and (value or name.lower() not in optional)
        }

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """The text as YAML."""
        return _parse_text(value)

    @staticmethod
    def _name(prefix: str, path: Sequence[str]) -> str:
        return f"{prefix}_{'__'.join(path)}".lower()


def _values(tree: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _values(value, (*at, name))
        else:
            yield (*at, name), value


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        below = tree.setdefault(step, {})
        if not isinstance(below, dict):
            return  # What the file has in place of a section is refused by the schema.
        tree = below
    tree[path[-1]] = value


def _parse_text(text: str) -> Any:
    try:
        return parse_yaml(text)
    except YamlError:
        return text


def _place(
    location: Location, origins: Mapping[Location, str], file_name: str, data: Mapping[str, Any]
) -> str:
    """Where the value at `location` came from: a flag, a variable, or a place in the file.

    An element of a list has the source of its list. A problem of a whole section is attributed to
    the source that overrode the file.
    """
    for length in range(len(location), 0, -1):
        if origin := origins.get(location[:length]):
            return ": ".join(filter(None, (origin, dotted(location[length:]))))
    value: Any = data
    for step in location:
        value = value.get(step) if isinstance(value, Mapping) else None
    within = [origin for at, origin in origins.items() if at[: len(location)] == location]
    if within and isinstance(value, Mapping):
        return within[-1]
    return ": ".join(filter(None, (file_name, dotted(location))))
