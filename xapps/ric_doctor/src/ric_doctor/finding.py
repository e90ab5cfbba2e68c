"""A finding: level, place, description, why it matters and what to do."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class Level(enum.Enum):
    """Severity."""

    OK = "ok"
    NOTE = "note"
    """For information; does not change the exit status."""
    WARN = "warn"
    """The xApps work, but degraded."""
    FAIL = "fail"
    """An xApp cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

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
    """A passed check."""
    return Finding(Level.OK, check, subject, what)


def exit_status(findings: Sequence[Finding]) -> int:
    """0 without warnings, 1 with warnings, 2 with failures."""
    levels = {finding.level for finding in findings}
    if Level.FAIL in levels:
        return 2
    return 1 if Level.WARN in levels else 0
