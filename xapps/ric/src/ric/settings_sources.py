"""Where settings come from: YAML file, environment, flags; and how they are shown."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ric.errors import SettingsError
from ric.explain import Location, dotted, explain_validation_error

Model = TypeVar("Model", bound=BaseModel)

MAX_FILE_BYTES: Final = 1024 * 1024
"""Larger files are refused before they are parsed: no settings or policy is near it."""


def load_settings(
    schema: type[Model],
    *,
    prog: str,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    prefix: str = "SOJOURN",
) -> Model:
    """Settings from defaults, file, environment and flags; raises `SettingsError`.

    `arguments` and `environment` default to those of the process. `--help` prints every setting
    with its description and exits.
    """
    parser = settings_parser(schema, prog=prog, prefix=prefix)
    given = parser.parse_args(arguments)
    return settings_from(schema, given, environment=environment, prefix=prefix)


def settings_parser(
    schema: type[BaseModel], *, prog: str, prefix: str = "SOJOURN"
) -> argparse.ArgumentParser:
    """A parser with `--config` and a flag for each setting; add your own arguments to it."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description=(schema.__doc__ or "").strip().split("\n\n")[0],
        epilog=f"Each setting also has an environment variable: --gateway.address is "
        f"{prefix}_GATEWAY__ADDRESS.",
        allow_abbrev=False,
    )
    add_settings_arguments(parser, schema, prefix=prefix)
    return parser


def add_settings_arguments(
    parser: argparse.ArgumentParser, schema: type[BaseModel], *, prefix: str = "SOJOURN"
) -> None:
    """Add `--config` and a flag for each setting of `schema` to `parser`."""
    parser.add_argument(
        "--config", metavar="FILE", help=f"settings, YAML (or {prefix}_CONFIG in the environment)"
    )
    group = parser.add_argument_group("settings")
    for path, description, default in leaves(schema):
        shown = "" if default in (None, "") else f" Default: {default}."
        group.add_argument(
            f"--{dotted(path)}",
            dest=_destination(path),
            metavar="VALUE",
            default=argparse.SUPPRESS,
            help=(description + shown).replace("%", "%%"),
        )


def settings_from(
    schema: type[Model],
    given: argparse.Namespace,
    *,
    environment: Mapping[str, str] | None = None,
    prefix: str = "SOJOURN",
) -> Model:
    """Settings from arguments that a parser with `add_settings_arguments` has parsed."""
    surroundings = os.environ if environment is None else environment
    merged: dict[str, Any] = {}
    origins: dict[Location, str] = {}

    config = given.config or surroundings.get(f"{prefix}_CONFIG")
    file_name = Path(config).name if config else "settings"
    if config:
        merged = read_yaml_mapping(Path(config))
    problems = list(_unknown_variables(schema, surroundings, prefix))
    for path, _, _ in leaves(schema):
        variable = _variable(prefix, path)
        flag = _destination(path)
        for origin, text in (
            (f"environment: {variable}", surroundings.get(variable)),
            (f"flag --{dotted(path)}", getattr(given, flag, None)),
        ):
            if text is not None:
                _put(merged, path, _parse_text(schema, path, text), file_name)
                origins[path] = origin
    try:
        settings = schema.model_validate(merged)
    except ValidationError as error:
        problems += explain_validation_error(
            error, lambda at: _origin_of(at, origins, file_name), schema, merged
        )
        raise SettingsError(problems) from None
    if problems:
        raise SettingsError(problems)
    return settings


def read_yaml_mapping(path: Path, max_bytes: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """The mapping a YAML file holds; raises `SettingsError` naming the file and the line."""
    name = path.name
    try:
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise SettingsError([f"{path}: {error.strerror}; expected a readable file"]) from None
    if len(raw) > max_bytes:
        raise SettingsError([f"{name}: too large; expected at most {max_bytes} bytes"])
    try:
        value = yaml.load(raw.decode(), _UniqueKeyLoader)  # noqa: S506 - derives from SafeLoader
    except UnicodeDecodeError as error:
        raise SettingsError([f"{name}: byte {error.start} is not text; expected UTF-8"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{name}: line {mark.line + 1}" if mark is not None else name
        raise SettingsError([f"{where}: {error.problem}; expected YAML"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError([f"{name}: {_one_line(error)}; expected YAML"]) from None
    if value is None:
        raise SettingsError([f"{name}: empty; expected a mapping"])
    if not isinstance(value, dict):
        raise SettingsError([f"{name}: a {type(value).__name__}; expected a mapping"])
    return value


def printable(settings: BaseModel) -> dict[str, Any]:
    """Settings for the log: secrets are stars, paths and enums plain text."""
    dumped: dict[str, Any] = json.loads(settings.model_dump_json())
    return dumped


def leaves(
    schema: type[BaseModel], at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Path, description and default of every setting that is not a group."""
    for name, field in schema.model_fields.items():
        path = (*at, name)
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from leaves(annotation, path)
        else:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            yield path, field.description or "", default


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, but a key given twice is an error: one of them would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As in the base class, after looking for repeated keys."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, typing.Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} given twice", key_node.start_mark
                )
            if isinstance(key, typing.Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _destination(path: Sequence[int | str]) -> str:
    return f"setting:{dotted(path)}"


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any, file_name: str) -> None:
    for depth, step in enumerate(path[:-1]):
        below = tree.setdefault(step, {})
        if not isinstance(below, dict):
            place = dotted(path[: depth + 1])
            raise SettingsError([f"{file_name}: {place}: {below!r}; expected a mapping"])
        tree = below
    tree[path[-1]] = value


def _parse_text(schema: type[BaseModel], path: tuple[str, ...], text: str) -> Any:
    """A value from the environment or a flag: text as it is, unless the setting is a collection."""
    annotation: Any = schema
    for step in path:
        annotation = annotation.model_fields[step].annotation
    if not _has_collection(annotation):
        return None if text == "" and _is_optional(annotation) else text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _has_collection(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return False
    if annotation in (list, dict, tuple, set, frozenset) or (
        isinstance(annotation, type) and issubclass(annotation, BaseModel)
    ):
        return True
    if origin in (typing.Union, types.UnionType, typing.Annotated):
        return any(_has_collection(argument) for argument in typing.get_args(annotation))
    return origin is not None


def _is_optional(annotation: Any) -> bool:
    return type(None) in typing.get_args(annotation)


def _origin_of(location: Location, origins: Mapping[Location, str], file_name: str) -> str:
    """Where the value at `location` came from.

    An element of a list came with its list; what is wrong with a group as a whole was most likely
    brought about by whatever overrode the file.
    """
    for length in range(len(location), 0, -1):
        if origin := origins.get(location[:length]):
            return origin
    within = [origin for at, origin in origins.items() if at[: len(location)] == location]
    return within[-1] if within else file_name


def _variable(prefix: str, path: Sequence[str]) -> str:
    return f"{prefix}_{'__'.join(path).upper()}"


def _unknown_variables(
    schema: type[BaseModel], surroundings: Mapping[str, str], prefix: str
) -> Iterator[str]:
    """Misspelt variables. Those of other programs share the prefix but not a group of ours."""
    known = [_variable(prefix, path) for path, _, _ in leaves(schema)]
    groups = tuple({name.partition("__")[0] + "__" for name in known if "__" in name})
    for name in sorted(surroundings):
        if name.startswith(groups) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"expected {close[0]}?" if close else "expected one that --help lists"
            yield f"environment: {name}: unknown setting; {hint}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
