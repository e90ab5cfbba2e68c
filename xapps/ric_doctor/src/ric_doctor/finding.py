"""A finding: level, place, description, why it matters and what to do."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class Level(enum.Enum):
    """Severity."""

    OK = "ok"
    NOTE = "note"
    """Information; does not change the exit status."""
    WARN = "warn"
    """The xApps work, but degraded."""
    FAIL = "fail"
    """An xApp cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    `check` names the kind of check; `subject` is an address, a node or a node's RAN function. `why`
    and `remedy` are sentences, empty for a passed check.
    """

    level: Level
    check: str
    subject: str
    what: str
    why: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A kind of check on one subject; makes its findings."""

    name: str
    subject: str

    def ok(self, what: str) -> Finding:
        """It passed."""
        return self.found(Level.OK, what)

    def note(self, what: str, why: str = "", remedy: str = "") -> Finding:
        """A finding of `Level.NOTE`."""
        return self.found(Level.NOTE, what, why, remedy)

    def warn(self, what: str, why: str, remedy: str) -> Finding:
        """A finding of `Level.WARN`."""
        return self.found(Level.WARN, what, why, remedy)

    def fail(self, what: str, why: str, remedy: str) -> Finding:
        """A finding of `Level.FAIL`."""
        return self.found(Level.FAIL, what, why, remedy)

    def found(self, level: Level, what: str, why: str = "", remedy: str = "") -> Finding:
        """A finding of this level."""
        return Finding(level, self.name, self.subject, what, why, remedy)


def exit_status(findings: Sequence[Finding], *, accept_warnings: bool = False) -> int:
    """0 without warnings, 1 with warnings unless they are accepted, 2 with failures."""
    levels = {finding.level for finding in findings}
    if Level.FAIL in levels:
        return 2
    return 1 if Level.WARN in levels and not accept_warnings else 0
