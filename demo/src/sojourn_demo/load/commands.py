"""Words of command lines that start programs of a load."""

from __future__ import annotations

import sys
from typing import Final

ENDS_WITH_PARENT: Final = ("setpriv", "--pdeathsig", "KILL")
BY_LINES: Final = ("stdbuf", "-oL")
"""A line is in the log when it is written, not when the buffer is full."""


def python(module: str) -> tuple[str, ...]:
    """A module of this environment as a command."""
    return (sys.executable, "-m", module)
