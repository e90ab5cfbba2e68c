"""Mahimahi's packet-delivery traces (Netravali et al., USENIX ATC 2015)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from rlc_dataset.channels.text import lines
from rlc_dataset.channels.trace import MAX_STEPS, ChannelTrace
from rlc_dataset.errors import DatasetError

OPPORTUNITY_BYTES: Final = 1500
"""Bytes of a delivery opportunity, which is a line."""
MAX_GAP_MS: Final = 600_000
"""Longest time without an opportunity: a line of nine digits asks for gigabytes."""


def mahimahi_text(trace: ChannelTrace) -> str:
    """A trace of Mahimahi's, of periods of 1 ms, as the text of a file.

    The inverse of :func:`load_mahimahi`: times count from the first period. Without an opportunity
    the text is empty, which is no trace.
    """
    opportunities = trace.quantities["capacity_bytes"] // OPPORTUNITY_BYTES
    times = np.repeat(np.arange(1, len(trace) + 1), opportunities.astype(np.int64))
    return "".join(f"{at_ms}\n" for at_ms in times.tolist())


def load_mahimahi(path: Path, *, period_ms: int = 1) -> ChannelTrace:
    """Reads a trace: one integer a line, the millisecond of a delivery opportunity.

    ``capacity_bytes`` is the sum of the opportunities of each period. The trace repeats after the
    millisecond of its last line.

    Raises:
        DatasetError: A line is not a whole number, goes back in time or follows a longer outage
            than `MAX_GAP_MS`, or the trace is empty or longer than a day.
    """
    if period_ms < 1:
        raise DatasetError(f"period of {period_ms} ms; expected at least 1", file=str(path))
    times: list[int] = []
    for number, line in lines(path):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and len(text) <= 12):
            raise DatasetError(
                f"is {text[:40]!r}; expected a whole number of ms", file=str(path), row=number
            )
        at_ms = int(text)
        if times and at_ms < times[-1]:
            raise DatasetError(f"{at_ms} ms is before {times[-1]} ms", file=str(path), row=number)
        if at_ms > (times[-1] if times else 0) + MAX_GAP_MS:
            raise DatasetError(
                f"{at_ms} ms is more than {MAX_GAP_MS} ms after the line above",
                file=str(path),
                row=number,
            )
        if at_ms > MAX_STEPS:
            raise DatasetError(f"{at_ms} ms is more than a day", file=str(path), row=number)
        times.append(at_ms)
    if not times or times[-1] == 0:
        raise DatasetError("has no opportunity after 0 ms", file=str(path))
    # An opportunity at millisecond t belongs to the period (t − 1, t]; one at 0 to the first.
    bins = (np.maximum(np.array(times), 1) - 1) // period_ms
    steps = -(-times[-1] // period_ms)
    capacity = OPPORTUNITY_BYTES * np.bincount(bins, minlength=steps).astype(np.float64)
    return ChannelTrace(
        "mahimahi",
        str(path),
        1_000 * period_ms,
        1_000 * period_ms * np.arange(steps, dtype=np.int64),
        np.zeros(steps, np.int32),
        {"capacity_bytes": capacity},
    )
