"""Command-line flags of a program, one for each setting of its schema.

A flag is the path of the setting in kebab-case: `gateway.backoff_max_s` is
`--gateway-backoff-max-s`. The setting a section is about (`address`, `enabled`, `path`) has the
name of the section: `gateway.address` is `--gateway`. A few settings choose their own with `Flag`.
"""

from __future__ import annotations

import argparse
import difflib
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ric.terminal import escaped

_NAMED_LIKE_SECTION: Final = ("address", "enabled", "path")
_GENERAL: Final = "General"


@dataclass(frozen=True, slots=True)
class Flag:
    """The flag of a setting, without dashes in front: `Annotated[str, Flag("listen")]`."""

    name: str


@dataclass(frozen=True, slots=True)
class FormerName:
    """Former name of a setting or section in its section; refused with the present one named."""

    name: str
    in_environment: bool = True
    """Whether variables of that name are refused: not where another program reads them."""


@dataclass(frozen=True, slots=True)
class FormerPath:
    """Path of a setting with a former name in it."""

    path: tuple[str, ...]
    in_environment: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of a schema: where it is and how it is declared."""

    path: tuple[str, ...]
    field: FieldInfo
    group: str
    """Heading in `--help`: the title of the top-level section it belongs to."""
    former: tuple[FormerPath, ...] = ()

    @property
    def flag(self) -> str:
        """`--gateway-backoff-max-s`."""
        for mark in self.field.metadata:
            if isinstance(mark, Flag):
                return f"--{mark.name}"
        *section, name = self.path
        named = section if section and name in _NAMED_LIKE_SECTION else self.path
        return "--" + _kebab("-".join(named))

    @property
    def destination(self) -> str:
        """Name of the attribute of the parsed arguments."""
        return f"setting:{'.'.join(self.path)}"

    @property
    def optional(self) -> bool:
        """Whether it may be unset."""
        return type(None) in typing.get_args(self.field.annotation)


def settings_of(
    schema: type[BaseModel],
    at: tuple[str, ...] = (),
    group: str = _GENERAL,
    former_at: tuple[FormerPath, ...] = (),
) -> Iterator[Setting]:
    """Every setting of `schema`, those of sections within sections too."""
    for name, field in schema.model_fields.items():
        path = (*at, name)
        former = tuple(FormerPath((*one.path, name), one.in_environment) for one in former_at)
        former += tuple(
            FormerPath((*at, mark.name), mark.in_environment)
            for mark in field.metadata
            if isinstance(mark, FormerName)
        )
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            title = group if at else field.title or name.replace("_", " ").capitalize()
            yield from settings_of(annotation, path, title, former)
        else:
            yield Setting(path, field, group, former)


class ProgramParser(argparse.ArgumentParser):
    """A parser that names the flag meant where one is misspelt, and ends its help with an example.

    Also what `add_subparsers` of one makes. With `version` it has `--version`.
    """

    def __init__(self, *args: Any, example: str = "", version: str = "", **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)
        if version:
            self.add_argument(
                "--version",
                action="version",
                version=f"%(prog)s {version}",
                help="print the version and exit",
            )
        if example:
            self.epilog = "\n\n".join(filter(None, (self.epilog, f"example:\n  {example}")))

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse as `ArgumentParser` does; the command that was given refuses what is unknown."""
        given, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._chosen(given).error(f"unrecognized arguments: {' '.join(unknown)}")
        return given

    def _chosen(self, given: argparse.Namespace) -> argparse.ArgumentParser:
        """The parser of the command in `given`, or this one without commands."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                parser = action.choices.get(getattr(given, action.dest, ""))
                if isinstance(parser, ProgramParser):
                    return parser._chosen(given)
        return self

    def error(self, message: str) -> NoReturn:
        """Print usage and message and exit; unknown flags are answered with known ones."""
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            lines = [_unknown(word, self) for word in unknown.split() if word.startswith("-")]
            message = "; ".join(lines) or message
        super().error(escaped(message))

    def flags(self) -> dict[str, str]:
        """Every way to spell a setting in kebab-case → its flag; of subcommands too."""
        found: dict[str, str] = {}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    found |= parser.flags() if isinstance(parser, ProgramParser) else {}
                continue
            for flag in action.option_strings:
                found[flag] = flag
                found |= dict.fromkeys(getattr(action, "former_flags", ()), flag)
                path = action.dest.removeprefix("setting:")
                if path != action.dest and not flag.startswith("--no-"):
                    found["--" + _kebab(path)] = flag
        return found


def add_settings_arguments(
    parser: argparse.ArgumentParser, schema: type[BaseModel], *, prefix: str = "SOJOURN"
) -> None:
    """Add `--config` and a flag for each setting of `schema` to `parser`, grouped by section."""
    positional = [action.metavar or action.dest for action in parser._get_positional_actions()]
    parser.usage = " ".join(["%(prog)s", *map(str, positional), "[--help] [options]"])
    general = parser.add_argument_group(
        _GENERAL,
        f"In the environment and in the file a setting has its full name: --gateway is "
        f"{prefix}_GATEWAY__ADDRESS and gateway.address.",
    )
    general.add_argument(
        "--config", metavar="FILE", help=f"settings, YAML (in the environment: {prefix}_CONFIG)"
    )
    groups = {_GENERAL: general}
    for setting in settings_of(schema):
        if setting.group not in groups:
            groups[setting.group] = parser.add_argument_group(setting.group)
        default = setting.field.get_default(call_default_factory=True)
        shown = "" if default in (None, "", ()) else f" Default: {_shown(default)}."
        options: dict[str, Any] = (
            {"action": argparse.BooleanOptionalAction}
            if setting.field.annotation is bool
            else {"metavar": _metavar(setting)}
        )
        action = groups[setting.group].add_argument(
            setting.flag,
            dest=setting.destination,
            default=argparse.SUPPRESS,
            help=((setting.field.description or "") + shown).replace("%", "%%"),
            **options,
        )
        former = [f"--{_kebab('-'.join(one.path))}" for one in setting.former]
        action.former_flags = former  # type: ignore[attr-defined]


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """A type for `add_argument`: a whole number from `least` to `most`."""
    expected = f"{least} or more" if most is None else f"{least} to {most}"

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number, {expected}")
        return value

    return convert


def number(least: float, most: float, unit: str) -> Callable[[str], float]:
    """A type for `add_argument`: a number from `least` to `most`, of `unit`."""

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}; expected {least:g} to {most:g} {unit}")
        return value

    return convert


def folder_to_write(text: str) -> Path:
    """A type for `add_argument`: a folder that can be written, or made where it is not there."""
    path = Path(text)
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{str(there)!r} is no folder; expected one")
    if not os.access(there, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(
            f"{str(there)!r} may not be written; expected a folder that may"
        )
    return path


def file_to_write(text: str) -> Path:
    """A type for `add_argument`: a file that can be written, or made where it is not there."""
    path = Path(text)
    if not path.exists():
        folder_to_write(str(path.parent))
    elif not path.is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is no regular file; expected one, or none")
    elif not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} may not be written; expected a file that may")
    return path


def _kebab(text: str) -> str:
    return text.replace(".", "-").replace("_", "-")


def _unknown(word: str, parser: ProgramParser) -> str:
    spelled = word.partition("=")[0]
    flags = parser.flags()
    meant = flags.get(_kebab(spelled))
    if meant is None:
        close = difflib.get_close_matches(_kebab(spelled), flags, n=1)
        meant = flags[close[0]] if close else None
    return f"{spelled}: unknown flag; expected {meant or 'one that --help lists'}"


def _metavar(setting: Setting) -> str:
    choices = list(_types_in(setting.field.annotation))
    if Path in choices:
        return "FILE"
    if setting.path[-1] in ("address", "listen"):
        return "ADDRESS"
    if literals := [one for one in choices if isinstance(one, str)]:
        return "{" + ",".join(literals) + "}"
    return "NUMBER" if int in choices or float in choices else "VALUE"


def _types_in(annotation: Any) -> Iterable[Any]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        for one in typing.get_args(annotation):
            yield from _types_in(one)
    elif typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    else:
        yield annotation


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
