"""Declarations of C, read without a compiler: functions, members of structures and their types.

A header of a fresh clone cannot be compiled, because generated ones that it includes are absent.
What is compared here are types of declarations, by what their names stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE: Final = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
_TYPEDEF: Final = re.compile(r"\btypedef\s+([\w\s*]+?)\s*\b(\w+)\s*;")
_STRUCTURE: Final = re.compile(r"\btypedef\s+struct\s*(\w*)\s*\{")
_TOKEN: Final = re.compile(r"\w+|\.\.\.|[^\s\w]")
_QUALIFIERS: Final = frozenset({"const", "volatile", "restrict", "extern", "static", "inline"})
_INTEGERS: Final = {
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
    "_Bool": "bool",
    "signed int": "int",
    "signed": "int",
    "unsigned": "unsigned int",
    "long int": "long",
}
MAX_FILE_BYTES: Final = 8 << 20
MAX_FILES: Final = 4000
MAX_BRACKETS: Final = 100


class DeclarationError(Exception):
    """Text that is no declaration of C; the message has it."""


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


@dataclass(frozen=True, slots=True)
class Found:
    """A declaration: its place and its type as written, one space between words."""

    file: Path
    line: int
    text: str

    def place(self, root: Path) -> str:
        """File and line, from the root of the tree."""
        file = self.file.relative_to(root) if self.file.is_relative_to(root) else self.file
        return f"{file}:{self.line}"


@dataclass(slots=True)
class Headers:
    """Headers of a tree and what they include of it."""

    root: Path
    folders: Sequence[str]
    """Folders that OAI's build searches for headers, from the root."""
    texts: dict[Path, str] = field(default_factory=dict)
    """Headers without comments and directives, by path."""
    names: dict[str, str] = field(default_factory=dict)
    """What a name of a type stands for."""
    missing: set[str] = field(default_factory=set)
    """Headers that are included and are not there: generated ones in a fresh clone."""

    def read(self, include: str) -> Path | None:
        """Reads a header and those that it includes; none if it is absent."""
        first = self._find(include, self.root)
        left = [] if first is None else [first]
        while left and len(self.texts) < MAX_FILES:
            file = left.pop()
            if file in self.texts:
                continue
            text = _COMMENT.sub(_blank, read_source(file))
            for included in _INCLUDE.findall(text):
                if (next_file := self._find(included, file.parent)) is not None:
                    left.append(next_file)
                elif included.startswith("NR_"):
                    self.missing.add(included)
            text = _DIRECTIVE.sub(_blank, text)
            self.texts[file] = text
            self.names.update({name: " ".join(of.split()) for of, name in _TYPEDEF.findall(text)})
            self.names.update(
                {f"struct {tag}": alias for tag, alias, *_ in _structures(text) if tag}
            )
        return first

    def _find(self, include: str, beside: Path) -> Path | None:
        for folder in (beside, *(self.root / name for name in self.folders)):
            if (file := folder / include).is_file() and file.resolve().is_relative_to(self.root):
                return file.resolve()
        return None

    def function(self, name: str) -> Found | None:
        """The declaration of a function."""
        pattern = re.compile(rf"(?:^|[;{{}}])([^;{{}}=()]*?[\s*])({name})\s*\(", re.MULTILINE)
        for file, text in self.texts.items():
            for found in pattern.finditer(text):
                end = _end(text, found.end() - 1)
                if end is not None and text[end:].lstrip().startswith(";"):
                    written = found[1] + text[found.end() - 1 : end]
                    return Found(file, _line(text, found.start(2)), " ".join(written.split()))
        return None

    def member(self, structure: str, name: str) -> Found | None:
        """A member of a structure."""
        for file, text in self.texts.items():
            for _, alias, start, end in _structures(text):
                if alias != structure:
                    continue
                for at, declared in _statements(text, start, end):
                    if (written := _without_name(declared, name)) is not None:
                        return Found(file, _line(text, at), written)
        return None

    def has_type(self, name: str) -> bool:
        """Whether a structure or another type of the name is declared."""
        return name in self.names or any(
            name == alias for text in self.texts.values() for _, alias, *_ in _structures(text)
        )


def read_source(file: Path) -> str:
    """A source file; bytes that are no text are replaced."""
    with file.open("rb") as stream:
        return stream.read(MAX_FILE_BYTES).decode(errors="replace")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _end(text: str, opening: int) -> int | None:
    """Position behind the bracket that closes the one at `opening`."""
    pairs = {"(": ")", "{": "}"}
    opens, closes = text[opening], pairs[text[opening]]
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == opens) - (text[at] == closes)
        if depth == 0:
            return at + 1
    return None


