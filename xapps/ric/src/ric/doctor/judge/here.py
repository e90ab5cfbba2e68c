"""Whether this machine can tell at all."""

from __future__ import annotations

from typing import Final

from ric.doctor.facts import Spread
from ric.doctor.finding import Finding, Level
from ric.doctor.judge.units import duration

LATE_US: Final = 20_000


def judge(late_us: Spread | None) -> list[Finding]:
    """Of the lateness of our own timers."""
    if late_us is None or late_us.p99 <= LATE_US:
        return []
    return [
        Finding(
            Level.NOTE,
            "here",
            "",
            f"this machine is busy: timers came {duration(late_us.p99)} late (p99)",
            "Ages and rates below are worse than what an xApp on a free core sees.",
            "Look again when the machine is quieter, or give the xApps cores of their own.",
        )
    ]
