"""Findings as text and as JSON, and numbers as text."""

from __future__ import annotations

import dataclasses
import enum
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ric_doctor.facts import Facts
from ric_doctor.finding import Finding, Level, exit_status

_WIDTH: Final = 100


def duration(us: float) -> str:
    """µs in the unit that suits: `350 µs`, `12.3 ms`, `4.20 s`, `3.5 h`."""
    size = abs(us)
    if size < 1_000:
        return f"{us:.0f} µs"
    if size < 1_000_000:
        return f"{us / 1e3:.1f} ms"
    if size < 600_000_000:
        return f"{us / 1e6:.2f} s"
    if size < 100 * 3_600_000_000:
        return f"{us / 3.6e9:.1f} h"
    return f"{us / 8.64e10:.0f} days"


def share(part: float, whole: float) -> str:
    """A part of a whole, %."""
    return f"{100 * part / whole:.0f} %" if whole else "nothing"


def names(found: list[str] | tuple[str, ...], most: int = 5) -> str:
    """A list for a sentence, its tail as a number."""
    shown = ", ".join(found[:most])
    left = len(found) - most
    return f"{shown} and {left} more" if left > 0 else shown


def table(findings: Sequence[Finding]) -> str:
    """A line for each finding; below, why and what to do for those that are not ok."""
    rows = [("", "CHECK", "WHERE", "FOUND")]
    rows += [(f.level.value, f.check, f.subject or "-", f.what) for f in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    indent = " " * (sum(widths) + 2 * len(widths))
    lines = []
    for row in rows:
        head = "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        lines.append(_wrapped(row[3], head, indent))
    for alike in _alike(findings):
        lines.append("")
        for finding in alike:
            where = f" ({finding.subject})" if finding.subject else ""
            head = f"{finding.level.value}: {finding.check}{where}: "
            lines.append(_wrapped(f"{finding.what}.", head))
        if alike[0].why:
            lines.append(_wrapped(alike[0].why, "  Why it matters: "))
        if alike[0].remedy:
            lines.append(_wrapped(alike[0].remedy, "  What to do: "))
    lines += ["", summary(findings)]
    return "".join(f"{line}\n" for line in lines)


def _alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that are not ok, grouped by equal reason and remedy."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        if finding.level is not Level.OK:
            key = (finding.check, finding.why, finding.remedy)
            groups.setdefault(key, []).append(finding)
    return list(groups.values())


def summary(findings: Sequence[Finding]) -> str:
    """One line."""
    counts = {level: sum(f.level is level for f in findings) for level in Level}
    return ", ".join(f"{count} {level.value}" for level, count in counts.items())


def as_json(findings: Sequence[Finding], facts: Facts) -> dict[str, Any]:
    """Findings, exit status and facts."""
    return {
        "status": exit_status(findings),
        "findings": [plain(finding) for finding in findings],
        "facts": plain(facts),
    }


def plain(value: Any) -> Any:
    """Dataclasses, enumerations and bytes as what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value


def _wrapped(text: str, head: str, indent: str = "    ") -> str:
    width = max(_WIDTH, len(indent) + 40)
    return textwrap.fill(
        text,
        width,
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ).rstrip()
