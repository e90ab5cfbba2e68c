"""``ping`` of iputils: its command, and the round trips in its log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PERIOD_S: Final = 0.1
REPLY: Final = re.compile(
    r"^\[(\d+\.\d+)\] \d+ bytes from .* icmp_seq=\d+ .* time=(\d+(?:\.\d+)?) ms"
)


def command(address: str) -> tuple[str, ...]:
    """A ping each `PERIOD_S` until it is stopped."""
    return ("ping", "-D", "-n", "-i", str(PERIOD_S), address)


def replies(log: Path) -> Iterator[tuple[int, float]]:
    """When each answer came, Unix time in µs, and its round trip in µs; none without a log."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        if found := REPLY.match(line):
            yield round(1e6 * float(found[1])), 1e3 * float(found[2])


def last_rtt_s(log: Path) -> float | None:
    """Round trip of the latest ping that was answered."""
    last = None
    for _, rtt_us in replies(log):
        last = rtt_us / 1e6
    return last
