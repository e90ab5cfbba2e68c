"""What the doctor finds: a level, where, what, why it matters and what to do."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class Level(enum.Enum):
    """How bad it is."""

    OK = "ok"
    NOTE = "note"
    """Nothing is wrong, but the reader should know; does not change the exit status."""
    WARN = "warn"
    """The xApps run, worse than they could."""
    FAIL = "fail"
    """An xApp cannot do its work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `check` names the kind of check, `subject` what it was done to (an address, a node, a node's RAN
    function). `why` and `remedy` are sentences; they are empty for what is in order.
    """

    level: Level
    check: str
    subject: str
    what: str
    why: str = ""
    remedy: str = ""


def ok(check: str, subject: str, what: str) -> Finding:
    """Something in order."""
    return Finding(Level.OK, check, subject, what)


def exit_status(findings: Sequence[Finding]) -> int:
    """0 when all is well, 1 with warnings, 2 with failures."""
    levels = {finding.level for finding in findings}
    if Level.FAIL in levels:
        return 2
    return 1 if Level.WARN in levels else 0
