"""Finds documentation of Python and Rust items that does not begin with what the item is or does.

A comment that begins with a preposition says of what, for whom or where, and leaves out what. The
first word of a docstring, of a string below an attribute, of `#:`, and of a Rust doc comment is a
noun or a verb; the lines after the first are as free as any text.

    python tests/doc_comments.py [FILE ...]
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREPOSITION = re.compile(r"(As|At|By|For|From|In|Of|On|Over|To|Under|With|Without)\b(?!-)")
MARKED = {
    ".rs": re.compile(r"\s*(//[/!])\s?(.*)"),
    ".py": re.compile(r"\s*(#:)\s?(.*)"),
}


def line_comments(text: str, marked: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The doc comments of marked lines: the number of the first line of each, and that line."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        comment = marked.fullmatch(line)
        mark = comment[1] if comment else ""
        if comment and mark != before:
            yield number, comment[2]
        before = mark


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a Python file and the strings below attributes, as `line_comments`."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(words))):
                yield node.lineno, words.strip().partition("\n")[0]


def problems(path: Path) -> list[str]:
    """The comments of a file that begin with a preposition, as `line: text`."""
    text = path.read_text(encoding="utf-8")
    found = [*line_comments(text, MARKED[path.suffix])]
    if path.suffix == ".py":
        found += docstrings(text)
    return [f"{number}: {words}" for number, words in sorted(found) if PREPOSITION.match(words)]


def sources() -> list[str]:
    """The Rust and Python files of the repository that git does not ignore."""
    command = ("git", "ls-files", "-co", "--exclude-standard", "*.rs", "*.py")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(path for path in listed.stdout.splitlines() if (ROOT / path).is_file())


def main(files: list[str]) -> int:
    """Examines these files, all of the repository by default."""
    lines = [f"{file}:{line}" for file in files or sources() for line in problems(ROOT / file)]
    for line in lines:
        print(line)
    if lines:
        print("expected a noun or a verb as the first word: what the item is or does")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
