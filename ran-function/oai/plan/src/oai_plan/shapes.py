"""What the adapter expects of OAI's headers, read in its own sources: the lines that fail its build
(SHAPE, MEMBER, SHAPE_UNLESS) and the headers that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ADAPTER: Final = Path(__file__).parents[3] / "adapter"
E2: Final = ("e2_v0.c", "e2_v1.c")
"""Sources that are built with OAI's E2 agent alone."""
_LINE: Final = re.compile(r"^(SHAPE|MEMBER|SHAPE_UNLESS)\(", re.MULTILINE)
_TYPEDEF: Final = re.compile(r"^typedef\s+([^;]*?)\b(\w+_t)\s*\(([^;]*)\)\s*;", re.MULTILINE)
_INCLUDE: Final = re.compile(r'^#include "((?:openair2|common)/[^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shape:
    """A declaration that a source of the adapter expects: a function's, or a member's of a
    `structure`."""

    source: str
    name: str
    type: str
    structure: str = ""

    @property
    def what(self) -> str:
        """How the declaration is called."""
        return f"{self.structure}.{self.name}" if self.structure else f"{self.name}()"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a source of the adapter expects, and the headers of OAI that declare it."""

    source: str
    headers: tuple[str, ...]
    shapes: tuple[Shape, ...]


class AdapterError(Exception):
    """The adapter's sources are not there."""


def expected(adapter: Path, source: str) -> Expected:
    """Reads a source and the headers of the adapter that it includes."""
    file = adapter / source
    if not file.is_file():
        raise AdapterError(f"{adapter}: has no {source}; expected the adapter of Sojourn for OAI")
    text = "\n".join(_texts(file, set()))
    types = {name: f"{of.strip()}({of_what})" for of, name, of_what in _TYPEDEF.findall(text)}
    shapes = []
    for found in _LINE.finditer(file.read_text()):
        arguments = _arguments(file.read_text(), found.end())
        if found[1] == "MEMBER":
            structure, name, written = arguments[0], arguments[1], ", ".join(arguments[2:])
        else:
            structure, name = "", arguments[0]
            written = arguments[1] if found[1] == "SHAPE_UNLESS" else ", ".join(arguments[1:])
        shapes.append(Shape(source, name, types.get(written, written), structure))
    return Expected(source, tuple(dict.fromkeys(_INCLUDE.findall(text))), tuple(shapes))


def wrapped(adapter: Path, e2: bool) -> list[str]:
    """Functions that the linker wraps; with the E2 agent, those too that it alone has."""
    lists = ["wraps.txt", *(["wraps_e2.txt"] if e2 else [])]
    return [name for each in lists for name in (adapter / each).read_text().split()]


def _texts(file: Path, seen: set[Path]) -> Iterator[str]:
    if file in seen or not file.is_file():
        return
    seen.add(file)
    text = file.read_text()
    for include in re.findall(r'^#include "([\w./]+\.h)"', text, re.MULTILINE):
        yield from _texts((file.parent / include).resolve(), seen)
    yield text


def _arguments(text: str, start: int) -> list[str]:
    """Arguments of a macro, by commas that no bracket holds."""
    parts, depth = [""], 1
    for character in text[start:]:
        depth += (character in "([") - (character in ")]")
        if depth == 0:
            break
        if character == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts]
