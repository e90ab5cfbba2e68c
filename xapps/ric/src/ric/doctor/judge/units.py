"""Numbers as people read them."""

from __future__ import annotations


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
