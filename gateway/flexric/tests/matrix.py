"""The table of test outcomes: a row for each FlexRIC installation, a column for each part."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

COLUMNS: Final = ("build", "RLC", "MAC", "KPM", "TC", "TC v1", "kills", "dashboards", "demo")
SOURCES, BUILDS = "FLEXRIC_SRC", "FLEXRIC_BUILD"


@dataclass(frozen=True)
class Installation:
    """Source tree and build tree of a FlexRIC."""

    source: Path
    build: Path

    @property
    def name(self) -> str:
        """Commit and date if the source is a git checkout, otherwise its path."""
        command = ["git", "-C", str(self.source), "log", "-1", "--format=%h of %cs"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        inside = (self.source / ".git").exists()
        return asked.stdout.strip() if inside and asked.returncode == 0 else str(self.source)

    def environment(self) -> dict[str, str]:
        """The environment with the variables that name it."""
        return {**os.environ, SOURCES: str(self.source), BUILDS: str(self.build)}


def installations() -> list[Installation]:
    """The installations that FLEXRIC_SRC and FLEXRIC_BUILD name; each may list several, like PATH.

    Raises `ValueError` if the lists differ in length or a directory is missing.
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
    """The installation that the environment names.

    Raises `ValueError` unless it names exactly one.
    """
    found = installations()
    if len(found) != 1:
        raise ValueError(f"{SOURCES} and {BUILDS} name {len(found)} FlexRICs; expected one")
    return found[0]


@dataclass
class Row:
    """The outcomes of one installation."""

    name: str
    outcomes: dict[str, Counter[str]] = field(
        default_factory=lambda: {column: Counter() for column in COLUMNS}
    )
    """Numbers of "passed", "failed" and "skipped" tests by column."""
    tests_passed: bool = True
    """Whether pytest succeeded; it also runs tests that belong to no column."""

    def take(self, results: Path) -> None:
        """Add the counts that a run of pytest wrote."""
        for column, counts in json.loads(results.read_text()).items():
            self.outcomes[column].update(counts)

    @property
    def good(self) -> bool:
        """Whether nothing failed."""
        return self.tests_passed and not any(counts["failed"] for counts in self.outcomes.values())

    @property
    def title(self) -> str:
        """The name, with a note if tests failed that belong to no column."""
        counted = any(counts["failed"] for counts in self.outcomes.values())
        return self.name if self.tests_passed or counted else f"{self.name}: other tests failed"

    def cell(self, column: str) -> str:
        """Text of a cell."""
        counts = self.outcomes[column]
        if not counts:
            return "not run"
        if set(counts) == {"passed"}:
            return f"yes ({counts['passed']})" if counts["passed"] > 1 else "yes"
        return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))


def table(rows: list[Row]) -> str:
    """The table in Markdown."""
    lines = ["| FlexRIC | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [
        "| " + " | ".join([row.title, *(row.cell(column) for column in COLUMNS)]) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def write(rows: list[Row], path: Path) -> None:
    """Write the outcomes as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    outcomes = [
        {"name": row.name, "tests_passed": row.tests_passed, "outcomes": row.outcomes}
        for row in rows
    ]
    path.write_text(json.dumps(outcomes, indent=2) + "\n")
