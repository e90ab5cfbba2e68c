"""Every command that README and docs show is run, as it stands there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN_BY_CI = ("make demo", "make test")
TUTORIALS = ("tutorial-forecaster.md",)
"""Run as a whole, each by a test of its own."""


def commands() -> Iterator[tuple[str, str]]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        if page.name in TUTORIALS:
            continue
        for block in BLOCK.findall(page.read_text()):
            for line in block.splitlines():
                command = line.split("  #")[0].strip()
                if command and not command.startswith(RUN_BY_CI):
                    yield page.name, command


@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_a_documented_command_works(page: str, command: str) -> None:
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{page}: {command}\n{done.stderr}"
    assert done.stdout.strip(), f"{page}: {command} said nothing"
    assert '"error"' not in done.stdout, f"{page}: {command}\n{done.stdout}"


def test_what_ci_runs_is_what_the_readme_shows() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(command in ci for command in RUN_BY_CI)
