"""Text for people on standard output and standard error: what programs print of their input."""

from __future__ import annotations

import sys
from typing import TextIO

from sojourn_interfaces import MAX_IDENTIFIER_BYTES


def escaped(text: str, kept: str = "\n\t") -> str:
    """The text with an escape, as ``\\x1b``, for each character that a terminal obeys or does not
    show; those of ``kept`` stay."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text
    )


def printable_text(text: str) -> str:
    """`text` for a message: control characters escaped, bounded."""
    most = MAX_IDENTIFIER_BYTES
    text = text[: most + 1]
    shown = escaped(text, kept="")
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def show(text: str, stream: TextIO | None = None) -> None:
    """Write the text, escaped; to standard output by default."""
    (stream or sys.stdout).write(escaped(text))


def complain(program: str, problem: object) -> None:
    """Write what is wrong to standard error, each line after the name of the program."""
    lines = str(problem).split("\n")
    show("".join(f"{program}: {line}\n" for line in lines), sys.stderr)
