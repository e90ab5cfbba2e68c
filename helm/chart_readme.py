"""Writes the table of values into the chart's README, from the comments `# --` of its values.yaml.

`python helm/chart_readme.py` writes it; `--check` exits with 1 if the README is not up to date. A
comment describes the key below it and may go on in further comment lines.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parent / "sojourn"
BEGIN, END = "<!-- values: begin -->\n", "<!-- values: end -->\n"
KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z][A-Za-z0-9]*):")
LONGEST_DEFAULT = 60


@dataclass(frozen=True, slots=True)
class Value:
    """A documented value."""

    path: str
    default: Any
    description: str


def documented(text: str) -> Iterator[Value]:
    """The values that a values.yaml describes, in its order."""
    values = yaml.safe_load(text)
    parents: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("# --"):
            comment = [bare.removeprefix("# --").strip()]
        elif bare.startswith("#"):
            if comment:
                comment.append(bare.removeprefix("#").strip())
        elif (found := KEY.match(line)) is not None:
            indent = len(found["indent"])
            while parents and parents[-1][0] >= indent:
                parents.pop()
            parents.append((indent, found["key"]))
            if comment:
                names = [name for _, name in parents]
                yield Value(".".join(names), at(values, names), " ".join(comment))
            comment = []
        else:
            comment = []


def undocumented(values: Any, described: set[str], path: str = "") -> Iterator[str]:
    """Paths of leaves that neither have a description nor lie below a value that has one."""
    for key, value in values.items():
        here = f"{path}.{key}" if path else key
        if here in described:
            continue
        if isinstance(value, dict) and value:
            yield from undocumented(value, described, here)
        else:
            yield here


def at(values: Any, names: list[str]) -> Any:
    """The value at a path."""
    for name in names:
        values = values[name]
    return values


def table(text: str) -> str:
    """The values as a Markdown table."""
    rows = ["| value | default | description |", "|---|---|---|"]
    for value in documented(text):
        default = json.dumps(value.default, ensure_ascii=False)
        shown = f"`{default}`" if len(default) <= LONGEST_DEFAULT else "see values.yaml"
        description = value.description.replace("|", "\\|")
        rows.append(f"| `{value.path}` | {shown} | {description} |")
    return "\n".join(rows) + "\n"


def readme(before: str, values: str) -> str:
    """The README with the table of these values."""
    head, rest = before.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}{table(values)}{END}{tail}"


def main() -> int:
    """Write or check; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    path = CHART / "README.md"
    before = path.read_text(encoding="utf-8")
    after = readme(before, (CHART / "values.yaml").read_text(encoding="utf-8"))
    if check:
        if before != after:
            sys.stderr.write(f"{path}: not up to date; run python {sys.argv[0]}\n")
        return int(before != after)
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
