"""The program `gnb-lab`, called as a process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

BAD_INPUT: Final = 2
"""Exit status of `gnb-lab` for bad input."""


class SweepError(Exception):
    """A sweep that did not finish: what was wrong, and where.

    Attributes:
        is_input: Whether the arguments are to blame, not a machine.
    """

    def __init__(self, message: str, *, is_input: bool = False) -> None:
        super().__init__(message)
        self.is_input = is_input


def program() -> str:
    """Path of `gnb-lab`: beside this Python, else on PATH.

    Raises:
        SweepError: It is not installed.
    """
    beside = Path(sys.executable).with_name("gnb-lab")
    found = str(beside) if beside.is_file() else shutil.which("gnb-lab")
    if found is None:
        raise SweepError(f"gnb-lab: not found; expected at {beside} or on PATH")
    return found


def call(*arguments: str, stdin: str = "") -> str:
    """Standard output of `gnb-lab`. An interrupt from the keyboard does not reach it.

    Raises:
        SweepError: The program's error.
    """
    done = subprocess.run(  # noqa: S603
        [program(), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    if done.returncode:
        message = done.stderr.strip().removeprefix("gnb-lab: ")
        raise SweepError(message, is_input=done.returncode == BAD_INPUT)
    return done.stdout
