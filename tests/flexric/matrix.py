"""What was seen to work with which FlexRIC: a row for each installation, a cell for each part."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

COLUMNS: Final = ("build", "RLC", "MAC", "KPM", "TC", "kills", "dashboards", "demo")
SOURCES, BUILDS = "FLEXRIC_SRC", "FLEXRIC_BUILD"


@dataclass(frozen=True)
class Installation:
    """A FlexRIC by its trees."""

    source: Path
    build: Path

    @property
    def name(self) -> str:
        """Commit and date where the source is a checkout of git, else its path."""
        command = ["git", "-C", str(self.source), "log", "-1", "--format=%h of %cs"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        inside = (self.source / ".git").exists()
        return asked.stdout.strip() if inside and asked.returncode == 0 else str(self.source)

    def environment(self) -> dict[str, str]:
        """The variables that name it."""
        return {**os.environ, SOURCES: str(self.source), BUILDS: str(self.build)}


def installations() -> list[Installation]:
    """Those that the environment names, in pairs: both variables may list several, as PATH does.

    Raises `ValueError` with a sentence where they do not go together.
    """
    sources, builds = (
        [Path(name) for name in os.environ.get(variable, "").split(os.pathsep) if name]
        for variable in (SOURCES, BUILDS)
    )
    if len(sources) != len(builds):
        raise ValueError(
            f"{SOURCES} lists {len(sources)} trees and {BUILDS} {len(builds)}; expected pairs"
        )
    for variable, paths in ((SOURCES, sources), (BUILDS, builds)):
        for path in paths:
            if not path.is_dir():
                raise ValueError(f"{variable}: {path} is no directory")
    return [Installation(*pair) for pair in zip(sources, builds, strict=True)]


def the_installation() -> Installation:
    """The only one that the environment names.

    Raises `ValueError` with a sentence where it names none, or several.
    """
    found = installations()
    if len(found) != 1:
        raise ValueError(f"{SOURCES} and {BUILDS} name {len(found)} FlexRICs; expected one")
    return found[0]


@dataclass
class Row:
    """What came of one installation."""

    name: str
    outcomes: dict[str, Counter[str]] = field(
        default_factory=lambda: {column: Counter() for column in COLUMNS}
    )
    """By column: how many "passed", "failed", "skipped"."""
    tests_passed: bool = True
    """Whether pytest says so, which knows of tests that no column shows and of their ends."""

    def take(self, results: Path) -> None:
        """Take over what a run of pytest wrote."""
        for column, counts in json.loads(results.read_text()).items():
            self.outcomes[column].update(counts)

    @property
    def good(self) -> bool:
        """Whether nothing failed."""
        return self.tests_passed and not any(counts["failed"] for counts in self.outcomes.values())

    @property
    def title(self) -> str:
        """The name, and a word where tests failed that no column shows."""
        counted = any(counts["failed"] for counts in self.outcomes.values())
        return self.name if self.tests_passed or counted else f"{self.name}: other tests failed"

    def cell(self, column: str) -> str:
        """For people."""
        counts = self.outcomes[column]
        if not counts:
            return "not run"
        if set(counts) == {"passed"}:
            return f"yes ({counts['passed']})" if counts["passed"] > 1 else "yes"
        return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))


def table(rows: list[Row]) -> str:
    """All of it, in Markdown."""
    lines = ["| FlexRIC | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [
        "| " + " | ".join([row.title, *(row.cell(column) for column in COLUMNS)]) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def write(rows: list[Row], path: Path) -> None:
    """For machines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = [
        {"name": row.name, "tests_passed": row.tests_passed, "outcomes": row.outcomes}
        for row in rows
    ]
    path.write_text(json.dumps(told, indent=2) + "\n")
