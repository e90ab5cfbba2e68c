"""Runs the commands of the tutorials of training."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
OUT: Final = ROOT / "out" / "tutorial"
SECTION: Final = re.compile(r"^## (.*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
SEARCH: Final = "2. Settings"
"""The section whose results no other uses."""


def sections(name: str = "tutorial-forecaster") -> dict[str, str]:
    """Title of a section of a page → the commands of its `sh` blocks."""
    page = (ROOT / "docs" / f"{name}.md").read_text()
    _, *found = SECTION.split(page)
    pairs = zip(found[::2], found[1::2], strict=True)
    return {title: "".join(BLOCK.findall(text)) for title, text in pairs}


def run(commands: str, timeout_s: float) -> str:
    """Standard output of commands that all succeeded."""
    # As a user has it: tests of chief and workers set the former, and programs that run for minutes
    # are compiled well.
    of_tests = ("KERASTUNER", "XLA_FLAGS")
    clean = {
        name: value
        for name, value in os.environ.items()
        if not any(word in name for word in of_tests)
    }
    done = subprocess.run(
        ["bash", "-c", "set -em\n" + commands],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return done.stdout