def _structures(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Tag, name, and begin and end of the members of each structure with a name."""
    for found in _STRUCTURE.finditer(text):
        end = _end(text, found.end() - 1)
        if end is None:
            continue
        name = re.compile(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*;").match(text, end)
        if name is not None:
            yield found[1], name[1], found.end(), end - 1


def _statements(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Position and text of the declarations of a structure, without those within it."""
    begin, depth = start, 0
    for at in range(start, end):
        depth += (text[at] in "({") - (text[at] in ")}")
        if text[at] == ";" and depth == 0:
            raw = text[begin:at]
            yield begin + len(raw) - len(raw.lstrip()), " ".join(raw.split())
            begin = at + 1


def _without_name(declared: str, name: str) -> str | None:
    found = re.search(rf"(?<![\w.]){name}(?=\s*(?:$|\[|\)))", declared)
    return None if found is None else declared[: found.start()] + declared[found.end() :]


def canonical(written: str, names: Mapping[str, str]) -> str:
    """A type as written, with what its names stand for and without names of parameters.

    Raises:
        DeclarationError: The text is no type.
    """
    tokens = _TOKEN.findall(written)
    if tokens.count("(") > MAX_BRACKETS:
        raise DeclarationError(f"{written[:80]!r}…: more than {MAX_BRACKETS} brackets")
    parser = _Parser(tokens, names)
    result = parser.declaration()
    if parser.at != len(tokens):
        raise DeclarationError(f"{written!r}: {tokens[parser.at]!r} was not expected")
    return result


class _Parser:
    """Recursive descent over a type, or a declaration with a name (C11 §6.7.6, §6.7.7)."""

    def __init__(self, tokens: Sequence[str], names: Mapping[str, str]) -> None:
        self.tokens, self.names, self.at = tokens, names, 0

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def declaration(self) -> str:
        """A type and a declarator, whose name is left out."""
        words: list[str] = []
        constant = False
        while (word := self._next()) and (word.isidentifier() or word == "..."):
            if word in _QUALIFIERS:
                constant |= word == "const"
            elif words and not _goes_on(words[-1], word):
                break
            else:
                words.append(word)
            self.at += 1
        if not words:
            raise DeclarationError(f"{' '.join(self.tokens)!r}: no type")
        base = self._stands_for(" ".join(words))
        return self._declarator(f"const {base}" if constant else base)

    def _stands_for(self, name: str) -> str:
        seen = set()
        while name not in seen:
            seen.add(name)
            name = _INTEGERS.get(name, self.names.get(name, name))
        return name

    def _declarator(self, of: str) -> str:
        while self._next() == "*" or self._next() in _QUALIFIERS:
            if self._next() == "*":
                of += "*"
            elif self._next() == "const":
                of += " const"
            self.at += 1
        inner: Sequence[str] | None = None
        if self._next() == "(" and self.tokens[self.at + 1 : self.at + 2] == ["*"]:
            end = self._close()
            inner = self.tokens[self.at + 1 : end - 1]
            self.at = end
        elif self._next().isidentifier():
            self.at += 1
        while self._next() in {"(", "["}:
            if self._next() == "[":
                if "]" not in self.tokens[self.at :]:
                    raise DeclarationError(f"{' '.join(self.tokens)!r}: a bracket is open")
                self.at = self.tokens.index("]", self.at) + 1
                of += "*"
            else:
                of = f"{of}({', '.join(self._parameters())})"
        if inner is not None:
            return _Parser(inner, self.names)._declarator(of)
        return of

    def _close(self) -> int:
        depth = 0
        for at in range(self.at, len(self.tokens)):
            depth += (self.tokens[at] == "(") - (self.tokens[at] == ")")
            if depth == 0:
                return at + 1
        raise DeclarationError(f"{' '.join(self.tokens)!r}: a bracket is open")

    def _parameters(self) -> list[str]:
        end = self._close()
        parts: list[list[str]] = [[]]
        depth = 0
        for word in self.tokens[self.at + 1 : end - 1]:
            depth += (word == "(") - (word == ")")
            if word == "," and depth == 0:
                parts.append([])
            else:
                parts[-1].append(word)
        self.at = end
        found = [_Parser(part, self.names).declaration() for part in parts if part]
        # A qualifier of a parameter itself is no part of a function's type (C11 §6.7.6.3).
        found = [_unqualified(each) for each in found]
        return [] if found == ["void"] else found


_WORDS: Final = frozenset({"unsigned", "signed", "long", "short", "int", "char"})


def _goes_on(before: str, word: str) -> bool:
    """Whether a word is part of a type that has begun."""
    if before in _WORDS:
        return word in _WORDS
    return before in {"struct", "enum", "union"}


def _unqualified(parameter: str) -> str:
    if parameter.endswith(" const"):
        return parameter.removesuffix(" const")
    return parameter if re.search(r"[*(]", parameter) else parameter.removeprefix("const ")
